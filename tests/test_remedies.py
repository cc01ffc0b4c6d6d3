"""What is refused of a schedule names ways out, and each leads to a program that runs, at once or by what is refused next, in
Python and on the command line alike."""

import contextlib
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import Ints, cases, read

import sardonyx
from sardonyx.cli import main
from sardonyx.compiler.lang.program import Program, parse_program
from sardonyx.compiler.lang.schedule import Schedule, parse_schedule
from sardonyx.hw.arch.errors import UserError


@dataclass(frozen=True)
class Call:
    """A program, its schedule, the edge of all sub-tiles and the formats of tensors."""

    text: str
    schedule: Schedule
    tile: int | None = None
    formats: tuple[tuple[str, str], ...] = ()

    @property
    def program(self) -> Program:
        return parse_program(self.text)

    def refusal(self, data: dict[str, Ints]) -> UserError | None:
        try:
            sardonyx.einsum(self.text, schedule=self.schedule, tile=self.tile, formats=dict(self.formats), engine="golden",
                            arch="onyx", **data)
        except UserError as error:
            return error
        return None

    def told(self, data: dict[str, Ints]) -> str:
        """What the command line says; nothing where the program runs."""
        words = ["run", "einsum", self.text, "--engine", "golden", "--arch", "onyx", "--schedule", str(self.schedule)]
        words += ["--tile", str(self.tile)] if self.tile else []
        words += [word for name, form in self.formats for word in ("--format", f"{name}={form}")]
        said, shown = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
            for name, value in data.items():
                np.save(Path(folder) / f"{name}.npy", np.asarray(value))
                words += [f"--{name}", f"{folder}/{name}.npy"]
            return said.getvalue() if main(words) else ""

    def said(self, **changed: object) -> "Call":
        return replace(self, schedule=replace(self.schedule, **changed))

    def edged(self, edges: dict[str, int]) -> "Call":
        return replace(self.said(edges=edges), tile=None)

    def unfused(self, names: str) -> "Call":
        return self.said(fused=tuple(each for each in self.schedule.fused if each not in names.split(" and ")))

    def ordered(self, order: tuple[str, ...]) -> "Call":
        others = (each for each in self.schedule.orders if {*each} != {*order})
        return self.said(orders=(*others, order))


def _renamed(call: Call, error: UserError, names: str) -> Iterator[Call]:
    """With another index or intermediate for the one that is not there."""
    known = names.split(", ")
    if missing := re.match(r"(\w+) is not computed", error.what):
        yield call.said(fused=tuple(known[0] if each == missing[1] else each for each in call.schedule.fused))
        return
    index = re.fullmatch(r"there is no index (\w+)", error.what)[1]
    edges = dict(call.schedule.edges)
    free = [each for each in known if each not in edges]
    if index in edges:
        edge = edges.pop(index)
        edges |= dict.fromkeys(free[:1], edge)
    copies = call.schedule.copies
    yield call.said(edges=edges, copies=(known[0], copies[1]) if copies and copies[0] == index else copies)


def _turned(call: Call, name: str) -> Iterator[Call]:
    """With the loops of what computes an intermediate in another order of its indices."""
    made = next(each for each in call.program.statements if each.result.tensor == name)
    now = next((order for order in call.schedule.orders if {*order} == {*made.order}), made.order)
    own = made.result.indices
    for turned in permutations(own):
        names = iter(turned)
        if (order := tuple(next(names) if index in own else index for index in now)) != now:
            yield call.ordered(order)


def _agreeing(call: Call) -> Iterator[Call]:
    """With other loop orders: those of the program, or another one of a statement."""
    if call.schedule.orders:
        yield call.said(orders=())
    for each in call.program.statements:
        for order in [*permutations(each.order)][:24]:
            if order not in call.schedule.orders:
                yield call.ordered(order)


