// Drives one stream component: all inputs, all outputs, random stalls, and checks the stream contract every cycle.
//
// Standard input and output are sequences of little-endian 64-bit words; `sim/rtl/bench.py` is the other end.
//   in:   cases, then for each: seed (0: no stalls), max_cycles, idle; the configuration values, each in as many words
//         as it needs; for each output: tokens to stop at (all ones: none); for each input: count, tokens
//   out:  for each case: fault, port, cycle; for each input: count, cycles; for each output: count, tokens, cycles;
//         the status values, each in as many words as it needs
// Compiled once for all models, of which bench.h says how they look.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench.h"

using Words = std::vector<uint64_t>;

static uint64_t get(const Wire& wire, unsigned word = 0) {
    const void* at = wire.at;
    if (wire.bits <= 8) return *static_cast<const CData*>(at);
    if (wire.bits <= 16) return *static_cast<const SData*>(at);
    if (wire.bits <= 32) return *static_cast<const IData*>(at);
    if (wire.bits <= 64) return *static_cast<const QData*>(at);
    const EData* part = static_cast<const EData*>(at) + 2 * word;
    return part[0] | (2 * word + 1 < (wire.bits + 31) / 32 ? uint64_t(part[1]) << 32 : 0);
}

static void set(const Wire& wire, uint64_t value, unsigned word = 0) {
    if (wire.bits <= 8) *static_cast<CData*>(wire.at) = value;
    else if (wire.bits <= 16) *static_cast<SData*>(wire.at) = value;
    else if (wire.bits <= 32) *static_cast<IData*>(wire.at) = value;
    else if (wire.bits <= 64) *static_cast<QData*>(wire.at) = value;
    else {
        EData* part = static_cast<EData*>(wire.at) + 2 * word;
        part[0] = EData(value);
        if (2 * word + 1 < (wire.bits + 31) / 32) part[1] = EData(value >> 32);
    }
}

static unsigned words(const Wire& wire) { return (wire.bits + 63) / 64; }

void Ports::input(Wire payload, CData* valid, CData* ready) { inputs.push_back({payload, valid, ready}); }

void Ports::output(Wire payload, CData* valid, CData* ready) { outputs.push_back({payload, valid, ready}); }

void Ports::configured(Wire wire) { config.push_back(wire); }

void Ports::shown(Wire wire) { status.push_back(wire); }

// Opens and closes at random: each port has its own rate and length of bursts, drawn from the seed.
class Gate {
public:
    Gate(uint64_t seed, uint64_t port) : state(seed * 0x9E3779B97F4A7C15u + port * 0xD1B54A32D192ED03u + 1) {
        static const unsigned rates[] = {64, 128, 192, 256};
        static const unsigned bursts[] = {1, 1, 4, 16};
        rate = rates[next() % 4];
        burst = bursts[next() % 4];
    }

    bool open() {
        if (left == 0) {
            now = next() % 256 < rate;
            left = 1 + next() % burst;
        }
        --left;
        return now;
    }

private:
    uint64_t state;
    unsigned rate, burst, left = 0;
    bool now = true;

