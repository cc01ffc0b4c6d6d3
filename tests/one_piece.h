// A machine in one piece, as Verilator makes it.

#include "Vsardonyx.h"
#include "verilated.h"

static Vsardonyx* top;

static void create(int, char**) {
    top = new Vsardonyx;
    top->clk = 0;
}

static void settle() {
    top->eval();
}

static void reset(bool on) {
    top->rst = on;
    settle();
}

static void step() {
    top->clk = 1;
    top->eval();
    top->clk = 0;
    top->eval();
}
