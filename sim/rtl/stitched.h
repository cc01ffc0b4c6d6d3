// A machine of modules that were compiled one by one, joined by a list of wires.
//
// The list is text, which comes on standard input behind its length (32 bits); its words are separated by white space:
//   kind NAME RANK N PORT...          a module and its N early inputs
//   part NAME KIND                    an instance
//   clock NAME NUMBER                 of an instance: 0, if none is given, or 1
//   wire PART PORT PART PORT          a port drives a port of the same size
//   bit PART PORT PART PORT NUMBER    a port of one bit drives a bit
//   set PART PORT HEX                 a port that has one value, most significant digit first
//   open                              tracks have no registers
//
// A cycle settles in a fixed order, because valid and ready are registered in tiles of different parity:
//   1. every part takes its rising edge, or where there are two clocks, every part of the one or of both that have an edge;
//   2. early wires move: what comes from registers, and what outputs of rank 0 (tiles) follow. Those tiles settle; where tracks
//      are open, what moves by that is early, too, as often as it does;
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

#include "counted.h"
#include "kind.h"
#include "wires.h"

// Who includes it has defined `DRIVEN`, the name of the part that it drives, and `PORTS(PORT)`, a PORT(type, name) for each of
// the ports that it reads or writes. They are found when a machine is made, so that one main program does for all machines.

namespace {

constexpr int kRanks = 5;
constexpr int kRounds = 2;              // of the ranks above the tiles
constexpr uint32_t kLongestWait = 64;

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
    Wires early, late;
    std::vector<char> kept;
    std::vector<Place> registers;           // the state without memories
    Counted counted;
};

std::vector<Part> parts;
std::vector<uint32_t> awake;            // parts that are not asleep
std::vector<uint32_t> ranked[kRanks];   // parts above rank 0
std::vector<uint32_t> pending;          // tiles to settle
uint32_t unsettled = 0;                 // parts above rank 0 that are stale
uint32_t driven;        // what the main program drives
bool open = false;      // tracks
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

void notice_early(uint32_t sink) {
    if (!parts[sink].stale) pending.push_back(sink);
    notice(sink);
}

void settle_part(Part& part) {
    part.kind->settle(part.state);
    unsettled -= part.rank && part.stale;
    part.stale = false;
}

// The tiles whose early inputs changed.
void settle_tiles() {
    size_t begin = 0, end = pending.size();
    for (size_t round = 0; begin < end; ++round) {
        if (round > 2 * parts.size()) fail("tracks without registers make a ring that does not settle");
        for (size_t at = begin; at < end; ++at) settle_part(parts[pending[at]]);
        if (!open) return;
        for (size_t at = begin; at < end; ++at) parts[pending[at]].early.move(notice_early);
        begin = end;
        end = pending.size();
    }
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
                part.late.move(notice);
            }
        }
    }
}

// At the end of a cycle: settling everything once more moves no wire.
void check_settled() {
    for (Part& part : parts) part.kind->settle(part.state);
    for (const Part& part : parts) {
        if (!part.early.settled() || !part.late.settled()) fail("part " + part.name + " had not settled");
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
            made.counted = Counted(*made.kind, made.state);
            parts.push_back(std::move(made));
        } else if (word == "set") {
            file >> name >> port >> other;
            set(parts[part(name)], port, other);
        } else if (word == "clock") {
            uint32_t clock;
            file >> name >> clock;
            parts[part(name)].clock = 1u << clock;
        } else if (word == "open") {
            open = true;
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
                source.late.add(Bit{begin, end + bit / 8, number, static_cast<char>(1 << bit % 8)});
                continue;
            }
            if (from.bytes != to.bytes) fail("ports " + port + " and " + sink + " differ in size");
            if (!to.live) continue;
            Wire wire{begin, end, static_cast<uint32_t>(from.bytes), number, from.live};
            const auto& first = early[std::find_if(kinds().begin(), kinds().end(), [&](const auto& each) {
                return &each.second == parts[number].kind; })->first];
            bool is_early = std::find(first.begin(), first.end(), sink) != first.end();
            (is_early ? source.early : source.late).add(wire);
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
        if (counting) part.counted.changes();
        if (counting) part.counted.accesses();
        if (part.kind->clock) part.kind->clock(part.state);
    }
    counted_cycles += counting;
    if (counting)
        for (Part& part : parts)
            if (!part.awake) part.counted.accesses();   // the same one every cycle
    if (checking)
        for (Part& part : parts)
            if (!part.awake && (part.clock & clocks)) check_asleep(part);
    // Parts that wake up join the list behind its end: they have taken no edge, and need none.
    size_t running = awake.size();
    for (size_t at = 0; at < running; ++at) parts[awake[at]].early.move(notice_early);
    settle_tiles();
    for (uint32_t number : pending) parts[number].late.move(notice);
    pending.clear();
    for (size_t at = 0; at < running; ++at) parts[awake[at]].late.move(notice);
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
        part.counted.see();
    }
}

// A line with the cycles, one for each part, and after it those of its modules: name, changes, clocked, reads, writes.
static std::string counted() {
    std::string text = std::to_string(counted_cycles) + "\n";
    std::unordered_map<const Kind*, std::string> names;
    for (const auto& [name, kind] : kinds()) names[&kind] = name;
    for (const Part& part : parts) {
        text += part.name + " " + names[part.kind] + " " + part.counted.text();
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
    const size_t rounds = 2 * kRanks + (open ? parts.size() : 0);
    for (size_t round = 0; round < rounds; ++round)
        for (Part& part : parts) {
            settle_part(part);
            part.early.move_all(notice_early);
            part.late.move_all(notice);
        }
    pending.clear();
    for (Part& part : parts)
        for (Wires* wires : {&part.early, &part.late}) wires->group();
}
