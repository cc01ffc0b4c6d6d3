"""Write a component that is only instances and wires as RTLIL.

Amaranth has objects for every bit of a wire and looks at each a dozen times: for the array of the largest machine that took
half as long as all the rest of its Verilog.

Input:   the ports of the component and of its instances, and the list of wires that `connectivity` makes.
Output:  RTLIL as `rtlil.readable` leaves it: an output of an instance is the wire ``instance__port``; an input that nothing
         drives is 0, as in Amaranth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .connectivity import BORDER, Constant, End, Wire


@dataclass(frozen=True)
class Face:
    """A module as its ports.

    Parameters
    ----------
    module : str
    inputs, outputs : {str: int}     Width of each, without clock and reset.
    clocks : tuple of str            Which of clk and rst it has. One of an instance that no wire drives is the border's.
    """

    module: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    clocks: tuple[str, ...]


def netlist(border: Face, instances: Mapping[str, Face], wires: Iterable[Wire | Constant]) -> str:
    """The module `border`: its ports, its instances with what drives them, and what drives its outputs."""
    # Seen from inside, what enters at the border is a source.
    sources = {BORDER: border.inputs, **{name: face.outputs for name, face in instances.items()}}
    sinks = {BORDER: border.outputs,
             **{name: {**face.inputs, **dict.fromkeys(face.clocks, 1)} for name, face in instances.items()}}
    drivers: dict[End, str] = {}
    for wire in wires:
        bits = _width(sinks, wire.sink)
        assert wire.sink not in drivers, f"{wire.sink} is driven twice"
        if isinstance(wire, Wire):
            assert _width(sources, wire.source) == bits, f"{wire} has another width at its end"
            drivers[wire.sink] = _net(wire.source)
        else:
            assert wire.value.bit_length() <= bits, f"{wire} has more bits than its end"
            drivers[wire.sink] = _number(wire.value, bits)
    text = "\n".join(_lines(border, instances, drivers)) + "\n"
    assert not drivers, f"driven whole and in part: {[*drivers][:5]}"
    return text


def _lines(border: Face, instances: Mapping[str, Face], drivers: dict[End, str]) -> Iterator[str]:
    yield f"module \\{border.module}"
    flows = [(name, width, "input") for name, width in (*border.inputs.items(), *((name, 1) for name in border.clocks))]
    flows += [(name, width, "output") for name, width in border.outputs.items()]
    for order, (name, width, flow) in enumerate(flows, 1):
        yield f"  wire width {width} {flow} {order} \\{name}"
    for instance, face in instances.items():
        yield from (f"  wire width {width} {_net(End(instance, port))}" for port, width in face.outputs.items())
    for instance, face in instances.items():
        yield f"  cell \\{face.module} \\{instance}"
        yield from (f"    connect \\{name} {drivers.pop(End(instance, name), _net(End(BORDER, name)))}" for name in face.clocks)
        yield from (f"    connect \\{port} {_driver(drivers, End(instance, port), bits)}" for port, bits in face.inputs.items())
        yield from (f"    connect \\{port} {_net(End(instance, port))}" for port in face.outputs)
        yield "  end"
    yield from (f"  connect \\{port} {_driver(drivers, End(BORDER, port), width)}" for port, width in border.outputs.items())
    yield "end"


def _width(ports: Mapping[str, Mapping[str, int]], end: End) -> int:
    return ports[end.instance][end.port] if end.bit is None else 1


def _net(end: End) -> str:
    wire = f"\\{end.port}" if end.instance == BORDER else f"\\{end.instance}__{end.port}"
    return wire if end.bit is None else f"{wire} [{end.bit}]"


def _number(value: int, width: int) -> str:
    return f"{width}'{value:0{width}b}"


def _driver(drivers: dict[End, str], end: End, width: int) -> str:
    """What drives a port, taken out of `drivers`."""
    whole = drivers.pop(end, None)
    if whole is not None:
        return whole
    bits = [drivers.pop(End(end.instance, end.port, bit), None) for bit in reversed(range(width))]
    return f"{{ {' '.join(bit or _number(0, 1) for bit in bits)} }}" if any(bits) else _number(0, width)
