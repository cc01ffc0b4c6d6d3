"""After routing: in which cycle every stream runs, and how long every operand waits.

The value of step i leaves a block in cycle ``start + i``. Loads start when the global buffer does; a PE starts when the last
of its operands is there; flags cannot wait, so what makes them starts just in time; a delay line is read as late as the
first of its consumers allows, so that the least is left for register files; a PE that only passes a word on starts later if
register files behind it are too small; the flag that says which words of a store count is timed to arrive with them.

Needs:   StaticGraph, latency of every sink.
Gives:   Alignment; `verify` proves that at every join the same step meets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ....hw.arch.register_file import CHANNELS
from ...ir.mapped import Pin
from ...ir.pe_graph import PeNode
from ..map.delay_lines import NET, OPERAND_PORT, StaticGraph, longest_line
from ..map.registers import kept_words, waiting_words
from ..map.storage import latency_of

OPERAND = {port: operand for operand, port in OPERAND_PORT.items()}
# Words of a register file that another placement may need more of.
MARGIN = 8
# In longer rows more of what waits is in MEM tiles, which hold it for any time; another seed has other wires.
REMEDY = "use wider tiles, or try another seed"


class Misaligned(UserError):
    """A placement whose wires differ too much in length to be evened out.

    waiting: operands that register files are too small for, or nearly so; the one that waits longest of every PE.
    """

    def __init__(self, what: str, where: str, fix: str, waiting: Sequence[Pin] = ()) -> None:
        super().__init__(what, where, fix)
        self.waiting = tuple(waiting)


@dataclass(frozen=True)
class Alignment:
    """When everything happens.

    Parameters
    ----------
    starts : mapping     Source pin -> cycle in which it gives the value of step 0 (flags of stores: of its first element).
    waits : mapping      Data input of a PE -> cycles that the operand waits in the register file.
    arrivals : mapping   Input of a MEM or store -> cycle in which the value of step 0 is behind its register.
    """

    starts: Mapping[Pin, int]
    waits: Mapping[Pin, int]
    arrivals: Mapping[Pin, int]


@dataclass(frozen=True)
class _Routed:
    """A static graph with the lengths of its wires.

    source_of : mapping    Sink -> source.
    fed : mapping          Block -> its sinks that something is routed to.
    order : tuple          Blocks, each behind those that feed it.
    floor : mapping        Block -> cycle before which it does not start, because no flag of a store is needed before cycle 0.
    """

    static: StaticGraph
    latency: Mapping[Pin, int]
    arch: Arch
    source_of: Mapping[Pin, Pin]
    fed: Mapping[str, tuple[Pin, ...]]
    order: tuple[str, ...]
    floor: Mapping[str, int]

    def needed(self, sink: Pin, starts: Mapping[str, int]) -> int:
        """Cycle in which the value of the sink's step 0 is behind its register."""
        return starts[_key(self.source_of[sink], self.static)] + self.static.leads[sink] + self.latency[sink]

    @cached_property
    def flags(self) -> tuple[Pin, ...]:
        """The sinks of flags that PEs take."""
        blocks = self.static.graph.blocks
        return tuple(sink for sink in self.source_of if sink.port.startswith("bit") and blocks[sink.block].kind == "pe")

    @cached_property
    def earliest(self) -> int:
        """The first step that anything is needed at, or 0."""
        return min(0, *(self.static.walk.span(node)[0] for node in self.static.walk.boxes))


def align(static: StaticGraph, latency: Mapping[Pin, int], arch: Arch) -> Alignment:
    """Times of a routed graph; raises `Misaligned` naming the PE whose operands cannot wait long enough."""
    routed = _routed(static, latency, arch)
    soon = _schedule(routed, {})
    read = _read_late(routed, soon)
    # What waits for lines alone starts with them.
    starts = _schedule(routed, read) if read else soon
    return _settle(static, latency, arch, routed.source_of, starts, routed.order)


