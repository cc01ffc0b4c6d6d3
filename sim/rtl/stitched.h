// A machine of modules that were compiled one by one, joined by a list of wires.
//
// The list is text, which comes on standard input behind its length (32 bits); its words are separated by white space:
//   kind NAME RANK N PORT...          a module and its N early inputs
//   part NAME KIND                    an instance
//   clock NAME NUMBER                 of an instance: 0, if none is given, or 1
//   wire PART PORT PART PORT          a port drives a port of the same size
//   bit PART PORT PART PORT NUMBER    a port of one bit drives a bit
//   set PART PORT HEX                 a port that has one value, most significant digit first
//
// A cycle settles in a fixed order, because valid and ready are registered in tiles of different parity:
//   1. every part takes its rising edge, or where there are two clocks, every part of the one or of both that have an edge;
//   2. early wires move: what comes from registers, and what outputs of rank 0 (tiles) follow. Those tiles settle;
//   3. all other wires of tiles move;
//   4. the ranks above settle one after the other, and their wires move; then once more those whose inputs changed.
// An input that is not early reaches no output of its tile before the next edge.
//
// A library that is built for it counts what changes, in a cycle in which `count` is on (activity.py); others have empty lists.
//
// A part whose inputs do not change is asleep from when its registers did not change over an edge, until an input changes. A
// memory is not looked at: while registers and inputs stay, it can only be written with what it was written with before. But
// what was written may be read at the next edge, so a part with a memory has to stay the same over two.
// With --check parts asleep are evaluated as well, and every cycle is settled once more: if anything changes, the simulation
// ends with a message.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "kind.h"

// Who includes it has defined `DRIVEN`, the name of the part that it drives, and `PORTS(PORT)`, a PORT(type, name) for each of
// the ports that it reads or writes. They are found when a machine is made, so that one main program does for all machines.

