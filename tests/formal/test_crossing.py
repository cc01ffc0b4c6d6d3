"""The crossing of clocks loses, doubles and reorders no word, whenever the edges of both clocks come, and resets in between.

A step of a proof is an instant, at whose end each clock has an edge or has none, in any order (`Harness.ticks`). A register
that takes a signal of the other clock may see each bit as it is or as it was an instant ago, for itself: edges that are close
to each other, wires of different length, a register that falls either way. A word that was written an instant ago may be
anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, Elaboratable, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib.wiring import In, Out
from chains import keeps_contract, number_words
from prover import Harness, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.emit import Clock, macro
from sardonyx.hw.soc import crossing
from sardonyx.hw.soc.crossing import COUNT_BITS, DEPTH, Entrance, Exit, HostSide, MachineSide, between_members

# Numbers of words; as in `chains`, control does not read words, so that these stand for all.
BITS = COUNT_BITS
# A bus of a channel each way, by the side that its words enter and the other one.
CHANNELS = (("w", "host", "machine"), ("b", "machine", "host"))
NARROW_WORDS = {"w": "wdata", "b": "bid"}
NARROW = {"s_axi_wdata": In(BITS), "s_axi_wvalid": In(1), "s_axi_wready": Out(1),
          "s_axi_bid": Out(BITS), "s_axi_bvalid": Out(1), "s_axi_bready": In(1)}


def ticking(m: Module, name: str) -> Signal:
    """A domain whose clock has edges when it likes, and the signal of those."""
    ticks = free(m, 1, f"{name}_ticks")
    m.domains += ClockDomain(name, local=True, reset_less=True)
    m.d.comb += ClockSignal(name).eq(ticks)
    return ticks


def before(m: Module, value: Value, name: str, init: int = 0) -> Signal:
    """A value an instant ago; init: what it begins with."""
    kept = Signal(len(value), name=name, init=init, reset_less=True)
    m.d.sync += kept.eq(value)
    return kept


def seen(m: Module, value: Value, kept: Value, name: str) -> Value:
    """What the other clock sees of a value: of each bit what it is or what it was."""
    which = free(m, len(value), f"{name}_which")
    return (value & which) | (kept & ~which)


def seen_word(m: Module, word: Value, address: Value, row: Value, enters: Value, name: str) -> Value:
    """What the other clock sees of a word."""
    written = before(m, enters, f"{name}_written") & (before(m, row, f"{name}_row") == address)
    return Mux(written, free(m, len(word), f"{name}_any"), word)


def decoded(code: Value) -> Value:
    """The count of a Gray code."""
    bits = [code[n:].xor() for n in range(len(code))]
    return sum((bit << n for n, bit in enumerate(bits)), start=Const(0, len(code)))[:len(code)]


class Pair(Harness):
    """The halves of a FIFO, with the invariants that induction needs."""

    ticks = True

    def __init__(self) -> None:
        wires = {"count_in": ("entrance.count", BITS), "count_out": ("exit.count", BITS),
                 "left_0": ("entrance.left_sync.stage0", BITS), "left_1": ("entrance.left_sync.stage1", BITS),
                 "entered_0": ("exit.entered_sync.stage0", BITS), "entered_1": ("exit.entered_sync.stage1", BITS)}
        wires |= {f"row_{n}": (f"entrance.storage[{n}]", BITS) for n in range(DEPTH)}
        super().__init__(wires)

    def build(self, m: Module) -> None:
        ticks = {name: ticking(m, name) for name in ("inner", "outer")}
        m.submodules.entrance = entrance = macro(Entrance(BITS), reset=Const(0), clock=Clock(Const(1), ticks["inner"]))
        m.submodules.exit = leave = macro(Exit(BITS), reset=Const(0), clock=Clock(Const(1), ticks["outer"]))
        sent, got = number_words(m, "sent", entrance.i, "inner"), number_words(m, "got", leave.o, "outer")
        enters = entrance.i.valid & entrance.i.ready & ticks["inner"]
        entered, left = before(m, entrance.entered, "entered_before"), before(m, leave.left, "left_before")
        m.d.comb += [
            entrance.i.valid.eq(free(m, 1, "offer")), entrance.i.payload.eq(sent), leave.o.ready.eq(free(m, 1, "accept")),
            leave.entered.eq(seen(m, entrance.entered, entered, "entered")),
            entrance.left.eq(seen(m, leave.left, left, "left")), entrance.address.eq(leave.address),
            leave.word.eq(seen_word(m, entrance.word, leave.address, sent[:BITS - 1], enters, "word")),
        ]
        always(m, "in order", ~leave.o.valid | (leave.o.payload == got))
        keeps_contract(m, "o", leave.o, domain="outer")
        reachable(m, "a word leaves a full FIFO that was full before",
                  leave.o.valid & leave.o.ready & (got == 1) & ~entrance.i.ready)
        self._inside(m, sent, got, decoded(entered), decoded(left), entrance, leave)

    def _inside(self, m: Module, sent: Signal, got: Signal, entered: Value, left: Value, entrance: Any, leave: Any) -> None:
        """What holds of the registers."""
        always(m, "counts are numbers", (self.count_in == sent) & (self.count_out == got))
        always(m, "counts are told", (decoded(entrance.entered) == sent) & (decoded(leave.left) == got))
        known = [decoded(self.entered_1), decoded(self.entered_0), entered, sent]
        gone = [got, left, decoded(self.left_0), decoded(self.left_1)]
        rows = [getattr(self, f"row_{n}") for n in range(DEPTH)]
        for name, fact in facts(known, gone, leave.o.payload, rows):
            always(m, name, fact)


def facts(known: Sequence[Value], gone: Sequence[Value], taken: Value, rows: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    """What holds in a FIFO.

    known: the counts of words that entered, the last as they are and before it as the other clock comes to know of them. gone:
    of those that left, the first as they are. taken: the word at the exit.
    """
    sent, got = known[-1], gone[0]
    held = (sent - got)[:BITS]
    yield "no more than there is room for", held <= DEPTH
    yield "one step an instant", ((sent - known[-2])[:BITS] <= 1) & ((got - gone[1])[:BITS] <= 1)
    for n in range(len(known) - 1):
        yield f"{n} of known words", (known[n] - got)[:BITS] <= (known[n + 1] - got)[:BITS]
        yield f"{n} of gone words", (sent - gone[n])[:BITS] <= (sent - gone[n + 1])[:BITS]
    yield "room is never more than there is", (sent - gone[-1])[:BITS] <= DEPTH
    yield "the word that is offered is the next", (known[0] == got) | (taken == got)
    for n, row in enumerate(rows):
        ahead = (n - got)[:BITS - 1]
        yield f"row {n}", (ahead >= held) | (row == (got + ahead)[:BITS])


class Both(Harness):
    """Both sides, with one channel each way, and resets of the host in any instant: numbers begin anew where a side is reset.

    host: a class in place of `HostSide`.
    """

    ticks = True

    def __init__(self, host: type[HostSide] = HostSide) -> None:
        self.host = host
        wires = {"pending": ("host.pending", 1), "there_0": ("host.there_sync.stage0", 1),
                 "there": ("host.there_sync.stage1", 1), "asked_0": ("machine.reset_sync.stage0", 1)}
        for channel, inner, outer in CHANNELS:
            enters, leaves = f"{inner}.axi_{channel}", f"{outer}.axi_{channel}"
            inside = {"count_in": f"{enters}.count", "count_out": f"{leaves}.count", "taken": f"{leaves}.o__payload",
                      "left_0": f"{enters}.left_sync.stage0", "left_1": f"{enters}.left_sync.stage1",
                      "entered_0": f"{leaves}.entered_sync.stage0", "entered_1": f"{leaves}.entered_sync.stage1",
                      **{f"row_{n}": f"{enters}.storage[{n}]" for n in range(DEPTH)}}
            wires |= {f"{channel}_{name}": (wire, BITS) for name, wire in inside.items()}
        super().__init__(wires)

    def build(self, m: Module) -> None:
        ticks = {name: ticking(m, name) for name in ("host", "machine")}
        reset = free(m, 1, "reset")
        m.submodules.host = host = macro(self.host(NARROW), reset=reset, clock=Clock(Const(1), ticks["host"]))
        m.submodules.machine = machine = macro(MachineSide(NARROW), clock=Clock(Const(1), ticks["machine"]))
        sides, resets = {"host": host, "machine": machine}, {"host": reset, "machine": machine.reset}
        # What goes between the sides, and what it was before. Both begin in reset.
        kept = {}
        for name, member in between_members(NARROW).items():
            source, sink = (host, machine) if member.flow is Out else (machine, host)
            value = getattr(source, name)
            if name.endswith("address"):
                m.d.comb += getattr(sink, name).eq(value)
            elif not name.endswith("word"):
                kept[name] = before(m, value, f"{name}_before", int(name.startswith("reset")))
                m.d.comb += getattr(sink, name).eq(seen(m, value, kept[name], name))
        numbers = {(side, channel): Signal(BITS, name=f"{side}_{channel}") for channel, *ends in CHANNELS for side in ends}
        for channel, inner, outer in CHANNELS:
            word = {side: Value.cast(getattr(each, f"s_axi_{NARROW_WORDS[channel]}")) for side, each in sides.items()}
            passes = {}
            for side, each in sides.items():
                valid, ready = (getattr(each, f"s_axi_{channel}{part}") for part in ("valid", "ready"))
                m.d.comb += (valid if side == inner else ready).eq(free(m, 1, f"{side}_{channel}_likes"))
                passes[side] = valid & ready
                always(m, f"{channel} rests in reset of the {side}", ~(resets[side] & passes[side]))
                number = numbers[side, channel]
                with m.If(resets[side]):
                    m.d[side] += number.eq(0)
                with m.Elif(passes[side]):
                    m.d[side] += number.eq(number + 1)
            m.d.comb += word[inner].eq(numbers[inner, channel])
            always(m, f"{channel} in order", ~passes[outer] | (word[outer] == numbers[outer, channel]))
            m.d.comb += getattr(sides[outer], f"axi_{channel}_word").eq(seen_word(
                m, getattr(sides[inner], f"axi_{channel}_word"), getattr(sides[outer], f"axi_{channel}_address"),
                numbers[inner, channel][:BITS - 1], passes[inner] & ticks[inner], channel))
            self._inside(m, channel, sides, kept, numbers, inner)
        self._handshake(m, host, machine, kept)
        again = Signal(reset_less=True)
        with m.If(reset & ticks["host"] & (numbers["machine", "w"] != 0)):
            m.d.sync += again.eq(1)
        reachable(m, "words pass again after a reset", again & (numbers["host", "b"] == 1) & (numbers["machine", "w"] == 1))

    def _handshake(self, m: Module, host: Any, machine: Any, kept: Mapping[str, Signal]) -> None:
        """What is asked for goes around as a wave, and the next follows when it is back."""
        wave = Cat(host.reset_asked, kept["reset_asked"], self.asked_0, machine.reset, kept["reset_there"], self.there_0,
                   self.there)
        steps = wave[1:] ^ wave[:-1]
        always(m, "there is one wave", (steps & (steps - 1)[:len(steps)]) == 0)
        always(m, "nothing is asked for without need", self.pending | ~host.reset_asked)

    def _inside(self, m: Module, channel: str, sides: Mapping[str, Any], kept: Mapping[str, Signal],
                numbers: Mapping[tuple[str, str], Signal], inner: str) -> None:
        """What holds of the registers of a channel."""
        count_in, count_out, taken, left_0, left_1, entered_0, entered_1 = (getattr(self, f"{channel}_{name}") for name in (
            "count_in", "count_out", "taken", "left_0", "left_1", "entered_0", "entered_1"))
        entered, left = (kept[f"axi_{channel}_{name}"] for name in ("entered", "left"))
        for side, count in ((inner, count_in), ({"host": "machine", "machine": "host"}[inner], count_out)):
            told = getattr(sides[side], f"axi_{channel}_{'entered' if side == inner else 'left'}")
            own = [count, left_0, left_1] if side == inner else [count, entered_0, entered_1]
            empty = ~Cat(own).any()
            number = numbers[side, channel]
            always(m, f"{channel} counts of the {side} are told", decoded(told) == count)
            if side == "machine":
                always(m, f"{channel} counts of the machine are numbers", number == count)
                always(m, f"{channel} of the machine is empty after its reset",
                       ~(kept["reset_there"] & ~sides["machine"].reset) | empty)
            else:
                always(m, f"{channel} counts of the host are numbers", number == Mux(self.pending, 0, count))
                emptied = self.there & ~sides["host"].reset_asked
                always(m, f"{channel} of the host is empty in the machine's reset", ~emptied | empty)
                always(m, f"{channel} of the host is seen to be empty then",
                       ~(emptied & ~kept["reset_asked"]) | ((entered if side == inner else left) == 0))
        known, gone = [entered_1, entered_0, entered], [left, left_0, left_1]
        runs = ~sides["machine"].reset & ~kept["reset_there"]
        for name, fact in facts([*map(decoded, known), count_in], [count_out, *map(decoded, gone)], taken,
                                [getattr(self, f"{channel}_row_{n}") for n in range(DEPTH)]):
            always(m, f"{channel} {name}", ~runs | fact)


class Hasty(HostSide):
    """A host's side whose channels go on when its own reset ends."""

    def _halves(self, m: Module, reset: Value, held: Value) -> None:
        super()._halves(m, reset, ResetSignal())


