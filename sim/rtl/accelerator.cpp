// A simulated spatial accelerator with its memory, driven by requests on standard input.
//
// Requests and answers are little-endian binary; `sim/rtl/accelerator.py` is the other end.
//   L address n {word64}       fill memory                           -> 0 if there is so much of it, else 1
//   m address n                read memory                           -> 0 or 1, n words
//   G limit n {number rs1 rs2} reset, give commands as fast as the queue takes them, and run until nothing is under way or there is
//                              an error; of a system with a processor, until that stands still; at most limit cycles (64 bit)
//                              -> 1 if it ended, status, cycles (64 bit), words read, words written (64 bit), and counters of why
//                              streams wait, if there are some
// Addresses, counts and the words of commands are 32 bits wide.
//
// Arguments: bytes of memory, its latency, and how many bursts it takes at once (outside.h).

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

// Declares `Top`, HAS_QUEUE where commands come over a bus, and COUNTERS: the addresses of counters there, else their ports.
#include "top.h"

static Top* top;
static size_t most_bursts;

#include "outside.h"

static const uint32_t kRs1 = 0, kRs2 = 4, kCommand = 8, kStatus = 12;
static const uint32_t kBusy = 1, kFault = 0xF0000;

static void edge() {
    top->clk = 1;
    top->eval();
    top->clk = 0;
    top->eval();
}

#ifdef HAS_QUEUE
struct Access {
    uint32_t address, word;
};

// What is left of the accesses of commands, and the registers as they are.
static std::deque<Access> accesses;
static uint32_t status;
static bool writing, reading, sent_address, sent_word;

static void queue(const std::vector<uint32_t>& words) {
    accesses.clear();
    writing = reading = false;
    status = kBusy;
    // The registers keep the words of the command before.
    uint32_t before[2] = {0, 0};
    for (size_t at = 0; at < words.size(); at += 3) {
        for (int n = 0; n < 2; ++n) {
            if (words[at + 1 + n] == before[n]) continue;
            before[n] = words[at + 1 + n];
            accesses.push_back({n ? kRs2 : kRs1, before[n]});
        }
        accesses.push_back({kCommand, words[at]});
    }
}

static void give_commands() {
    if (!writing && !reading) {
        writing = !accesses.empty();
        reading = !writing;
        sent_address = sent_word = false;
    }
    top->s_axil_awvalid = writing && !sent_address;
    top->s_axil_wvalid = writing && !sent_word;
    top->s_axil_bready = 1;
    top->s_axil_rready = 1;
    top->s_axil_arvalid = reading && !sent_address;
    top->s_axil_araddr = kStatus;
    top->s_axil_wstrb = 15;
    if (writing) {
        top->s_axil_awaddr = accesses.front().address;
        top->s_axil_wdata = accesses.front().word;
    }
}

static bool take_commands() {
    sent_address |= (top->s_axil_awvalid && top->s_axil_awready) || (top->s_axil_arvalid && top->s_axil_arready);
    sent_word |= top->s_axil_wvalid && top->s_axil_wready;
    if (top->s_axil_bvalid) {
        writing = false;
        // A queue that is full says so, and the command is given again.
        if (top->s_axil_bresp == kOkay) accesses.pop_front();
    }
    if (top->s_axil_rvalid) {
        reading = false;
        status = top->s_axil_rdata;
        return !(status & kBusy) || (status & kFault);
    }
    return false;
}

#ifdef COUNTERS
static uint32_t counted(uint32_t address) {
    for (bool sent = false;;) {
        top->s_axil_araddr = address;
        top->s_axil_arvalid = !sent;
        top->eval();
        sent |= top->s_axil_arvalid && top->s_axil_arready;
        const bool here = top->s_axil_rvalid;
        const uint32_t word = top->s_axil_rdata;
        edge();
        if (here) return word;
    }
}
#endif
#else
static uint32_t status;

static void queue(const std::vector<uint32_t>&) {}

static void give_commands() {}

static bool take_commands() {
    status = top->status;
    return top->trap;
}

static uint32_t counted(uint32_t word) { return word; }
#endif

static bool run(uint64_t limit, const std::vector<uint32_t>& words) {
    clear_memory();
    queue(words);
    top->rst = 1;
    for (int n = 0; n < 4; ++n) edge();
    top->rst = 0;
    for (cycles = 0; cycles < limit; ++cycles) {
        give_memory();
        give_commands();
        top->eval();
        take_memory();
        const bool ended = take_commands();
        edge();
        if (ended) return true;
    }
    return false;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    memory.resize(strtoull(argv[1], nullptr, 0) / 8);
    latency = strtoull(argv[2], nullptr, 0);
    most_bursts = strtoull(argv[3], nullptr, 0);
    top = new Top;
    for (;;) {
        const char request = get<char>();
        if (request == 'G') {
            const uint64_t limit = get<uint64_t>();
            std::vector<uint32_t> words(3 * get<uint32_t>());
            if (!words.empty() && fread(words.data(), 4, words.size(), stdin) != words.size()) return 0;
            put(uint32_t(run(limit, words)));
            put(status);
            put(cycles);
            put(words_read);
            put(words_written);
#ifdef COUNTERS
            for (uint32_t each : {COUNTERS}) put(counted(each));
#endif
        } else if (!access_memory(request)) {
            return 2;
        }
        fflush(stdout);
    }
}
