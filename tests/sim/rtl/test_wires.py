"""The wires out of a part of a stitched machine bring every value to its sink, and say where it is new."""

import subprocess
from pathlib import Path

from sardonyx.sim.rtl import library
from sardonyx.sim.rtl.verilator import tools

# Ports of 1, 2, 4, 8 and 100 bytes, each alone in its block and next to others, and one bit, take random values, of which the
# first are the inverse of those before; sinks are as sources after each move, and named where they were not.
MAIN = """
#include "wires.h"

#include <cstdio>
#include <random>

int main() {
    const size_t sizes[] = {1, 1, 2, 4, 8, 100, 1, 2, 4, 8, 1, 64, 65}, gaps[] = {0, 90, 70, 70, 70, 70, 70, 0, 2, 0, 60, 1, 0};
    char from[2000] = {}, to[2000] = {}, bit = 0, target = 0;
    Wires wires;
    size_t at = 0;
    for (uint32_t number = 0; number < 13; ++number) {
        at += gaps[number];
        wires.add(Wire{from + at, to + at, static_cast<uint32_t>(sizes[number]), number, true});
        at += sizes[number];
    }
    wires.add(Bit{&bit, &target, 13, 4});
    wires.move_all([](uint32_t) {});
    wires.group();
    std::mt19937 random(1);
    int wrong = 0;
    for (int step = 0; step < 1000; ++step) {
        if (!step) bit = 1;
        for (char& each : from)
            if (!step) each = ~each;
            else if (random() % 64 == 0) each = random();
        if (random() % 4 == 0) bit = !bit;
        const bool was = wires.settled();
        bool noticed = false;
        wires.move([&](uint32_t) { noticed = true; });
        wrong += !wires.settled() || noticed == was;
    }
    printf("%d", wrong);
}
"""


def test_what_changes_is_brought_to_its_sink_also_where_it_is_inverted_at_first(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(MAIN)
    subprocess.run([tools().compiler, "-std=gnu++17", f"-I{library.HERE}", str(tmp_path / "main.cpp"), "-o",
                    str(tmp_path / "main")], check=True)
    assert subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True).stdout == "0"