    uint64_t next() {  // splitmix64
        uint64_t z = (state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
};

enum Fault : uint64_t { NONE, RETRACTED, CHANGED, VALID_NEEDS_READY, TOO_LONG };

static uint64_t take() {
    uint64_t value;
    if (fread(&value, sizeof value, 1, stdin) != 1) exit(2);
    return value;
}

static void give(uint64_t value) { fwrite(&value, sizeof value, 1, stdout); }

static void give(const Words& words) { fwrite(words.data(), sizeof words[0], words.size(), stdout); }

struct Source {
    Words tokens, stamps;
    bool offering = false;
};

struct Sink {
    Words tokens, stamps;
    uint64_t wanted = 0, held = 0;
    bool waiting = false;  // valid and not taken in the cycle before
};

static void run_case() {
    Ports p;
    const std::unique_ptr<Simulated> top = simulate(p);
    std::vector<Source> sources(p.inputs.size());
    std::vector<Sink> sinks(p.outputs.size());

    const uint64_t seed = take(), max_cycles = take(), idle_limit = take();
    for (const Wire& wire : p.config)
        for (unsigned word = 0; word < words(wire); ++word) set(wire, take(), word);
    bool counted = !sinks.empty();
    for (Sink& sink : sinks) counted &= (sink.wanted = take()) != UINT64_MAX;
    for (Source& source : sources) {
        source.tokens.resize(take());
        for (uint64_t& token : source.tokens) token = take();
    }
    std::vector<Gate> gates;
    for (size_t port = 0; port < sources.size() + sinks.size(); ++port) gates.emplace_back(seed, port);

    auto tick = [&] {
        if (p.clk) {
            *p.clk = 1;
            top->eval();
            *p.clk = 0;
        }
    };
    if (p.rst) *p.rst = 1;
    for (int cycle = 0; cycle < 2; ++cycle) {
        top->eval();
        tick();
    }
    if (p.rst) *p.rst = 0;

    uint64_t fault = NONE, where = 0, cycle = 0, quiet = 0;
    for (;; ++cycle) {
        // Stalls pause when nothing has moved for a while, so that a long stall is not taken for the end.
        const bool stall = seed && quiet < idle_limit / 2;
        for (size_t n = 0; n < sources.size(); ++n) {
            Source& source = sources[n];
            const size_t next = source.stamps.size();
            const bool open = !stall || gates[n].open();
            source.offering = next < source.tokens.size() && (source.offering || open);
            *p.inputs[n].valid = source.offering;
            set(p.inputs[n].payload, source.offering ? source.tokens[next] : 0);
        }
        for (size_t n = 0; n < sinks.size(); ++n) *p.outputs[n].ready = !stall || gates[sources.size() + n].open();
        if (seed && !sinks.empty()) {
            // Rule: valid never depends on ready of the same stream. One output a cycle in turn.
            const size_t n = cycle % sinks.size();
            const Stream& port = p.outputs[n];
            *port.ready ^= 1;
            top->eval();
            const CData other = *port.valid;
            *port.ready ^= 1;
            top->eval();
            if (other != *port.valid) fault = VALID_NEEDS_READY, where = n;
        } else {
            top->eval();
        }
        bool moved = false, done = counted;
        for (size_t n = 0; n < sources.size(); ++n)
            if (sources[n].offering && *p.inputs[n].ready) {
                sources[n].stamps.push_back(cycle);
                sources[n].offering = false;
                moved = true;
            }
        for (size_t n = 0; n < sinks.size(); ++n) {
            Sink& sink = sinks[n];
            const Stream& port = p.outputs[n];
            const uint64_t payload = get(port.payload);
            if (sink.waiting && !*port.valid) fault = RETRACTED, where = n;
            if (sink.waiting && *port.valid && payload != sink.held) fault = CHANGED, where = n;
            if (*port.valid && *port.ready) {
                sink.tokens.push_back(payload);
                sink.stamps.push_back(cycle);
                moved = true;
            }
            sink.waiting = *port.valid && !*port.ready;
            sink.held = payload;
            done &= sink.tokens.size() >= sink.wanted;
        }
        if (fault) break;
        quiet = moved ? 0 : quiet + 1;
        if (done || quiet >= idle_limit) break;
        if (cycle + 1 >= max_cycles) {
            fault = TOO_LONG;
            break;
        }
        tick();
    }

    give(fault);
    give(where);
    give(cycle);
    for (const Source& source : sources) {
        give(source.stamps.size());
        give(source.stamps);
    }
    for (const Sink& sink : sinks) {
        give(sink.tokens.size());
        give(sink.tokens);
        give(sink.stamps);
    }
    for (const Wire& wire : p.status)
        for (unsigned word = 0; word < words(wire); ++word) give(get(wire, word));
}

int main() {
    for (uint64_t cases = take(); cases; --cases) run_case();
    return 0;
}
