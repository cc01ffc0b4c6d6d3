"""Networks of processes: built from primitives and edges, run untimed or by the clock.

Untimed: every process runs until it is blocked, again and again. By the clock: each process gives at most one
token per output and cycle, and a token given in one cycle is seen in the next. Queues are unbounded, which is the
least number of cycles, or bounded, which shows deadlocks. Bounded queues are stricter than the hardware's: a process
stops as long as a token of it finds no room, whatever it could do on its other outputs. The buffer of a level holds
two levels in both; how many words they have is not looked at.

Input:   nodes {name: (primitive, configuration)}; edges from output to input ports, forks allowed; tokens.
Output:  Result.
Errors:  ProtocolError from a primitive; DeadlockError if a transaction cannot end or tokens are left.
Cost:    0.1 us a token and edge untimed, 1.5 us by the clock (SpMSpM of 330,000 tokens).
"""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from ....hw.arch.counters import Counts
from ....hw.arch.primitive import PRIMITIVES, Flow
from ....hw.arch.token import show
from .process import Config, Give, Parts, Queue, Steps
from .schedule import Output, Process, by_the_clock, untimed
from .watch import Watched

Port = tuple[Any, str]
Edge = tuple[Port, Port]
Capacity = int | Mapping[Edge, int] | None
SHOWN = 8
LEAST_CAPACITY = 2


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Parameters
    ----------
    outputs : dict     Tokens of every collected output port.
    cycles : int       By the clock: from the first cycle to that of the last token collected; untimed: 0.
    counts : dict      Tokens that passed every edge.
    trace : dict       If asked for: the tokens of every output port that is connected or collected.
    events : dict      If asked for: what happened at every node, and at every port that tokens come in by or are collected at.
    worked : dict      Untimed: the cycles of every node where nothing makes it wait, those of its slowest process.
    """

    outputs: dict[Port, list[int]]
    cycles: int
    counts: dict[Edge, int]
    trace: dict[Port, list[int]]
    events: Mapping[Any, Counts] = field(default_factory=dict)
    worked: Mapping[Any, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Stuck:
    """A process that cannot go on: what it waits for, and the tokens on its inputs."""

    node: Hashable
    primitive: str
    waits: str
    holds: Mapping[str, tuple[Any, ...]]

    def __str__(self) -> str:
        held = [f"{port} holds {_few(tokens)}" for port, tokens in self.holds.items() if tokens]
        return "; ".join((f"{self.node} ({self.primitive}) {self.waits}", *held))


class DeadlockError(AssertionError):
    """Nothing moves any more, but a transaction is not at its end."""

    def __init__(self, stuck: Sequence[Stuck]) -> None:
        self.stuck = tuple(stuck)
        super().__init__("nothing moves any more\n" + "\n".join(f"  {each}" for each in stuck))


class Network:
    """Primitives joined by queues.

    Parameters
    ----------
    nodes : mapping     By name (anything hashable): primitive and configuration, by field as in its description,
                        values by name or number. Sizes of the tile may be added: `words` of a level, most words
                        of its segments and of its coordinates; `depth` of a pass_through.
    edges : iterable    ((node, output port), (node, input port)).
    """

    def __init__(self, nodes: Mapping[Any, tuple[str, Config]], edges: Iterable[Edge] = ()) -> None:
        self.nodes = {name: (primitive, settings(primitive, config))
                      for name, (primitive, config) in nodes.items()}
        self.edges = tuple(edges)

    def run(self, inputs: Mapping[Port, Sequence[Any]] | None = None, outputs: Iterable[Port] | None = None, *,
            timed: bool = False, capacity: Capacity = None, trace: bool = False, events: bool = False) -> Result:
        """Run until nothing moves any more.

        inputs: tokens for input ports that no edge leads to, one transaction after the other.
        outputs: ports to collect; by default all that no edge leaves.
        capacity: tokens that an edge holds, 2 or more: of all, or by edge (others unbounded). Implies `timed`.
        trace: keep all tokens. events: count what performance counters do; implies `timed`.
        """
        clocked = timed or events or capacity is not None
        build = _Build(self, inputs or {}, outputs, capacity, clocked, events)
        watched = build.watched() if events else {}

        def look() -> None:
            for each in watched.values():
                each.look()

        cycles = by_the_clock(build.processes, trace, look) if clocked else untimed(build.processes, trace)
        stuck = [_stuck(process) for process in build.processes if process.stuck]
        if stuck:
            raise DeadlockError(stuck)
        return Result(build.collected, cycles, {edge: output.count for edge, output in build.passed.items()},
                      {port: output.trace for port, output in build.named.items()} if trace else {},
                      {place: each.counts for place, each in watched.items()}, build.worked())


def run_primitive(primitive: str, config: Config | None = None,
                  inputs: Mapping[str, Sequence[Any]] | None = None, **options: Any) -> tuple[dict[str, list[int]], int]:
    """Run one primitive; its outputs by port, and the cycles. `options` as of `Network.run`."""
    network = Network({primitive: (primitive, config or {})})
    given: dict[Port, Sequence[Any]] = {(primitive, port): tokens for port, tokens in (inputs or {}).items()}
    result = network.run(given, **{"timed": True, **options})
    return {port: tokens for (_, port), tokens in result.outputs.items()}, result.cycles


def settings(primitive: str, config: Config) -> dict[str, Any]:
    """A configuration with every field of the primitive, choices by name."""
    found = dict(config)
    fields = PRIMITIVES[primitive].config.fields if primitive in PRIMITIVES else {}
    for name, each in fields.items():
        value = config.get(name, 0)
        found[name] = each.decode(int(value)) if each.choices and not isinstance(value, str) else value
    return found


class _Build:
    """The processes of one run, ready to start."""

    def __init__(self, network: Network, inputs: Mapping[Port, Sequence[Any]], outputs: Iterable[Port] | None,
                 capacity: Capacity, clocked: bool, events: bool) -> None:
        self.clocked, self.collects_all = clocked, outputs is None
        self.processes: list[Process] = []
        self.collected: dict[Port, list[int]] = {}
        self.named: dict[Port, Output] = {}
        self.passed: dict[Edge, Output] = {}
        self.parts: dict[Hashable, Parts] = {}
        self.placed: dict[tuple[Hashable, str], tuple[Process, ModuleType, Config]] = {}
        self.led: list[tuple[Port, Output, Queue]] = []     # Ports that tokens enter by.
        self.fed: dict[Port, Output] = {}
        for node, (primitive, config) in network.nodes.items():
            self._place(node, primitive, config)
        for source, sink in network.edges:
            given = capacity.get((source, sink)) if isinstance(capacity, Mapping) else capacity
            self.passed[source, sink] = output = self._output(source)
            self._lead(output, sink, _room(given, network.nodes[sink[0]][1]))
        for port, tokens in inputs.items():
            self._feed(port, tokens, _room(None if isinstance(capacity, Mapping) else capacity, {}))
        for port in outputs or ():
            self._collect(port)
        if events:
            # Tokens that nobody takes leave, too.
            for node, (primitive, _) in network.nodes.items():
                for out in PRIMITIVES[primitive].ports:
                    if out.flow is Flow.OUT and (node not in self.parts or out.name in self.parts[node].outputs):
                        self._output((node, out.name))
        for (node, part), (process, module, settled) in self.placed.items():
            self._start(process, module, settled, node, part)

    def _place(self, node: Hashable, primitive: str, config: Config) -> None:
        module = _module(primitive)
        if not hasattr(module, "parts"):
            self._add(node, "", Process(node, primitive), module, config)
            return
        self.parts[node] = parts = module.parts(config)
        for part, (name, part_config) in parts.nodes.items():
            self._add(node, part, Process(node, f"{primitive} {name}"), _module(name), part_config)
        for (source, out), (sink, port), items in parts.edges:
            output = self.placed[node, source][0].outs.setdefault(out, Output())
            reader = self.placed[node, sink][0]
            queue: Queue = deque()
            reader.ins[port] = queue
            output.lead_to(queue, (reader, port), items - 1 if self.clocked else None)

    def _add(self, node: Hashable, part: str, process: Process, module: ModuleType, config: Config) -> None:
        self.placed[node, part] = process, module, config
        self.processes.append(process)

    def _inside(self, port: Port, flow: str) -> tuple[Process, str]:
        """The process and its port behind a port of a node."""
        node, name = port
        assert (node, "") in self.placed or node in self.parts, f"there is no node {node}"
        if node not in self.parts:
            return self.placed[node, ""][0], name
        parts = self.parts[node]
        ports = parts.inputs if flow == "input" else parts.outputs
        assert name in ports, f"{node} has no {flow} {name} as it is configured"
        part, inner = ports[name]
        return self.placed[node, part][0], inner

    def _output(self, port: Port) -> Output:
        if port not in self.named:
            process, inner = self._inside(port, "output")
            self.named[port] = process.outs[inner] = Output()
        return self.named[port]

    def _lead(self, output: Output, port: Port, room: int | None) -> None:
        process, inner = self._inside(port, "input")
        assert inner not in process.ins, f"two streams lead to {port[0]}.{port[1]}"
        queue: Queue = deque()
        process.ins[inner] = queue
        self.led.append((port, output, queue))
        output.lead_to(queue, (process, inner), room)

    def worked(self) -> dict[Hashable, int]:
        """The cycles of each node, see `Result`."""
        found: dict[Hashable, int] = {}
        for (node, _), (process, _, _) in self.placed.items():
            found[node] = max(found.get(node, 0), process.worked)
        return found

    def watched(self) -> dict[Any, Watched]:
        """What is watched: nodes, and ports at which tokens come from outside or go there."""
        nodes = {node: Watched([(output, queue) for port, output, queue in self.led if port[0] == node],
                               [output for port, output in self.named.items() if port[0] == node])
                 for node in dict.fromkeys(node for node, _ in self.placed)}
        return {**nodes, **{port: Watched((), (output,)) for port, output in self.fed.items()},
                **{port: Watched(((self.named[port], None),), ()) for port in self.collected if port in self.named}}

    def _feed(self, port: Port, tokens: Sequence[Any], room: int | None) -> None:
        process, output = Process(f"input {port[0]}.{port[1]}", "source"), Output()
        self._lead(output, port, room)
        process.outs["o"] = self.fed[port] = output
        process.steps = _each(tokens, output.give(self.clocked))
        self.processes.append(process)

    def _collect(self, port: Port) -> None:
        """Collect an output; one that the node does not have as it is configured stays empty."""
        self.collected[port] = tokens = list[int]()
        node, name = port
        if node not in self.parts or name in self.parts[node].outputs:
            self._output(port).lead_to(tokens, None)

    def _start(self, process: Process, module: ModuleType, config: Config, node: Hashable, part: str) -> None:
        """Begin a meaning: it names its ports, so that one that is connected in vain is found."""
        i, o = _Inputs(process), _Outputs(process, self, node, part)
        process.steps, process.spare = module.meaning(config, i, o), getattr(module, "SPARE", ())
        event = next(process.steps, (deque(),))
        assert type(event) is tuple, f"the meaning of {process.primitive} does not begin with idle"
        process.waiting, process.idle = event[0], True
        led = [port for port, output in process.outs.items() if any(output.readers)]
        for flow, known, names in (("input", process.ins, i.named), ("output", led, o.named)):
            for port in known:
                assert port in names, f"{flow} {port} of {node} ({process.primitive}) is connected in vain"


class _Inputs(dict[str, Queue]):
    """The queues of a process; notes which it names."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.ins)
        self.process, self.named = process, set[str]()

    def __getitem__(self, port: str) -> Queue:
        assert port in self, f"nothing leads to {self.process.node}.{port} ({self.process.primitive})"
        self.named.add(port)
        return super().__getitem__(port)


