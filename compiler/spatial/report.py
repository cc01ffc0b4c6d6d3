"""What a transform makes of recurrences, in words and numbers: how each variable moves, and what the array is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...hw.arch.elastic import Balance, Elastic, Spread
from ...hw.arch.spatial import Spatial
from ...hw.arch.written import Written
from ...hw.arch.written_chain import ChainedWritten
from ..lang.sparsity import dependencies
from .border import chains
from .points import Point, Unrolled
from .private_buffer import Fed
from .project import passing
from .prune import Cut, Pruned
from .transform import Transform, dot

STAYS, MOVES, PASSES = "stays", "moves", "passes"


@dataclass(frozen=True)
class Way:
    """How a variable gets from the point that computes it to one that reads it.

    Parameters
    ----------
    variable : str
    distance : tuple     Between the points.
    space : tuple        Between their PEs.
    registers : int      Steps between them.
    """

    variable: str
    distance: Point
    space: Point
    registers: int

    @property
    def kind(self) -> str:
        """`STAYS` in its PE, `MOVES` to another one by registers, or `PASSES` there within the step."""
        return STAYS if not any(self.space) else MOVES if self.registers else PASSES

    def __str__(self) -> str:
        steps = f"{self.registers} step{'s' if self.registers > 1 else ''}"
        if self.kind == STAYS:
            return f"stays in its PE for {steps}"
        towards = f"by ({', '.join(map(str, self.space))})"
        return f"moves {towards} in {steps}" if self.kind == MOVES else f"passes {towards} within a step"


def ways(unrolled: Unrolled, transform: Transform) -> list[Way]:
    """The ways of all variables, in order."""
    time = transform.time(tuple(unrolled.bounds.values()))
    order = list(unrolled.recurrences.declared)
    found = [Way(use.variable, use.distance, transform.position(use.distance), dot(time, use.distance))
             for use in unrolled.distances]
    return sorted(found, key=lambda way: (order.index(way.variable), way.distance))


def facts(spatial: Spatial) -> dict[str, object]:
    """Numbers of an array."""
    kept = sum(source == sink for source, sink, *_ in spatial.wires)
    ports = Counter(port.tensor for port in (*spatial.inputs, *spatial.outputs))
    return {"pes": len(spatial.cells), "wires": len(spatial.wires) - kept, "kept_in_pes": kept, "ports": dict(ports),
            "steps": spatial.steps, "interval": spatial.interval}


def left(pruned: Pruned, transform: Transform) -> list[Way]:
    """The ways that skips left."""
    return ways(pruned.unrolled, transform)


def removed(cut: Cut, transform: Transform) -> str:
    """What became of a connection that was cut, in words."""
    wire = "wire" if any(transform.position(cut.use.distance)) else "register"
    instead = "partial sums leave" if cut.is_sum else "its input is read"
    why = f"{cut.index} finds {cut.skipped}" if cut.skipped else f"PEs along {cut.index} take work apart"
    return f"no {wire}, {instead} at each PE: {why} ({cut.by})"


def borders(spatial: Spatial) -> list[str]:
    """How steps pass over an array, and which words enter together; or why not."""
    later = [(cycles, ", ".join(str(int(axis == at)) for at in range(len(spatial.wave))))
             for axis, cycles in enumerate(spatial.wave) if cycles]
    ways = " and ".join(f"{cycles} cycle{'s' if abs(cycles) > 1 else ''} later by ({towards})" for cycles, towards in later)
    lines = [f"a wave: each step is done {ways}" if later else
             f"no wave, all PEs do a step in the same cycle: {passing(spatial).reason}"]
    lengths = {chain.tensor: len(chain.positions) for chain in spatial.chains}
    count = Counter(chain.tensor for chain in spatial.chains)
    reasons = chains(spatial)[1]
    for tensor in spatial.operands:
        if tensor.name in lengths:
            lines.append(f"{tensor.name} enters by {count[tensor.name]} chain{'s' if count[tensor.name] > 1 else ''} of "
                         f"{lengths[tensor.name]} PEs")
        else:
            lines.append(f"{tensor.name} enters at every port of its own: {reasons[tensor.name]}")
    return lines


def made(spatial: Spatial, elastic: Elastic | None) -> dict[str, object]:
    """Numbers of an array; those of an elastic one without steps, which values decide, but with what adds up."""
    numbers = facts(spatial)
    if elastic is None:
        return numbers
    spreads = sum(isinstance(unit.kind, Spread) for unit in elastic.units)
    balances = sum(isinstance(unit.kind, Balance) for unit in elastic.units)
    mergers = len(elastic.units) - spreads - balances - len(spatial.cells)
    borders = Counter(port.tensor for port in (*elastic.inputs, *elastic.outputs))
    return {**{name: numbers[name] for name in ("pes", "wires", "kept_in_pes")}, "mergers": mergers, "spreads": spreads,
            "ports": dict(borders)}


def buffered(buffers: Sequence[Fed | Written]) -> list[str]:
    """What private buffers hold, how it gets to the ports, or from there, and what each pass says of that."""
    lines = []
    for each in buffers:
        if isinstance(each, Written):
            above = each.above if isinstance(each, ChainedWritten) else ["dense" for _ in each.outer]
            kinds = ", ".join([*above, each.kind])
            many = f" of {each.operations} operations" if each.operations > 1 else ""
            givers = f"{len(each.ports)} port{'s' if len(each.ports) > 1 else ''}"
            lines.append(f"{each.tensor.name} to a private buffer ({kinds}) of {each.words:,} words, twice: "
                         f"fibers{many} of {givers}, one after the other")
            continue
        buffer = each.buffer
        bank, ports = buffer.banks[0], sum(map(len, buffer.sinks))
        kinds = ", ".join(level.kind for level in bank.levels)
        banks = f"{len(buffer.banks)} banks" if len(buffer.banks) > 1 else "a bank"
        takes = f"{ports} port{'s take' if ports > 1 else ' takes'} {f'rows of {ports}' if bank.wide else f'{bank.form}s'}"
        depth = max(bank.depth for bank in buffer.banks)
        loops = f", loops {' x '.join(str(loop.extent) for loop in reversed(bank.loops))}," if bank.loops else ""
        loops = f", a table of {len(bank.table):,} runs," if bank.table else loops
        kept = f"one after the other, by skew buffers of {depth} {'pairs' if bank.paired else 'words'}"
        order = f"in its order{loops} by FIFOs" if depth == 2 else kept
        if buffer.asks:
            takes = f"{ports} port{'s gather' if ports > 1 else ' gathers'} {'fibers' if bank.whole else 'elements'}"
            order = f"by the coordinates of {_ports(buffer.asks)}"
            if buffer.others:
                order = f"by the coordinates that {'either' if buffer.either else 'both'} of {_ports(buffer.asks)} and " \
                        f"{_ports(buffer.others)} {'has' if buffer.either else 'have'}"
            if buffer.chosen:
                order += f" in the rows that {_ports(buffer.chosen)} find"
        size = f"{banks} of {bank.words:,} words, twice"
        lines.append(f"{buffer.tensor} from a private buffer ({kinds}), {size}: {takes} {order}")
        lines += [f"  {verdict}" for verdict in each.verdicts]
    return lines


def _ports(banks: Sequence[Sequence[str]]) -> str:
    return ", ".join(dict.fromkeys(name for names in banks for name in names))


def explained(unrolled: Unrolled, transform: Transform, spatial: Spatial, pruned: Pruned, elastic: Elastic | None,
              buffers: Sequence[Fed | Written] = ()) -> str:
    """All of it as text."""
    cuts = {(cut.use.variable, cut.use.distance): removed(cut, transform) for cut in pruned.cuts}
    rows = [("variable", "distance", "on its way")]
    rows += [(way.variable, f"({', '.join(map(str, way.distance))})", cuts.get((way.variable, way.distance), str(way)))
             for way in ways(unrolled, transform)]
    widths = [max(len(row[at]) for row in rows) for at in range(2)]
    lines = [f"{a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in rows]
    numbers = facts(spatial)
    ports = ", ".join(f"{name} {count}" for name, count in Counter(
        port.tensor for port in (*spatial.inputs, *spatial.outputs)).items())
    return "\n".join([
        *map(str, unrolled.recurrences.assignments), "",
        f"indices {', '.join(f'{index} 0..{extent - 1}' for index, extent in unrolled.bounds.items())}",
        f"transform {transform}, determinant {transform.determinant}", *_skipped(pruned), "", *lines, "",
        f"{numbers['pes']} PEs, {numbers['wires']} wires between them, {numbers['kept_in_pes']} values kept in PEs",
        f"ports: {ports}", *(borders(spatial) if pruned.is_static else []),
        *_duration(spatial, pruned, elastic), *buffered(buffers)])


def _duration(spatial: Spatial, pruned: Pruned, elastic: Elastic | None) -> list[str]:
    """How long operations take, and of an elastic array what adds up its partial sums."""
    if pruned.is_static:
        return [f"{spatial.steps} steps for an operation, the next one {spatial.interval} later"]
    if elastic is None:
        return []
    numbers = made(spatial, elastic)
    results = len(elastic.outputs)
    return [f"behind them {numbers['mergers']} mergers and {numbers['spreads']} spreads, to {results} "
            f"port{'s' * (results > 1)} of {elastic.outputs[0].tensor}",
            f"an operation takes a PE a cycle for each {elastic.time} that is left, and one", *_room(elastic)]


def _room(elastic: Elastic) -> list[str]:
    """How much room there is behind PEs where work moves, and fibers leave in two parts."""
    balances = {unit.name for unit in elastic.units if isinstance(unit.kind, Balance) and unit.kind.fibers}
    # An entry is for the end of a fiber.
    depths = {link.source[1][0]: link.depth - 1 for link in elastic.links if link.source[0] in balances}
    count = sum(link.source[0] in balances and link.source[1][0] == "c" for link in elastic.links)
    return [f"behind {count} PEs there is room for a fiber of what stays, {depths['c']} coordinates, and of what may move, "
            f"{depths['d']}"] if balances else []


def _skipped(pruned: Pruned) -> list[str]:
    """The skips, each with the indices by which it is found."""
    found = dependencies(pruned.skips)
    return [f"{skip}; {' and '.join(f'{index} by {_joined(found[index])}' for index in skip.indices)}" for skip in pruned.skips]


def _joined(names: Iterable[str]) -> str:
    return " and ".join(names) or "nothing else"
