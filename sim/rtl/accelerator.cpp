// A simulated spatial accelerator with its memory, driven by requests on standard input.
//
// Requests and answers are little-endian binary; `sim/rtl/accelerator.py` is the other end.
//   L address n {word64}       fill memory                           -> 0 if there is so much of it, else 1
//   m address n                read memory                           -> 0 or 1, n words
//   G limit n {number rs1 rs2} reset, give commands as fast as the queue takes them, and run until nothing is under way or there is
//                              an error; of a system with a processor, until that stands still; at most limit cycles (64 bit)
//                              -> 1 if it ended, status, cycles (64 bit), words read, words written (64 bit)
// Addresses, counts and the words of commands are 32 bits wide.
//
// Arguments: bytes of memory, its latency. Memory takes bursts of reads and of writes at the same time, each in order, a 64-bit
// beat a cycle: the first word of a burst that was asked for in cycle n comes in cycle n + latency, or behind that of the burst
// before; a write is answered `latency` cycles after its last beat.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include "pipe.h"

// Declares `Top`, and HAS_QUEUE where commands come over a bus.
#include "top.h"

static const size_t kBursts = 64;       // that wait, in each direction
static const uint32_t kOkay = 0, kError = 2;
static const uint32_t kRs1 = 0, kRs2 = 4, kCommand = 8, kStatus = 12;
static const uint32_t kBusy = 1, kFault = 0xF0000;

static std::vector<uint64_t> memory;
static uint64_t latency, cycles, words_read, words_written;

struct Burst {
    uint64_t at;            // byte address of the next beat
    uint32_t beats, id;
    uint64_t from;          // the first cycle in which it may be given
    bool failed;
};

static std::deque<Burst> reads, writes, answers;
static Top* top;

static bool inside(uint64_t address, uint64_t words) { return address % 8 == 0 && address / 8 + words <= memory.size(); }

static Burst burst(uint64_t at, uint32_t beats, uint32_t id) {
    return {at, beats, id, cycles + latency, !inside(at, beats)};
}

static void give() {
    const bool read = !reads.empty() && cycles >= reads.front().from;
    top->m_axi_arready = reads.size() < kBursts;
    top->m_axi_rvalid = read;
    if (read) {
        const Burst& front = reads.front();
        top->m_axi_rid = front.id;
        top->m_axi_rdata = front.failed ? 0 : memory[front.at / 8];
        top->m_axi_rresp = front.failed ? kError : kOkay;
        top->m_axi_rlast = front.beats == 1;
    }
    top->m_axi_awready = writes.size() < kBursts;
    top->m_axi_wready = !writes.empty() && answers.size() < kBursts;
    const bool answer = !answers.empty() && cycles >= answers.front().from;
    top->m_axi_bvalid = answer;
    if (answer) {
        top->m_axi_bid = answers.front().id;
        top->m_axi_bresp = answers.front().failed ? kError : kOkay;
    }
}

static void take() {
    if (top->m_axi_rvalid && top->m_axi_rready) {
        ++words_read;
        reads.front().at += 8;
        if (!--reads.front().beats) reads.pop_front();
    }
    if (top->m_axi_bvalid && top->m_axi_bready) answers.pop_front();
    if (top->m_axi_wvalid && top->m_axi_wready) {
        ++words_written;
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
            answers.push_back({0, 0, front.id, cycles + latency, front.failed});
            writes.pop_front();
        }
    }
    if (top->m_axi_arvalid && top->m_axi_arready) reads.push_back(burst(top->m_axi_araddr, top->m_axi_arlen + 1, top->m_axi_arid));
    if (top->m_axi_awvalid && top->m_axi_awready) writes.push_back(burst(top->m_axi_awaddr, top->m_axi_awlen + 1, top->m_axi_awid));
}

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
#else
static uint32_t status;

static void queue(const std::vector<uint32_t>&) {}

static void give_commands() {}

static bool take_commands() {
    status = top->status;
    return top->trap;
}
#endif

static bool run(uint64_t limit, const std::vector<uint32_t>& words) {
    reads.clear();
    writes.clear();
    answers.clear();
    words_read = words_written = 0;
    queue(words);
    top->m_axi_arready = top->m_axi_rvalid = top->m_axi_awready = top->m_axi_wready = top->m_axi_bvalid = 0;
    top->rst = 1;
    for (int n = 0; n < 4; ++n) edge();
    top->rst = 0;
    for (cycles = 0; cycles < limit; ++cycles) {
        give();
        give_commands();
        top->eval();
        take();
        const bool ended = take_commands();
        edge();
        if (ended) return true;
    }
    return false;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    memory.resize(strtoull(argv[1], nullptr, 0) / 8);
    latency = strtoull(argv[2], nullptr, 0);
    top = new Top;
    for (;;) {
        const char request = get<char>();
        if (request == 'L' || request == 'm') {
            const uint32_t address = get<uint32_t>(), count = get<uint32_t>();
            std::vector<uint64_t> words(count);
            const bool fits = inside(address, count);
            if (request == 'L') {
                if (count && fread(words.data(), 8, count, stdin) != count) return 0;
                if (fits) std::copy(words.begin(), words.end(), memory.begin() + address / 8);
                put(uint32_t(!fits));
            } else {
                if (fits) std::copy_n(memory.begin() + address / 8, count, words.begin());
                put(uint32_t(!fits));
                fwrite(words.data(), 8, count, stdout);
            }
        } else if (request == 'G') {
            const uint64_t limit = get<uint64_t>();
            std::vector<uint32_t> words(3 * get<uint32_t>());
            if (!words.empty() && fread(words.data(), 4, words.size(), stdin) != words.size()) return 0;
            put(uint32_t(run(limit, words)));
            put(status);
            put(cycles);
            put(words_read);
            put(words_written);
        } else {
            return 2;
        }
        fflush(stdout);
    }
}
