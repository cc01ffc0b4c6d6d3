"""A square weight-stationary array written by hand: what a generated one is measured against.

Written as one would who wants this array and no other: words enter and leave as whole rows, skewed by registers at the border,
and nothing in the array waits. So the memory behind it has to take each row of sums when it comes.

`run` simulates it on operands of 8 bits.

Source: Gemmini (Mesh, MeshWithDelays); Stellar VI-B compares with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...hw.emit import macro
from ...sim.rtl.bench import Bench

COUNT_BITS = 16


class MacPe(Component):
    """A PE: holds a weight, and the next one while it is handed down.

    Behaviour: with `take` the next weight becomes the weight of all cycles behind this one; with `load` the next weight is
    the one from above.

    Timing: all outputs are registers.
    """

    def __init__(self, operand_bits: int, sum_bits: int) -> None:
        self.operand_bits, self.sum_bits = operand_bits, sum_bits
        self.module_name = f"baseline_pe_{operand_bits}_{sum_bits}"
        super().__init__({"a": In(operand_bits), "a_right": Out(operand_bits), "c": In(sum_bits), "c_down": Out(sum_bits),
                          "w": In(operand_bits), "w_down": Out(operand_bits), "load": In(1), "take": In(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        a, c, following, weight = (Signal.like(port, name=name, reset_less=True) for name, port in (
            ("a_1", self.a), ("c_1", self.c), ("next_weight", self.w), ("weight", self.w)))
        m.d.sync += [a.eq(self.a), c.eq(self.c + self.a.as_signed() * weight.as_signed())]
        m.d.comb += [self.a_right.eq(a), self.c_down.eq(c), self.w_down.eq(following)]
        with m.If(self.load):
            m.d.sync += following.eq(self.w)
        with m.If(self.take):
            m.d.sync += weight.eq(following)
        return m


class WeightStationary(Component):
    """An array of `size` x `size` PEs with its loops over rows and tiles.

    Behaviour: for every command it takes `tiles` times `size` rows of weights, the last one first, and `rows` rows of A, and
    gives the products of these rows with those weights. The weights of a tile are handed down while those before are in use,
    so that tiles of `size` rows or more follow each other without a gap.

    Parameters
    ----------
    size, operand_bits, sum_bits : int

    Members
    -------
    command : In(stream)    `rows` and `tiles`, 1..65535 each.
    a : In(stream)          A row of A: a word for each row of the array.
    b : In(stream)          A row of weights: a word for each column.
    c : Out(stream)         A row of sums. `ready` plays no part.

    Timing: a row in a cycle; sums come 2 * `size` cycles behind their row.
    """

    def __init__(self, size: int = 16, operand_bits: int = 8, sum_bits: int = 32) -> None:
        if size < 2:
            raise ValueError(f"an array of {size} x {size} has no border")
        self.size, self.operand_bits, self.sum_bits = size, operand_bits, sum_bits
        self.module_name = f"baseline_weight_stationary_{size}"
        row = stream.Signature(data.ArrayLayout(operand_bits, size))
        super().__init__({
            "command": In(stream.Signature(data.StructLayout({"rows": COUNT_BITS, "tiles": COUNT_BITS}))),
            "a": In(row), "b": In(row), "c": Out(stream.Signature(data.ArrayLayout(sum_bits, size)))})

    def bench(self) -> Bench:
        """Its Verilog in simulation, built the first time."""
        return Bench(Lanes(self))

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        computes, takes, loads, loading = self._loops(m)
        pes = [[macro(MacPe(self.operand_bits, self.sum_bits)) for _ in range(self.size)] for _ in range(self.size)]
        last = self.size - 1
        for k, line in enumerate(pes):
            # A weight goes on down to its row: row k no longer takes part when the weights behind are on their way.
            load = _delayed(m, loads & (loading < self.size - k), k, f"load_{k}")
            take = _delayed(m, takes, k, f"take_{k}")
            a = _delayed(m, self.a.payload[k], k + 1, f"a_{k}", reset_less=True)
            for j, pe in enumerate(line):
                m.submodules[f"pe_{k}_{j}"] = pe
                w = pes[k - 1][j].w_down if k else _delayed(m, self.b.payload[j], j, f"b_{j}", reset_less=True)
                m.d.comb += [pe.a.eq(line[j - 1].a_right if j else a), pe.c.eq(pes[k - 1][j].c_down if k else 0),
                             pe.w.eq(w), pe.load.eq(load), pe.take.eq(take)]
                if j < last:
                    load, take = (_delayed(m, each, 1, f"{name}_{k}_{j}") for each, name in ((load, "load"), (take, "take")))
        for j, pe in enumerate(pes[-1]):
            m.d.comb += self.c.payload[j].eq(_delayed(m, pe.c_down, last - j, f"c_{j}", reset_less=True))
        m.d.comb += self.c.valid.eq(_delayed(m, computes, 2 * self.size, "sums"))
        return m

    def _loops(self, m: Module) -> tuple[Value, Value, Value, Value]:
        """Whether a row of A is taken, as the first of its tile; whether one of weights is, and how many were before it."""
        rows, row, tiles, to_load = (Signal(COUNT_BITS, name=name) for name in ("rows", "row", "tiles", "to_load"))
        loaded = Signal(range(self.size + 1))
        computes, first, loads = Signal(), Signal(), Signal()
        takes, full = computes & first, loaded == self.size
        count = Mux(full, 0, loaded)
        m.d.comb += [
            first.eq(row == 0),
            computes.eq((tiles != 0) & self.a.valid & (~first | full)),
            loads.eq((to_load != 0) & self.b.valid & (~full | takes)),
            self.a.ready.eq((tiles != 0) & (~first | full)), self.b.ready.eq((to_load != 0) & (~full | takes)),
            self.command.ready.eq(tiles == 0),
        ]
        with m.If(self.command.ready & self.command.valid):
            m.d.sync += [rows.eq(self.command.payload.rows), tiles.eq(self.command.payload.tiles),
                         to_load.eq(self.command.payload.tiles)]
        with m.If(computes):
            m.d.sync += row.eq(row + 1)
            with m.If(row == rows - 1):
                m.d.sync += [row.eq(0), tiles.eq(tiles - 1)]
        with m.If(loads):
            m.d.sync += loaded.eq(count + 1)
            with m.If(count == self.size - 1):
                m.d.sync += to_load.eq(to_load - 1)
        with m.Elif(takes):
            m.d.sync += loaded.eq(0)
        return computes, takes, loads, count


class Lanes(Component):
    """The array with a stream for each word of a row, for a bench whose streams are narrow: ``a_3`` is word 3.

    A row enters when all of its words are there; words of a row of sums leave together.
    """

    def __init__(self, array: WeightStationary) -> None:
        self.array, self.module_name = array, f"{array.module_name}_lanes"
        operand, total = stream.Signature(array.operand_bits), stream.Signature(array.sum_bits)
        lanes = range(array.size)
        super().__init__({"command": In(stream.Signature(2 * COUNT_BITS)), **{f"{name}_{n}": In(operand) for name in "ab"
                                                                              for n in lanes},
                          **{f"c_{n}": Out(total) for n in lanes}})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.array = array = macro(self.array)
        m.d.comb += [Value.cast(array.command.payload).eq(self.command.payload), array.command.valid.eq(self.command.valid),
                     self.command.ready.eq(array.command.ready)]
        for name in "ab":
            rows, words = getattr(array, name), [getattr(self, f"{name}_{n}") for n in range(self.array.size)]
            m.d.comb += [Value.cast(rows.payload).eq(Cat(word.payload for word in words)),
                         rows.valid.eq(Cat(word.valid for word in words).all()),
                         *(word.ready.eq(rows.valid & rows.ready) for word in words)]
        for n in range(self.array.size):
            word = getattr(self, f"c_{n}")
            m.d.comb += [word.payload.eq(array.c.payload[n]), word.valid.eq(array.c.valid)]
        return m


def run(bench: Bench, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """The products of tiles, and the cycles from the command to the last row of sums.

    a, b: whole numbers, (tiles, rows, size) and (tiles, size, size). The memory around gives a row of each in every cycle.
    """
    tiles, rows, size = a.shape
    words = {f"{name}_{n}": (of[:, :, n].reshape(-1) % 256).tolist() for name, of in (("a", a), ("b", b[:, ::-1]))
             for n in range(size)}
    found = bench.run({"command": [rows | tiles << COUNT_BITS], **words}, idle=4 * size,
                      max_cycles=4 * size * tiles * (rows + size))
    assert not found.left, f"words are left at {', '.join(found.left)}"
    sums = np.stack([np.array(found.outputs[f"c_{n}"], np.uint32).astype(np.int32) for n in range(size)], axis=-1)
    return sums.reshape(tiles, rows, size), found.cycles


def _delayed(m: Module, value: Any, cycles: int, name: str, reset_less: bool = False) -> Any:
    """A value of some cycles ago."""
    for n in range(cycles):
        later = Signal.like(value, name=f"{name}_after_{n + 1}", reset_less=reset_less)
        m.d.sync += later.eq(value)
        value = later
    return value