def _routed(static: StaticGraph, latency: Mapping[Pin, int], arch: Arch) -> _Routed:
    source_of = {sink: net.source for net in static.graph.nets for sink in net.sinks}
    fed: dict[str, tuple[Pin, ...]] = dict.fromkeys(static.graph.blocks, ())
    for sink in source_of:
        fed[sink.block] += (sink,)
    feeds = {name: {source_of[sink].block for sink in fed[name]} for name in static.graph.blocks}
    floor: dict[str, int] = {}
    for each in static.walk.stores:
        data, flag = Pin(each.name, "f2g"), Pin(each.name, "f2g_bit")
        maker = source_of[data].block
        soon = latency[flag] - latency[data] - static.walk.grid.step(each.first)
        floor[maker] = max(floor.get(maker, soon), soon)
    return _Routed(static, latency, arch, source_of, fed, tuple(TopologicalSorter(feeds).static_order()), floor)


def _schedule(routed: _Routed, read: Mapping[str, int]) -> dict[str, int]:
    """Starts as early as possible, flags just in time; lines are read when `read` says, else as soon as they can be."""
    least = dict(routed.floor)
    for _ in range(len(routed.static.graph.blocks) + 2):
        starts = _attempt(routed, read, least)
        late: dict[str, int] = {}
        for sink in routed.flags:
            maker = routed.source_of[sink].block
            just = _wanted(sink, routed.static, routed.arch, starts) - routed.static.leads[sink] - routed.latency[sink]
            late[maker] = max(late.get(maker, just), just)
        if all(starts[name] >= start for name, start in late.items()):
            return starts
        least |= {name: max(least.get(name, start), start) for name, start in late.items()}
    raise Misaligned("the flags of the program cannot be brought in step with its words", "", REMEDY)


def _attempt(routed: _Routed, read: Mapping[str, int], least: Mapping[str, int]) -> dict[str, int]:
    """The start of every block, or of every read port of a line, as early as possible but no earlier than `least`."""
    static, starts = routed.static, dict[str, int]()
    for name in routed.order:
        kind = static.graph.blocks[name].kind
        if kind == "io":
            if name not in static.valid:
                starts[name] = routed.arch.glb.load_start_cycle
        elif kind == "pe":
            # A PE of constants alone gives the value of every step from cycle 0 on.
            starts[name] = max(_soonest(routed, name, starts, read, least) + ([] if routed.fed[name] else [-routed.earliest]))
        elif name in static.lines:
            written = routed.needed(Pin(name, "in0"), starts)
            for port in static.lines[name]:
                starts[f"{name}.{port}"] = read.get(f"{name}.{port}", written + least_age(routed.arch))
        elif routed.fed[name]:
            starts[name] = routed.needed(Pin(name, "in0"), starts) + routed.arch.mem.read_latency
    return starts


def _soonest(routed: _Routed, name: str, starts: Mapping[str, int], read: Mapping[str, int],
             least: Mapping[str, int]) -> list[int]:
    """Cycles before which a PE does not start: those of its operands; and, while the times of lines are open (`read` is empty),
    that in which the newest values of what comes through lines are there."""
    found = [least[name]] if name in least else []
    for sink in routed.fed[name]:
        found.append(routed.needed(sink, starts) + latency_of(_node(routed.static, name), routed.arch))
        if not read and routed.source_of[sink].block in routed.static.origins:
            origin, newest = routed.static.origins[routed.source_of[sink].block]
            found.append(starts[_key(origin, routed.static)] + newest + NET)
    return found


def _read_late(routed: _Routed, soon: Mapping[str, int]) -> dict[str, int]:
    """When lines are read, as late as their consumers allow: what these allow from the last line of a chain to the first, what
    a line holds from the first to the last."""
    static, allowed = routed.static, dict(soon)
    sinks_of = {net.source: net.sinks for net in static.graph.nets}
    for name in reversed(routed.order):
        for port in static.lines.get(name, ()):
            allowed[f"{name}.{port}"] = min(
                _wanted(sink, static, routed.arch, allowed) - static.leads[sink] - routed.latency[sink]
                for sink in sinks_of[Pin(name, port)])
    starts = dict(soon)
    for name in routed.order:
        for port in static.lines.get(name, ()):
            full = routed.needed(Pin(name, "in0"), starts) + longest_line(routed.arch)
            starts[f"{name}.{port}"] = min(allowed[f"{name}.{port}"], full)
    return {f"{name}.{port}": starts[f"{name}.{port}"] for name, ports in static.lines.items() for port in ports}


def least_age(arch: Arch) -> int:
    """Cycles from a word behind the input register of a delay line to the same word at its output, at least."""
    return arch.mem.write_to_read + arch.mem.read_latency


