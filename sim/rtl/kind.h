// What the stitcher knows of a module of a tile library. A generated file for each module fills one in (sim/rtl/library.py).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

struct Place {
    size_t offset;      // in the state
    size_t bytes;
};

struct Port : Place {
    bool live;          // an input that something reads; an output that is not constant
};

// A value whose changes are counted, for one of the kind's modules.
struct Source : Place {
    uint32_t module;
    uint32_t words;         // of a register, one or those of an array
    uint32_t width;         // of a word in bits; 0: no register
};

// A memory whose accesses are counted.
struct Memory {
    Place enable, write;
    uint32_t module;
};

struct Kind {
    size_t bytes;                               // of the state, which holds the ports too
    std::unordered_map<std::string, Port> ports;
    std::vector<Place> memories;
    std::vector<std::string> modules;           // what is counted, in a library that is built for it (activity.py)
    std::vector<Source> sources;
    std::vector<Memory> accessed;
    void* (*make)();                            // a state as it is after power-up
    void (*settle)(void*);                      // outputs follow inputs
    void (*clock)(void*);                       // a rising edge; inputs have settled. Null without registers
};

using Kinds = std::unordered_map<std::string, Kind>;

inline Kinds& kinds() {
    static Kinds all;
    return all;
}
