"""Run a graph of primitives on tokens: untimed, or with a clock and FIFOs without bound.

Timed, every primitive takes and gives at most one token per stream and cycle, and a token given in a cycle can be taken in
the next: the ideal that hardware with finite FIFOs is compared with.

Errors:  Deadlock naming what waits for what if a transaction does not end; ProtocolError, with the node's name, from a
         primitive whose inputs disagree.
Cost:    about 1 us a token untimed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...hw.arch.primitive import PRIMITIVES
from ...hw.arch.token import show_stream
from .process import Event, Parts, ProtocolError, Queue, Steps

Pin = tuple[Any, str]


class Deadlock(AssertionError):
    """Nothing moves, and not everything was taken."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    outputs : {(node, port): tokens} of the outputs asked for. cycles : until the last token moved, None untimed.
    """

    outputs: Mapping[Pin, list[int]]
    cycles: int | None


@dataclass
class _Process:
    """A running meaning: what it waits for, and the queues it must not fill beyond a bound."""

    node: Any
    part: str
    steps: Steps
    bounds: list[tuple[Queue, int]] = field(default_factory=list)
    event: Event = None

    @property
    def waits(self) -> bool:
        """Whether it can not go on now."""
        if self.event is not None:
            queue = self.event[0] if isinstance(self.event, tuple) else self.event
            if not queue:
                return True
        return any(len(queue) >= most for queue, most in self.bounds)

    def step(self) -> bool:
        """Run to the end of a cycle or to the next wait; whether anything happened."""
        moved = False
        while not self.waits:
            moved = True
            try:
                self.event = next(self.steps)
            except ProtocolError as error:
                error.node = str(self.node)
                raise
            if self.event is None:
                break
        return moved


class _Late(list[Any]):
    """Tokens given in this cycle, and the queue that they reach with the next."""

    def __init__(self, queue: Queue) -> None:
        super().__init__()
        self.queue = queue


@dataclass(frozen=True)
class Network:
    """Primitives and the streams between them.

    nodes : {name: (primitive, configuration)}. edges : (source pin, sink pin), a pin being (node, stream name); an output
    may feed many inputs.
    """

    nodes: Mapping[Any, tuple[str, Mapping[str, Any]]]
    edges: Sequence[tuple[Pin, Pin]]

    def run(self, inputs: Mapping[Pin, Iterable[int]], outputs: Iterable[Pin], timed: bool = False) -> Outcome:
        """Feed tokens to inputs, run until nothing moves, and return what left at the outputs."""
        collected: dict[Pin, Queue] = {pin: deque() for pin in outputs}
        queues: dict[Pin, Queue] = {}
        for name, (primitive, _) in self.nodes.items():
            queues |= {(name, port.name): deque() for port in PRIMITIVES[primitive].inputs}
        late: dict[int, _Late] = {}

        def give(to: Sequence[Queue]) -> Callable[[Any], None]:
            targets: list[Any] = [late.setdefault(id(queue), _Late(queue)) for queue in to] if timed else list(to)
            if len(targets) == 1:
                return targets[0].append

            def push(token: Any) -> None:
                for target in targets:
                    target.append(token)
            return push

        sinks: dict[Pin, list[Queue]] = {pin: [queue] for pin, queue in collected.items()}
        for source, sink in self.edges:
            sinks.setdefault(source, []).append(queues[sink])
        processes: list[_Process] = []
        for name, (primitive, config) in self.nodes.items():
            described = PRIMITIVES[primitive]
            processes += _start(name, primitive, config, {p.name: queues[name, p.name] for p in described.inputs},
                                {p.name: give(sinks.get((name, p.name), [])) for p in described.outputs}, give)
        if timed:
            cycles = _clock(processes, late, {pin: deque(tokens) for pin, tokens in inputs.items()}, queues)
        else:
            cycles = None
            for pin, tokens in inputs.items():
                queues[pin].extend(tokens)
            while sum(_drain(process) for process in processes):
                pass
        self._finished(processes, queues)
        return Outcome({pin: list(queue) for pin, queue in collected.items()}, cycles)

    def _finished(self, processes: Sequence[_Process], queues: Mapping[Pin, Queue]) -> None:
        """Every process rests between two transactions, and every token was taken."""
        ports = {id(queue): port for (_, port), queue in queues.items()}
        stuck = []
        for process in processes:
            if not isinstance(process.event, tuple):
                what = ports.get(id(process.event), "a level") if process.event is not None else "room"
                stuck.append(f"{process.node} waits for {what}")
        left = [f"{node}.{port} holds {show_stream(list(queue)[:8])}" for (node, port), queue in queues.items() if queue]
        if stuck or left:
            raise Deadlock("nothing moves: " + "; ".join(stuck + left))


def _start(node: Any, name: str, config: Mapping[str, Any], inputs: Mapping[str, Queue],
           outputs: Mapping[str, Callable[[Any], None]],
           give: Callable[[Sequence[Queue]], Callable[[Any], None]]) -> list[_Process]:
    """The processes of a primitive, run up to their first event."""
    module = import_module(f"{__package__}.{name}")
    if not hasattr(module, "parts"):
        process = _Process(node, name, module.meaning(config, inputs, outputs))
        process.event = next(process.steps)
        return [process]
    parts: Parts = module.parts(config)
    takes: dict[str, dict[str, Queue]] = {part: {} for part in parts.nodes}
    gives: dict[str, dict[str, Callable[[Any], None]]] = {part: {} for part in parts.nodes}
    bounds: dict[str, list[tuple[Queue, int]]] = {part: [] for part in parts.nodes}
    for (source, out), (sink, port), most in parts.edges:
        queue: Queue = deque()
        takes[sink][port], gives[source][out] = queue, give([queue])
        bounds[source].append((queue, most))
    for port, (part, inner) in parts.inputs.items():
        takes[part][inner] = inputs[port]
    for port, (part, inner) in parts.outputs.items():
        gives[part][inner] = outputs[port]
    found = []
    for part, (meaning, settings) in parts.nodes.items():
        steps = import_module(f"{__package__}.{meaning}").meaning(settings, takes[part], gives[part])
        found.append(_Process(node, meaning, steps, bounds[part]))
        found[-1].event = next(steps)
    return found


def _drain(process: _Process) -> bool:
    """Run a process until it waits; whether anything happened."""
    moved = False
    while process.step():
        moved = True
    return moved


def _clock(processes: Sequence[_Process], late: Mapping[int, _Late], feeds: Mapping[Pin, Queue],
           queues: Mapping[Pin, Queue]) -> int:
    """Step everything once a cycle until nothing moves; cycles to the last movement."""
    cycle = 0
    while True:
        moved = sum(process.step() for process in processes) > 0
        for given in late.values():
            if given:
                given.queue.extend(given)
                given.clear()
        for pin, tokens in feeds.items():
            if tokens:
                queues[pin].append(tokens.popleft())
                moved = True
        if not moved:
            return cycle
        cycle += 1
