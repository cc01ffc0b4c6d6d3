"""A generated spatial array against one written by hand: how busy PEs are on the layers of a network, area, period.

Both are weight-stationary, int8 with results of 32 bits. The layers are the matrix products of ResNet-50 at batch 1, with an
eighth of their rows (M); the memory gives every port a word in each cycle and takes each result. Busy is a PE in a cycle in
which it does a product that the layer needs, counted from the first command to the last result. Partial sums over K are added
outside, where an accumulator would stand.

The same layers, with all rows, run on the accelerator `gemmini`, from memory to memory.

Source: Stellar VI-B and Fig. 16a, Table III: 90 % of Gemmini's utilisation, +13 % area in total, +26 % the array. In cells the
array by hand has as many bits of sums as the generated one, 20 for 16 terms, as Gemmini's has (`spatialArrayOutputType`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Value
from amaranth.lib.wiring import Component

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.apps.spatial.scnn import convolution
from sardonyx.flow.asic.array_energy import spent
from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.synthesis import Design, Registers, areas, netlist, read_design
from sardonyx.flow.asic.timing import least_period
from sardonyx.flow.baselines.weight_stationary import COUNT_BITS, WeightStationary, run
from sardonyx.hw import emit
from sardonyx.hw.arch.dma import LEAST_BUS
from sardonyx.hw.component import module_name
from sardonyx.hw.spatial.array.spatial_array import SpatialArray
from sardonyx.runtime.data.ports import collected, fed
from sardonyx.sim.spatial import run_rtl

SIZE, ROWS = 16, 49
# Rows at batch 1, columns, terms of a sum.
SHAPES = ((3136, 64, 64), (3136, 256, 64), (3136, 64, 256), (3136, 128, 256), (784, 512, 128), (784, 128, 512),
          (784, 256, 512), (196, 1024, 256), (196, 256, 1024), (196, 512, 1024), (49, 2048, 512), (49, 512, 2048),
          (1, 1000, 2048))
LESS = 8


@dataclass(frozen=True)
class Layer:
    """A product, and the cycles that it takes on the array written by hand and on the generated one."""

    shape: tuple[int, int, int]
    by_hand: int
    ours: int

    @property
    def useful(self) -> float:
        """Cycles if every PE was busy in each."""
        return float(np.prod(self.shape)) / SIZE**2


def design(size: int, rows: int, clock_gate: bool = False) -> sp.Design:
    """The array of the papers' comparison."""
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"),
                     sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": rows, "j": size, "k": size}, short=True,
                     clock_gate=clock_gate, name="weight_stationary")


