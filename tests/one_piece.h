// A machine in one piece, as Verilator makes it. With TRACED, the cycles that would be counted are written to a VCD.

#include <string>

#include "Vsardonyx.h"
#include "verilated.h"
#ifdef TRACED
#include "verilated_vcd_c.h"
#endif

static Vsardonyx* top;

#ifdef TRACED
static VerilatedVcdC trace;
static uint64_t moment = 0;
static bool tracing = false;
#endif

static void create(int, char**) {
#ifdef TRACED
    Verilated::traceEverOn(true);
#endif
    top = new Vsardonyx;
    top->clk = 0;
#ifdef TRACED
    top->trace(&trace, 99);
    trace.open("trace.vcd");
#endif
}

static void settle() {
    top->eval();
}

static void reset(bool on) {
    top->rst = on;
    settle();
}

static void step() {
#ifdef TRACED
    if (tracing) trace.dump(++moment);
#endif
    top->clk = 1;
    top->eval();
    top->clk = 0;
    top->eval();
}

// The values at the beginning, then those with which each cycle ends.
static void count(bool on) {
#ifdef TRACED
    settle();
    if (on) trace.dump(++moment);
    tracing = on;
    if (!on) trace.flush();
#else
    (void)on;
#endif
}

static std::string counted() {
    return "0\n";
}