class _Outputs(dict[str, Give]):
    """The functions behind the outputs of a process; one that is not connected is collected, or its tokens vanish."""

    def __init__(self, process: Process, build: _Build, node: Hashable, part: str) -> None:
        super().__init__({port: output.give(build.clocked) for port, output in process.outs.items()})
        self.process, self.build, self.node, self.part, self.named = process, build, node, part, set[str]()

    def __getitem__(self, port: str) -> Give:
        self.named.add(port)
        if port not in self and self.build.collects_all:
            outside = port if not self.part else next(
                name for name, inside in self.build.parts[self.node].outputs.items() if inside == (self.part, port))
            self.build._collect((self.node, outside))
            self[port] = self.process.outs[port].give(self.build.clocked)
        return super().__getitem__(port) if port in self else deque[int](maxlen=0).append


def _module(primitive: str) -> ModuleType:
    assert primitive.isidentifier(), f"{primitive!r} is not the name of a primitive"
    try:
        return importlib.import_module(f".{primitive}", __package__)
    except ModuleNotFoundError as missing:
        if missing.name != f"{__package__}.{primitive}":
            raise
        raise AssertionError(f"primitive '{primitive}' has no meaning on tokens: sim/model/tokens/{primitive}.py is not there"
                             ) from None


def _room(capacity: int | None, config: Config) -> int | None:
    """Most tokens in a queue: the token that its source shows belongs to the edge, the depth of a FIFO adds to it."""
    assert capacity is None or capacity >= LEAST_CAPACITY, f"an edge holds {LEAST_CAPACITY} tokens or more"
    return None if capacity is None else capacity - 1 + int(config.get("depth", 0))


def _each(tokens: Sequence[Any], give: Give) -> Steps:
    for token in tokens:
        give(token)
        yield None


def _stuck(process: Process) -> Stuck:
    holds = {port: tuple(queue) for port, queue in process.ins.items()}
    waits = "has tokens left over"
    if process.waiting is not None and not process.idle:
        port = next((name for name, queue in process.ins.items() if queue is process.waiting), "its root")
        waits = f"waits for {port}"
    for name, output in process.outs.items():
        if output.staged:
            full = [f"{reader.node}.{port}" for reader, port in output.full()]
            waits = f"cannot give {_few(output.staged)} on {name}, {' and '.join(full)} {'are' if full[1:] else 'is'} full"
    return Stuck(process.node, process.primitive, waits, holds)


def _few(tokens: Sequence[Any]) -> str:
    """The first of some tokens as people write them, and how many more there are."""
    if any(not isinstance(token, int) for token in tokens):
        return f"{len(tokens)} complete"
    more = f" and {len(tokens) - SHOWN} more" if len(tokens) > SHOWN else ""
    return " ".join(show(token) for token in list(tokens)[:SHOWN]) + more