# What each way out means, by its text.
WAYS: dict[str, Callable[..., Iterator[Call]]] = {
    r"name one of ([\w, ]+)": _renamed,
    r"leave (\w+) out": lambda call, _, name: iter([call.unfused(name)]),
    r"do not fuse ([\w ]+)": lambda call, _, names: iter([call.unfused(names)]),
    r"fuse (\w+) as well": lambda call, _, name: iter([call.said(fused=(*call.schedule.fused, name))]),
    r"use ((?:\w+ )*\w+)": lambda call, _, order: iter([call.ordered(tuple(order.split()))]),
    r"split\((\w+),(\d+)\) or smaller":
        lambda call, _, index, edge: iter([call.edged({**call.schedule.edges, index: int(edge)})]),
    r"parallelize and split (\w+).*": lambda call, _, index: iter(
        [call.said(copies=(index, call.schedule.copies[1]), edges={**call.schedule.edges, index: 1})]),
    r"leave it out, since there are no loops": lambda call, _: iter([call.said(edges={}, copies=None)]),
    r"leave out parallelize": lambda call, _: iter([call.said(copies=None)]),
    r"give no tile edge for (\w+)": lambda call, _, index: iter(
        [call.edged({name: edge for name, edge in call.schedule.edges.items() if name != index})]),
    r"use smaller edges": lambda call, _: iter([replace(call.edged({
        index: max(1, edge // 2) for index, edge in call.schedule.edges.items()}), tile=call.tile and max(1, call.tile // 2))]),
    r"use a tile edge of (\d+) or less": lambda call, _, edge: iter([replace(call, tile=int(edge))]),
    # As it is written there, into a schedule or behind --schedule.
    r"use edges '(.*)' \(--schedule or schedule=\)(?: in place of tile \d+)?":
        lambda call, _, text: iter([call.edged(dict(parse_schedule(text).edges))]),
    r"give one of them": lambda call, _: iter([replace(call, tile=None), replace(call.edged({}), tile=call.tile)]),
    r"leave out tile \d+": lambda call, _: iter([call.edged({})]),
    r"none to have it chosen": lambda call, _: iter([call.edged({})]),
    r"give the statements loop orders in which (\w+) is computed as it is read": lambda call, _, name: _turned(call, name),
    r"give the statements loop orders that agree": lambda call, _: _agreeing(call),
    r"store (\w+) compressed": lambda call, _, name: iter(
        [replace(call, formats=tuple((each, "s" * len(form) if each == name else form) for each, form in call.formats))]),
    # That is another program.
    r"write statements with ';' between them": lambda call, _: iter([]),
}


def ways_out(call: Call, error: UserError) -> Iterator[list[Call]]:
    """What may be written in place of what is refused: for each way that is named, one or several calls."""
    for way in error.fix.split(", or "):
        found = [(meant, match) for text, meant in WAYS.items() if (match := re.fullmatch(text, way))]
        assert found, f"a way that is not known here: {way}, of\n{error}"
        meant, match = found[0]
        yield [*meant(call, error, *match.groups())]


def leads(call: Call, data: dict[str, Ints], tried: dict[Call, bool]) -> bool:
    """Whether what is refused of a call comes to an end."""
    if call not in tried:
        tried[call] = False     # until it is known: a circle is no end
        error = call.refusal(data)
        tried[call] = error is None or any(leads(each, data, tried) for way in ways_out(call, error) for each in way)
    return tried[call]


def follow(call: Call, data: dict[str, Ints]) -> int:
    """Follow each way out of a refusal to its end; how many there are. The command line refuses the same in the same words, and
    takes what each way means."""
    error = call.refusal(data)
    said = call.told(data)
    assert str(error or "") in said and bool(error) == bool(said), said
    if error is None:
        return 0
    ways = [way for way in ways_out(call, error) if way]
    assert ways, f"there is no way out of\n{error}"
    for way in ways:
        assert [each.told(data) == "" for each in way] == [each.refusal(data) is None for each in way]
        assert any(leads(each, data, {call: False}) for each in way), f"{way[0]} leads nowhere, of\n{call}\n{error}"
        assert all(each != call for each in way), f"a way out that changes nothing, of\n{call}\n{error}"
    return len(ways)


@st.composite
def schedules(draw, program: Program) -> Schedule:
    """Of indices and tensors of a program, and of some that it does not have."""
    names = sorted({index for each in program.statements for index in each.order})
    orders = {frozenset(each.order): draw(st.permutations(each.order)) for each in program.statements
              if each.order and draw(st.integers(0, 2)) == 0}
    edges = draw(st.dictionaries(st.sampled_from([*names * 3, "j2", "q"]), st.sampled_from([1, 2, 3, 8]), max_size=3))
    copies = draw(st.none() | st.tuples(st.sampled_from([*names * 3, "j2"]), st.integers(1, 3)))
    fused = draw(st.lists(st.sampled_from([*list(program.intermediates) * 4, "A"]), max_size=3, unique=True))
    return Schedule(tuple(map(tuple, orders.values())), edges, copies, tuple(fused))


@settings(max_examples=40)
@given(case=cases(), choice=st.data())
def test_each_way_out_of_a_schedule_that_is_refused_ends_in_a_program_that_runs(case, choice):
    if (program := read(case.text)) is None:
        return
    schedule = choice.draw(schedules(program))
    tile = choice.draw(st.sampled_from([None, 1, 2, 3, 8])) if not schedule.edges else None
    follow(Call(case.text, schedule, tile), case.operands(program))
