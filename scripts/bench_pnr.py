"""Measure place and route: seconds, wirelength, rounds and overuse, one line a case.

Run as ``python scripts/bench_pnr.py [seeds]``. The random case has no locality at all, so it asks more of the
tracks than any program of its size; the sparse case has the size and shape of a sparse matrix product.
"""

from __future__ import annotations

import random
import sys
from time import perf_counter

from sardonyx.compiler.backend.native import library
from sardonyx.compiler.backend.place import place, slots_of
from sardonyx.compiler.backend.route import Unroutable, route
from sardonyx.compiler.ir.mapped import Net, Pin
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.tile import DATA

Netlist = tuple[dict[str, str], list[Net]]


def random_netlist(arch: Arch, counts: dict[str, int], nets: int, sinks: int, seed: int = 0) -> Netlist:
    """Blocks of each kind, nets with random sources, sinks dealt at random, at least one to a net."""
    draw = random.Random(seed)
    kinds = {f"{kind}{i}": kind for kind, count in counts.items() for i in range(count)}
    specs = {"pe": arch.pe, "mem": arch.mem, "load": arch.io, "store": arch.io}
    outs = [Pin(b, p.name) for b, kind in kinds.items() if kind != "store" for p in specs[kind].outputs(DATA)]
    ins = [Pin(b, p.name) for b, kind in kinds.items() if kind != "load" for p in specs[kind].inputs(DATA)]
    sources, ends = draw.sample(outs, nets), draw.sample(ins, sinks)
    owner = [*range(nets), *(draw.randrange(nets) for _ in range(sinks - nets))]
    fans = [tuple(end for end, of in zip(ends, owner, strict=True) if of == i) for i in range(nets)]
    return kinds, [Net(source, fan) for source, fan in zip(sources, fans, strict=True)]


def sparse_netlist() -> Netlist:
    """25 blocks joined like a sparse matrix product: two operand trees, joiner, arithmetic, result levels."""
    kinds = dict.fromkeys(("B_io0", "B_io1", "B_io2", "C_io0", "C_io1", "C_io2"), "load")
    kinds |= dict.fromkeys(("X_io0", "X_io1", "X_io2"), "store")
    kinds |= dict.fromkeys(("B.i", "B.k", "B.vals", "C.j", "C.k", "C.vals", "X.i", "X.j", "X.vals"), "mem")
    kinds |= dict.fromkeys(("rep_C", "rep_B", "join", "mul", "red", "drop_j", "drop_i"), "pe")
    edges = {
        "B_io0.g2f": ["B.i.in2"], "B_io1.g2f": ["B.k.in2"], "B_io2.g2f": ["B.vals.in2"],
        "C_io0.g2f": ["C.j.in2"], "C_io1.g2f": ["C.k.in2"], "C_io2.g2f": ["C.vals.in2"],
        "B.i.out0": ["rep_C.data1", "drop_i.data0"], "B.i.out1": ["rep_B.data0"], "rep_C.res0": ["C.j.in0"],
        "C.j.out0": ["rep_B.data1", "drop_j.data0", "red.data1"], "C.j.out1": ["C.k.in0"],
        "rep_B.res0": ["B.k.in0"], "B.k.out0": ["join.data0"], "B.k.out1": ["join.data1"],
        "C.k.out0": ["join.data2"], "C.k.out1": ["join.data3"], "join.res1": ["B.vals.in0"],
        "join.res2": ["C.vals.in0"],
        "B.vals.out0": ["mul.data0"], "C.vals.out0": ["mul.data1"], "mul.res0": ["red.data0"],
        "red.res0": ["drop_j.data1"], "drop_j.res0": ["X.j.in1", "drop_i.data1"],
        "drop_j.res1": ["X.vals.in1"], "drop_i.res0": ["X.i.in1"], "X.i.out2": ["X_io0.f2g"],
        "X.j.out2": ["X_io1.f2g"], "X.vals.out2": ["X_io2.f2g"]}

    def pin(text: str) -> Pin:
        return Pin(*text.rsplit(".", 1))

    return kinds, [Net(pin(source), tuple(pin(sink) for sink in sinks)) for source, sinks in edges.items()]


def measure(title: str, arch: Arch, netlist: Netlist, seed: int) -> bool:
    """Place and route once and print a line; whether all nets are routed."""
    kinds, nets = netlist
    slots = slots_of(arch)
    edges = len(arch.graph.fanout_idx)  # builds the graph: once a machine, not part of the measurement
    start = perf_counter()
    placement = place(kinds, nets, slots, seed=seed)
    placed = perf_counter()
    try:
        routing = route(arch.graph, nets, placement.tiles)
    except Unroutable as error:
        routing = error.routing
    done = perf_counter()
    furthest = max(hop for hops in routing.hops.values() for hop in hops)
    print(f"{title:12} {edges:6} edges {len(kinds):4} blocks {len(nets):4} nets  "
          f"place {placed - start:6.3f} s cost {placement.cost:5}  "
          f"route {done - placed:6.3f} s wire {routing.wirelength:5} rounds {routing.rounds:3} "
          f"overuse {len(routing.shared):3} furthest {furthest:3} hops")
    return not routing.shared


def main() -> int:
    """Every case for every seed."""
    library()
    square = Arch("square", 16, 16, glb=Glb(columns_per_tile=1))
    onyx = presets.get("onyx")
    legal = True
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        dense = random_netlist(square, {"pe": 154, "mem": 51}, 188, 325, seed)
        legal &= measure("random 80 %", square, dense, seed)
        legal &= measure("sparse", onyx, sparse_netlist(), seed)
    return not legal


if __name__ == "__main__":
    sys.exit(main())