def _key(pin: Pin, static: StaticGraph) -> str:
    """What a source's start is filed under: a block, or one port of a line."""
    return f"{pin.block}.{pin.port}" if pin.block in static.lines else pin.block


def _wanted(sink: Pin, static: StaticGraph, arch: Arch, starts: Mapping[str, int]) -> int:
    """Latest cycle in which a sink takes the value of its step 0."""
    kind = static.graph.blocks[sink.block].kind
    if kind == "pe":
        return starts[sink.block] - latency_of(_node(static, sink.block), arch)
    if sink.block in static.lines:
        return min(starts[f"{sink.block}.{port}"] for port in static.lines[sink.block]) - least_age(arch)
    assert kind == "mem", "what a store takes comes from its source, not from a line"
    return starts[sink.block] - arch.mem.read_latency


def _settle(static: StaticGraph, latency: Mapping[Pin, int], arch: Arch, source_of: Mapping[Pin, Pin],
            starts: Mapping[str, int], order: Sequence[str]) -> Alignment:
    """Waits, arrivals and the flags of stores, given the start of everything else."""
    grid, graph = static.walk.grid, static.graph
    given = {source: starts[_key(source, static)] for source in dict.fromkeys(source_of.values())
             if source.block not in static.valid.values() or source.port != "bit"}
    waits: dict[Pin, int] = {}
    arrivals: dict[Pin, int] = {}
    for sink, source in source_of.items():
        if source not in given:
            continue
        there = given[source] + static.leads[sink] + latency[sink]
        if graph.blocks[sink.block].kind == "pe":
            waits[sink] = _wanted(sink, static, arch, starts) - there
        else:
            arrivals[sink] = there
    _pass_waits_on(static, given, waits, arch, order)
    _check(static, waits, arch)
    for each in static.walk.stores:
        flag = Pin(static.valid[each.name], "bit")
        given[flag] = arrivals[Pin(each.name, "f2g")] + grid.step(each.first) - latency[Pin(each.name, "f2g_bit")]
        if given[flag] < 0:
            raise Misaligned(f"its first word comes {-given[flag]} cycles before its flag can", each.name, REMEDY)
    return Alignment(given, {sink: wait for sink, wait in waits.items() if sink.port.startswith("data")}, arrivals)


def _pass_waits_on(static: StaticGraph, given: dict[Pin, int], waits: dict[Pin, int], arch: Arch, order: Sequence[str]) -> None:
    """Start PEs with a single operand later where operands that wait behind them do not fit a register file.

        pass -> (waits 40) add    register files of 32 words    ->    (waits 8) pass -> (waits 32) add

    Such a PE has a register file of its own, in which the wait costs the same. Consumers come first, so that a wait may go
    through several of them.
    """
    made = Counter(net.source.block for net in static.graph.nets)
    # Flags cannot wait, so what makes or takes them starts when it does.
    nets = {net.source.block: net for net in static.graph.nets
            if net.layer == "data" and made[net.source.block] == 1 and all(sink in waits for sink in net.sinks)}
    operands: dict[str, list[Pin]] = defaultdict(list)
    for sink in waits:
        operands[sink.block].append(sink)
    single = {name: pins[0] for name, pins in operands.items() if name in nets and len(pins) == 1
              and pins[0].port.startswith("data") and not list(_node(static, name).kept())}
    before = {sink: name for name in single for sink in nets[name].sinks}

    def room(sink: Pin) -> int:
        """Cycles by which the PE before an operand can start later, if that operand waits for as long."""
        chain = [sink]
        while (pin := single[before[chain[-1]]]) in before:
            chain.append(pin)
        found = 0
        for each in reversed(chain):
            name = before[each]
            waited = waits[single[name]]
            # With one cycle more it takes as many words as that: a late operand that did not wait takes two at once.
            own = arch.pe.register_words - _words(static, single[name], waited + 1) + 1 + found
            found = min([own, *(waits[other] for other in nets[name].sinks if other != each)])
        return found

    for name in reversed(order):
        channels, words = _register_file(static, name, arch) if name in operands else (0, 0)
        while name in operands:
            waiting = sorted((pin for pin in operands[name] if _words(static, pin, waits[pin])), key=lambda pin: waits[pin])
            over = sum(_words(static, pin, waits[pin]) for pin in waiting) - words
            crowded = len(waiting) > channels
            rooms = {pin: min(waits[pin], room(pin)) for pin in waiting if pin in before}
            found = [(pin, most) for pin, most in rooms.items() if most and (not crowded or most == waits[pin])]
            if not found or not (crowded or over > 0):
                break
            pin, most = found[0] if crowded else max(found, key=lambda item: item[1])
            later = most if crowded else min(most, over)
            passing = before[pin]
            waits[single[passing]] += later
            given[nets[passing].source] += later
            for sink in nets[passing].sinks:
                waits[sink] -= later