namespace {

constexpr int kRanks = 5;
constexpr int kRounds = 2;              // of the ranks above the tiles
constexpr uint32_t kLongestWait = 64;

struct Wire {
    const void* from;
    void* to;
    uint32_t bytes;
    uint32_t sink;
    bool live;
};

struct Bit {
    const uint8_t* from;
    uint8_t* to;
    uint32_t sink;
    uint8_t mask;
};

struct Count {
    uint64_t changes = 0, clocked = 0, reads = 0, writes = 0;
};

// Clocks, to be added: a part has one of them.
constexpr uint32_t kMachineClock = 1, kHostClock = 2;

struct Part {
    std::string name;
    const Kind* kind;
    char* state;
    int rank;
    uint32_t clock = kMachineClock;
    bool stale = false;         // an input changed since it settled
    bool touched = true;        // an input changed in this cycle
    bool awake = true;
    uint32_t quiet = 0;         // cycles without a change of an input
    uint32_t look = 1;          // of `quiet`, when the state is kept to be compared in the next cycle
    std::vector<Wire> early, late;
    std::vector<Bit> bits;
    std::vector<char> kept;
    std::vector<Place> registers;           // the state without memories
    std::vector<char> seen;                 // sources as they were last counted
    std::vector<Count> counts;              // by module of the kind
};

std::vector<Part> parts;
std::vector<uint32_t> awake;            // parts that are not asleep
std::vector<uint32_t> ranked[kRanks];   // parts above rank 0
std::vector<uint32_t> pending;          // tiles to settle
uint32_t unsettled = 0;                 // parts above rank 0 that are stale
uint32_t driven;        // what the main program drives
bool checking = false;
bool counting = false;
uint64_t counted_cycles = 0;

[[noreturn]] void fail(const std::string& what) {
    fprintf(stderr, "%s\n", what.c_str());
    exit(3);
}

inline void notice(uint32_t sink) {
    Part& part = parts[sink];
    unsettled += part.rank && !part.stale;
    part.stale = part.touched = true;
    if (!part.awake) {
        part.awake = true;
        awake.push_back(sink);
    }
}

template <typename T>
inline bool moved(const Wire& wire) {
    T value = *static_cast<const T*>(wire.from);
    if (*static_cast<T*>(wire.to) == value) return false;
    *static_cast<T*>(wire.to) = value;
    return true;
}

inline bool moved(const Wire& wire) {
    switch (wire.bytes) {
        case 1: return moved<uint8_t>(wire);
        case 2: return moved<uint16_t>(wire);
        case 4: return moved<uint32_t>(wire);
        case 8: return moved<uint64_t>(wire);
    }
    if (!memcmp(wire.to, wire.from, wire.bytes)) return false;
    memcpy(wire.to, wire.from, wire.bytes);
    return true;
}

void move_early(const Part& part) {
    for (const Wire& wire : part.early) {
        if (!moved(wire)) continue;
        if (!parts[wire.sink].stale) pending.push_back(wire.sink);
        notice(wire.sink);
    }
}

void move_late(const Part& part) {
    for (const Wire& wire : part.late)
        if (moved(wire)) notice(wire.sink);
    for (const Bit& bit : part.bits) {
        uint8_t value = *bit.from ? *bit.to | bit.mask : *bit.to & ~bit.mask;
        if (value == *bit.to) continue;
        *bit.to = value;
        notice(bit.sink);
    }
}

void settle_part(Part& part) {
    part.kind->settle(part.state);
    unsettled -= part.rank && part.stale;
    part.stale = false;
}

// The ranks above the tiles, in order; those settle whose inputs changed.
void settle_ranks() {
    for (int round = 0; unsettled; ++round) {
        if (round == kRounds) fail("the parts around the tiles do not settle");
        for (const auto& rank : ranked) {
            for (uint32_t number : rank) {
                Part& part = parts[number];
                if (!part.stale) continue;
                settle_part(part);
                move_late(part);
            }
        }
    }
}

// At the end of a cycle: settling everything once more moves no wire.
void check_settled() {
    for (Part& part : parts) part.kind->settle(part.state);
    for (const Part& part : parts) {
        auto check = [&](bool same) {
            if (!same) fail("part " + part.name + " had not settled");
        };
        for (const auto* wires : {&part.early, &part.late})
            for (const Wire& wire : *wires) check(!memcmp(wire.from, wire.to, wire.bytes));
        for (const Bit& bit : part.bits) check(!*bit.from == !(*bit.to & bit.mask));
    }
}

void check_asleep(Part& part) {
    std::vector<char> before(part.state, part.state + part.kind->bytes);
    part.kind->settle(part.state);
    if (part.kind->clock) part.kind->clock(part.state);
    if (memcmp(before.data(), part.state, part.kind->bytes)) fail("part " + part.name + " was asleep and would have changed");
}

void keep(Part& part) {
    part.kept.clear();
    for (const Place& place : part.registers)
        part.kept.insert(part.kept.end(), part.state + place.offset, part.state + place.offset + place.bytes);
}

bool is_kept(const Part& part) {
    const char* kept = part.kept.data();
    for (const Place& place : part.registers) {
        if (memcmp(kept, part.state + place.offset, place.bytes)) return false;
        kept += place.bytes;
    }
    return true;
}

void rest(uint32_t number) {
    Part& part = parts[number];
    if (part.touched) {
        part.touched = false;
        part.quiet = 0;
        part.look = 1;
        return;
    }
    if (++part.quiet < part.look) return;
    if (part.quiet == part.look) {
        keep(part);
    } else if (!is_kept(part)) {
        part.quiet = 0;
        part.look = std::min(2 * part.look, kLongestWait);
    } else if (part.quiet == part.look + 1 + !part.kind->memories.empty()) {
        part.awake = false;
        part.quiet = 0;
        part.look = 1;
    }
}

uint64_t bits_between(const char* one, const char* other, size_t bytes) {
    uint64_t sum = 0;
    for (; bytes >= 8; bytes -= 8, one += 8, other += 8) {
        uint64_t left, right;
        memcpy(&left, one, 8);
        memcpy(&right, other, 8);
        sum += __builtin_popcountll(left ^ right);
    }
    for (; bytes; --bytes) sum += __builtin_popcount(static_cast<uint8_t>(*one++ ^ *other++));
    return sum;
}

void see(Part& part) {
    part.seen.clear();
    for (const Source& source : part.kind->sources)
        part.seen.insert(part.seen.end(), part.state + source.offset, part.state + source.offset + source.bytes);
}

bool any(const char* bytes, size_t count) {
    return std::any_of(bytes, bytes + count, [](char byte) { return byte; });
}

void count_accesses(Part& part) {
    for (const Memory& memory : part.kind->accessed) {
        if (!part.state[memory.enable.offset]) continue;
        Count& total = part.counts[memory.module];
        ++(any(part.state + memory.write.offset, memory.write.bytes) ? total.writes : total.reads);
    }
}

// What a part that has settled shows at the end of a cycle, against the cycle before. One that is asleep shows the same.
void count_changes(Part& part) {
    char* seen = part.seen.data();
    for (const Source& source : part.kind->sources) {
        const char* now = part.state + source.offset;
        const size_t bytes = source.bytes / source.words;
        if (memcmp(seen, now, source.bytes)) {
            Count& total = part.counts[source.module];
            for (size_t at = 0; at < source.bytes; at += bytes) {
                const uint64_t changed = bits_between(seen + at, now + at, bytes);
                total.changes += changed;
                if (changed) total.clocked += source.width;
            }
            memcpy(seen, now, source.bytes);
        }
        seen += source.bytes;
    }
}

const Port& port_of(const Part& part, const std::string& name) {
    auto found = part.kind->ports.find(name);
    if (found == part.kind->ports.end()) fail("part " + part.name + " has no port " + name);
    return found->second;
}

void set(const Part& part, const std::string& name, const std::string& digits) {
    const Port& port = port_of(part, name);
    auto* bytes = reinterpret_cast<uint8_t*>(part.state) + port.offset;
    memset(bytes, 0, port.bytes);
    size_t count = digits.size();
    for (size_t digit = 0; digit < count; ++digit) {
        unsigned value = std::stoul(digits.substr(count - 1 - digit, 1), nullptr, 16);
        if (!value) continue;
        if (digit / 2 >= port.bytes) fail("a value for " + part.name + "." + name + " is too long");
        bytes[digit / 2] |= value << 4 * (digit % 2);
    }
}

// What is left of a state without its memories.
std::vector<Place> registers_of(const Kind& kind) {
    std::vector<Place> memories = kind.memories, left;
    std::sort(memories.begin(), memories.end(), [](const Place& one, const Place& other) { return one.offset < other.offset; });
    size_t at = 0;
    for (const Place& memory : memories) {
        left.push_back({at, memory.offset - at});
        at = memory.offset + memory.bytes;
    }
    left.push_back({at, kind.bytes - at});
    return left;
}

void read(const std::string& text) {
    std::istringstream file(text);
    std::unordered_map<std::string, int> ranks;
    std::unordered_map<std::string, std::vector<std::string>> early;
    std::unordered_map<std::string, uint32_t> numbers;
    std::string word, name, port, other, sink;
    auto part = [&](const std::string& which) -> uint32_t {
        auto found = numbers.find(which);
        if (found == numbers.end()) fail("there is no part " + which);
        return found->second;
    };
    while (file >> word) {
        if (word == "kind") {
            int rank, count;
            file >> name >> rank >> count;
            ranks[name] = rank;
            auto& ports = early[name];
            for (ports.resize(count); count; --count) file >> ports[count - 1];
        } else if (word == "part") {
            file >> name >> other;
            auto found = kinds().find(other);
            if (found == kinds().end()) fail("the library has no module " + other);
            numbers[name] = parts.size();
            Part made;
            made.name = name;
            made.kind = &found->second;
            made.rank = ranks.at(other);
            made.state = static_cast<char*>(made.kind->make());
            made.registers = registers_of(*made.kind);
            made.counts.resize(made.kind->modules.size());
            parts.push_back(std::move(made));
        } else if (word == "set") {
            file >> name >> port >> other;
            set(parts[part(name)], port, other);
        } else if (word == "clock") {
            uint32_t clock;
            file >> name >> clock;
            parts[part(name)].clock = 1u << clock;
        } else if (word == "wire" || word == "bit") {
            file >> name >> port >> other >> sink;
            Part& source = parts[part(name)];
            uint32_t number = part(other);
            const Port &from = port_of(source, port), &to = port_of(parts[number], sink);
            char *begin = source.state + from.offset, *end = parts[number].state + to.offset;
            if (word == "bit") {
                unsigned bit;
                file >> bit;
                if (bit / 8 >= to.bytes) fail("port " + sink + " of " + other + " has no bit " + std::to_string(bit));
                source.bits.push_back({reinterpret_cast<uint8_t*>(begin), reinterpret_cast<uint8_t*>(end) + bit / 8, number,
                                       static_cast<uint8_t>(1 << bit % 8)});
                continue;
            }
            if (from.bytes != to.bytes) fail("ports " + port + " and " + sink + " differ in size");
            if (!to.live) continue;
            Wire wire{begin, end, static_cast<uint32_t>(from.bytes), number, from.live};
            const auto& first = early[std::find_if(kinds().begin(), kinds().end(), [&](const auto& each) {
                return &each.second == parts[number].kind; })->first];
            bool is_early = std::find(first.begin(), first.end(), sink) != first.end();
            (is_early ? source.early : source.late).push_back(wire);
        } else {
            fail("'" + word + "' is no line of a wire list");
        }
    }
    driven = part(DRIVEN);
}

template <typename T>
T& driven_port(const char* name) {
    const Part& part = parts[driven];
    const Port& port = port_of(part, name);
    if (port.bytes != sizeof(T)) fail(std::string("port ") + name + " of " + part.name + " has another size");
    return *reinterpret_cast<T*>(part.state + port.offset);
}

struct Top {
#define PORT(type, name) type& name = driven_port<type>(#name);
    PORTS(PORT)
#undef PORT
};

}  // namespace

