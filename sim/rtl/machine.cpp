// A simulated machine behind its two buses, driven by commands on standard input.
//
// Commands and answers are little-endian binary; `sim/rtl/machine.py` is the other end.
//   R address                 AXI4-Lite read                       -> response, data
//   V n {address data} k {address m {word64}}   AXI4-Lite writes and, beside them, AXI4 write bursts, each without waiting for
//                             the answer of the one before       -> worst response of writes, of bursts
//   C n {address data}        configuration writes, likewise, through the controller's registers -> worst response
//   M address n {word64}      AXI4 write burst(s)                  -> worst response
//   m address n               AXI4 read burst(s)                   -> worst response, n words
//   I limit                   run until the interrupt, at most limit cycles -> 1 if it came
//   T                         -> cycles simulated so far (64 bit)
//   N on                      count what changes from here on, or no longer; `on` is a byte
//   n                         -> length, text of what was counted: see stitched.h
// Every address and data is 32 bits wide unless said otherwise.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pipe.h"

// What this program drives of a stitched machine: a part and its ports.
#define DRIVEN "shell"
#define PORTS(PORT) \
    PORT(uint16_t, s_axil_awaddr) PORT(uint8_t, s_axil_awvalid) PORT(uint8_t, s_axil_awready) \
    PORT(uint32_t, s_axil_wdata) PORT(uint8_t, s_axil_wstrb) PORT(uint8_t, s_axil_wvalid) PORT(uint8_t, s_axil_wready) \
    PORT(uint8_t, s_axil_bresp) PORT(uint8_t, s_axil_bvalid) PORT(uint8_t, s_axil_bready) \
    PORT(uint16_t, s_axil_araddr) PORT(uint8_t, s_axil_arvalid) PORT(uint8_t, s_axil_arready) \
    PORT(uint32_t, s_axil_rdata) PORT(uint8_t, s_axil_rresp) PORT(uint8_t, s_axil_rvalid) PORT(uint8_t, s_axil_rready) \
    PORT(uint32_t, s_axi_awaddr) PORT(uint8_t, s_axi_awlen) PORT(uint8_t, s_axi_awsize) PORT(uint8_t, s_axi_awburst) \
    PORT(uint8_t, s_axi_awvalid) PORT(uint8_t, s_axi_awready) \
    PORT(uint64_t, s_axi_wdata) PORT(uint8_t, s_axi_wstrb) PORT(uint8_t, s_axi_wlast) \
    PORT(uint8_t, s_axi_wvalid) PORT(uint8_t, s_axi_wready) \
    PORT(uint8_t, s_axi_bresp) PORT(uint8_t, s_axi_bvalid) PORT(uint8_t, s_axi_bready) \
    PORT(uint32_t, s_axi_araddr) PORT(uint8_t, s_axi_arlen) PORT(uint8_t, s_axi_arsize) PORT(uint8_t, s_axi_arburst) \
    PORT(uint8_t, s_axi_arvalid) PORT(uint8_t, s_axi_arready) \
    PORT(uint64_t, s_axi_rdata) PORT(uint8_t, s_axi_rresp) PORT(uint8_t, s_axi_rvalid) PORT(uint8_t, s_axi_rready) \
    PORT(uint8_t, irq)

// Declares `top`, whose members are the ports of the machine, and `create`, `reset`, `settle`, `step`, `count` and
// `counted`: stitched.h, or for a machine in one piece tests/one_piece.h.
#include "simulation.h"

// Byte offsets of the controller registers used by command C; given by machine.py as the program's arguments.
static uint32_t config_address_register, config_write_register;

static uint64_t cycles = 0;

// Inputs must have settled before.
static void tick() {
    step();
    ++cycles;
}

// A bus that does not answer is a fault of the hardware: end with a message rather than hang.
static void bound(uint64_t since, const char* what) {
    if (cycles - since > 1000000) {
        fprintf(stderr, "no answer from %s within 1000000 cycles\n", what);
        exit(3);
    }
}

