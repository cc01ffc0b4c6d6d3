"""What a component is as a module: its name, its ports, what it is set to, and what tells it from others of its name."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

from amaranth.hdl import Const, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring


def module_name(component: wiring.Component) -> str:
    """The name of a component's module."""
    name = getattr(component, "module_name", None)
    if name is None:
        words = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
        name = re.sub(words, "_", type(component).__name__).lower()
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name), f"{name!r} is no module name in lower case"
    return name


def ports(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """The members as module ports, without constants (always_valid, always_ready) and empty ones."""
    found = {}
    for path, member, value in component.signature.flatten(component):
        value = Value.cast(value)
        if not isinstance(value, Const) and len(value):
            flow = PortDirection.Input if member.flow is wiring.In else PortDirection.Output
            found["__".join(map(str, path))] = (value, flow)
    return found


def parameters(component: wiring.Component) -> Mapping[str, int]:
    """The parameters with which a published module is used; none of others."""
    found: Mapping[str, int] = component.parameters if hasattr(component, "verilog") else {}
    return found


def emit_key(component: wiring.Component) -> Hashable | None:
    """What tells a component from others of its name, or None if only its RTLIL can.

    Components of one class that hold equal values make equal modules: `elaborate` reads nothing else.
    """
    key = decided_by(component)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def decided_by(component: wiring.Component) -> tuple[object, ...]:
    """Everything that the module of a component depends on."""
    if hasattr(component, "emit_key"):
        return type(component), component.emit_key
    inner = {*component.signature.members, "_Component__signature"}
    values = tuple((name, value) for name, value in vars(component).items()
                   if name not in inner and not name.startswith("_MustUse"))
    sizes = tuple((name, len(value), flow) for name, (value, flow) in ports(component).items())
    return type(component), values, sizes