static Top* top;

static void settle() {
    notice(driven);     // what drives its ports is no wire
    settle_ranks();
}

// An edge of some clocks.
static void step(uint32_t clocks = kMachineClock | kHostClock) {
    for (uint32_t number : awake) {
        Part& part = parts[number];
        if (!(part.clock & clocks)) continue;
        if (part.stale) settle_part(part);
        if (counting) count_changes(part);
        if (counting) count_accesses(part);
        if (part.kind->clock) part.kind->clock(part.state);
    }
    counted_cycles += counting;
    if (counting)
        for (Part& part : parts)
            if (!part.awake) count_accesses(part);      // the same one every cycle
    if (checking)
        for (Part& part : parts)
            if (!part.awake && (part.clock & clocks)) check_asleep(part);
    // Parts that wake up join the list behind its end: they have taken no edge, and need none.
    size_t running = awake.size();
    for (size_t at = 0; at < running; ++at) move_early(parts[awake[at]]);
    for (uint32_t number : pending) settle_part(parts[number]);
    for (uint32_t number : pending) move_late(parts[number]);
    pending.clear();
    for (size_t at = 0; at < running; ++at) move_late(parts[awake[at]]);
    settle_ranks();
    if (checking) check_settled();
    size_t left = 0;
    for (uint32_t number : awake) {
        if (parts[number].clock & clocks) rest(number);
        if (parts[number].awake) awake[left++] = number;
    }
    awake.resize(left);
}

