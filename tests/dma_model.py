"""A device without an array: its load and store DMAs walk loops as registers say, and between them is the graph of PEs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product

import numpy as np

from sardonyx.compiler.dense.map.grid import Walk
from sardonyx.compiler.ir.program import STATIC, Program
from sardonyx.compiler.ir.transfer import Transfer, region
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.soc import FINISHED, glb_registers, named
from sardonyx.runtime import host
from sardonyx.runtime.host import Outcome
from sardonyx.runtime.works import Transaction
from sardonyx.sim.model.walked import run_walk

# What memory holds where nothing was written.
NOTHING = 0xDEAD


def program_of(walk: Walk, arch: Arch) -> Program:
    """A program with the streams of a walk, a load and a store in each GLB tile as long as there are any; of no tiles."""
    def of(direction: str, counts: dict[str, int]) -> Iterator[Transfer]:
        for tile, (name, count) in enumerate(counts.items()):
            yield Transfer(name, direction, tile * arch.glb.columns_per_tile, *region(direction, arch.glb), loops=((count, 1),))

    loads = of("load", {each.name: walk.grid.points for each in walk.loads})
    stores = of("store", {each.name: int(np.prod(each.counts)) for each in walk.stores})
    return Program(arch.fingerprint, STATIC, {}, {}, (*loads, *stores))


def addresses(extents: Sequence[int], strides: Sequence[int], first: int) -> Iterator[int]:
    """Those of a loop nest, innermost loop first, whose strides are added where the loops inside have ended."""
    address = first
    for places in product(*(range(count) for count in extents[::-1])):
        yield address
        ended = [at + 1 == count for at, count in zip(places[::-1], extents, strict=True)]
        if False in ended:
            address += strides[ended.index(False)]


class DmaModel:
    """Runs the static program of `program_of`.

    Parameters
    ----------
    arch : Arch
    walk : Walk        What the array computes.
    """

    def __init__(self, arch: Arch, walk: Walk) -> None:
        self.arch, self.walk, self.program = arch, walk, program_of(walk, arch)
        self.memory = np.full(arch.glb_tiles * arch.glb.tile_bytes // 2, NOTHING, np.uint16)
        self.registers: dict[tuple[str, int | None], int] = {
            ("fingerprint_high", None): arch.fingerprint >> 32, ("fingerprint_low", None): arch.fingerprint & 0xFFFFFFFF}

    def write_register(self, name: str, value: int, glb_tile: "int | None" = None, region: int = 0) -> None:
        self.registers[name, glb_tile] = value
        if name == "control":
            self._run()

    def read_register(self, name: str, glb_tile: "int | None" = None, region: int = 0) -> int:
        return self.registers[name, glb_tile]

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        raise AssertionError("it has no array")

    def read_configuration(self, address: int) -> int:
        raise AssertionError("it has no array")

    def write_memory(self, address: int, words: np.ndarray) -> None:
        assert address % 8 == 0
        self.memory[address // 2:address // 2 + len(words)] = words

    def read_memory(self, address: int, count: int) -> np.ndarray:
        assert address % 8 == 0
        return self.memory[address // 2:address // 2 + count].copy()

    def wait(self, limit: int) -> bool:
        return True

    def _run(self) -> None:
        runs = self.registers["runs", None] + 1
        read = {each.name: self._words(each, runs) for each in self.program.loads}
        write = {each.name: self._words(each, runs) for each in self.program.stores}
        tiles = run_walk(self.walk, ({name: self.memory[places] for name, places in zip(read, each, strict=True)}
                                     for each in zip(*read.values(), strict=True)))
        for found, each in zip(tiles, zip(*write.values(), strict=True), strict=True):
            for (name, places) in zip(write, each, strict=True):
                self.memory[places] = found[name]
        self.registers |= {("status", None): 1 << FINISHED, ("cycles", None): runs * self.walk.grid.points}

    def _words(self, each: Transfer, runs: int) -> "list[np.ndarray]":
        """Of every run, the words of memory that a DMA walks; all in the banks of its direction."""
        tile, unit = each.column // self.arch.glb.columns_per_tile, each.direction
        levels = range(getattr(self.arch.glb, f"{unit}_loops"))
        extents, strides = ([self.registers.get((f"{unit}_{what}{level}", tile), 0) for level in levels]
                            for what in ("extent", "stride"))
        control = named(glb_registers(self.arch.glb))[f"{unit}_control"]
        assert self.registers[f"{unit}_control", tile] == control.word(
            enable=1, sliced=int(runs > 1), **({"static": 1} if unit == "store" else {}))
        walked = addresses([each + 1 for each in extents], strides, self.registers[f"{unit}_start", tile])
        found = [np.array([*islice(walked, each.count)]) for _ in range(runs)]
        assert next(walked, None) is None, "loops end with the last run"
        glb = self.arch.glb
        alone = sum(other.column // glb.columns_per_tile == tile for other in (*self.program.loads, *self.program.stores)) == 1
        begins = [bank * glb.bank_bytes for bank in (range(glb.banks) if alone else [each.bank])]
        assert all(any(begin <= min(places) and max(places) < begin + 2 * each.room for begin in begins) for places in found)
        assert not any(any(places % 2) for places in found)
        if unit == "store":
            assert self.registers["store_limit", tile] == runs * each.count
        return [(places + tile * self.arch.glb.tile_bytes) // 2 for places in found]


def run_model(arch: Arch, walk: Walk, transactions: Iterable[Transaction]) -> "list[Outcome]":
    """What the launches of transactions give."""
    device = DmaModel(arch, walk)
    return list(host.run(device, device.program, transactions, prepared=True))
