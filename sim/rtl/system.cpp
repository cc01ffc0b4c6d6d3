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
//
// Memory outside takes bursts of reads and of writes at the same time, each in order, a 64-bit beat a cycle: the first word of a
// burst that was asked for in cycle n comes in cycle n + latency, or behind that of the burst before; a write is answered
// `latency` cycles after its last beat.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "pipe.h"

// Declares `top`, whose members are the ports of the host, and `create`, `reset`, `settle` and `step`: stitched.h.
#include "simulation.h"

static const size_t kBursts = 16;       // that wait, in each direction
static const uint64_t kFrames = 24;     // bits of two bytes and some
static const uint32_t kOkay = 0, kError = 2;

static std::vector<uint64_t> memory;
static uint64_t latency, serial_cycles, cycles, stood;
// Of the clocks, and the time until the next edge of each.
static uint64_t host_period, machine_period, host_wait, machine_wait;

struct Burst {
    uint64_t at;            // byte address of the next beat
    uint32_t beats;         // left
    uint64_t from;          // the first cycle in which it may be given
    bool failed;
};

static std::deque<Burst> reads, writes, answers;
static std::string sent;

// Cycles in which a direction begins to be used, and no longer is, in turn.
static std::vector<uint64_t> edges[2];

static void note(int direction, bool used) {
    if (used == edges[direction].size() % 2) return;
    edges[direction].push_back(cycles);
}

static bool inside(uint64_t address, uint64_t words) {
    return address % 8 == 0 && address / 8 + words <= memory.size();
}

static Burst burst(uint64_t at, uint32_t beats) {
    return {at, beats, cycles + latency, !inside(at, beats)};
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

static void give() {
    const bool read = !reads.empty() && cycles >= reads.front().from;
    top->m_axi_arready = reads.size() < kBursts;
    top->m_axi_rvalid = read;
    if (read) {
        const Burst& front = reads.front();
        top->m_axi_rdata = front.failed ? 0 : memory[front.at / 8];
        top->m_axi_rresp = front.failed ? kError : kOkay;
        top->m_axi_rlast = front.beats == 1;
    }
    top->m_axi_awready = writes.size() < kBursts;
    top->m_axi_wready = !writes.empty() && answers.size() < kBursts;
    const bool answer = !answers.empty() && cycles >= answers.front().from;
    top->m_axi_bvalid = answer;
    top->m_axi_bresp = answer && answers.front().failed ? kError : kOkay;
}

static void take() {
    if (top->m_axi_rvalid && top->m_axi_rready) {
        reads.front().at += 8;
        if (!--reads.front().beats) reads.pop_front();
    }
    if (top->m_axi_bvalid && top->m_axi_bready) answers.pop_front();
    if (top->m_axi_wvalid && top->m_axi_wready) {
        Burst& front = writes.front();
        if (!front.failed) {
            uint64_t mask = 0;
            for (int byte = 0; byte < 8; ++byte) mask |= top->m_axi_wstrb >> byte & 1 ? 0xFFull << 8 * byte : 0;
            uint64_t& word = memory[front.at / 8];
            word = (word & ~mask) | (top->m_axi_wdata & mask);
        }
        front.at += 8;
        --front.beats;
        front.failed |= bool(top->m_axi_wlast) != !front.beats;
        if (!front.beats) {
            answers.push_back({0, 0, cycles + latency, front.failed});
            writes.pop_front();
        }
    }
    if (top->m_axi_arvalid && top->m_axi_arready) reads.push_back(burst(top->m_axi_araddr, top->m_axi_arlen + 1));
    if (top->m_axi_awvalid && top->m_axi_awready) writes.push_back(burst(top->m_axi_awaddr, top->m_axi_awlen + 1));
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
    reads.clear();
    writes.clear();
    answers.clear();
    sent.clear();
    for (auto& each : edges) each.clear();
    top->m_axi_arready = top->m_axi_rvalid = top->m_axi_awready = top->m_axi_wready = top->m_axi_bvalid = 0;
    top->rx = 1;
    host_wait = machine_wait = host_period;
    reset(true);
    for (int cycle = 0; cycle < 4; ++cycle) edge();
    reset(false);
    // What the serial line has taken it sends to the end.
    uint64_t stop = limit;
    stood = 0;
    for (cycles = 0; cycles < stop; ++cycles) {
        give();
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
        if (command == 'L' || command == 'm') {
            const uint32_t address = get<uint32_t>(), count = get<uint32_t>();
            std::vector<uint64_t> words(count);
            const bool fits = inside(address, count);
            if (command == 'L') {
                if (count && fread(words.data(), 8, count, stdin) != count) return 0;
                if (fits) std::copy(words.begin(), words.end(), memory.begin() + address / 8);
                put(uint32_t(!fits));
            } else {
                if (fits) std::copy_n(memory.begin() + address / 8, count, words.begin());
                put(uint32_t(!fits));
                fwrite(words.data(), 8, count, stdout);
            }
        } else if (command == 'G') {
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
        } else {
            return 2;
        }
        fflush(stdout);
    }
}
