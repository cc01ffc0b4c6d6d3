"""The inside of a spatial array: PEs, the wires between them, and the steps that pass over it as a wave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import Component, In, Out

from ...arch.spatial import LENGTH, Chain, Position, Spatial
from ...emit import Clock, macro
from .beat import Beat, ShortBeat
from .going import grouped
from .keep import Loading
from .pe import Kind, Pe, feed_name, given_name, kept_name, kinds, result_bits, result_name, rule_steps, settled, tap_name

# Cycles from the launch of a step to the PEs that the wave reaches first, and from there to where its results are.
LATENCY, RESULT = 1, 1


class Wave(Component):
    """PEs that nothing holds up: what is launched runs through.

    Behaviour: a launch is a step of those PEs that the wave reaches first, and of every other one as many cycles later as its
    rank says (`Spatial.ranks`). What says so goes from PE to PE by registers. There is a launch in every cycle in which the
    words are there that it needs anywhere; these wait for the wave in registers at their ports. Words of chains are handed on
    in the meantime (`keep`). To hold all of it up, stop its clock.

    Parameters
    ----------
    spatial : Spatial

    Members
    -------
    For each stream, by its name: of inputs ``_word``, ``_there``: the next word and whether it is there, and ``_taken``; of
    outputs ``_word``, of no more bits than it needs, and ``_given``, and ``_soon``: what that will be a cycle later.
    on : In        If there is no clock gate: what enables it, for each group of PEs (`going`).

    Timing: `_taken` follows every `_there` within a cycle. Outputs are registers, and a result is there `LATENCY` + `RESULT`
    cycles and the rank of its PE behind the launch.
    Source: facts on ordered borders; Stellar IV-C stalls the whole array.
    """

    def __init__(self, spatial: Spatial) -> None:
        self.spatial, self.module_name = spatial, f"{spatial.name.lower()}_wave"
        bits = spatial.bits
        members: dict[str, Any] = {}
        for each in spatial.sources:
            members |= {f"{each.name}_word": In(bits[each.tensor]), f"{each.name}_there": In(1), f"{each.name}_taken": Out(1)}
        if spatial.short:
            members |= {f"{LENGTH}_word": In(range(spatial.launches + 1)), f"{LENGTH}_there": In(1), f"{LENGTH}_taken": Out(1)}
        results = {(cell.position, tensor, slot): result_bits(spatial, tensor, found)
                   for cell in spatial.cells for tensor, slot, found in cell.results}
        for port in spatial.outputs:
            few = results[port.position, port.tensor, port.slot]
            members |= {f"{port.name}_word": Out(few), f"{port.name}_given": Out(1), f"{port.name}_soon": Out(1)}
        groups = grouped([cell.position for cell in spatial.cells])
        self._group = {position: n for n, group in enumerate(groups) for position in group}
        if not spatial.clock_gate:
            members["on"] = In(len(groups))
        super().__init__(members)

    @property
    def emit_key(self) -> str:
        return repr(self.spatial)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        spatial = self.spatial
        beat: Beat | ShortBeat = macro(ShortBeat(spatial.launches, spatial.cut) if spatial.short else
                                       Beat(spatial.launches, spatial.interval))
        m.submodules.beat = beat
        launched = _Launched(m, spatial, beat)
        pes = self._pes(m, launched)
        first = min(spatial.launch(port.position, port.words[0].step) for port in spatial.inputs)
        at_first, complete = [], []
        if isinstance(beat, ShortBeat) or spatial.short:
            m.d.comb += [beat.length.eq(getattr(self, f"{LENGTH}_word")), getattr(self, f"{LENGTH}_taken").eq(beat.last)]
            at_first.append(getattr(self, f"{LENGTH}_there"))

        def needs(there: Value, steps: Iterable[int]) -> None:
            complete.append(there | ~launched.any(steps))
            if min(steps) == first:
                at_first.append(there)

        for port in spatial.alone:
            steps = tuple(spatial.launch(port.position, word.step) for word in port.words)
            needs(getattr(self, f"{port.name}_there"), steps)
            m.d.comb += getattr(self, f"{port.name}_taken").eq(beat.step & launched.any(steps))
            word = delayed(m, getattr(self, f"{port.name}_word"), LATENCY + spatial.ranks[port.position], port.name, True)
            m.d.comb += getattr(pes[port.position], feed_name(port.tensor, port.slot)).eq(word)
        for tensor in dict.fromkeys(chain.tensor for chain in spatial.chains):
            chains = [chain for chain in spatial.chains if chain.tensor == tensor]
            word, = {spatial.launch(port.position, port.words[0].step) for port in spatial.inputs if port.tensor == tensor}
            needs(self._chains(m, launched, chains, pes, word), (word,))
        for port in spatial.outputs:
            steps = tuple(spatial.launch(port.position, word.step) for word in port.words)
            result = getattr(pes[port.position], result_name(port.tensor, port.slot))
            soon = launched.at(port.position, steps, LATENCY + RESULT - 1)
            m.d.comb += [getattr(self, f"{port.name}_word").eq(result), getattr(self, f"{port.name}_soon").eq(soon),
                         getattr(self, f"{port.name}_given").eq(delayed(m, soon, 1, f"{port.name}_given"))]
        launched.spread()
        m.d.comb += [beat.ready.eq(Cat(at_first).all()), beat.complete.eq(Cat(complete).all())]
        return m

    def _pes(self, m: Module, launched: _Launched) -> dict[Position, Pe]:
        """The PEs with their wires."""
        spatial = self.spatial
        names: dict[Kind, str] = {}
        found, pes = kinds(spatial), dict[Position, Pe]()
        for at, kind in found.items():
            name = names.setdefault(kind, f"{spatial.name.lower()}_pe{len(names)}")
            m.submodules[f"pe_{_place(at)}"] = pes[at] = macro(Pe(kind, name), clock=self._clock(at))
        for cell in settled(spatial):
            pe, at = pes[cell.position], cell.position
            if found[at].waits:
                m.d.comb += pe.step.eq(launched.at(at, range(spatial.launches), LATENCY))
            for name, bits in rule_steps(cell):
                rules = [launched.at(at, (spatial.launch(at, step) for step in steps), LATENCY) for steps in bits]
                m.d.comb += getattr(pe, name).eq(Cat(rules))
            for tap in found[at].taken:
                source = tuple(a - b for a, b in zip(at, tap.offset))
                late = spatial.ranks[at] - spatial.ranks[source]
                given = getattr(pes[source], given_name(tap.variable, tap.delay - late, late))
                m.d.comb += getattr(pe, tap_name(tap)).eq(given)
        return pes

    def _clock(self, position: Position) -> Clock | None:
        """What clocks the parts of a PE, if that is no clock gate."""
        return None if self.spatial.clock_gate else Clock(self.on[self._group[position]], again=True)

    def _chains(self, m: Module, launched: _Launched, chains: list[Chain], pes: Mapping[Position, Pe], step: int) -> Value:
        """The words that PEs of a tensor keep, taken in a launch; whether they are all there."""
        spatial, tensor, length = self.spatial, chains[0].tensor, len(chains[0].positions)
        m.submodules[f"loading_{tensor}"] = loading = macro(Loading(length))
        m.d.comb += [loading.arrived.eq(Cat(getattr(self, f"{chain.name}_there") for chain in chains).all()),
                     loading.take.eq(launched.beat.step & launched.any((step,)))]
        for chain in chains:
            m.d.comb += getattr(self, f"{chain.name}_taken").eq(loading.load)
            word = delayed(m, getattr(self, f"{chain.name}_word"), spatial.ranks[chain.positions[0]], chain.name, True)
            moving = len(chain.positions) > 1 and spatial.ranks[chain.positions[0]] != spatial.ranks[chain.positions[1]]
            for n, position in enumerate(chain.positions):
                most = length - n if moving else length
                load = launched.signal(f"load_{tensor}_{most}", loading.load & (loading.number < most), position, 0)
                i, loads, take, following = (getattr(pes[position], kept_name(tensor, part))
                                             for part in ("i", "load", "take", "next"))
                m.d.comb += [i.eq(word), loads.eq(load), take.eq(launched.at(position, (step,), 0))]
                word = following
        return loading.full


class _Launched:
    """What launches say, where and when PEs see it: collected first, then spread from PE to PE."""

    def __init__(self, m: Module, spatial: Spatial, beat: Beat | ShortBeat) -> None:
        self._m, self._ranks, self.beat = m, spatial.ranks, beat
        self._wanted: dict[tuple[str, int], tuple[Value, dict[Position, Signal]]] = {}
        self._names: dict[frozenset[int], str] = {}
        self._any: dict[frozenset[int], Value] = {}
        offsets = {tuple(b - a for a, b in zip(source, sink)): self._ranks[sink] - self._ranks[source]
                   for source, sink, *_ in spatial.wires}
        self._hops = sorted((late, offset) for offset, late in offsets.items() if late)

    def any(self, steps: Iterable[int]) -> Value:
        """Whether an operation is in one of some steps, as counted in launches."""
        found = frozenset(steps)
        if found not in self._any:
            self._any[found] = named = Signal(name=f"in_steps_{len(self._any)}")
            bits = {min(step, len(self.beat.at) - 1) for step in found}
            self._m.d.comb += named.eq(Cat(self.beat.at[bit] for bit in sorted(bits)).any())
        return self._any[found]

    def at(self, position: Position, steps: Iterable[int], later: int) -> Value:
        """Whether one of some steps is done, so many cycles behind the arrival of the wave at a PE."""
        found = frozenset(steps)
        name = self._names.setdefault(found, f"steps_{len(self._names)}")
        return self.signal(name, self.beat.step & self.any(found), position, later)

    def signal(self, name: str, value: Value, position: Position, later: int) -> Value:
        """What holds at a launch, so many cycles behind the arrival of its wave at a PE."""
        _, wanted = self._wanted.setdefault((name, later), (value, {}))
        return wanted.setdefault(position, Signal(name=f"{name}_later_{later}_at_{_place(position)}"))

    def spread(self) -> None:
        """Drive all of it: from a PE before that sees the same, or from a line of registers at the border."""
        for (name, later), (value, wanted) in self._wanted.items():
            border = [value]
            for position in sorted(wanted, key=lambda each: (self._ranks[each], each)):
                source = wanted[position]
                for late, offset in self._hops:
                    before = tuple(a - b for a, b in zip(position, offset))
                    if before in wanted:
                        self._m.d.comb += source.eq(delayed(self._m, wanted[before], late, source.name))
                        break
                else:
                    while len(border) <= later + self._ranks[position]:
                        border.append(delayed(self._m, border[-1], 1, f"{name}_later_{later}_border_{len(border)}"))
                    self._m.d.comb += source.eq(border[later + self._ranks[position]])


def delayed(m: Module, value: Value, cycles: int, name: str, reset_less: bool = False) -> Value:
    """A value of some cycles ago."""
    for n in range(cycles):
        later = Signal(len(value), name=f"{name}_after_{n + 1}", reset_less=reset_less)
        m.d.sync += later.eq(value)
        value = later
    return value


def _place(position: Position) -> str:
    return "_".join(str(each) if each >= 0 else f"m{-each}" for each in position)
