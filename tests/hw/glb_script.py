"""A GLB tile that obeys a script of commands, as a host gives them, and the meaning of its DMAs in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import strategies as st
from nests import Nest

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.sim.rtl.bench import Bench, Case, Result

GLB = Glb(columns_per_tile=2, banks=2, bank_bytes=512, load_loops=4, store_loops=3, queue=True)
# Banks of one SRAM and of several, with each latency.
QUEUES = (GLB, replace(GLB, read_latency=2, bank_macros=2), replace(GLB, read_latency=3, bank_macros=4))
GLBS = (*QUEUES, replace(GLB, read_latency=2, queue=False))


def shown(glb: Glb) -> str:
    return f"latency {glb.read_latency}{'' if glb.queue else ' without queue'}"


EACH_LATENCY = pytest.mark.parametrize("glb", GLBS, ids=shown)
EACH_QUEUE = pytest.mark.parametrize("glb", QUEUES, ids=shown)
LINES = GLB.tile_bytes // 8
WORDS = GLB.tile_bytes // 2
TABLE = named(glb_registers(GLB))
LEVELS = {"load": GLB.load_loops, "store": GLB.store_loops}
UNITS = tuple(LEVELS)
REGISTERS = [register.name for register in glb_registers(GLB)]
REGISTER, WRITE, READ, SHOW, START, STOP, WAIT, POLL, AGAIN, ENDS = range(10)
# `index` and `line` count on through the tiles of a chain.
COMMAND = data.StructLayout({"op": 4, "index": 9, "value": 32, "line": 10, "strobe": 8})
# Scripts are of hundreds of commands, and `COMMAND.const` makes an object of Amaranth of each field of each.
PLACES = {name: (field.offset, field.width) for name, field in COMMAND}


@functools.cache
def register_names(glb: Glb) -> list[str]:
    """The registers of a tile in their order; to make their descriptions takes longer than to script a run."""
    return [register.name for register in glb_registers(glb)]


class Scripted(wiring.Component):
    """A GLB tile, or several as one (`glb_chain`), that obeys a stream of commands: one register or host access, start, of a
    first or a further run, stop, or wait until not busy, or until bits of a register are 0, or tell how often each unit has
    ended.

    `data` gives the words to write; `word` shows the words and registers read, and ends of loads, and of stores times 2^16.
    """

    module_name = "scripted"

    def __init__(self, glb: Glb, tile: wiring.Component | None = None) -> None:
        self.glb, self.tile = glb, tile or GlbTile(glb)
        members = self.tile.signature.members
        links = {name: member for name, member in members.items() if name.startswith(("g2f", "f2g"))}
        self.links = tuple(links)
        self.told = tuple(name for name in ("busy", "beyond", "lost", "strays") if name in members)
        super().__init__({"command": In(stream.Signature(COMMAND)), "data": In(stream.Signature(64)),
                          "word": Out(stream.Signature(64)), **links, **{name: Out(1) for name in self.told}})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.tile = tile = macro(self.tile)
        for name in self.links:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(tile, name))
        command, asked, reading, full = self.command.payload, self.command.valid, Signal(self.glb.read_latency), Signal()
        free = ~reading.any() & ~full
        m.d.sync += reading.eq(reading << 1)
        m.d.comb += [tile.register_index.eq(command.index), tile.register_data.eq(command.value),
                     tile.host_read_line.eq(command.line), tile.host_write_line.eq(command.line),
                     tile.host_write_strobe.eq(command.strobe), tile.host_write_data.eq(self.data.payload),
                     *(getattr(self, name).eq(getattr(tile, name)) for name in self.told), self.word.valid.eq(full)]
        ends = [Signal(16, name=f"{unit}s") for unit in UNITS]
        m.d.sync += [count.eq(count + getattr(tile, f"{unit}_ends")) for unit, count in zip(UNITS, ends)]
        with m.If(reading[-1]):
            m.d.sync += [self.word.payload.eq(tile.host_read_word), full.eq(1)]
        with m.If(full & self.word.ready):
            m.d.sync += full.eq(0)
        with m.Switch(command.op):
            with m.Case(REGISTER):
                m.d.comb += [self.command.ready.eq(1), tile.register_write.eq(asked)]
            with m.Case(WRITE):
                m.d.comb += [tile.host_write_valid.eq(asked & self.data.valid), self.data.ready.eq(self.command.ready),
                             self.command.ready.eq(tile.host_write_valid & tile.host_write_ready)]
            with m.Case(READ):
                m.d.comb += [tile.host_read_valid.eq(asked & free),
                             self.command.ready.eq(tile.host_read_valid & tile.host_read_ready)]
                m.d.sync += reading[0].eq(self.command.ready)
            with m.Case(SHOW):
                m.d.comb += self.command.ready.eq(free)
                with m.If(asked & free):
                    m.d.sync += [full.eq(1), self.word.payload.eq(tile.register_value)]
            with m.Case(ENDS):
                m.d.comb += self.command.ready.eq(free)
                with m.If(asked & free):
                    m.d.sync += [full.eq(1), self.word.payload.eq(Cat(ends))]
            with m.Case(START):
                m.d.comb += [self.command.ready.eq(1), tile.start.eq(asked)]
            with m.Case(AGAIN):
                m.d.comb += [self.command.ready.eq(1), tile.start.eq(asked), tile.again.eq(asked)]
            with m.Case(STOP):
                m.d.comb += [self.command.ready.eq(1), tile.stop.eq(asked)]
            with m.Case(WAIT):
                m.d.comb += self.command.ready.eq(Mux(asked, ~tile.busy, 0))
            with m.Case(POLL):
                m.d.comb += self.command.ready.eq((tile.register_value & command.value) == 0)
        return m


def command(op: int, **fields: int) -> int:
    """The word of a command."""
    word = 0
    for name, value in (("op", op), *fields.items()):
        lowest, width = PLACES[name]
        assert 0 <= value < 1 << width, f"{name} of a command has {width} bits"
        word |= value << lowest
    return word


@functools.cache
def bench(glb: Glb, tile: Callable[[Glb], wiring.Component] = GlbTile) -> Bench:
    return Bench(Scripted(glb, tile(glb)))


class Script:
    """Commands, with the words that go with them.

    tile: makes what obeys them; tiles: how many it consists of.
    """

    def __init__(self, contents: np.ndarray | None = None, glb: Glb = GLB, tiles: int = 1,
                 tile: Callable[[Glb], wiring.Component] = GlbTile) -> None:
        self.glb, self.lines, self.tile = glb, tiles * glb.tile_bytes // 8, tile
        self.names = register_names(glb)
        self.commands: list[int] = []
        self.data: list[int] = []
        if contents is not None:
            for line, word in enumerate(contents.view("<u8").tolist()):
                self.write(line, word)

    def add(self, op: int, **fields: int) -> None:
        self.commands.append(command(op, **fields))

    def write(self, line: int, word: int, strobe: int = 0xFF) -> None:
        self.add(WRITE, line=line, strobe=strobe)
        self.data.append(word)

    def registers(self, at: int = 0, **values: int) -> None:
        """at: the tile."""
        for name, value in values.items():
            self.add(REGISTER, index=at << 6 | self.names.index(name), value=value & 0xFFFFFFFF)

    def show(self, name: str) -> None:
        self.add(SHOW, index=self.names.index(name))

    def dump(self) -> None:
        """Read the whole memory."""
        for line in range(self.lines):
            self.add(READ, line=line)

    def load(self, nest: Nest, column: int = 0, sliced: bool = False) -> None:
        self.registers(load_control=1 | sliced << 4 | column << 8, load_start=nest.start, **loops("load", nest, GLB.load_loops))

    def store(self, nest: Nest, column: int = 0, limit: int = WORDS, sliced: bool = False) -> None:
        self.registers(store_control=3 | sliced << 4 | column << 8, store_start=nest.start, store_limit=limit,
                       **loops("store", nest, GLB.store_loops))

    def store_sections(self, sections: int, start: int, column: int = 0, limit: int = WORDS) -> None:
        self.registers(store_control=1 | column << 8, store_start=start, store_limit=limit, store_sections=sections)

    def store_static(self, nest: Nest, column: int = 0, limit: int = WORDS, sliced: bool = False) -> None:
        self.registers(store_start=nest.start, store_limit=limit, **loops("store", nest, GLB.store_loops),
                       store_control=5 | sliced << 4 | column << 8)

    def case(self, stalls: int | None = None, **streams: Sequence[int]) -> Case:
        return Case({"command": self.commands, "data": self.data, **streams}, stalls=stalls)

    def run(self, stalls: int | None = None, **streams: Sequence[int]) -> Result:
        """Run, and check that all commands were done."""
        result = bench(self.glb, self.tile).run_many([self.case(stalls, **streams)])[0]
        assert not result.left.keys() & {"command", "data"}, f"{result.left} are left"
        return result


def loops(name: str, nest: Nest, levels: int) -> dict[str, int]:
    return {f"{name}_{part}{level}": value for level, pair in enumerate(nest.registers(levels))
            for part, value in zip(("extent", "stride"), pair, strict=True)}


def linear(start: int, words: int) -> Nest:
    return Nest((words,), (2,), start)


def random_words(seed: int, count: int = WORDS) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 16, count).astype("<u2")


def loaded(contents: np.ndarray, nest: Nest) -> list[int]:
    return contents[nest.addresses(contents.nbytes) // 2].tolist()


def stored(contents: np.ndarray, nest: Nest, words: Sequence[int]) -> np.ndarray:
    after = contents.copy()
    for address, word in zip(nest.addresses(contents.nbytes) // 2, words, strict=True):
        after[address] = word
    return after


def memory(words: Sequence[int]) -> np.ndarray:
    """The 16-bit words of a dump."""
    return np.array(words, "<u8").view("<u2")


@dataclass(frozen=True)
class Descriptor:
    """A loop nest that runs `repeat` times more; or sections of these lengths in each of the runs, from the nest's start on."""

    nest: Nest
    repeat: int = 0
    column: int = 0
    sections: tuple[tuple[int, ...], ...] = ()
    static: bool = False

    @property
    def counts(self) -> list[int]:
        """The words of each run."""
        return [len(run) + sum(run) for run in self.sections] or [self.nest.size] * (self.repeat + 1)

    @property
    def words(self) -> int:
        return sum(self.counts)


def arm(script: Script, unit: str, each: Descriptor, sliced: bool = False) -> None:
    """Write all registers of a unit, the one that queues them last."""
    script.registers(**{f"{unit}_start": each.nest.start}, **loops(unit, each.nest, LEVELS[unit]))
    control = {"enable": 1, "queued": 1, "sliced": sliced, "repeat": each.repeat, "column": each.column}
    if unit == "store":
        script.registers(store_limit=max(each.counts), store_sections=len(each.sections[0]) if each.sections else 9)
        control |= {"static": each.static, "affine": not each.sections and not each.static}
    script.registers(**{f"{unit}_control": TABLE[f"{unit}_control"].word(**control)})


SEEDS, STALLS, COLUMNS = st.integers(0, 99), st.none() | st.integers(1, 99), st.integers(0, 1)
