"""The modules of a design, collected while it is elaborated: each unique component is converted once, or comes from a cache.

Amaranth converts a component to RTLIL, or `netlist` one that is only instances and wires.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace

from amaranth.back import rtlil
from amaranth.hdl import Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from ..cache import Cache
from .component import decided_by, emit_key, module_name, parameters, ports
from .connectivity import End
from .describe import Description, Field, describe
from .enabled import Enabled
from .kept import KEY_DIGITS, identity, load, save
from .netlist import Face, netlist
from .rtlil import readable
from .verilog import EmittedModule


class EmitPlatform:
    """Collects the module of every macro while a design is elaborated; `modules` is in dependency order.

    cache : Cache | None    Where converted modules are looked for and kept.
    take : function         Is given each module as soon as it is there.
    """

    def __init__(self, cache: Cache | None = None, take: Callable[[EmittedModule], None] = lambda module: None) -> None:
        self.modules: dict[str, EmittedModule] = {}
        self.cache, self._take = cache, take
        # What enables the registers of the component that is being converted, if anything does.
        self.clock_on: Value | None = None
        # For every component that is being converted, the macros in it.
        self._inside: list[dict[str, None]] = [{}]

    def add(self, component: wiring.Component) -> EmittedModule:
        """The module of a component, converted unless an equal one is there already."""
        name, key = module_name(component), emit_key(component)
        self._inside[-1][name] = None
        known = self.modules.get(name)
        if known is not None and key is not None and known.key == key:
            component._MustUse__used = True     # an equal one stands for it: no "never used" warning
            return known
        if isinstance(text := getattr(component, "verilog", None), str):
            component._MustUse__used = True
            found = {"clk": (1, False)} | {port: (len(value), flow is PortDirection.Output)
                                           for port, (value, flow) in ports(component).items()}
            return self._put(EmittedModule.published(name, key, text, found, parameters(component)))
        kept = None if self.cache is None else identity(decided_by(component))
        if kept is not None and (loaded := self._load(name, kept)) is not None:
            component._MustUse__used = True
            self.modules[name] = loaded = replace(loaded, key=key)
            return loaded
        self._inside.append({})
        outer, self.clock_on = self.clock_on, None
        text = self._convert(name, component)
        self.clock_on = outer
        said = component.describe() if isinstance(component, Enabled) else describe(component, name)
        module = EmittedModule.from_rtlil(name, key, text, kept, tuple(self._inside.pop()), said)
        known = self._put(module)
        self._save(module)
        return known

    def _put(self, module: EmittedModule) -> EmittedModule:
        known = self.modules.setdefault(module.name, module)
        assert known.rtlil == module.rtlil, f"two different components are called {module.name}; set module_name"
        if known is module:
            self._take(module)
        return known

    def _convert(self, name: str, component: wiring.Component) -> str:
        """The RTLIL of a component, by Amaranth, or of its instances and wires if it says that there is nothing else in it, or
        as it has it itself."""
        if isinstance(text := getattr(component, "rtlil", None), str):
            component._MustUse__used = True
            return text
        if not hasattr(component, "netlist"):
            return readable(rtlil.convert(component, name=name, platform=self, ports=ports(component), emit_src=False))
        component._MustUse__used = True
        parts, wires = component.netlist()
        faces = {part: _face(part, module.name, module.ports) for part, module in
                 ((part, self.add(part)) for part in dict.fromkeys(parts.values()))}
        driven = {wire.sink for wire in wires}
        clocks = sorted({clock for instance, part in parts.items() for clock in faces[part].clocks
                         if End(instance, clock) not in driven})
        return netlist(_face(component, name, clocks), {instance: faces[part] for instance, part in parts.items()}, wires)

    def _load(self, name: str, kept: str) -> EmittedModule | None:
        """A module and all below it from the cache; None if one of them is not there."""
        known = self.modules.get(name)
        if known is not None and known.kept == kept:
            return known
        assert self.cache is not None, "modules are kept in a cache"
        text = load(self.cache, f"{name}-{kept[:KEY_DIGITS]}")
        if text is None:
            return None
        head, _, body = text.partition("\n")
        fields = json.loads(head)
        for inner in fields["macros"]:
            if self._load(*inner) is None:
                return None
        said = Description(fields["comment"], tuple(Field(*field) for field in fields["fields"]))
        return self._put(EmittedModule(name, None, body, tuple(fields["parts"]), tuple(fields["ports"]), kept,
                                       tuple(inner for inner, _ in fields["macros"]), said))

    def _save(self, module: EmittedModule) -> None:
        macros = [(name, self.modules[name].kept) for name in module.macros]
        if self.cache is not None and module.kept is not None and all(kept for _, kept in macros):
            said = module.said
            head = json.dumps({"parts": module.parts, "ports": module.ports, "macros": macros, "comment": said.comment,
                               "fields": [astuple(field) for field in said.fields]})
            save(self.cache, f"{module.name}-{module.kept[:KEY_DIGITS]}", f"{head}\n{module.rtlil}")

    @property
    def rtlil(self) -> str:
        """All modules as one RTLIL text."""
        return "\n".join(module.rtlil for module in self.modules.values())


def _face(component: wiring.Component, module: str, names: Sequence[str]) -> Face:
    """A component as its module's ports; `names` tells whether clock and reset are among them."""
    found = ports(component)
    inputs, outputs = ({name: len(value) for name, (value, way) in found.items() if way is flow}
                       for flow in (PortDirection.Input, PortDirection.Output))
    return Face(module, inputs, outputs, tuple(clock for clock in ("clk", "rst") if clock in names))
