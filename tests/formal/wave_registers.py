"""The registers of an array in step, by the wires of its text, and what those that say something to PEs and ports have to say.

What is said is by launches: so many cycles ago there was a step of an operation, one of some, or a word went down the chains of
a tensor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from sardonyx.hw.arch.spatial import Chain, Port, Position, Spatial
from sardonyx.hw.emit import collect
from sardonyx.hw.spatial.array import wave
from sardonyx.hw.spatial.array.going import grouped
from sardonyx.hw.spatial.array.pe import Kind, feed_name, given_name, kept_name, kinds, result_name, rule_steps, settled

WAVE = "array.wave"


def pe_name(position: Position) -> str:
    """A PE in the text of its wave."""
    return f"pe_{wave._place(position)}"


@dataclass(frozen=True)
class Said:
    """Of each bit the steps of which one was launched, so many cycles `ago`; or of a tensor: one of so many first words."""

    ago: int
    steps: tuple[frozenset[int], ...] = ()
    tensor: str = ""
    most: int = 0


@dataclass(frozen=True)
class Had:
    """A register of a PE with a variable as it was some steps or cycles ago."""

    position: Position
    variable: str
    steps: int
    cycles: int


class Recorded(wave._Launched):
    """What launches say to PEs."""

    made: ClassVar[list[Recorded]] = []

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Recorded.made.append(self)

    @property
    def names(self) -> dict[str, frozenset[int]]:
        """In which steps."""
        return {name: steps for steps, name in self._names.items()}

    def hops(self) -> dict[str, tuple[int, int]]:
        """Of each signal at a PE how many cycles ago it was launched, and how many of these it came from the PE before."""
        found: dict[str, tuple[int, int]] = {}
        for (_, later), (_, wanted) in self._wanted.items():
            for position, signal in wanted.items():
                late = next((late for late, offset in self._hops
                             if tuple(a - b for a, b in zip(position, offset)) in wanted), 0)
                found[signal.name] = later + self._ranks[position], late
        return found


class Registers:
    """Of an array.

    probes : what a `Harness` has to probe, by names of ports and PEs.
    going : those of whether the array goes on.
    said, had : what probes are.
    steps : for how many steps PEs keep variables, at most.
    """

    def __init__(self, spatial: Spatial, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spatial, self.bits = spatial, spatial.bits
        self.said: dict[str, Said] = {}
        self.had: dict[str, Had] = {}
        self.probes: dict[str, tuple[str, int]] = {}
        names = [each.name for each in (*spatial.sources, *spatial.outputs)]
        self.going = ["going", *(f"going_pes_{n}" for n in range(len(grouped(spatial.cells)))),
                      *(f"going_ports_{n}" for n in range(len(grouped(names))))]
        self.probes |= {name: (f"array.{name}.on", 1) for name in self.going}
        self._beat()
        for source in spatial.sources:
            self._source(source)
        for position, kind in kinds(spatial).items():
            self._pe(position, kind)
        for port in spatial.outputs:
            self._output(port)
        self._between(monkeypatch)
        self.steps = max([1, *(each.steps for each in self.had.values())])

    def length(self, tensor: str) -> int:
        """PEs of each chain of a tensor."""
        return len(next(chain for chain in self.spatial.chains if chain.tensor == tensor).positions)

    def launches(self, port: Port) -> tuple[int, ...]:
        """In which step of an operation each word of a port goes."""
        return tuple(self.spatial.launch(port.position, word.step) for word in port.words)

    def taken_in(self, tensor: str) -> int:
        """In which step of an operation PEs take the words that they keep of a tensor."""
        step, = {self.launches(port)[0] for port in self.spatial.inputs if port.tensor == tensor}
        return step

    def _beat(self) -> None:
        spatial = self.spatial
        self.probes |= {"later": (f"{WAVE}.beat.later", spatial.launches - 1), "step": (f"{WAVE}.beat.step", 1),
                        "at": (f"{WAVE}.beat.at", spatial.launches)}
        if spatial.interval > 1:
            self.probes["phase"] = f"{WAVE}.beat.phase", (spatial.interval - 1).bit_length()
        for tensor in dict.fromkeys(chain.tensor for chain in spatial.chains):
            inside, bits = f"{WAVE}.loading_{tensor}", self.length(tensor).bit_length()
            self.probes |= {f"{tensor}_loaded": (f"{inside}.loaded", bits), f"{tensor}_load": (f"{inside}.load", 1),
                            f"{tensor}_number": (f"{inside}.number", bits)}

    def _source(self, source: Port | Chain) -> None:
        """What a port holds, and its words on their way to their PE, the last of which that has by a name of its own."""
        bits, ranks = self.bits[source.tensor], self.spatial.ranks
        if isinstance(source, Chain):
            at, late, last = source.positions[0], ranks[source.positions[0]], kept_name(source.tensor, "i")
        else:
            at, late, last = source.position, wave.LATENCY + ranks[source.position], feed_name(source.tensor, source.slot)
        self.probes |= {f"{source.name}_there": (f"array.port_{source.name}.o__valid", 1),
                        f"{source.name}_held": (f"array.port_{source.name}.o__payload", bits)}
        wires = [*(f"{source.name}_after_{n}" for n in range(1, late)), f"{pe_name(at)}.{last}"]
        self.probes |= {f"{source.name}_after_{n}": (f"{WAVE}.{wires[n - 1]}", bits) for n in range(1, late + 1)}

    def _pe(self, position: Position, kind: Kind) -> None:
        pe, rank = pe_name(position), self.spatial.ranks[position]
        wide = {name: bits for name, bits, _ in kind.variables}
        had = {(tap.variable, steps, 0) for tap in kind.own for steps in range(1, tap.delay + 1)}
        for name, steps, cycles in kind.given:
            assert not steps or not cycles, "what is kept for steps, and then for cycles, is in no proof"
            had |= {(name, each, 0) for each in range(1, steps + 1)} | {(name, 0, each) for each in range(1, cycles + 1)}
        for name, steps, cycles in sorted(had):
            own = f"{name}_{steps}_and_{cycles}" if cycles else f"{name}_{steps}"
            wire = given_name(name, steps, cycles) if (name, steps, cycles) in kind.given else own
            self.probes[f"{pe}_{own}"] = f"{WAVE}.{pe}.{wire}", wide[name]
            self.had[f"{pe}_{own}"] = Had(position, name, steps, cycles)
        for tensor, slot, few, _ in kind.results:
            self.probes[f"{pe}_{result_name(tensor, slot)}"] = f"{WAVE}.{pe}.{result_name(tensor, slot)}", few
        if kind.waits:
            self._told(pe, "step", Said(wave.LATENCY + rank, (frozenset(range(self.spatial.launches)),)))
        cell, = (cell for cell in settled(self.spatial) if cell.position == position)
        for name, rules in rule_steps(cell):
            launches = tuple(frozenset(self.spatial.launch(position, step) for step in steps) for steps in rules)
            self._told(pe, name, Said(wave.LATENCY + rank, launches))
        for tensor in kind.kept:
            self.probes |= {f"{pe}_{tensor}_{part}": (f"{WAVE}.{pe}.{kept_name(tensor, part)}", self.bits[tensor])
                            for part in ("next", "kept")}
            if rank:
                chain = self.spatial.chained[tensor, position]
                first, *others = (self.spatial.ranks[each] for each in chain.positions)
                most = len(chain.positions) - (chain.positions.index(position) if others and others[0] != first else 0)
                self._told(pe, kept_name(tensor, "take"), Said(rank, (frozenset({self.taken_in(tensor)}),)))
                self._told(pe, kept_name(tensor, "load"), Said(rank, tensor=tensor, most=most))

    def _told(self, pe: str, port: str, said: Said) -> None:
        self.probes[f"{pe}_{port}"] = f"{WAVE}.{pe}.{port}", max(1, len(said.steps))
        self.said[f"{pe}_{port}"] = said

    def _output(self, port: Port) -> None:
        steps = frozenset(self.launches(port))
        _, few = self.probes[f"{pe_name(port.position)}_{result_name(port.tensor, port.slot)}"]
        ago = wave.LATENCY + wave.RESULT + self.spatial.ranks[port.position]
        self.probes |= {f"{port.name}_full": (f"array.port_{port.name}.full", 1),
                        f"{port.name}_kept": (f"array.port_{port.name}.kept", few),
                        f"{port.name}_given": (f"array.port_{port.name}.given", 1),
                        f"{port.name}_soon": (f"{WAVE}.{port.name}_soon", 1)}
        self.said |= {f"{port.name}_given": Said(ago, (steps,)), f"{port.name}_soon": Said(ago - 1, (steps,))}

    def _between(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What goes from PE to PE, or along the border."""
        with monkeypatch.context() as patched:
            patched.setattr(wave, "_Launched", Recorded)
            text = collect(wave.Wave(self.spatial)).rtlil
        recorded = Recorded.made.pop()
        names, hops = recorded.names, recorded.hops()
        for wire in sorted(set(re.findall(r"^  wire width 1 .(\w+_later_\w+)(?<!_next)$", text, re.M))):
            if found := re.fullmatch(r"(\w+)_later_(\d+)_border_(\d+)_after_1", wire):
                name, ago = found[1], int(found[3])
            elif found := re.fullmatch(r"((\w+)_later_\d+_at_\w+?)(?:_after_(\d+))?", wire):
                name, (ago, late) = found[2], hops[found[1]]
                ago += int(found[3] or late) - late
            if found and ago:
                self.probes[wire] = f"{WAVE}.{wire}", 1
                if name in names:
                    self.said[wire] = Said(ago, (names[name],))
                else:
                    tensor, most = name.removeprefix("load_").rsplit("_", 1)
                    self.said[wire] = Said(ago, tensor=tensor, most=int(most))