static uint32_t read_register(uint32_t address, uint32_t* data) {
    uint64_t since = cycles;
    top->s_axil_araddr = address;
    top->s_axil_arvalid = 1;
    for (settle(); !top->s_axil_arready; bound(since, "AXI4-Lite read")) tick();
    tick();
    top->s_axil_arvalid = 0;
    top->s_axil_rready = 1;
    for (settle(); !top->s_axil_rvalid; bound(since, "AXI4-Lite read data")) tick();
    *data = top->s_axil_rdata;
    uint32_t response = top->s_axil_rresp;
    tick();
    top->s_axil_rready = 0;
    return response;
}

// Beats of the next burst: at most 256, and none across a border of 4 KB.
static size_t beats_of(uint32_t address, size_t left) {
    const size_t most = std::min<size_t>(256, (4096 - address % 4096) / 8);
    return std::min(left, most);
}

static uint32_t read_memory(uint32_t address, std::vector<uint64_t>& words) {
    uint32_t worst = 0;
    for (size_t base = 0, beats; base < words.size(); base += beats) {
        uint64_t since = cycles;
        beats = beats_of(address + 8 * base, words.size() - base);
        top->s_axi_araddr = address + 8 * base;
        top->s_axi_arlen = beats - 1;
        top->s_axi_arsize = 3;
        top->s_axi_arburst = 1;
        top->s_axi_arvalid = 1;
        for (settle(); !top->s_axi_arready; bound(since, "AXI4 read address")) tick();
        tick();
        top->s_axi_arvalid = 0;
        top->s_axi_rready = 1;
        for (size_t beat = 0; beat < beats; ++beat) {
            for (settle(); !top->s_axi_rvalid; bound(since, "AXI4 read data")) tick();
            words[base + beat] = top->s_axi_rdata;
            if (top->s_axi_rresp > worst) worst = top->s_axi_rresp;
            tick();
        }
        top->s_axi_rready = 0;
    }
    return worst;
}

struct Write {
    uint32_t address, data;
};

static std::vector<uint64_t> get_words() {
    std::vector<uint64_t> words(get<uint32_t>());
    if (!words.empty() && fread(words.data(), 8, words.size(), stdin) != words.size()) exit(0);
    return words;
}

static std::vector<Write> get_writes() {
    std::vector<Write> found(get<uint32_t>());
    for (Write& each : found) {
        each.address = get<uint32_t>();
        each.data = get<uint32_t>();
    }
    return found;
}

struct Burst {
    uint32_t address;
    std::vector<uint64_t> words;
};

// Bursts that a machine takes, of any that were asked for.
static std::vector<Burst> cut(uint32_t address, const std::vector<uint64_t>& words) {
    std::vector<Burst> found;
    for (size_t base = 0, beats; base < words.size(); base += beats) {
        beats = beats_of(address + 8 * base, words.size() - base);
        found.push_back({uint32_t(address + 8 * base), {words.begin() + base, words.begin() + base + beats}});
    }
    return found;
}

struct Answers {
    uint32_t registers = 0, bursts = 0;     // the worst of each
};

