"""Lower a statement to the sparse graph: a loop nest in which each index has a role.

    X(i,j) = B(i,k) * C(k,j)    i j k    i, j of the result; k inside both: reduced
                                i k j    k is around j: accumulated, one sum for each j
                                k i j    k is around i and j: accumulated, one sum for each pair

Loops run in order down to the innermost index of the result (`Einsum.nest`), then inside each product over its
reduced one. At a loop over i, in the part of the tree it spans: tensors with i scan their level; products
intersect and sums unite the coordinates of their parts; tensors without i repeat their reference for each joined
coordinate. A joiner carries one reference per side, so a side with n references takes n joiners that compute the
same coordinates. Values are looked up at the end of a tensor's loops, combined, and summed: each reducer is guided
by the joined coordinates of the loop outside it, so that empty fibers give the zeros that keep values and
coordinates aligned. What the nest gives is accumulated, from the innermost index that is summed out; then comes
what is applied to the sums. Zeros, which an accumulator does not give, are dropped at the innermost result level, and
then coordinates above that have lost their fibers, or stops of fibers that hold none.

With `Einsum.locate`, the dense level of a factor is neither scanned nor intersected where another factor says the
coordinates: its reference is repeated for each of them and a locator adds the coordinate, as the fiber begins at reference
times extent. In the outermost level the coordinate is the reference, and nothing is repeated before.

    x(i) = B(i,j) * c(j), c dense    scan_B_i, scan_B_j; values of c at the coordinates of scan_B_j

A fiber that is absent gives absent references there, whose values are 0, where an intersection would give nothing.

Dense levels of the result that are the outermost ones: where operands may miss some (`counted.py`), their coordinates are
united with all that there are, counted by scanners of the result's own levels: what is absent comes as references N, and so as
fibers without entries and values 0. They are neither thinned out nor written. Others are scattered (`places.py`), for which
nothing is united.

A result of another nest that is taken from MEM tiles (`fuse.py`, and `lang/apart.py` of sums around loops outside of them) is
computed by loops of its own; the tiles that take its levels are those that this nest scans.

Input:   Einsum.     Output: SamGraph, verified.
Source:  Onyx JSSC IV-B; the droppers behind every result level and the guided reducers are ours, so that
         results are consistent fibertrees holding the nonzeros only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sardonyx.compiler.ir.sam import Edge, Pin, SamGraph
from sardonyx.compiler.ir.sam_kept import KeptScanner, KeptValues
from sardonyx.compiler.ir.sam_levels import LevelWriter, Locator, RootLocator, Scanner, Values, ValuesWriter
from sardonyx.compiler.ir.sam_ops import Operation
from sardonyx.compiler.ir.sam_parts import RowScanner
from sardonyx.compiler.ir.sam_reduce import Accumulator, MaxReducer, Reducer
from sardonyx.compiler.ir.sam_streams import Dropper, Repeater
from sardonyx.compiler.ir.sam_verify import verify
from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.compiler.lang.functions import MAX
from sardonyx.hw.arch.primitive import EXTENT_BITS
from sardonyx.tensors.fibertree import COMPRESSED, Format

from .arithmetic import added, applied, multiplied, quotient, scaled
from .counted import counted
from .fuse import Fused, alone
from .joins import Coordinates, combined
from .lanes import LANE, Deal, lane_slot, lanes_of, split
from .nest import Nest
from .normalize import Node, Product, Sum, begun, intersected, leaves, located, nested
from .parts import merged, result_parts, rows_of
from .places import positions, scatter

# The end of the slot of sums that are kept for a result.
SUMS = "_sums"


def lower(einsum: Einsum) -> SamGraph:
    """The sparse graph of a statement."""
    return lower_fused(alone(einsum))


def lower_fused(fused: Fused) -> SamGraph:
    """The sparse graph of fused statements: of a nest and of those whose results it takes from MEM tiles."""
    build, nest, whole = _Builder(fused.einsum.locate, frozenset()), fused.nest.apart(), fused.einsum
    build.lanes = lanes_of(fused)
    result = whole.result
    values = _written(build, nest, result_parts(result, build.lanes))
    kept = [access for each in (*nest.walk(), nest) for access in each.einsum.operands if access.slot in each.kept]
    formats = {access.slot: str(access.format) for access in (result, *whole.operands, *kept)
               if access.slot not in fused.shared} | build.formats | dict.fromkeys(values, str(result.format))
    formats |= {lane_slot(slot, lane): formats[slot] for slot, how in build.lanes.items() if slot in formats
                for lane in range(how.lanes)}
    nodes = {name: _shared(op, fused.shared) for name, op in build.nodes.items()}
    return verify(SamGraph(whole.text, whole.order, formats, nodes, tuple(build.edges)))


def _written(build: _Builder, nest: Nest, parts: int) -> list[str]:
    """Compute a nest and store its result, of parts apart; the slots that have its values."""
    build.apart = [] if parts else None
    crds, value = _computed(build, nest)
    result = nest.einsum.result
    if build.apart:
        slots = [lane_slot(result.slot, part) for part in range(parts)]
        for slot, each in zip(slots, build.apart, strict=True):
            build.add(f"write_{slot}_vals", ValuesWriter(slot), wr=each)
        return slots
    for level in range(nest.einsum.framed, len(crds) - nest.einsum.scattered):
        index = result.stored[level]
        build.add(f"write_{result.slot}_{index}", LevelWriter(result.slot, level, index), wr=crds[level])
    if nest.einsum.scattered:
        scatter(build.add, nest.einsum, crds[-1], value)
    else:
        build.add(f"write_{result.slot}_vals", ValuesWriter(result.slot), wr=value)
    return [result.slot]


def _shared(op: Operation, shared: Mapping[str, str]) -> Operation:
    """An operation that takes the stream of another slot, if its own comes with that."""
    if not isinstance(op, Scanner | Values):
        return op
    slot, lane, number = op.slot.partition(LANE)
    return replace(op, slot=f"{shared[slot]}{lane}{number}") if slot in shared else op


def _computed(build: _Builder, nest: Nest, kept: bool = False) -> tuple[list[Pin], Pin]:
    """The coordinates of each level of a nest's result, and its values; kept: where it is dense, its loop has all coordinates
    anyway (`fused_dense.py`)."""
    build.kept |= {slot: _computed(build, inner, kept=True) for slot, inner in nest.kept.items()}
    return _reframed(build, nest.einsum) if nest.einsum.reframed else _looped(build, nest.einsum, kept)


def _reframed(build: _Builder, einsum: Einsum) -> tuple[list[Pin], Pin]:
    """The same where sums are accumulated around dense levels: they are kept as they come, compressed, and read with all the
    coordinates of these levels."""
    result = einsum.result
    sums = replace(result, slot=f"{result.slot}{SUMS}", format=Format(COMPRESSED * result.format.rank, result.format.order))
    build.kept[sums.slot] = _looped(build, replace(einsum, result=sums))
    build.formats[sums.slot] = str(sums.format)
    framed = Sum(((1, sums), (1, result)))
    loops = {index: build.loop(framed if level < einsum.framed else sums, index) for level, index in enumerate(result.stored)}
    return [*loops.values()], build.value(sums, loops[result.stored[-1]])


def _looped(build: _Builder, einsum: Einsum, kept: bool = False) -> tuple[list[Pin], Pin]:
    """The same, by the loops of a statement."""
    root, after = nested(einsum)
    result = einsum.result
    dense, build.result = einsum.framed, not kept
    framed = root if kept or not counted(einsum) else Sum(((1, root), (1, result)))
    build.locate, build.begun = einsum.locate, begun(root, einsum)
    loops = {index: build.loop(framed if index in result.stored[:dense] else root, index) for index in einsum.nest}
    value = build.value(root, loops[einsum.nest[-1]] if loops else None)
    loops |= dict.fromkeys(einsum.nest, build.rows.pop()) if build.rows else {}
    for index, inner in reversed(einsum.accumulated.items()):
        value = build.accumulate(index, inner, loops, value)
    if einsum.accumulated:
        build.sums[result.slot] = value
        value = build.value(after, None)
        del build.sums[result.slot]
    # An accumulator gives no zeros, and a copy has none.
    exact = isinstance(after, Access) if einsum.accumulated else isinstance(root, Access) and "d" not in root.format.letters
    crds = [loops[index] for index in result.stored]
    return _drop(build, einsum, exact, [*crds[:-1], positions(build.add, einsum, loops)] if einsum.scattered else crds, value)


def _drop(build: _Builder, einsum: Einsum, exact: bool, crds: list[Pin], value: Pin) -> tuple[list[Pin], Pin]:
    """Thin out the result's streams, from the innermost level out; `exact`: there are no zeros in the values."""
    names, dense = einsum.result.stored, einsum.framed
    if einsum.scattered == len(names):
        return crds, value
    if len(crds) > dense and not exact:
        node = build.add(f"drop_{names[-1]}", Dropper("value", names[-1]), outer=crds[-1], inner=value)
        crds[-1], value = Pin(node, "outer_o"), Pin(node, "inner_o")
    # A copy is no exception: of an empty operand the inner levels would get the root's empty fiber.
    for level in reversed(range(dense, len(crds) - 1)):
        node = build.add(f"drop_{names[level]}", Dropper("coordinate", names[level], names[level + 1]),
                         outer=crds[level], inner=crds[level + 1])
        crds[level], crds[level + 1] = Pin(node, "outer_o"), Pin(node, "inner_o")
    return crds, value