def _check(static: StaticGraph, waits: Mapping[Pin, int], arch: Arch) -> None:
    """Every operand can wait for as long as it has to."""
    by_block: dict[str, list[Pin]] = defaultdict(list)
    for sink, wait in waits.items():
        if wait < 0 or (wait and sink.port.startswith("bit")):
            raise Misaligned(f"{sink.port} arrives {abs(wait)} cycles too {'late' if wait < 0 else 'early'}", sink.block,
                             REMEDY)
        if sink.port.startswith("data") and _words(static, sink, wait):
            by_block[sink.block].append(sink)
    fault, tight = ("", ""), list[Pin]()
    for block, sinks in by_block.items():
        each = [waits[sink] for sink in sinks]
        words = sum(_words(static, sink, waits[sink]) for sink in sinks)
        channels, room = _register_file(static, block, arch)
        if len(each) > channels or words > room - MARGIN:
            tight.append(max(sinks, key=lambda sink: waits[sink]))
        if not fault[0] and (len(each) > channels or words > room):
            more = f"{over} more than" if (over := words - room) > 0 else "in more operands than"
            fault = (f"operands have to wait {', '.join(map(str, each))} cycles, {more} the {room} words and {channels} "
                     "channels of its register file hold", block)
    if fault[0]:
        raise Misaligned(*fault, REMEDY, tight)


def _node(static: StaticGraph, block: str) -> PeNode:
    return static.walk.graph.nodes[static.nodes[block]]


def _words(static: StaticGraph, sink: Pin, wait: int) -> int:
    """Words of its register file that an operand takes."""
    return waiting_words(static.walk, static.nodes[sink.block], OPERAND[sink.port], wait)


def _register_file(static: StaticGraph, block: str, arch: Arch) -> tuple[int, int]:
    """Channels and words of a PE's register file in which operands can wait."""
    kept = kept_words(_node(static, block), static.walk)
    return CHANNELS - len(kept), arch.pe.register_words - sum(kept)


def verify(static: StaticGraph, alignment: Alignment, latency: Mapping[Pin, int], arch: Arch) -> None:
    """Prove that operands of one step meet in every PE, and that flags of stores come with their words: AssertionError else."""
    for net in static.graph.nets:
        for sink in net.sinks:
            at = alignment.starts[net.source] + static.leads[sink] + latency[sink]
            block = static.graph.blocks[sink.block]
            if block.kind == "pe":
                result = next(alignment.starts[pin] for pin in alignment.starts if pin.block == sink.block)
                ready = result - latency_of(_node(static, sink.block), arch)
                assert at + alignment.waits.get(sink, 0) == ready, f"{sink} is not in step"
            elif sink.port == "f2g_bit":
                store = next(each for each in static.walk.stores if each.name == sink.block)
                data = alignment.arrivals[Pin(sink.block, "f2g")] + static.walk.grid.step(store.first)
                assert at == data, f"the flag of {sink.block} comes in cycle {at}, its first word in {data}"
                assert alignment.starts[net.source] >= 0, f"the flag of {sink.block} leaves before cycle 0"
            else:
                assert at == alignment.arrivals[sink], f"{sink} is not in step"
                if block.kind == "mem" and sink.block not in static.lines:
                    start = alignment.starts[Pin(sink.block, "out0")]
                    assert start == at + arch.mem.read_latency, f"{sink.block} is not in step"
    for line, ports in static.lines.items():
        for port in ports:
            age = alignment.starts[Pin(line, port)] - alignment.arrivals[Pin(line, "in0")]
            assert least_age(arch) <= age <= longest_line(arch), f"{line} {port} reads {age} cycles after it writes"
