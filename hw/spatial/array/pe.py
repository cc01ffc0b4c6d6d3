"""A processing element of a spatial array: its user logic, and the registers of what others read later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from ...arch.logic import Apply, Constant, Feed, Logic, Tap, leaves, width
from ...arch.spatial import Cell, Position, Rule, Spatial, rules
from .keep import keep, keep_members

HARDWARE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": lambda a: Mux(a < 0, -a, a),
    "min": lambda a, b: Mux(a < b, a, b),
    "max": lambda a, b: Mux(a > b, a, b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "both": lambda a, b: a.any() & b.any(),
    "either": lambda a, b: a.any() | b.any(),
    "not": lambda a: ~a.any(),
    "select": lambda condition, a, b: Mux(condition.any(), a, b),
}


@dataclass(frozen=True)
class Kind:
    """What PEs of one module have in common.

    Parameters
    ----------
    variables : tuple    Name, bits and logic of each rule, the one of all other steps last, in the order in which they are
                         read.
    results : tuple      Tensor, slot, bits and logic of each rule.
    given : tuple        Variable, delay in steps and in cycles of what others read.
    bits : tuple         Name and bits of what comes from others and from ports.
    kept : tuple         Tensors of which it keeps a word, and hands on the next ones.
    """

    variables: tuple[tuple[str, int, tuple[Logic, ...]], ...]
    results: tuple[tuple[str, int, int, tuple[Logic, ...]], ...]
    given: tuple[tuple[str, int, int], ...]
    bits: tuple[tuple[str, int], ...]
    kept: tuple[str, ...]

    @property
    def reads(self) -> tuple[Constant | Tap | Feed, ...]:
        """All that its logic is over, each once."""
        logics = [logic for _, _, found in self.variables for logic in found]
        logics += [logic for _, _, _, found in self.results for logic in found]
        return tuple(dict.fromkeys(leaf for logic in logics for leaf in leaves(logic)))

    @property
    def taken(self) -> tuple[Tap, ...]:
        """What it reads from other PEs."""
        return tuple(leaf for leaf in self.reads if isinstance(leaf, Tap) and any(leaf.offset))

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """The ports that it reads."""
        return tuple(leaf for leaf in self.reads if isinstance(leaf, Feed) and leaf.tensor not in self.kept)

    @property
    def own(self) -> tuple[Tap, ...]:
        """What it reads of itself."""
        return tuple(leaf for leaf in self.reads if isinstance(leaf, Tap) and not any(leaf.offset))

    @property
    def waits(self) -> bool:
        """Whether it keeps anything from step to step."""
        return any(tap.delay for tap in self.own) or any(steps for _, steps, _ in self.given)


def settled(spatial: Spatial) -> tuple[Cell, ...]:
    """The PEs without what a chain does: a variable that takes a word of one, and keeps it, is that word."""
    return tuple(replace(cell, variables=tuple((name, _kept(spatial, cell, name, found)) for name, found in cell.variables))
                 for cell in spatial.cells)


def _kept(spatial: Spatial, cell: Cell, name: str, found: tuple[Rule, ...]) -> tuple[Rule, ...]:
    stays = Tap(name, (0,) * len(cell.position), 1)
    taking = [rule.logic for rule in found if rule.logic != stays]
    if len(taking) == 1 and isinstance(taking[0], Feed) and (taking[0].tensor, cell.position) in spatial.chained:
        return (Rule(taking[0], tuple(sorted(step for rule in found for step in rule.steps))),)
    return found


def kinds(spatial: Spatial) -> dict[Position, Kind]:
    """The kind of every PE."""
    given: dict[Position, dict[tuple[str, int, int], None]] = {cell.position: {} for cell in spatial.cells}
    for source, sink, variable, delay in spatial.wires:
        if source != sink:
            late = spatial.ranks[sink] - spatial.ranks[source]
            given[source][variable, delay - late, late] = None
    return {cell.position: _kind(spatial, cell, tuple(sorted(given[cell.position]))) for cell in settled(spatial)}


def _kind(spatial: Spatial, cell: Cell, given: tuple[tuple[str, int, int], ...]) -> Kind:
    bits = spatial.bits
    names = dict.fromkeys(leaf.tensor if isinstance(leaf, Feed) else leaf.variable for rule in rules(cell)
                          for leaf in leaves(rule.logic) if not isinstance(leaf, Constant))
    return Kind(tuple((name, bits[name], tuple(rule.logic for rule in found)) for name, found in cell.variables),
                tuple((tensor, slot, result_bits(spatial, tensor, found), tuple(rule.logic for rule in found))
                      for tensor, slot, found in cell.results),
                given, tuple((name, bits[name]) for name in names),
                tuple(tensor for tensor in names if (tensor, cell.position) in spatial.chained))


def tap_name(tap: Tap) -> str:
    """The port for a variable of another PE, such as ``b_from_1_0`` of the one at this position minus (1, 0), a step ago;
    ``b_from_1_0_after_2`` two steps ago."""
    place = "_".join(str(at) if at >= 0 else f"m{-at}" for at in tap.offset)
    return f"{tap.variable}_from_{place}" + (f"_after_{tap.delay}" if tap.delay != 1 else "")


def given_name(variable: str, steps: int, cycles: int = 0) -> str:
    """The port for a variable as it was some steps and cycles ago: ``b_given``, a step or cycle ago; ``b_given_after_2``, two
    steps; ``b_given_after_2_and_1``, a cycle more; ``b_given_after_0`` now."""
    if steps + cycles == 1:
        return f"{variable}_given" + "_flowing" * cycles
    return f"{variable}_given_after_{steps}" + (f"_and_{cycles}" if cycles else "")


def feed_name(tensor: str, slot: int) -> str:
    """The port for a word of a tensor."""
    return f"{tensor}_word{slot or ''}"


def kept_name(tensor: str, part: str) -> str:
    """The port for a part of what keeps a word of a tensor, as of `keep_members`."""
    return f"{tensor}_{part}"


def rule_name(name: str, slot: int = 0) -> str:
    """The port that says which rule a variable or result follows."""
    return f"{name}_rule{slot or ''}"


class Pe(Component):
    """A PE.

    Behaviour: in every step each variable follows the rule whose bit is set, or its last rule if none is; what others read
    later is kept for as many steps, and then for as many cycles as they are behind. Names: ``v_from_x_y`` is variable v of the
    PE at this position minus (x, y), ``v_given`` is what others read of v a step later, ``v_given_flowing`` a cycle later,
    ``_after_n`` n steps later, ``_after_n_and_m`` and m cycles; ``T_word`` is the word of tensor T at this PE's port,
    ``T_result`` the result of a cycle ago. Of a tensor of which a PE keeps a word ``T_i``, ``T_load``, ``T_take`` and
    ``T_next`` are those of `keep_members`.

    Parameters
    ----------
    kind : Kind
    module_name : str

    Members
    -------
    step : In(1)       A step is done; otherwise what is kept for steps does not change. Only where something is.
    v_rule : In(n)     One-hot or zero, for a variable or result of n + 1 rules.
    All other ports are numbers in two's complement, of the bits of the variable or tensor.

    Timing: ports of delay 0 follow the inputs in the same cycle; all others are registers.
    Source: Stellar IV-C, Fig. 11. Departure: no counters, see `beat`.
    """

    def __init__(self, kind: Kind, module_name: str) -> None:
        self.kind, self.module_name = kind, module_name
        bits = dict(kind.bits) | {name: wide for name, wide, _ in kind.variables}
        members = {"step": In(1)} if kind.waits else {}
        members |= {rule_name(name): In(len(found) - 1) for name, _, found in kind.variables if len(found) > 1}
        members |= {rule_name(tensor, slot): In(len(found) - 1) for tensor, slot, _, found in kind.results if len(found) > 1}
        members |= {feed_name(feed.tensor, feed.slot): In(bits[feed.tensor]) for feed in kind.feeds}
        members |= {kept_name(tensor, part): member for tensor in kind.kept
                    for part, member in keep_members(bits[tensor]).items()}
        members |= {tap_name(tap): In(bits[tap.variable]) for tap in kind.taken}
        members |= {given_name(name, steps, cycles): Out(bits[name]) for name, steps, cycles in kind.given}
        members |= {result_name(tensor, slot): Out(wide) for tensor, slot, wide, _ in kind.results}
        super().__init__(members)

    @property
    def emit_key(self) -> Kind:
        return self.kind

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        now: dict[str, Value] = {}
        self._kept = {tensor: self._keep(m, tensor) for tensor in self.kind.kept}
        # Registers have no reset: a step reads them only if an earlier one of its operation wrote them.
        ago: dict[tuple[str, int], Value] = {}
        for name, wide, _ in self.kind.variables:
            now[name] = ago[name, 0] = Signal(signed(wide), name=name)
            delays = [tap.delay for tap in self.kind.own if tap.variable == name]
            delays += [steps for of, steps, _ in self.kind.given if of == name]
            for delay in range(1, 1 + max(delays, default=0)):
                ago[name, delay] = Signal(signed(wide), name=f"{name}_{delay}", reset_less=True)
                with m.If(self.step):
                    m.d.sync += ago[name, delay].eq(ago[name, delay - 1])
        for name, _, found in self.kind.variables:
            m.d.comb += now[name].eq(self._choice(rule_name(name), found, ago))
        for tensor, slot, wide, found in self.kind.results:
            # A register here, and not where it leaves: what makes cells of each module alone has what a result is made by and
            # the enable behind it at once.
            result = Signal(wide, name=f"{result_name(tensor, slot)}_1", reset_less=True)
            m.d.sync += result.eq(self._choice(rule_name(tensor, slot), found, ago))
            m.d.comb += getattr(self, result_name(tensor, slot)).eq(result)
        flowing: dict[tuple[str, int, int], Value] = {(name, steps, 0): value for (name, steps), value in ago.items()}
        for name, steps, cycles in self.kind.given:
            for late in range(1, 1 + cycles):
                if (name, steps, late) not in flowing:
                    before = flowing[name, steps, late - 1]
                    flowing[name, steps, late] = Signal.like(before, name=f"{name}_{steps}_and_{late}", reset_less=True)
                    m.d.sync += flowing[name, steps, late].eq(before)
            m.d.comb += getattr(self, given_name(name, steps, cycles)).eq(flowing[name, steps, cycles])
        return m

    def _keep(self, m: Module, tensor: str) -> Value:
        """The word of a tensor that stays here."""
        i, load, take, following = (getattr(self, kept_name(tensor, part)) for part in keep_members(0))
        register, kept = keep(m, tensor, i, load, take)
        m.d.comb += following.eq(register)
        return kept

    def _choice(self, port: str, found: tuple[Logic, ...], ago: Mapping[tuple[str, int], Value]) -> Value:
        """The logic of the rule whose bit is set, or of the last rule.

        What rules have in common is there once: of rules of one operation the operands are chosen, so that a sum that begins
        with 0 has one multiplier, as it has one adder.
        """
        if len(set(found)) == 1:
            return self._logic(found[0], ago)
        operations = {logic.operation if isinstance(logic, Apply) else "" for logic in found}
        if len(operations) == 1 and "" not in operations:
            columns = zip(*(logic.operands for logic in found if isinstance(logic, Apply)))
            return applied(operations.pop(), [self._choice(port, column, ago) for column in columns])
        *special, last = (self._logic(logic, ago) for logic in found)
        chosen = [(getattr(self, port)[at], value) for at, value in enumerate(special)]
        return reduce(lambda rest, one: Mux(one[0], one[1], rest), chosen, last)

    def _logic(self, logic: Logic, ago: Mapping[tuple[str, int], Value]) -> Value:
        """The exact value of logic, with a sign."""
        if isinstance(logic, Constant):
            return Const(logic.value, signed(width(logic, lambda _: 0)))
        if isinstance(logic, Feed) and logic.tensor in self._kept:
            return self._kept[logic.tensor].as_signed()
        if isinstance(logic, Feed):
            return Value.cast(getattr(self, feed_name(logic.tensor, logic.slot))).as_signed()
        if isinstance(logic, Apply):
            return applied(logic.operation, [self._logic(each, ago) for each in logic.operands])
        assert isinstance(logic, Tap), "logic is of one of four classes"
        if any(logic.offset):
            return Value.cast(getattr(self, tap_name(logic))).as_signed()
        return ago[logic.variable, logic.delay]


def applied(operation: str, operands: Sequence[Value]) -> Value:
    """An operation on exact values, with a sign."""
    value = Value.cast(HARDWARE[operation](*operands))
    return value if value.shape().signed else Cat(value, 0).as_signed()


def result_bits(spatial: Spatial, tensor: str, found: tuple[Rule, ...]) -> int:
    """Bits of a result where it leaves its PE: no more than its logic has. Behind the array it has those of its tensor."""
    return min(spatial.bits[tensor], max(width(rule.logic, spatial.bits.__getitem__) for rule in found))


def result_name(tensor: str, slot: int) -> str:
    """The port for a word of a result."""
    return f"{tensor}_result{slot or ''}"


def rule_steps(cell: Cell) -> Iterable[tuple[str, list[tuple[int, ...]]]]:
    """For every port that chooses a rule: in which steps each of its bits is set."""
    for name, found in cell.variables:
        if len(found) > 1:
            yield rule_name(name), [rule.steps for rule in found[:-1]]
    for tensor, slot, found in cell.results:
        if len(found) > 1:
            yield rule_name(tensor, slot), [rule.steps for rule in found[:-1]]