// Writes registers, and bursts beside them, each way in its order, without waiting for an answer before the next one.
static Answers write_all(const std::vector<Write>& writes, const std::vector<Burst>& bursts) {
    Answers worst;
    top->s_axil_wstrb = 0xF;
    top->s_axil_bready = 1;
    top->s_axi_wstrb = 0xFF;
    top->s_axi_awsize = 3;
    top->s_axi_awburst = 1;
    top->s_axi_bready = !bursts.empty();
    uint64_t since = cycles;
    size_t given = 0, taken = 0, answered = 0;              // registers: addresses, words, answers
    size_t asked = 0, sent = 0, beat = 0, ended = 0;        // bursts: addresses, whole ones, beats of the next, answers
    for (; answered < writes.size() || ended < bursts.size(); tick()) {
        top->s_axil_awvalid = given < writes.size();
        top->s_axil_wvalid = taken < writes.size();
        top->s_axil_awaddr = given < writes.size() ? writes[given].address : 0;
        top->s_axil_wdata = taken < writes.size() ? writes[taken].data : 0;
        top->s_axi_awvalid = asked < bursts.size();
        if (asked < bursts.size()) {
            top->s_axi_awaddr = bursts[asked].address;
            top->s_axi_awlen = bursts[asked].words.size() - 1;
        }
        top->s_axi_wvalid = sent < asked;
        if (sent < asked) {
            top->s_axi_wdata = bursts[sent].words[beat];
            top->s_axi_wlast = beat + 1 == bursts[sent].words.size();
        }
        settle();
        given += top->s_axil_awvalid && top->s_axil_awready;
        taken += top->s_axil_wvalid && top->s_axil_wready;
        asked += top->s_axi_awvalid && top->s_axi_awready;
        if (top->s_axi_wvalid && top->s_axi_wready && ++beat == bursts[sent].words.size()) {
            ++sent;
            beat = 0;
        }
        if (answered < writes.size() && top->s_axil_bvalid) {
            worst.registers = std::max<uint32_t>(worst.registers, top->s_axil_bresp);
            ++answered;
            since = cycles;
        }
        if (ended < bursts.size() && top->s_axi_bvalid) {
            worst.bursts = std::max<uint32_t>(worst.bursts, top->s_axi_bresp);
            ++ended;
            since = cycles;
        }
        bound(since, bursts.empty() ? "AXI4-Lite write" : "writes");
    }
    top->s_axil_awvalid = top->s_axil_wvalid = top->s_axil_bready = 0;
    top->s_axi_awvalid = top->s_axi_wvalid = top->s_axi_bready = 0;
    return worst;
}

// Waits for the answer to each burst.
static uint32_t write_memory(uint32_t address, const std::vector<uint64_t>& words) {
    uint32_t worst = 0;
    for (const Burst& each : cut(address, words)) worst = std::max(worst, write_all({}, {each}).bursts);
    return worst;
}

static uint32_t configure() {
    std::vector<Write> writes;
    for (const Write& each : get_writes()) {
        writes.push_back({config_address_register, each.address});
        writes.push_back({config_write_register, each.data});
    }
    return write_all(writes, {}).registers;
}

static uint32_t wait_for_interrupt(uint64_t limit) {
    settle();
    for (; limit && !top->irq; --limit) tick();
    return top->irq;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    config_address_register = strtoul(argv[1], nullptr, 0);
    config_write_register = strtoul(argv[2], nullptr, 0);
    create(argc - 3, argv + 3);
    reset(true);
    for (int i = 0; i < 4; ++i) tick();
    reset(false);
    for (int i = 0; i < 4; ++i) tick();
    cycles = 0;
    for (;;) {
        switch (get<char>()) {
            case 'R': {
                uint32_t data = 0, response = read_register(get<uint32_t>(), &data);
                put(response);
                put(data);
                break;
            }
            case 'V': {
                const std::vector<Write> writes = get_writes();
                std::vector<Burst> bursts;
                for (uint32_t left = get<uint32_t>(); left; --left) {
                    const uint32_t address = get<uint32_t>();
                    for (const Burst& each : cut(address, get_words())) bursts.push_back(each);
                }
                const Answers worst = write_all(writes, bursts);
                put(worst.registers);
                put(worst.bursts);
                break;
            }
            case 'C':
                put(configure());
                break;
            case 'M': {
                const uint32_t address = get<uint32_t>();
                put(write_memory(address, get_words()));
                break;
            }
            case 'm': {
                uint32_t address = get<uint32_t>(), count = get<uint32_t>();
                std::vector<uint64_t> words(count);
                put(read_memory(address, words));
                fwrite(words.data(), 8, count, stdout);
                break;
            }
            case 'I':
                put(wait_for_interrupt(get<uint32_t>()));
                break;
            case 'T':
                put(cycles);
                break;
            case 'N':
                count(get<uint8_t>());
                continue;
            case 'n': {
                const std::string text = counted();
                put(uint32_t(text.size()));
                fwrite(text.data(), 1, text.size(), stdout);
                break;
            }
            default:
                return 2;
        }
        fflush(stdout);
    }
}
