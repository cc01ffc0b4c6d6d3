"""Arrays in step, whole, for runs of any length: each result is of the words of its operation and of no others.

As `test_waves`, by induction. Beside the array stand its last launches, as many as its wave has not passed yet
(`wave_history`): which steps of which operations. From them follows what every register has to hold (`wave_registers`): those
that say what a PE does, the words on their way, the values that rules make of the words of the operation that is followed, and
what waits at ports. Operations are counted modulo a power of two larger than what is under way at once.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from prover import Verdict, always, prove
from test_waves import OPERATION_BITS, array, each_array
from wave_history import Launch, Remembered
from wave_registers import pe_name

from sardonyx.hw.arch.logic import Apply, Constant, Feed, Logic
from sardonyx.hw.arch.spatial import Cell, Chain, Port, Position
from sardonyx.hw.spatial.array import wave
from sardonyx.hw.spatial.array.pe import applied, result_name, settled


class Held(Remembered):
    """What registers hold, as their launches say."""

    def build(self, m: Module) -> None:
        super().build(m)
        self._m, self._made = m, dict[tuple[str, Position, int], Signal]()
        for port in self.spatial.alone:
            self._alone(m, port)
        for chain in self.spatial.chains:
            self._chain(m, chain)
        for name, said in self.registers.said.items():
            if said.tensor:
                loads = self.loads[said.tensor][said.ago]
                wanted: Value = loads.goes & (loads.number < said.most)
            else:
                wanted = Cat(self.launched[said.ago].of(sorted(steps)) for steps in said.steps)
            always(m, f"{name} says what was launched {said.ago} cycles ago", getattr(self, name) == wanted)
        for name, had in self.registers.had.items():
            rank = self.spatial.ranks[had.position]
            launch = (self.launched[wave.LATENCY + rank + had.cycles] if had.cycles else self.last[rank][had.steps - 1])
            for step in self._cells[had.position].steps:
                at, value = self.spatial.launch(had.position, step), self._value(had.variable, had.position, step)
                always(m, f"{name} has the value of step {step}",
                       ~self._is_mine(launch, at) | (getattr(self, name).as_signed() == value))
        for port in self.spatial.outputs:
            self._leaving(m, port)

    def _is_mine(self, launch: Launch, step: int) -> Value:
        """Whether the operation that is followed was in a step."""
        return launch.steps[step] & (launch.operations[step] == self.which)

    @staticmethod
    def _behind(operation: Value, nth: Value, count: int) -> tuple[Value, Value]:
        """The next place behind one."""
        return (operation + (nth == count - 1))[:OPERATION_BITS], Mux(nth == count - 1, 0, nth + 1)

    def _word(self, name: str, nth: Value) -> Any:
        words = self.words[name]
        return Array(words)[nth] if len(words) > 1 else words[0]

    def _stage(self, m: Module, name: str, operation: Value, nth: Value) -> None:
        """What is between a source and the wave, which is at a place."""
        there, held = (getattr(self, f"{name}_{part}") for part in ("there", "held"))
        given, given_nth, count = self.turns[name]
        behind = self._behind(operation, nth, count)
        always(m, f"{name} has given what was taken and what is held", (given == Mux(there, behind[0], operation)) & (
            given_nth == Mux(there, behind[1], nth)))
        always(m, f"{name} holds its next word", ~there | (operation != self.which) | (held == self._word(name, nth)))

    def _alone(self, m: Module, port: Port) -> None:
        steps = self.registers.launches(port)
        self._stage(m, port.name, *self.turn_of(steps))
        for n in range(1, wave.LATENCY + self.spatial.ranks[port.position] + 1):
            for nth, step in enumerate(steps):
                always(m, f"{port.name} has word {nth} on its way {n} cycles behind its launch",
                       ~self._is_mine(self.launched[n], step)
                       | (getattr(self, f"{port.name}_after_{n}") == self.words[port.name][nth]))

    def _chain(self, m: Module, chain: Chain) -> None:
        ranks, length, loads = self.spatial.ranks, len(chain.positions), self.loads[chain.tensor]
        words, now = self.words[chain.name], loads[0]
        full = now.loaded == length
        self._stage(m, chain.name, (now.operation + full)[:OPERATION_BITS], Mux(full, 0, now.loaded))
        for n in range(1, ranks[chain.positions[0]] + 1):
            always(m, f"{chain.name} has the word on its way that went {n} cycles ago",
                   ~loads[n].goes | (loads[n].of != self.which)
                   | (getattr(self, f"{chain.name}_after_{n}") == self._word(chain.name, loads[n].number)))
        moving = length > 1 and ranks[chain.positions[0]] != ranks[chain.positions[1]]
        for n, position in enumerate(chain.positions):
            here, pe = loads[ranks[position]], f"{pe_name(position)}_{chain.tensor}"
            for count in range(1, length + 1):
                # Where the wave goes along, a PE has each word when the one before has it, but the last ones.
                nth = min(count, length - n) - 1 if moving else count - 1 - n
                if nth >= 0:
                    always(m, f"{chain.name} has given PE {n} its word of {count}", (here.operation != self.which) | (
                        here.loaded != count) | (getattr(self, f"{pe}_next") == words[nth]))
            always(m, f"{chain.name} is kept in PE {n}", ~here.any | ((here.operation - 1)[:OPERATION_BITS] != self.which)
                   | (getattr(self, f"{pe}_kept") == words[length - 1 - n]))

    @cached_property
    def _cells(self) -> dict[Position, Cell]:
        return {cell.position: cell for cell in settled(self.spatial)}

    def _value(self, name: str, position: Position, step: int) -> Signal:
        """What a variable is in a step of a PE of the operation that is followed."""
        if (name, position, step) not in self._made:
            rules = dict(self._cells[position].variables)[name]
            rule, = (rule for rule in rules if step in rule.steps)
            made = Signal(signed(self.spatial.bits[name]), name=f"{name}_of_{pe_name(position)}_{step}")
            self._m.d.comb += made.eq(self._logic(rule.logic, position, step))
            self._made[name, position, step] = made
        return self._made[name, position, step]

    def _logic(self, logic: Logic, position: Position, step: int) -> Value:
        if isinstance(logic, Constant):
            return Const(logic.value, signed(logic.value.bit_length() + 1))
        if isinstance(logic, Feed):
            word, = (word for port in self.spatial.inputs for word in port.words
                     if (port.tensor, port.position, port.slot) == (logic.tensor, position, logic.slot)
                     and (word.step == step or (port.tensor, port.position) in self.spatial.chained))
            return Value.cast(self.kept[logic.tensor, word.element]).as_signed()
        if isinstance(logic, Apply):
            return applied(logic.operation, [self._logic(each, position, step) for each in logic.operands])
        return self._value(logic.variable, tuple(a - b for a, b in zip(position, logic.offset)), step - logic.delay)

    def _leaving(self, m: Module, port: Port) -> None:
        """What is given to a port, and what waits there."""
        steps, words = self.registers.launches(port), self.words[port.name]
        given, full, kept = (getattr(self, f"{port.name}_{part}") for part in ("given", "full", "kept"))
        result = getattr(self, f"{pe_name(port.position)}_{result_name(port.tensor, port.slot)}")
        ago = wave.LATENCY + wave.RESULT + self.spatial.ranks[port.position]
        always(m, f"{port.name} is given nothing while a word is kept", ~full | ~given | ~self.on)
        operation, nth = self.turn_of(steps)
        for n in range(1, ago + 1):
            launch = self.launched[n]
            for each, step in enumerate(steps):
                behind = self._behind(launch.operations[step], Const(each, 8), len(steps))
                always(m, f"{port.name} has word {each} of {n} cycles ago in its turn",
                       ~launch.steps[step] | ((behind[0] == operation) & (behind[1] == nth)))
            for each, step in enumerate(steps):
                operation = Mux(launch.steps[step], launch.operations[step], operation)
                nth = Mux(launch.steps[step], each, nth)
        taken, taken_nth, count = self.turns[port.name]
        behind = self._behind(taken, taken_nth, count)
        always(m, f"{port.name} has given what was taken, and what waits", (operation == Mux(full, behind[0], taken)) & (
            nth == Mux(full, behind[1], taken_nth)))
        for each, step in enumerate(steps):
            always(m, f"{port.name} has the result of word {each}",
                   ~self._is_mine(self.launched[ago], step) | self._same(result, words[each], port))
            always(m, f"{port.name} keeps word {each} where that is next",
                   ~full | (taken != self.which) | (taken_nth != each) | self._same(kept, words[each], port))

    def _same(self, held: Value, word: Value, port: Port) -> Value:
        """Whether what is held shows at its port as a word."""
        bits = self.spatial.bits[port.tensor]
        shown, wanted = Signal(bits), Signal(bits)
        self._m.d.comb += [shown.eq(held.as_signed()), wanted.eq(word)]
        return shown == wanted


@pytest.mark.parametrize("name", each_array())
def test_each_result_is_of_the_words_of_its_operation(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prove(Held(array(name), monkeypatch), tmp_path) == Verdict(True)