class OneRegister(Elaboratable):
    """In place of a synchroniser: one register only."""

    def __init__(self, i: Value, o: Value, *, init: int = 0, reset_less: bool = True) -> None:
        self.i, self.o, self.init, self.reset_less = i, o, init, reset_less

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stage0 = Signal(len(self.i), init=self.init, reset_less=self.reset_less)
        m.d.sync += stage0.eq(self.i)
        m.d.comb += self.o.eq(stage0)
        return m


class Outside(Pair):
    """Without what speaks of registers inside, for halves with other ones."""

    def __init__(self) -> None:
        Harness.__init__(self)

    def _inside(self, *_: object) -> None:
        pass


def test_words_leave_in_their_order_whenever_the_edges_come(tmp_path: Path) -> None:
    # What the registers of the instant before held is told by that instant only.
    assert prove(Pair(), tmp_path, k=2) == Verdict(True)


def test_a_fifo_fills_and_goes_on(tmp_path: Path) -> None:
    assert cover(Outside(), tmp_path, 3 * DEPTH)


def test_words_leave_in_their_order_with_resets_in_between(tmp_path: Path) -> None:
    assert prove(Both(), tmp_path, k=2) == Verdict(True)


def test_words_pass_again_after_a_reset(tmp_path: Path) -> None:
    assert cover(Both(), tmp_path, 3 * DEPTH)


@pytest.mark.parametrize("found", ["w in order", "b in order"])
def test_a_host_that_does_not_wait_for_the_machine_is_found(found: str, tmp_path: Path) -> None:
    assert prove(Both(Hasty), tmp_path, bound=14, only=found).failed == (found,)


def test_counts_that_are_not_gray_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "gray", lambda count: count)
    monkeypatch.setattr(crossing, "APART", DEPTH)
    # A count that was never there makes an offer go away, which buses forbid.
    assert prove(Outside(), tmp_path, bound=8, only="o is not retracted").failed == ("o is not retracted",)


def test_one_register_for_a_synchroniser_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "FFSynchronizer", OneRegister)
    assert prove(Outside(), tmp_path, bound=6, only="in order").failed == ("in order",)


def test_a_fifo_that_takes_one_word_too_many_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "APART", 0b1101)
    assert prove(Outside(), tmp_path, bound=3 * DEPTH, only="in order").failed == ("in order",)