def layers() -> Iterator[Layer]:
    """Every layer on both arrays, each sum checked."""
    spatial, bench, random = design(SIZE, ROWS).spatial, WeightStationary(SIZE).bench(), np.random.default_rng(0)
    for rows, columns, terms in ((ceil(rows / LESS), columns, terms) for rows, columns, terms in SHAPES):
        a, b = random.integers(-128, 128, (rows, terms)), random.integers(-128, 128, (terms, columns))
        wide = SIZE * ceil(columns / SIZE)
        weights = np.pad(b, ((0, 0), (0, wide - columns))).reshape(-1, SIZE, wide // SIZE, SIZE).swapaxes(1, 2)
        # A tile for each block of columns and of terms.
        tiles = weights.swapaxes(0, 1).reshape(-1, SIZE, SIZE)
        given = np.tile(a.reshape(rows, -1, SIZE).swapaxes(0, 1), (wide // SIZE, 1, 1))
        found, by_hand = run(bench, given, tiles)
        _check(found, a, b)
        # An operation of the generated array has up to `ROWS` rows.
        lengths = [ROWS] * (rows // ROWS) + [rows % ROWS] * (rows % ROWS > 0)
        parts = np.zeros((len(tiles), len(lengths), ROWS, SIZE), np.int64)
        for at, length in enumerate(lengths):
            parts[:, at, :length] = given[:, at * ROWS:at * ROWS + length]
        words = {"A": parts.reshape(-1, ROWS, SIZE), "B": np.repeat(tiles, len(lengths), axis=0)}
        ran = run_rtl(spatial, fed(spatial, words, lengths * len(tiles)), len(words["A"]))
        sums = collected(spatial, ran.outputs, len(words["A"]), lengths * len(tiles))["C"]
        _check(sums.reshape(len(tiles), -1, SIZE)[:, :rows], a, b)
        assert ran.cycles is not None, "Verilog has cycles"
        yield Layer((rows, columns, terms), by_hand, ran.cycles)


@dataclass(frozen=True)
class Whole:
    """A product from memory to memory, and the cycles of the array by hand, whose memory is always there."""

    shape: tuple[int, int, int]
    by_hand: int
    cycles: int

    @property
    def busy(self) -> float:
        """Of all PEs and cycles, from reset to the last word in memory."""
        return float(np.prod(self.shape)) / SIZE**2 / self.cycles


def from_memory_to_memory(measured: list[Layer], bus_bytes: int = LEAST_BUS) -> Iterator[Whole]:
    """Every layer with all of its rows on the accelerator `gemmini`, results stored as bytes, each compared; operands lie as
    words of the bus want them.

    The array by hand takes a row a cycle, and 16 cycles for a tile of fewer; what it takes besides is that of the layers that
    were measured.
    """
    def by_hand(rows: int, columns: int, terms: int) -> int:
        return max(rows, SIZE) * ceil(columns / SIZE) * ceil(terms / SIZE)

    more, = {each.by_hand - by_hand(*each.shape) for each in measured if each.shape[0] >= SIZE}
    accelerator, random = designs.design("gemmini").accelerator(ports=3, bus_bytes=bus_bytes), np.random.default_rng(0)
    for rows, columns, terms in SHAPES:
        a, b = random.integers(-128, 128, (rows, terms)), random.integers(-128, 128, (terms, columns))
        cycles = accelerator.product(a, b, stored=1, aligned=True).cycles
        assert cycles is not None, "Verilog has cycles"
        yield Whole((rows, columns, terms), by_hand(rows, columns, terms) + more, cycles)


@dataclass(frozen=True)
class Convolved:
    """A layer on four PEs with a tile each: its name, cycles of the slowest, and with an ideal crossbar, products."""

    name: str
    cycles: int
    ideal: int
    products: int

    @property
    def busy(self) -> float:
        """Of all multipliers and cycles."""
        return self.products / (4 * 16 * self.cycles)


def _layers() -> Iterator[tuple[str, sp.Design, np.ndarray, list[np.ndarray]]]:
    """Layers of AlexNet, of one of two groups of channels where it has these, with as many zeros: weights, and four tiles."""
    random = np.random.default_rng(0)
    for name, channels, tile, outputs, size, pixels, weights in (
            ("conv2", 48, 7, 128, 5, .865, .225), ("conv3", 256, 4, 384, 3, .53, .34), ("conv4", 192, 4, 192, 3, .39, .37),
            ("conv5", 192, 4, 128, 3, .43, .37)):
        design = convolution(channels, tile, outputs, size)
        image_of, weights_of = (each.shape for each in design.tensors)
        held = random.integers(-128, 128, weights_of) * (random.random(weights_of) < weights)
        yield name, design, held, [random.integers(-128, 128, image_of) * (random.random(image_of) < pixels) for _ in range(4)]


def sparse_layers() -> Iterator[Convolved]:
    """Layers on streams; every output compared."""
    for name, design, weights, images in _layers():
        reports: list[Mapping[str, Any]] = [design.run(image=image, weights=weights).report for image in images]
        cycles, ideal = (max(each[key] for each in reports) for key in ("cycles", "cycles_of_ideal_crossbar"))
        yield Convolved(name, cycles, ideal, sum(each["products"] for each in reports))


def sparse_layers_from_memory() -> Iterator[tuple[str, int, int]]:
    """Of every layer a tile from memory to memory, sums stored as bytes: its cycles, and those of an ideal crossbar on
    streams."""
    for name, design, weights, images in _layers():
        operands = {"image": images[0], "weights": weights}
        found = design.accelerator().compute(stored=1, **operands)
        assert found.cycles is not None, "Verilog has cycles"
        report: Mapping[str, Any] = design.run("tokens", **operands).report
        yield name, found.cycles, report["cycles_of_ideal_crossbar"]


def few_of_each_group() -> list[tuple[str, int, int]]:
    """Designs with N:M sparsity: their names, cycles of 20 operations, and those of the same array without the skip."""
    found = []
    for name in ("a100", "structured_2_4", "structured_4_8"):
        array = designs.design(name)
        operands = array.random(20)
        few, all_ = (each.run("tokens", **operands) for each in (array, replace(array, sparsity=())))
        assert np.array_equal(few.value, all_.value), "the results are the dense ones"
        assert few.cycles is not None and all_.cycles is not None, "arrays in step have cycles"
        found.append((name, few.cycles, all_.cycles))
    return found


def _check(found: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """The sums of tiles over their terms are the product."""
    sums = found.astype(np.int64).reshape(-1, a.shape[1] // SIZE, len(a), SIZE).sum(axis=1)
    assert np.array_equal(sums.swapaxes(0, 1).reshape(len(a), -1)[:, :b.shape[1]], a @ b), "the array's sums are not NumPy's"


# By hand with sums of 32 bits, by hand with as many as the generated array has, and generated.
Three = tuple[float, float, float]


@dataclass(frozen=True)
class Silicon:
    """um2 of the arrays with enables, with clock gates, and with one gate by which the generated one waits; and the shortest
    period in picoseconds: of small ones flat, and with each module mapped alone; of large ones so, too, with sums in the trees
    of their products, by enables, with clock gates and by that gate."""

    enables: Three
    gates: Three
    one_gate: Three
    period_ps: Three
    by_module_ps: Three
    large_ps: Three
    large_gates_ps: Three
    gated_ps: Three


def sides(size: int, clock_gate: bool = False) -> tuple[WeightStationary, WeightStationary, SpatialArray]:
    """By hand with sums of 32 bits, by hand with as many as the generated one has, and generated."""
    spatial = design(size, ROWS, clock_gate).spatial
    return WeightStationary(size), WeightStationary(size, sum_bits=spatial.bits["c"]), SpatialArray(spatial)


def silicon(library: Library, small: int = 4) -> Silicon:
    """The arrays in cells. Flat periods are those of `small` x `small`: a path leads from a PE to the next one in any size.
    abc optimises each PE of a large flat netlist less, and knows of a small one that its sums have few bits, but not where
    modules are mapped alone."""
    def um2(way: Registers, clock_gate: bool = False) -> Three:
        wide, narrow, ours = (areas(made, library, way)[made.top].total for made in map(emitted, sides(SIZE, clock_gate)))
        return wide, narrow, ours

    def ps(size: int, flat: bool, booth: bool, way: Registers = Registers.ENABLES, clock_gate: bool = False) -> Three:
        wide, narrow, ours = (least_period(made, netlist(made, library, way, flat, booth), library)
                              for made in map(emitted, sides(size, clock_gate)))
        return wide, narrow, ours

    return Silicon(um2(Registers.ENABLES), um2(Registers.GATES), um2(Registers.ENABLES, True),
                   ps(small, True, True), ps(small, False, True), ps(SIZE, False, False),
                   ps(SIZE, False, False, Registers.GATES), ps(SIZE, False, False, clock_gate=True))


def energy_per_mac(library: Library, size: int = 8, tiles: int = 4) -> Three:
    """Femtojoules of a product and its sum: the same tiles of random bytes, a word at every port in each cycle, in as many
    cycles."""
    random, spatial = np.random.default_rng(0), design(size, ROWS).spatial
    a, b = random.integers(-128, 128, (tiles, ROWS, size)), random.integers(-128, 128, (tiles, size, size))
    rows = {"command": [ROWS | tiles << COUNT_BITS], "a": _packed(a.reshape(-1, size)),
            "b": _packed(b[:, ::-1].reshape(-1, size))}
    words = fed(spatial, {"A": a, "B": b}, [ROWS] * tiles)
    cycles = tiles * ROWS + 4 * size

    def spent_by(component: Component, again: Component) -> float:
        given, sinks = (rows, ["c"]) if isinstance(component, WeightStationary) else (
            words, [port.name for port in spatial.outputs])
        benches = [*(_giver(getattr(component, name), each) for name, each in given.items()),
                   *(_taker(getattr(component, name)) for name in sinks)]
        return spent(component, emitted(again), benches, cycles, library) / (tiles * ROWS * size**2)

    # What is simulated is elaborated once, and what is emitted another time.
    wide, narrow, ours = map(spent_by, sides(size), sides(size))
    return wide, narrow, ours


def _packed(rows: np.ndarray) -> list[int]:
    """Each row of bytes as one word."""
    return [int.from_bytes(bytes(int(each) % 256 for each in row), "little") for row in rows]


def _giver(port: Any, words: Sequence[int]) -> Callable[[Any], Any]:
    async def gives(context: Any) -> None:
        for word in words:
            context.set(Value.cast(port.payload), int(word))
            context.set(port.valid, 1)
            await context.tick().until(port.ready)
        context.set(port.valid, 0)
    return gives


def _taker(port: Any) -> Callable[[Any], Any]:
    async def takes(context: Any) -> None:
        context.set(port.ready, 1)
    return takes


def emitted(component: Component) -> Design:
    with tempfile.TemporaryDirectory() as folder:
        emit.emit(component, Path(folder))
        return read_design(Path(folder), module_name(component))
