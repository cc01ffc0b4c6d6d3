"""The memory of a core is filled by the commands that say so, each once, and its words lie one behind the other."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from prover import Verdict, always, prove, reachable
from test_buffers import Between

from sardonyx.hw.arch import command
from sardonyx.hw.spatial.command.word import WORD
from sardonyx.hw.spatial.system import WORD_BYTES, Boot

RAM_BYTES, STREAM = 1 << 10, 3
WORDS = RAM_BYTES // WORD_BYTES
# Of the documents of commands: from memory, at address 0, to the stream, as many words as there are, one behind the other.
COMMANDS = (("set_src_and_dst", command.region(command.MEMORY), command.region(command.BUFFER, STREAM)),
            ("set_constant", command.ELEMENT, WORD_BYTES.bit_length() - 1), ("set_span", command.BOTH, WORDS),
            ("set_data_stride", command.SOURCE, 1), ("issue", 0, 0))


class Filled(Between):
    """What is told and written since reset, or since the last request ended."""

    def __init__(self, part: "type[Boot]" = Boot) -> None:
        super().__init__(part(RAM_BYTES, STREAM), {"step": ("part.step", 3)}, settled=False)

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = self.made
        probe: Any = self
        told, at, filled = Signal(range(len(COMMANDS) + 1)), Signal(range(WORDS)), Signal()
        m.d.sync += [told.eq(told + (part.o.valid & part.o.ready)), filled.eq(filled | (part.over & ~part.failed)),
                     at.eq(Mux(part.over, 0, at + (part.i.valid & part.i.ready)))]
        wanted: Any = data.View(WORD, Array(
            WORD.const({"number": command.BY_NAME[name].number, "rs1": rs1, "rs2": rs2}).as_value()
            for name, rs1, rs2 in COMMANDS)[told])
        always(m, "commands are told until all are", part.o.valid == (told < len(COMMANDS)))
        always(m, "each is told in its turn", ~part.o.valid | (part.o.payload.as_value() == wanted.as_value()))
        always(m, "no word waits", part.i.ready & (part.write == part.i.valid))
        always(m, "words lie one behind the other", part.at == at)
        always(m, "the core begins when all was brought", part.filled == filled)
        always(m, "it is known what was told", (probe.step == told) & (told <= len(COMMANDS)))
        reachable(m, "all are told", told == len(COMMANDS))


def test_memory_is_filled_by_its_commands(tmp_path: Path) -> None:
    assert prove(Filled(), tmp_path) == Verdict(True)


class Hasty(Boot):
    """The core begins when its memory could not be filled."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        with m.If(self.over):
            m.d.sync += self.filled.eq(1)
        return m


class Anew(Boot):
    """All is told again and again."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.valid.eq(1)
        return m


class Skipping(Boot):
    """A word that comes while a request ends lies where the next one should."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        with m.If(self.over & self.i.valid):
            m.d.sync += self.at.eq(1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("broken,claim", [
    (Hasty, "the core begins when all was brought"), (Anew, "commands are told until all are"),
    (Skipping, "words lie one behind the other")])
def test_memory_that_is_filled_otherwise_is_found(broken: "type[Boot]", claim: str, tmp_path: Path) -> None:
    assert prove(Filled(broken), tmp_path, bound=8, only=claim).failed == (claim,)