@dataclass
class _Builder:
    """A graph under construction: where the reference of each tensor has got to.

    locate: of `LOCATED`. begun: slots that get their first reference from a coordinate.
    """

    locate: str
    begun: frozenset[str]
    nodes: dict[str, Operation] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    refs: dict[str, Pin] = field(default_factory=dict)
    # How operands are dealt to lanes, by slot.
    lanes: Mapping[str, Deal] = field(default_factory=dict)
    # The coordinates of the only loop of the nest at hand, where its rows have been dealt to parts and merged.
    rows: list[Pin] = field(default_factory=list)
    # Whether the nest at hand gives the result, and the values of it that parts give, if these store theirs apart.
    result: bool = False
    apart: list[Pin] | None = None
    # What is accumulated, by the slot of the result.
    sums: dict[str, Pin] = field(default_factory=dict)
    # Of what MEM tiles keep besides intermediates, by slot.
    formats: dict[str, str] = field(default_factory=dict)
    # The levels and the values that MEM tiles keep of what the graph computes, by slot.
    kept: dict[str, tuple[list[Pin], Pin]] = field(default_factory=dict)

    def add(self, name: str, op: Operation, **inputs: Pin) -> str:
        """Add a node under a name like the one given; its inputs by port."""
        unique, count = name, 1
        while unique in self.nodes:
            count += 1
            unique = f"{name}_{count}"
        self.nodes[unique] = op
        self.edges += [Edge(source, Pin(unique, port)) for port, source in inputs.items()]
        return unique

    def loop(self, part: Node, index: str) -> Pin:
        """Take all tensors of a part through a loop; the joined coordinates."""
        joined = self._join(part, index)
        assert joined is not None, "a loop spans a part that uses its index"
        for access in leaves(part):
            if access.slot in joined.refs:
                self.refs[access.slot] = joined.refs[access.slot]
            elif access.slot in self.refs or access.slot not in self.begun:
                self.refs[access.slot] = self._repeat(access, index, joined.crd)
        return joined.crd

    def _repeat(self, access: Access, index: str, crd: Pin) -> Pin:
        current = {"ref": self.refs[access.slot]} if access.slot in self.refs else {}
        node = self.add(f"repeat_{access.slot}_{index}", Repeater(access.slot, index, root=not current), crd=crd, **current)
        return Pin(node, "ref_o")

    def _join(self, part: Node, index: str) -> Coordinates | None:
        """The coordinates a part has at a loop; None if it does not depend on the index."""
        if isinstance(part, Access):
            return self._scan(part, index) if index in part.indices else None
        if isinstance(part, Product):
            return self._intersect(part, index)
        return combined(self.add, "union", index, [self._join(term, index) for _, term in part.terms])

    def _intersect(self, part: Product, index: str) -> Coordinates | None:
        """The coordinates of all factors, and the references at them of those whose dense level is located."""
        found = located(part, index, self.locate)
        here = [each for each in intersected(part) if each in found] if found else []
        others = [each for each in intersected(part) if each not in here] if here else part.factors
        joined = combined(self.add, "intersect", index, [self._join(each, index) for each in others])
        if joined is None or not here:
            return joined
        refs = {access.slot: self._locate(access, index, joined.crd) for access in here if isinstance(access, Access)}
        return Coordinates(joined.crd, joined.refs | refs)

    def _locate(self, access: Access, index: str, crd: Pin) -> Pin:
        """The reference of an access at each coordinate of its dense level."""
        name, level = f"locate_{access.slot}_{index}", access.stored.index(index)
        if not level:
            return Pin(self.add(name, RootLocator(access.slot, index), i=crd), "o")
        ref = self._repeat(access, index, crd)
        return Pin(self.add(name, Locator(access.slot, level, index), ref=ref, crd=crd), "ref_o")

    def _scan(self, access: Access, index: str) -> Coordinates:
        level = access.stored.index(index)
        current = {"ref": self.refs[access.slot]} if access.slot in self.refs else {}
        if access.slot in self.kept:
            kept = KeptScanner(access.slot, level, index, root=not current)
            node = self.add(f"keep_{access.slot}_{index}", kept, wr=self.kept[access.slot][0][level], **current)
        else:
            scanner = Scanner(access.slot, level, index, access.format.is_dense(level), root=not current)
            node = self.add(f"scan_{access.slot}_{index}", scanner, **current)
        return Coordinates(Pin(node, "crd"), {access.slot: Pin(node, "ref_o")})

    def value(self, part: Node, above: Pin | None) -> Pin:
        """The values of a part; `above` are the coordinates of the innermost loop around it."""
        if isinstance(part, Access):
            if part.slot in self.sums:
                return self.sums[part.slot]
            current = {"ref": self.refs[part.slot]} if part.slot in self.refs else {}
            if part.slot in self.kept:
                kept = KeptValues(part.slot, root=not current)
                return Pin(self.add(f"keep_{part.slot}_vals", kept, wr=self.kept[part.slot][1], **current), "val")
            return Pin(self.add(f"values_{part.slot}", Values(part.slot, root=not current), **current), "val")
        if isinstance(part, Sum):
            return self._sum(part, above)
        if lanes := split(part, self.lanes):
            self.refs |= {slot: self.refs[slot.rpartition(LANE)[0]] for slot in lanes}
            above = self._again(above) if above else None
            values = [self.value(each, above) for each in lanes.values()]
            if self.result and self.apart is not None:
                self.apart += [scaled(self.add, each, part.coefficient) for each in values]
                return values[0]
            value = added(self.add, [(1, each) for each in values]) if not rows_of(lanes, self.lanes) else \
                self._merged(rows_of(lanes, self.lanes), above, values)
            return scaled(self.add, value, part.coefficient)
        inside = self.loop(part, part.contract) if part.contract else above
        values = [self.value(factor, inside) for factor in part.factors]
        value = quotient(self.add, *values) if part.divides else multiplied(self.add, self._soonest(values))
        if part.contract:
            guide = {"crd": above} if above else {}
            extent = part.extent if part.extent < 1 << EXTENT_BITS else 0
            reducer = MaxReducer(part.contract, bool(above), extent) if part.function == MAX else \
                Reducer(part.contract, guided=bool(above))
            value = Pin(self.add(f"reduce_{part.contract}", reducer, val=value, **guide), "val_o")
        return scaled(self.add, value, part.coefficient)

    def _soonest(self, values: list[Pin]) -> list[Pin]:
        """Three factors or more, the one last that is there last, as behind a repeater: the others have met by then."""
        if len(values) < 3:
            return values
        behind: dict[str, int] = {}     # tiles on the longest path to a stream; nodes stand behind those that feed them
        feeds = defaultdict[str, list[str]](list)
        for edge in self.edges:
            feeds[edge.dst.node].append(edge.src.node)
        for name, op in self.nodes.items():
            behind[name] = max((behind[feed] for feed in feeds[name]), default=0) + (not isinstance(op, RootLocator))
        return sorted(values, key=lambda pin: behind[pin.node])

    def _again(self, rows: Pin) -> Pin:
        """The same rows from a scanner of their own, where they are counted.

        Sums wait for them, who are behind the scan and the look-ups of a lane: where they come with the references that begin
        these, either waits for the other, or tokens have to be held.
        """
        op = self.nodes[rows.node]
        if not (type(op) is Scanner and op.dense and op.root):
            return rows
        again = RowScanner(op.slot, op.level, op.index, dense=True, root=True, of=rows.node)
        return Pin(self.add(f"rows_{op.slot}_{op.index}", again), "crd")

    def _merged(self, index: str, rows: Pin | None, values: list[Pin]) -> Pin:
        """Sums of all rows from those of parts, whose coordinates replace those that each part counts."""
        assert rows is not None, "rows are of a loop"
        crd, value = merged(self.add, index, rows, values)
        self.rows.append(crd)
        return value

    def accumulate(self, index: str, inner: tuple[str, ...], loops: dict[str, Pin], value: Pin) -> Pin:
        """Sum values over an index around the loops of `inner`, whose coordinates become those of the sums; the sums."""
        ports = ("outer", "crd")[-len(inner):]
        node = self.add(f"accumulate_{index}", Accumulator(index, inner), val=value,
                        **{port: loops[each] for port, each in zip(ports, inner, strict=True)})
        loops.update({each: Pin(node, f"{port}_o") for port, each in zip(ports, inner, strict=True)})
        return Pin(node, "val_o")

    def _sum(self, part: Sum, above: Pin | None) -> Pin:
        values = [self.value(term, above) for _, term in part.terms]
        if part.function:
            return applied(self.add, part.function, values, part.constant)
        return added(self.add, [(sign, value) for (sign, _), value in zip(part.terms, values, strict=True)], part.constant)
