// What a simulation in a process of its own reads and writes: binary, little-endian.

#pragma once

#include <cstdio>
#include <cstdlib>

// The end of the input is the end of the simulation.
template <typename T>
static T get() {
    T value;
    if (fread(&value, sizeof value, 1, stdin) != 1) exit(0);
    return value;
}

template <typename T>
static void put(T value) {
    fwrite(&value, sizeof value, 1, stdout);
}