// Counts from here on, or no longer.
static void count(bool on) {
    counting = on;
    if (!on) return;
    settle();
    for (Part& part : parts) {
        if (part.stale) settle_part(part);
        see(part);
    }
}

// A line with the cycles, one for each part, and after it those of its modules: name, changes, clocked, reads, writes.
static std::string counted() {
    std::string text = std::to_string(counted_cycles) + "\n";
    std::unordered_map<const Kind*, std::string> names;
    for (const auto& [name, kind] : kinds()) names[&kind] = name;
    for (const Part& part : parts) {
        text += part.name + " " + names[part.kind] + " " + std::to_string(part.counts.size()) + "\n";
        for (size_t number = 0; number < part.counts.size(); ++number) {
            const Count& each = part.counts[number];
            text += part.kind->modules[number];
            for (uint64_t value : {each.changes, each.clocked, each.reads, each.writes}) text += " " + std::to_string(value);
            text += "\n";
        }
    }
    return text;
}

static void reset(bool on) {
    // The others are reset over wires.
    set(parts[driven], "rst", on ? "1" : "0");
    settle();
}

static void create(int argc, char** argv) {
    checking = argc && !strcmp(argv[0], "--check");
    uint32_t length;
    if (fread(&length, sizeof length, 1, stdin) != 1) fail("the wire list is missing");
    std::string text(length, 0);
    if (fread(text.data(), 1, length, stdin) != length) fail("the wire list is cut");
    read(text);
    top = new Top;
    for (uint32_t number = 0; number < parts.size(); ++number) {
        awake.push_back(number);
        if (parts[number].rank) ranked[parts[number].rank].push_back(number);
    }
    // From power-up to a settled machine: as often as a value can go from rank to rank.
    for (int round = 0; round < 2 * kRanks; ++round)
        for (Part& part : parts) {
            settle_part(part);
            move_early(part);
            move_late(part);
        }
    pending.clear();
    // What never changes has moved for the last time.
    auto constant = [](const Wire& wire) { return !wire.live; };
    for (Part& part : parts)
        for (auto* wires : {&part.early, &part.late}) wires->erase(std::remove_if(wires->begin(), wires->end(), constant), wires->end());
}
