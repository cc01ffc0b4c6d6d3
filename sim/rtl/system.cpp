// A simulated system, with the memory outside of it, driven by commands on standard input.
//
// Commands and answers are little-endian binary; `sim/rtl/system.py` is the other end.
//   L address n {word64}      fill memory outside                  -> 0 if there is so much of it, else 1
//   m address n               read memory outside                  -> 0 or 1, n words
//   G limit                   reset, then run until the processor stands still, at most limit cycles (64 bit)
//                             -> 1 if it does, and in which cycle since reset (64 bit)
//   a direction               when words came from outside (0) or went there (1) since reset
//                             -> count, cycles (64 bit): the first of a span, the first after it, the first of the next, ...
//   T                         -> cycles since reset (64 bit)
//   u                         -> length, bytes that the serial line has sent since reset
// Every address, count and direction is 32 bits wide; cycles are those of the host's clock.
//
// Arguments: bytes of memory outside, its latency, cycles of a bit of the serial line, the periods of the clocks of the host and
// of the machine, in any common unit, and those of stitched.h. In the first cycle of a run both clocks have an edge.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// What this program drives of a stitched machine: a part and its ports.
#define DRIVEN "host"
#define PORTS(PORT) \
    PORT(uint32_t, m_axi_araddr) PORT(uint8_t, m_axi_arid) PORT(uint8_t, m_axi_arlen) \
    PORT(uint8_t, m_axi_arvalid) PORT(uint8_t, m_axi_arready) \
    PORT(uint64_t, m_axi_rdata) PORT(uint8_t, m_axi_rid) PORT(uint8_t, m_axi_rlast) PORT(uint8_t, m_axi_rresp) \
    PORT(uint8_t, m_axi_rvalid) PORT(uint8_t, m_axi_rready) \
    PORT(uint32_t, m_axi_awaddr) PORT(uint8_t, m_axi_awid) PORT(uint8_t, m_axi_awlen) \
    PORT(uint8_t, m_axi_awvalid) PORT(uint8_t, m_axi_awready) \
    PORT(uint64_t, m_axi_wdata) PORT(uint8_t, m_axi_wstrb) PORT(uint8_t, m_axi_wlast) \
    PORT(uint8_t, m_axi_wvalid) PORT(uint8_t, m_axi_wready) \
    PORT(uint8_t, m_axi_bid) PORT(uint8_t, m_axi_bresp) PORT(uint8_t, m_axi_bvalid) PORT(uint8_t, m_axi_bready) \
    PORT(uint8_t, rx) PORT(uint8_t, tx) PORT(uint8_t, trap)

// Declares `top`, whose members are the ports of the host, and `create`, `reset`, `settle` and `step`.
#include "stitched.h"

static const size_t most_bursts = 16;
static const uint64_t kFrames = 24;     // bits of two bytes and some

#include "outside.h"

static uint64_t serial_cycles, stood;
// Of the clocks, and the time until the next edge of each.
static uint64_t host_period, machine_period, host_wait, machine_wait;

static std::string sent;

// Cycles in which a direction begins to be used, and no longer is, in turn.
static std::vector<uint64_t> edges[2];

static void note(int direction, bool used) {
    if (used == edges[direction].size() % 2) return;
    edges[direction].push_back(cycles);
}

// The bits of a byte, in the middle of each.
static void listen(bool line) {
    static uint64_t since = 0;
    static uint32_t bits = 0, byte = 0;
    if (cycles == 0) bits = 0;
    if (!bits) {
        if (line) return;
        bits = 1;
        since = cycles;
        byte = 0;
        return;
    }
    if (cycles - since != bits * serial_cycles + serial_cycles / 2) return;
    if (bits <= 8) byte |= uint32_t(line) << (bits - 1);
    if (bits++ == 9) {
        sent.push_back(char(byte));
        bits = 0;
    }
}

static void take() {
    take_memory();
    note(0, !reads.empty());
    note(1, !writes.empty() || !answers.empty());
    listen(top->tx);
}

// The edge of the host's clock at the end of a cycle, and those of the machine's since the one before.
static void edge() {
    for (; machine_wait < host_wait; machine_wait = machine_period) {
        host_wait -= machine_wait;
        step(kMachineClock);
    }
    machine_wait -= host_wait;
    host_wait = host_period;
    if (machine_wait) return step(kHostClock);
    machine_wait = machine_period;
    step();
}

static bool run(uint64_t limit) {
    clear_memory();
    sent.clear();
    for (auto& each : edges) each.clear();
    top->rx = 1;
    host_wait = machine_wait = host_period;
    reset(true);
    for (int cycle = 0; cycle < 4; ++cycle) edge();
    reset(false);
    // What the serial line has taken it sends to the end.
    uint64_t stop = limit;
    stood = 0;
    for (cycles = 0; cycles < stop; ++cycles) {
        give_memory();
        settle();
        if (top->trap && !stood) {
            stood = cycles;
            stop = cycles + kFrames * serial_cycles;
        }
        take();
        edge();
    }
    return stood;
}

int main(int argc, char** argv) {
    if (argc < 6) return 2;
    memory.resize(strtoull(argv[1], nullptr, 0) / 8);
    latency = strtoull(argv[2], nullptr, 0);
    serial_cycles = strtoull(argv[3], nullptr, 0);
    host_period = strtoull(argv[4], nullptr, 0);
    machine_period = strtoull(argv[5], nullptr, 0);
    create(argc - 6, argv + 6);
    for (;;) {
        const char command = get<char>();
        if (command == 'G') {
            put(uint32_t(run(get<uint64_t>())));
            put(stood);
        } else if (command == 'a') {
            auto& found = edges[get<uint32_t>() & 1];
            put(uint32_t(found.size()));
            fwrite(found.data(), 8, found.size(), stdout);
        } else if (command == 'T') {
            put(cycles);
        } else if (command == 'u') {
            put(uint32_t(sent.size()));
            fwrite(sent.data(), 1, sent.size(), stdout);
        } else if (!access_memory(command)) {
            return 2;
        }
        fflush(stdout);
    }
}
