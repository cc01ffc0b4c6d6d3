// The memory outside of a simulated design, behind its AXI4 bus.
//
// It takes bursts of reads and of writes at the same time, each in order, a beat of BUS_BYTES (by default 8) a cycle: the first
// word of a burst that was asked for in cycle n comes in cycle n + latency, or behind that of the burst before; a write is
// answered `latency` cycles after its last beat. Answers have the identities of their bursts.
//
// Who includes it has declared `top`, whose members are the ports of the design, and `most_bursts` that wait in each direction.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>

#include "pipe.h"

#ifndef BUS_BYTES
#define BUS_BYTES 8
#endif

static const uint32_t kOkay = 0, kError = 2;
// Words of memory in a beat.
static const uint64_t kWords = BUS_BYTES / 8;

static std::vector<uint64_t> memory;
static uint64_t latency, cycles, words_read, words_written;

struct Burst {
    uint64_t at;            // byte address of the next beat
    uint32_t beats, id;     // beats that are left
    uint64_t from;          // the first cycle in which it may be given
    bool failed;
};

static std::deque<Burst> reads, writes, answers;

static bool inside(uint64_t address, uint64_t words) {
    return address % 8 == 0 && address / 8 + words <= memory.size();
}

static Burst burst(uint64_t at, uint32_t beats, uint32_t id) {
    return {at, beats, id, cycles + latency, at % BUS_BYTES != 0 || !inside(at, beats * kWords)};
}

// The words of a beat at a port of 64 bits, and at a wider one, which Verilator has as words of 32 bits.
static void give_words(uint64_t& port, const uint64_t* words) { port = *words; }
static void take_words(const uint64_t& port, uint64_t* words) { *words = port; }
template <typename Wide>
static void give_words(Wide& port, const uint64_t* words) {
    for (uint64_t n = 0; n < 2 * kWords; ++n) port[n] = uint32_t(words[n / 2] >> 32 * (n % 2));
}
template <typename Wide>
static void take_words(const Wide& port, uint64_t* words) {
    for (uint64_t n = 0; n < kWords; ++n) words[n] = port[2 * n] | uint64_t(port[2 * n + 1]) << 32;
}

// Forget what is under way.
static void clear_memory() {
    reads.clear();
    writes.clear();
    answers.clear();
    words_read = words_written = 0;
    top->m_axi_arready = top->m_axi_rvalid = top->m_axi_awready = top->m_axi_wready = top->m_axi_bvalid = 0;
}

// What it shows in a cycle.
static void give_memory() {
    const bool read = !reads.empty() && cycles >= reads.front().from;
    top->m_axi_arready = reads.size() < most_bursts;
    top->m_axi_rvalid = read;
    if (read) {
        const Burst& front = reads.front();
        top->m_axi_rid = front.id;
        static const uint64_t nothing[kWords] = {};
        give_words(top->m_axi_rdata, front.failed ? nothing : &memory[front.at / 8]);
        top->m_axi_rresp = front.failed ? kError : kOkay;
        top->m_axi_rlast = front.beats == 1;
    }
    top->m_axi_awready = writes.size() < most_bursts;
    top->m_axi_wready = !writes.empty() && answers.size() < most_bursts;
    const bool answer = !answers.empty() && cycles >= answers.front().from;
    top->m_axi_bvalid = answer;
    top->m_axi_bid = answer ? answers.front().id : 0;
    top->m_axi_bresp = answer && answers.front().failed ? kError : kOkay;
}

// What it takes, and what is taken from it, when all has settled.
static void take_memory() {
    if (top->m_axi_rvalid && top->m_axi_rready) {
        words_read += kWords;
        reads.front().at += BUS_BYTES;
        if (!--reads.front().beats) reads.pop_front();
    }
    if (top->m_axi_bvalid && top->m_axi_bready) answers.pop_front();
    if (top->m_axi_wvalid && top->m_axi_wready) {
        words_written += kWords;
        Burst& front = writes.front();
        if (!front.failed) {
            uint64_t words[kWords];
            take_words(top->m_axi_wdata, words);
            for (uint64_t n = 0; n < kWords; ++n) {
                uint64_t mask = 0;
                for (int byte = 0; byte < 8; ++byte)
                    mask |= uint64_t(top->m_axi_wstrb) >> (8 * n + byte) & 1 ? 0xFFull << 8 * byte : 0;
                uint64_t& word = memory[front.at / 8 + n];
                word = (word & ~mask) | (words[n] & mask);
            }
        }
        front.at += BUS_BYTES;
        --front.beats;
        front.failed |= bool(top->m_axi_wlast) != !front.beats;
        if (!front.beats) {
            answers.push_back({0, 0, front.id, cycles + latency, front.failed});
            writes.pop_front();
        }
    }
    if (top->m_axi_arvalid && top->m_axi_arready)
        reads.push_back(burst(top->m_axi_araddr, top->m_axi_arlen + 1, top->m_axi_arid));
    if (top->m_axi_awvalid && top->m_axi_awready)
        writes.push_back(burst(top->m_axi_awaddr, top->m_axi_awlen + 1, top->m_axi_awid));
}

// The requests `L address n {word64}`, which fills it, and `m address n`, which reads it: 0, or 1 if there is not so much of it.
static bool access_memory(char request) {
    if (request != 'L' && request != 'm') return false;
    const uint32_t address = get<uint32_t>(), count = get<uint32_t>();
    std::vector<uint64_t> words(count);
    const bool fits = inside(address, count);
    if (request == 'L') {
        if (count && fread(words.data(), 8, count, stdin) != count) exit(0);
        if (fits) std::copy(words.begin(), words.end(), memory.begin() + address / 8);
        put(uint32_t(!fits));
    } else {
        if (fits) std::copy_n(memory.begin() + address / 8, count, words.begin());
        put(uint32_t(!fits));
        fwrite(words.data(), 8, count, stdout);
    }
    return true;
}
