"""Map a sparse graph onto tile kinds: every node becomes one block, every level brings its stream to the global buffer.

    scan_B_k      =>   io "B1" -> mem "scan_B_k" (writer, buffer and scanner in one tile) -> crd, ref
    values_B      =>   io "B_vals" -> mem "values_B" -> val
    write_X_i     =>   mem "write_X_i" -> io "X0"

Forks need no node: the interconnect broadcasts. Source: Onyx JSSC IV-B (triplets, broadcasts become wires); joiners are
binary in the sparse graph already (see `lower`).
"""

from __future__ import annotations

from collections import defaultdict

from ...hw.arch.op import BY_NAME
from ...hw.arch.primitive import ALU, DROPPER, JOINER, LEVEL, PRIMITIVES, REDUCER, REPEATER, Flow, Primitive
from ..ir.mapped import LOAD, STORE, VALUES, Block, MappedGraph, Net, Pin, Stream, level_name
from ..ir.sam import Alu, Dropper, Joiner, LevelWriter, Op, Reducer, Repeater, SamGraph, Scanner, Values, ValuesWriter

Fields = dict[str, "int | str | bool"]

# ALU operations of the sparse graph: operation of the table, constant of operand d.
_ALU_OPS = {"add": ("adc", 0), "sub": ("sbc", 1), "mul": ("mult0", 0)}


def map_graph(sam: SamGraph) -> MappedGraph:
    """The mapped graph of a sparse graph."""
    blocks: dict[str, Block] = {}
    streams: list[Stream] = []
    sinks: dict[Pin, list[Pin]] = defaultdict(list)
    for name, op in sam.nodes.items():
        primitive, config = _configure(op)
        kind = "mem" if primitive is LEVEL else "pe"
        blocks[name] = Block(name, kind, primitive.name, config)
        if primitive is LEVEL:
            stream = _stream(op)
            streams.append(stream)
            blocks[stream.block] = Block(stream.block, "io", "", {})
            if stream.direction == LOAD:
                sinks[Pin(stream.block, "g2f")].append(_pin(LEVEL, name, "block", Flow.IN))
            else:
                sinks[_pin(LEVEL, name, "block_o", Flow.OUT)].append(Pin(stream.block, "f2g"))
    for edge in sam.edges:
        source, sink = ((pin, PRIMITIVES[blocks[pin.node].primitive]) for pin in (edge.src, edge.dst))
        # Looked-up values leave a MEM where scanned coordinates do.
        port = "crd" if isinstance(sam.nodes[edge.src.node], Values) else edge.src.port
        sinks[_pin(source[1], edge.src.node, port, Flow.OUT)].append(_pin(sink[1], edge.dst.node, edge.dst.port, Flow.IN))
    nets = tuple(Net(source, tuple(each)) for source, each in sinks.items())
    loads_first = sorted(streams, key=lambda stream: stream.direction != LOAD)
    return MappedGraph(blocks, nets, tuple(loads_first))


def _pin(primitive: Primitive, block: str, port: str, flow: Flow) -> Pin:
    found = next(p for p in primitive.ports if p.name == port and p.flow is flow)
    return Pin(block, found.tile_port)


def _configure(op: Op) -> tuple[Primitive, Fields]:
    """The primitive of a node and its configuration."""
    if isinstance(op, Scanner):
        return LEVEL, {"input": "block", "output": "scan", "dense": op.dense, "root": op.root}
    if isinstance(op, Values):
        return LEVEL, {"input": "block", "output": "lookup", "values": True, "root": op.root}
    if isinstance(op, LevelWriter):
        return LEVEL, {"input": "stream", "output": "block"}
    if isinstance(op, ValuesWriter):
        return LEVEL, {"input": "stream", "output": "block", "values": True}
    if isinstance(op, Joiner):
        return JOINER, {"op": op.op, "use_ref0": op.refs[0], "use_ref1": op.refs[1]}
    if isinstance(op, Repeater):
        return REPEATER, {"root": op.root}
    if isinstance(op, Reducer):
        return REDUCER, {"guided": op.guided}
    if isinstance(op, Dropper):
        return DROPPER, {"form": op.form}
    assert isinstance(op, Alu), f"{op} has no primitive"
    name, carry = _ALU_OPS[op.op]
    config: Fields = {"op": BY_NAME[name].code, "const_d": carry}
    for operand, constant in (("a", op.a), ("b", op.b)):
        config |= {f"stream_{operand}": constant is None, f"const_{operand}": (constant or 0) % (1 << 16)}
    return ALU, config


def _stream(op: Op) -> Stream:
    """The stream between a level's tile and the global buffer."""
    assert isinstance(op, Scanner | Values | LevelWriter | ValuesWriter), f"{op} holds no level"
    level = op.level if isinstance(op, Scanner | LevelWriter) else VALUES
    direction = LOAD if isinstance(op, Scanner | Values) else STORE
    name = level_name(op.slot, level)
    return Stream(f"{direction} {name}", direction, name, sections=1 if level == VALUES else 2)
