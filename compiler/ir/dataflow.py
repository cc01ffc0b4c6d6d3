"""Dataflow graphs of the dense path: what is computed at every point of an iteration space.

Every node has one value at each point p of an integer grid (x first). An operand is a number or a reference: the value
of a node at p + offset. In a `WordGraph` nodes are operations on 16-bit words and 1-bit flags, as a program means them; in
a graph of PEs (`pe_graph`) they are what one PE does.

    blur(x) = (in(x) + 2 in(x + 1)) >> 2       0 in: input     1 shl @0+(1,), 1     2 add @0, @1     3 shr @2, 2
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..lang.halide.pipeline import Access, Func, Select
from ..lang.halide.text import show
from ..lang.halide.walk import postorder


@dataclass(frozen=True)
class Ref:
    """The value of a node at the point p + `offset`; `port` is ``res`` or, of a PE, ``p`` (its predicate)."""

    node: int
    offset: tuple[int, ...]
    port: str = "res"


Operand = Ref | int

# Word operations: name -> (operands, kinds of the operands and of the result: w word, b bit).
WORD_OPS = {
    "add": ("ww", "w"), "sub": ("ww", "w"), "mul": ("ww", "w"),
    # Bits 23:8 and 31:16 of the 32-bit product; `signed` says how the operands are read.
    "mul_middle": ("ww", "w"), "mul_high": ("ww", "w"),
    # Shifts by 16 or more empty the word (`signed` shr: fill it with the sign).
    "shl": ("ww", "w"), "shr": ("ww", "w"),
    "and": ("ww", "w"), "or": ("ww", "w"), "xor": ("ww", "w"), "abs": ("w", "w"),
    "min": ("ww", "w"), "max": ("ww", "w"),
    "eq": ("ww", "b"), "ne": ("ww", "b"), "lt": ("ww", "b"), "le": ("ww", "b"),
    "select": ("bww", "w"),
    "bit_and": ("bb", "b"), "bit_or": ("bb", "b"), "bit_xor": ("bb", "b"), "bit_not": ("b", "b"),
    # A flag as the word 0 or 1.
    "word": ("b", "w"),
    # Entry of the table `table` at the operand.
    "lookup": ("w", "w"),
}


@dataclass(frozen=True)
class WordNode:
    """An operation on words, or an input (`op` is ``input``, no operands).

    Parameters
    ----------
    op : str               ``input`` or a key of `WORD_OPS`.
    operands : tuple       In the order of `WORD_OPS`; integers are words 0..65535 or flags 0, 1.
    signed : bool          How mul_middle, mul_high, shr, min, max, lt, le read words.
    name : str             Of an input: the stream; otherwise for people, may be empty.
    table : tuple of int   Words of a lookup.
    """

    op: str
    operands: tuple[Operand, ...] = ()
    signed: bool = False
    name: str = ""
    table: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stream:
    """An image (or a plane of it) as a stream over the grid.

    The value at point p is element ``(scale * p + shift) // divide`` of the image in every dimension of the grid, in the
    plane `plane` of the dimensions that the grid does not have (x first, as a whole tuple, None for dimensions of the
    grid). Outputs use `scale` alone the other way: element e is the value at point ``scale * e``; their words are `signed` or
    not, whatever the type, which may be wider.

    A stream without an image repeats `pattern`: its value is entry ``element % len(pattern)``, where the element is the
    sum over the dimensions (all but one have scale 0).
    """

    image: str
    scale: tuple[int, ...]
    shift: tuple[int, ...]
    divide: tuple[int, ...]
    plane: tuple[int | None, ...]
    bits: int = 16
    pattern: tuple[int, ...] = ()
    signed: bool = False


@dataclass(frozen=True)
class WordGraph:
    """Nodes in topological order, the streams of the inputs by the node's name, results by name.

    gathered : mapping      Images that the host makes of others, by name: Funcs over the dimensions of the grid that choose
                            elements by coordinates and do not compute with them.
    """

    dims: tuple[str, ...]
    nodes: tuple[WordNode, ...]
    inputs: Mapping[str, Stream]
    results: Mapping[str, Ref]
    outputs: Mapping[str, Stream]
    gathered: Mapping[str, Func] = field(default_factory=dict)


def verify(graph: WordGraph) -> WordGraph:
    """The graph itself, if nothing is wrong with it."""
    found = faults(graph)
    assert not found, "lowering gives consistent graphs: " + "; ".join(found)
    return graph


def faults(graph: WordGraph) -> list[str]:
    """What is wrong with a graph, as sentences; empty if it is consistent."""
    found = []
    for number, node in enumerate(graph.nodes):
        found += [f"node {number}: {fault}" for fault in _word_faults(graph, number, node)]
    for name, ref in graph.results.items():
        found += [f"result {name}: {fault}" for fault in _word_ref_faults(graph, len(graph.nodes), ref, "w")]
    named = [node.name for node in graph.nodes if node.op == "input"]
    if sorted(named) != sorted(graph.inputs):
        found.append(f"the inputs are {sorted(named)} but there are streams for {sorted(graph.inputs)}")
    if set(graph.results) != set(graph.outputs):
        found.append(f"the results are {sorted(graph.results)} but there are streams for {sorted(graph.outputs)}")
    for name, stream in (*graph.inputs.items(), *graph.outputs.items()):
        found += [f"stream {name}: {fault}" for fault in _stream_faults(stream, len(graph.dims))]
    for name, func in graph.gathered.items():
        found += [f"gathered image {name}: {fault}" for fault in _gathered_faults(graph, func)]
    return found


def _gathered_faults(graph: WordGraph, func: Func) -> Iterator[str]:
    if func.args != graph.dims or len(func.values) != 1 or func.updates:
        yield f"it is one expression of {', '.join(graph.dims)}"
    stack = list(func.values)
    while stack:
        expr = stack.pop()
        if isinstance(expr, Select):
            stack += [expr.true, expr.false]
        # What must not hold an element: a place, a condition, an operand.
        parts = expr.args if isinstance(expr, Access) else (expr.condition,) if isinstance(expr, Select) else (expr,)
        if any(isinstance(part, Access) for part in postorder(*parts)):
            yield f"it computes with elements of images: {show(expr)}"


def _word_faults(graph: WordGraph, number: int, node: WordNode) -> Iterator[str]:
    if node.op == "input":
        if node.operands or not node.name:
            yield "an input has a name and no operands"
        return
    if node.op not in WORD_OPS:
        yield f"{node.op} is no operation"
        return
    kinds = WORD_OPS[node.op][0]
    if len(node.operands) != len(kinds):
        yield f"{node.op} takes {len(kinds)} operands, not {len(node.operands)}"
        return
    for kind, operand in zip(kinds, node.operands, strict=True):
        if isinstance(operand, Ref):
            yield from _word_ref_faults(graph, number, operand, kind)
        elif not 0 <= operand < (1 << 16 if kind == "w" else 2):
            yield f"{operand} is no {'word' if kind == 'w' else 'flag'}"
    if (node.op == "lookup") != bool(node.table):
        yield "a lookup, and nothing else, has a table"
    if any(not 0 <= entry < 1 << 16 for entry in node.table):
        yield "a table holds words"


def _word_ref_faults(graph: WordGraph, before: int, ref: Ref, kind: str) -> Iterator[str]:
    """Faults of a reference to a node before another that must give a word or a flag."""
    if not 0 <= ref.node < before:
        yield f"node {ref.node} does not stand before"
        return
    op = graph.nodes[ref.node].op
    if op in WORD_OPS and WORD_OPS[op][1] != kind:
        yield f"node {ref.node} gives {WORD_OPS[op][1]}, not {kind}"
    if len(ref.offset) != len(graph.dims) or ref.port != "res":
        yield f"{ref} is no point of a grid of {len(graph.dims)} dimensions"


def _stream_faults(stream: Stream, rank: int) -> Iterator[str]:
    if {len(stream.scale), len(stream.shift), len(stream.divide)} != {rank}:
        yield f"scale, shift and divide have {rank} entries"
    if any(each < 1 for each in stream.divide):
        yield f"it divides by {stream.divide}"
    if bool(stream.image) == bool(stream.pattern):
        yield "it has either an image or a pattern"
    if stream.image and (stream.plane.count(None) != rank or any(each < 1 for each in stream.scale)):
        yield "it runs through every dimension of the grid"


def to_text(graph: WordGraph) -> str:
    """One line for every stream, node and result, for dumps."""
    lines = [f"grid {' '.join(graph.dims)}"]
    lines += [f"gathered {name}({', '.join(func.args)}) = {show(func.values[0])}" for name, func in graph.gathered.items()]
    lines += [f"input {name}: {_stream_text(stream)}" for name, stream in graph.inputs.items()]
    for number, node in enumerate(graph.nodes):
        words = [node.op + (".s" if node.signed else ""), node.name, ", ".join(map(operand_text, node.operands)),
                 f"[{len(node.table)} entries]" if node.table else ""]
        lines.append(f"{number:4} {' '.join(filter(None, words))}")
    for name, ref in graph.results.items():
        lines.append(f"result {name} = {operand_text(ref)}: {_stream_text(graph.outputs[name])}")
    return "\n".join(lines) + "\n"


def operand_text(operand: Operand) -> str:
    """A number, or the node and offset of a reference."""
    if isinstance(operand, int):
        return str(operand)
    return f"@{operand.node}" + (f"+{operand.offset}" if any(operand.offset) else "")


def _stream_text(stream: Stream) -> str:
    words = [stream.image or f"pattern {stream.pattern}", f"{stream.bits} bits{', signed' if stream.signed else ''}"]
    words += [f"{what} {value}" for what, value, usual in (("scale", stream.scale, 1), ("shift", stream.shift, 0),
                                                         ("divide", stream.divide, 1)) if any(each != usual for each in value)]
    return ", ".join([*words, *([f"plane {stream.plane}"] if any(each is not None for each in stream.plane) else [])])
