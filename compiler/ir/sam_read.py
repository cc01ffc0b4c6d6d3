"""Read a sparse graph in the Graphviz dialect of the public Sparse Abstract Machine tools.

    text -> Drawing -> PublicGraph -> operations node by node -> result made consistent (`sam_result`) -> verified SamGraph

What the public tools have and our graphs have not is rewritten: broadcasts are forks, a signal of a repeater is the coordinates
that it was made of, joiners of many sides become trees of binary ones that compute the same coordinates for each reference, and
a sum that is not the outermost is guided by coordinates of the level above it.

Input:   Graphviz text.     Output: Reading.
Errors:  UserError naming the node, and for what the array does not compute the attribute and what to try.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ...hw.arch.errors import UserError, shown
from ...tensors.fibertree import Format
from .dialect import SIGNAL, PublicGraph, PublicNode, Wire, in_order, public_graph
from .graphviz import Drawing, read_graphviz
from .mapped import VALUES
from .sam import Pin, SamGraph
from .sam_accumulate import add_accumulator
from .sam_arith import add_arithmetic
from .sam_build import At, Builder
from .sam_drop import dropper_of
from .sam_join import add_joiner
from .sam_levels import RootLocator, Scanner, Values
from .sam_locate import add_locator, tensor_of
from .sam_ops import CRD, REF, VAL, Operation
from .sam_positions import add_position, place_indices, places_and_values
from .sam_result import Written, add_writers, counted_indices
from .sam_streams import Repeater
from .sam_sum import reducer_of
from .sam_verify import faults

WHETHER = {"true": True, "false": False}
GUIDE = "guide"


@dataclass(frozen=True)
class Reading:
    """A graph that was read.

    Parameters
    ----------
    graph : SamGraph
    formats : mapping    By tensor, the result first.
    tensors : mapping    The operand of each slot of the graph.
    indices : tuple      Operand or result, mode, and the index of it, for each use.
    notes : tuple        What was read otherwise than it is written, as sentences.
    """

    graph: SamGraph
    formats: Mapping[str, Format]
    tensors: Mapping[str, str]
    indices: tuple[tuple[str, int, str], ...]
    notes: tuple[str, ...]

    @property
    def result(self) -> str:
        """The tensor that is written."""
        return next(iter(self.formats))


def read_sam(text: str, name: str) -> Reading:
    """The graph in a text; name: of its file, for errors."""
    return read_drawing(read_graphviz(text, name), name)


def read_drawing(drawing: Drawing, name: str) -> Reading:
    """The graph that a drawing means; name: of its file, for errors."""
    return _Reader(public_graph(drawing, name)).read()


class _Reader:
    """A graph while it is read."""

    def __init__(self, graph: PublicGraph) -> None:
        self.graph = graph
        self.build = Builder()
        self.made = dict[str, dict[str, Pin]]()
        self.names = dict[str, str]()
        self.tensors = dict[str, str]()
        self.forms = dict[str, str]()
        self.indices = dict[tuple[str, int, str], None]()
        self.notes = list[str]()
        self.written = list[Written]()
        self.uses = dict[str, list[Wire]]()     # by source
        self.joined = dict[str, PublicNode]()
        # Tensors that are written.
        self._results = {node.attributes.get("tensor") for node in graph.nodes.values() if node.type == "fiberwrite"}
        for node in graph.nodes.values():
            for wire in node.wires:
                self.uses.setdefault(wire.source, []).append(wire)
                if node.type in ("intersect", "union") and wire.kind == CRD:
                    self.joined[wire.source] = node

    def read(self) -> Reading:
        kinds: dict[str, Callable[[PublicNode], None]] = {
            "fiberlookup": self._lookup, "repeat": self._repeat, "arrayvals": self._values, "intersect": self._join,
            "union": self._join, "reduce": self._reduce, "max_reduce": self._reduce, "crddrop": self._drop,
            "fiberwrite": self._write, "locator": self._locate, "crdhold": self._hold, "spaccumulator": self._accumulate,
            "vectorreducer": self._accumulate, "position": self._position}
        for node in in_order(self.graph):
            self.build.where = node.where
            if node.type in kinds:
                kinds[node.type](node)
            else:
                self._put(node, res=add_arithmetic(self.build, node, [(wire, self._source(wire)) for wire in node.wires],
                                                   [*kinds, "broadcast", "repsiggen"]))
        return self._finish()

    def _finish(self) -> Reading:
        formats, build = self.graph.formats, self.build
        tensor = self.written[0].tensor
        if tensor != next(iter(formats)):
            formats = {tensor: formats[tensor], **formats}
        self.notes += add_writers(build, self.written, formats[tensor], self.names)
        for level, index in enumerate(counted_indices(build, self.written, formats[tensor])):
            self.indices[tensor, formats[tensor].order[level], index] = None
        build.prune()
        slots = dict.fromkeys(op.moved.slot for op in build.nodes.values() if op.moved and op.moved.slot != tensor)
        stored = {tensor: str(formats[tensor]), **{slot: self.forms[slot] for slot in slots}}
        order = dict.fromkeys(index for space in build.spaces.values() for index, _ in space)
        graph = SamGraph(self.graph.title, tuple(order), stored, build.nodes, build.edges)
        if wrong := faults(graph):
            raise UserError("; ".join(wrong), self.graph.name, "write coordinates and values of the same loops")
        if self.graph.ignored:
            self.notes.append(f"nodes that lead to no result are left out: {shown(', '.join(self.graph.ignored))}")
        used = {tensor, *(self.tensors[slot] for slot in slots)}
        return Reading(graph, {key: form for key, form in formats.items() if key in used},
                       {slot: self.tensors[slot] for slot in slots}, tuple(self.indices), tuple(self.notes))

    def _put(self, node: PublicNode, **outputs: Pin) -> None:
        """Say where the outputs of a node are."""
        self.made[node.name] = outputs

    def _source(self, wire: Wire, *hints: str) -> Pin:
        """The output that a wire comes from. hints: whose stream it is, where its comments say nothing."""
        source = self.graph.nodes[wire.source]
        kind = CRD if wire.kind == SIGNAL else wire.kind
        given = {name: pin for name, pin in self.made.get(wire.source, {}).items() if self.build.kind(pin) == kind}
        names = [name for name in (*wire.stream, *hints) if name in given] if len(given) > 1 else [*given]
        if not names:
            raise UserError(f"it gives no {kind} that an edge with comment '{shown(wire.leaves)}' could mean", source.where,
                            "write as comment of the edge whose stream it is, such as out-B, or outer-i and inner-j")
        return given[names[0]]

    def _one(self, node: PublicNode, kind: str, *hints: str) -> Pin:
        """The only input of a node but for signals and guides."""
        wires = [wire for wire in node.wires if wire.kind not in (SIGNAL,) and wire.enters != GUIDE]
        if len(wires) != 1 or wires[0].kind != kind:
            raise UserError(f"it has inputs {', '.join(wire.kind for wire in wires) or 'of no kind'}", node.where,
                            f"give it one of type {kind}")
        return self._source(wires[0], *hints)

    def _tensor(self, node: PublicNode, named: str = "") -> str:
        """The tensor of a node, or one that is named, of which a format is known."""
        tensor = named or node.get("tensor")
        if tensor not in self.graph.formats:
            raise UserError(f"tensor {shown(tensor)} has no format", node.where,
                            f"add it to the comment of the graph, which has {shown(', '.join(self.graph.formats))}")
        return tensor

    def _slot(self, tensor: str, level: int) -> str:
        """A name for a use of a level, of which no other stream has it: ``B``, ``B.2``."""
        taken = {op.moved for op in self.build.nodes.values() if op.moved}
        slot, count = tensor, 1
        while any(moved.slot == slot and moved.level == level for moved in taken):
            count += 1
            slot = f"{tensor}.{count}"
        base = tensor.partition(".")[0]
        self.tensors[slot] = tensor if base not in self.graph.formats else base
        self.forms[slot] = str(self.graph.formats[tensor])
        return slot

    def _lookup(self, node: PublicNode) -> None:
        tensor = self._tensor(node)
        form, mode = self.graph.formats[tensor], node.get("mode")
        if mode not in map(str, form.order):
            raise UserError(f"tensor {tensor} has no mode '{shown(mode)}'", node.where, f"its format is {form}")
        level = form.order.index(int(mode))
        dense = node.choice("format", {"compressed": False, "dense": True}, "compressed")
        if dense != form.is_dense(level):
            raise UserError(f"level {level} of {tensor} is {'dense' if dense else 'compressed'} here, and not in its format "
                            f"{form}", node.where, "write the same in both")
        self._read_only(node, tensor, level < form.dense_levels)
        root, index = node.choice("root", WHETHER, "false"), node.get("index")
        joiner = self.joined.get(node.name)
        if joiner is not None and joiner.get("index") != index:
            other = joiner.get("index")
            self.notes.append(f"node {shown(node.name)} is of index {shown(index)} and is joined as {shown(other)}")
            index = other
        inputs = {} if root else {"ref": self._one(node, REF)}
        if root and node.wires:
            raise UserError("it begins at the root and has an input", node.where, 'write root="false", or take the edge away')
        self._check(node, self.build.at[inputs["ref"]] if inputs else None, At(tensor, level))
        slot = self._slot(tensor, level)
        self.indices[self.tensors[slot], int(mode), index] = None
        made = self._add(node, Scanner(slot, level, index, dense, root), **inputs)
        self.build.at[Pin(made, "ref_o")] = At(tensor, level + 1)
        self._put(node, crd=Pin(made, "crd"), ref=Pin(made, "ref_o"))

    def _check(self, node: PublicNode, given: At | None, wanted: At) -> None:
        """UserError for the reference of another level than is looked up; given: None where no edge brings one."""
        if given is None and wanted.level:
            raise UserError(f"it looks up level {wanted.level} of {wanted.tensor}, and no edge brings it a reference",
                            node.where, "draw an edge of type ref from the lookup above")
        if given is not None and given != wanted:
            raise UserError(f"it looks up level {wanted.level} of {wanted.tensor}, and its reference is for level "
                            f"{given.level} of {given.tensor}", node.where, "take the reference of the lookup above")

    def _read_only(self, node: PublicNode, tensor: str, counted: bool = False) -> None:
        """UserError for a result that is read; counted: it is one of its outermost levels, which are dense and are counted."""
        if tensor in self._results and not counted:
            raise UserError(f"it reads {tensor}, which the graph writes", node.where,
                            "read another tensor; of a result only dense levels are counted, with none above that is not dense")

    def _add(self, node: PublicNode, op: Operation, **inputs: Pin) -> str:
        made = self.build.add(node.label, op, **inputs)
        self.names[made] = node.name
        return made

    def _repeat(self, node: PublicNode) -> None:
        signals = [wire for wire in node.wires if wire.kind == SIGNAL]
        if len(signals) != 1:
            raise UserError(f"it has {len(signals)} signals", node.where, "give it one edge of type repsig")
        root, crd = node.choice("root", WHETHER, "false"), self._source(signals[0])
        inputs = {} if root else {"ref": self._one(node, REF)}
        if root and len(node.wires) > 1:
            raise UserError("it begins at the root and has another input", node.where,
                            'write root="false", or take the edge away')
        at = At(self._tensor(node), 0) if root else self.build.at[inputs["ref"]]
        made = self._add(node, Repeater(at.tensor, self.build.spaces[crd][-1][0], root), crd=crd, **inputs)
        self.build.at[Pin(made, "ref_o")] = at
        self._put(node, ref=Pin(made, "ref_o"))

    def _locate(self, node: PublicNode) -> None:
        wires = [(wire, self._source(wire)) for wire in node.wires]
        tensor = self._tensor(node, tensor_of(node, self.graph))
        if tensor in self._results:
            place = Pin(self._add(node, RootLocator(tensor, node.get("index")), i=self._one(node, CRD)), "o")
            self.build.at[place] = At(tensor, 1)
            self._put(node, ref=place)
            return
        located = add_locator(self.build, node, tensor, self.graph.formats[tensor], wires, partial(self._slot, tensor))
        self.indices[tensor, located.mode, located.runs] = None
        self._put(node, ref=located.ref)

    def _position(self, node: PublicNode) -> None:
        last = any(wire.kind == CRD for wire in self.uses.get(node.name, ()))
        made = add_position(self.build, node, [(wire, self._source(wire)) for wire in node.wires], last,
                            self._results)
        self.names[made.node] = node.name
        self._put(node, **{"crd" if last else "ref": made})

    def _values(self, node: PublicNode) -> None:
        tensor = self._tensor(node)
        self._read_only(node, tensor)
        rank = self.graph.formats[tensor].rank
        inputs = {"ref": self._one(node, REF)} if node.wires else {}
        self._check(node, self.build.at[inputs["ref"]] if inputs else None, At(tensor, rank))
        made = self._add(node, Values(self._slot(tensor, VALUES), root=not inputs), **inputs)
        self._put(node, val=Pin(made, "val"))

    def _join(self, node: PublicNode) -> None:
        wires = [(wire, self._source(wire)) for wire in node.wires]
        crd, refs = add_joiner(self.build, node, wires, self.uses.get(node.name, ()),
                               lambda op, inputs: self._add(node, op, **inputs))
        self._put(node, crd=crd, **refs)

    def _reduce(self, node: PublicNode) -> None:
        val = self._one(node, VAL)
        guide = next((self._source(wire) for wire in node.wires if wire.enters == GUIDE), None)
        op, inputs = reducer_of(self.build, node, val, guide)
        self._put(node, val=Pin(self._add(node, op, **inputs), "val_o"))

    def _hold(self, node: PublicNode) -> None:
        """Coordinates held for those inside them are taken as they are: an accumulator knows its fibers by their stops."""
        indices = node.get("outer"), node.get("inner")
        pins = [self._source(wire, *indices) for wire in node.wires]
        at = {self.build.spaces[pin][-1][0]: pin for pin in pins if self.build.kind(pin) == CRD and self.build.spaces[pin]}
        if at.keys() != {*indices}:
            raise UserError(f"it gets coordinates of {shown(', '.join(at)) or 'nothing'}", node.where,
                            f"give it those of {' and '.join(map(shown, indices))}")
        self._put(node, **at)

    def _accumulate(self, node: PublicNode) -> None:
        pins = [self._source(wire) for wire in node.wires]
        op, inputs = add_accumulator(self.build, node, pins)
        made = self._add(node, op, **inputs)
        others = {self.build.spaces[pin][-1][0]: pin for pin in pins if self.build.kind(pin) == CRD}
        self._put(node, val=Pin(made, "val_o"), **others | {
            index: Pin(made, f"{port}_o") for index, port in zip(reversed(op.inner), ("crd", "outer"))})

    def _drop(self, node: PublicNode) -> None:
        op, inputs = dropper_of(self.build, node, [self._source(wire) for wire in node.wires])
        made = self._add(node, op, **inputs)
        self._put(node, **{node.get("outer"): Pin(made, "outer_o"), node.get("inner"): Pin(made, "inner_o")})

    def _write(self, node: PublicNode) -> None:
        tensor, mode = self._tensor(node), node.get("mode")
        form = self.graph.formats[tensor]
        if self.written and tensor != self.written[0].tensor:
            raise UserError(f"it writes {tensor}, and others write {self.written[0].tensor}", node.where,
                            "write one tensor with a graph")
        if mode != "vals" and mode not in map(str, form.order):
            raise UserError(f"tensor {tensor} has no mode '{shown(mode)}'", node.where,
                            f"its format is {form}; write vals for values")
        level = VALUES if mode == "vals" else form.order.index(int(mode))
        if any(other.level == level for other in self.written):
            raise UserError("what it writes is written twice", node.where, "write each level once")
        if level == VALUES and node.attributes.get("format") == "dense":
            self._scatter(node, tensor, form)
            return
        index = "" if level == VALUES else node.get("index")
        if index:
            self.indices[tensor, int(mode), index] = None
        self.written.append(Written(tensor, level, index, self._one(node, VAL if level == VALUES else CRD, index),
                                    node.where))

    def _scatter(self, node: PublicNode, tensor: str, form: Format) -> None:
        """Values at places in dense levels."""
        places, values = places_and_values(node, [(wire, self._source(wire)) for wire in node.wires])
        for mode, index in place_indices(self.build, node, tensor, form, places).items():
            self.indices[tensor, mode, index] = None
        self.written.append(Written(tensor, VALUES, "", values, node.where, places))
