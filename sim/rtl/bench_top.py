"""The module around a component under test: any component, with ports that the C++ bench can find.

Verilator changes names with two underscores and names that are C++ keywords, so the streams of the module
`bench` are called ``i0_payload, i0_valid, i0_ready, i1_payload, ...`` and ``o0_...``, plain inputs
``c0, ...`` and plain outputs ``s0, ...``, in the order of the component's signature.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...hw import emit
from ...hw.stream.fifo import Fifo2


@dataclass(frozen=True)
class Leaf:
    """A stream or a plain port of a component; arrays and nested interfaces are joined with ``__``."""

    name: str
    flow: wiring.Flow
    is_stream: bool
    width: int
    value: Any


class BenchTop(wiring.Component):
    """A component behind numbered ports.

    Parameters
    ----------
    component : Component
    fifos : bool                     A `Fifo2` on every input stream.

    Attributes
    ----------
    inputs, outputs : {str: int}     The streams by their name in the component: width of the payload.
    config, status : {str: int}      The plain inputs and outputs: width.
    """

    module_name = "bench"

    def __init__(self, component: wiring.Component, fifos: bool) -> None:
        self._component, self._fifos = component, fifos
        self._leaves = list(leaves(component))
        self.inputs, self.outputs = self._named(In, True), self._named(Out, True)
        self.config, self.status = self._named(In, False), self._named(Out, False)
        members: dict[str, wiring.Member] = {}
        for kind, flow, streams in (("i", In, self.inputs), ("o", Out, self.outputs)):
            for n, (name, width) in enumerate(streams.items()):
                assert width <= 64, f"stream {name} has {width} bits: the bench takes payloads of up to 64"
                members |= {f"{kind}{n}_payload": flow(width), f"{kind}{n}_valid": flow(1),
                            f"{kind}{n}_ready": flow.flip()(1)}
        members |= {f"c{n}": In(width) for n, width in enumerate(self.config.values())}
        members |= {f"s{n}": Out(width) for n, width in enumerate(self.status.values())}
        super().__init__(members)

    def _named(self, flow: wiring.Flow, streams: bool) -> dict[str, int]:
        return {leaf.name: leaf.width for leaf in self._leaves
                if leaf.flow is flow and leaf.is_stream is streams}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.dut = emit.macro(self._component)
        value = {leaf.name: leaf.value for leaf in self._leaves}
        for n, (name, width) in enumerate(self.inputs.items()):
            sink = value[name]
            if self._fifos:
                m.submodules[f"fifo_{name}"] = fifo = emit.macro(Fifo2(width))
                _connect(m, fifo.o, sink)
                sink = fifo.i
            _connect(m, self._own("i", n), sink)
        for n, name in enumerate(self.outputs):
            _connect(m, value[name], self._own("o", n))
        m.d.comb += [value[name].eq(getattr(self, f"c{n}")) for n, name in enumerate(self.config)]
        m.d.comb += [getattr(self, f"s{n}").eq(value[name]) for n, name in enumerate(self.status)]
        return m

    def _own(self, kind: str, n: int) -> Any:
        parts = ("payload", "valid", "ready")
        return SimpleNamespace(**{part: getattr(self, f"{kind}{n}_{part}") for part in parts})

    def header(self, module_ports: Collection[str]) -> str:
        """The C++ lines that say the ports of a model; ``bench_model.h`` includes them as ``ports.h``."""
        def streams(kind: str, call: str, widths: Iterable[int]) -> list[str]:
            return [f"ports.{call}({{&top.{kind}{n}_payload, {width}}}, &top.{kind}{n}_valid, &top.{kind}{n}_ready);"
                    for n, width in enumerate(widths)]

        lines = [*streams("i", "input", self.inputs.values()), *streams("o", "output", self.outputs.values())]
        for kind, call, widths in (("c", "configured", self.config), ("s", "shown", self.status)):
            lines += [f"ports.{call}({{&top.{kind}{n}, {width}}});" for n, width in enumerate(widths.values())]
        lines += [f"ports.{name} = &top.{name};" for name in ("clk", "rst") if name in module_ports]
        return "\n".join([*lines, ""])


def leaves(component: wiring.Component) -> Iterator[Leaf]:
    """The streams and plain ports of a component, in order; ports without bits are left out."""
    def walk(name: str, flow: wiring.Flow, value: Any) -> Iterator[Leaf]:
        if isinstance(value, (list, tuple)):
            for n, each in enumerate(value):
                yield from walk(f"{name}__{n}", flow, each)
        elif not hasattr(value, "signature"):
            width = len(Value.cast(value))
            if width:
                yield Leaf(name, flow, False, width, Value.cast(value))
        elif isinstance(value.signature if flow is Out else value.signature.flip(), stream.Signature):
            yield Leaf(name, flow, True, len(Value.cast(value.payload)), value)
        else:
            for part, member in value.signature.members.items():
                yield from walk(f"{name}__{part}", member.flow, getattr(value, part))

    for name, member in component.signature.members.items():
        yield from walk(name, member.flow, getattr(component, name))


def _connect(m: Module, source: Any, sink: Any) -> None:
    """Connect streams whose payload shapes differ; an always-ready or always-valid side has constants."""
    m.d.comb += Value.cast(sink.payload).eq(Value.cast(source.payload))
    if not isinstance(sink.valid, Const):
        m.d.comb += sink.valid.eq(source.valid)
    if not isinstance(source.ready, Const):
        m.d.comb += source.ready.eq(sink.ready)
