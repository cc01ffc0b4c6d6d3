// What `bench.cpp` knows of a model: its ports, and how it settles. Compiled models give one by `simulate` (bench_model.h).

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "verilated.h"

// A port of the model: CData, SData, IData, QData or an array of 32-bit words, by width.
struct Wire {
    void* at;
    unsigned bits;
};

struct Stream {
    Wire payload;
    CData* valid;
    CData* ready;
};

struct Ports {
    std::vector<Stream> inputs, outputs;
    std::vector<Wire> config, status;
    CData* clk = nullptr;
    CData* rst = nullptr;

    // In the main program, so that a model costs the compiler little.
    void input(Wire payload, CData* valid, CData* ready);
    void output(Wire payload, CData* valid, CData* ready);
    void configured(Wire wire);
    void shown(Wire wire);
};

struct Simulated {
    virtual ~Simulated() {}
    virtual void eval() = 0;
};

// A fresh model, whose ports are added to those given.
std::unique_ptr<Simulated> simulate(Ports& ports);
