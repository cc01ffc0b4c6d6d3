"""Convert components to Verilog, each unique component once, and use them as instances.

`macro` makes a component of a parent an instance of a module of its own; `emit` writes a component and every
macro below it, one file a module, with a file list in dependency order. Amaranth converts each component to
RTLIL, or `netlist` one that is only instances and wires, of which `verilog` makes Verilog in the meantime.

Output:  ``<module>.sv`` for every module, ``<top>.f`` and ``lint.vlt``; the same input gives the same bytes, with no path
         or date in them.
Cost:    onyx, nothing cached: 15 s on two cores.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import (
    Cat,
    ClockSignal,
    Elaboratable,
    EnableInserter,
    Fragment,
    Instance,
    ResetInserter,
    ResetSignal,
    Value,
)
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._xfrm import FragmentTransformer, StatementTransformer, ValueTransformer
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..cache import Cache, home
from .component import decided_by, emit_key, module_name, parameters, ports
from .connectivity import End
from .describe import Description, Field, describe
from .kept import KEY_DIGITS, identity, load, save
from .lint import LINT, waived
from .netlist import Face, netlist
from .rtlil import readable
from .verilog import EmittedModule, Writer

# What the modules of parts are called that are gated by enables, and the port for it.
ENABLED, CLOCK_ON = "_enabled", "clock_on"


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


@dataclass(frozen=True)
class Clock:
    """When a component is clocked.

    Parameters
    ----------
    on : Value               The edge at the end of a cycle is one for the component only if this is 1.
    gated : Value | None     A clock with these edges and no others; None: `on` enables every register.
    again : bool             It is part of one with a clock that is on in the same cycles: `on` comes by another net.
    """

    on: Value
    gated: Value | None = None
    again: bool = False


class Macro(Elaboratable):
    """Stands for a component in its parent: the component's own interface objects under their names."""

    def __init__(self, component: wiring.Component, flush: Value | None, reset: Value | None, clock: Clock | None) -> None:
        self.component, self._flush, self._reset, self._clock = component, flush, reset, clock
        self.signature = component.signature
        for name in component.signature.members:
            setattr(self, name, getattr(component, name))

    def __getattr__(self, name: str) -> Any:
        # Constants of the component (a depth, a latency) are read through.
        if name.startswith("_") or name == "component":
            raise AttributeError(name)
        return getattr(self.component, name)

    def elaborate(self, platform: Any) -> Elaboratable:
        if not isinstance(platform, EmitPlatform):
            resets = [each for each in (self._flush, self._reset) if each is not None]
            more = Cat(resets).any()
            inner = ResetInserter(more)(_ResetReader(more)(self.component)) if resets else self.component
            return EnableInserter(self._clock.on)(inner) if self._clock is not None else inner
        assert self._clock is None or self._clock.again or platform.clock_on is None, \
            "a part that is enabled by a clock gate has none inside"
        clock, component, flush, instead = self._clock, self.component, self._flush, dict[str, Value]()
        on = platform.clock_on if clock is None else None if clock.gated is not None else clock.on
        if on is not None:
            flush = None if flush is None else flush & on
            own = getattr(component, "clock_enable", None)
            if own is None:
                component, instead = Enabled(component), {CLOCK_ON: on}
            else:
                instead = {own: getattr(component, own) & on}
        module = platform.add(component)
        wires = [(f"{'i' if flow is PortDirection.Input else 'o'}_{name}", instead.get(name, value))
                 for name, (value, flow) in ports(component).items()]
        if "clk" in module.ports:
            wires.append(("i_clk", ClockSignal() if clock is None or clock.gated is None else clock.gated))
        if "rst" in module.ports:
            reset = ResetSignal() if self._reset is None else self._reset
            wires.append(("i_rst", reset if flush is None else reset | flush))
        return Instance(module.name, **dict(wires), **{f"p_{name}": value for name, value in parameters(component).items()})


class Enabled(wiring.Component):
    """A component whose registers keep their words in cycles without `clock_on`, but for a reset.

    Members
    -------
    clock_on : In(1)     And those of the component, whose interface objects they are.
    """

    def __init__(self, component: wiring.Component) -> None:
        self.component = component
        component._MustUse__used = True     # this one stands for it
        super().__init__({**component.signature.members, CLOCK_ON: In(1)})
        for name in component.signature.members:
            setattr(self, name, getattr(component, name))

    @property
    def module_name(self) -> str:
        return f"{module_name(self.component)}{ENABLED}"

    @property
    def emit_key(self) -> Hashable:
        return decided_by(self.component)

    def describe(self) -> Description:
        """What is said of the component, and of the port."""
        said = describe(self.component, self.module_name)
        more = f"//\n// {CLOCK_ON}: without it registers keep their words, but for a reset.\n"
        return replace(said, comment=said.comment + more)

    def elaborate(self, platform: Any) -> Fragment:
        platform.clock_on = self.clock_on
        inner = Fragment.get(self.component, platform)
        platform.clock_on = None
        return EnableInserter(self.clock_on)(inner)


class _ResetReader(FragmentTransformer, ValueTransformer, StatementTransformer):
    """Shows what reads the reset (`ResetSignal`) what is inserted, too, as in Verilog; `ResetInserter` does not."""

    def __init__(self, more: Value) -> None:
        self._more = more

    def on_ResetSignal(self, value: ResetSignal) -> Value:
        return value | self._more


def macro(component: wiring.Component, *, flush: Value | None = None, reset: Value | None = None,
          clock: Clock | None = None) -> Macro:
    """Use a component as a module of its own; the result has the component's interface.

    ``m.submodules.joiner = joiner = macro(Joiner(), flush=self.flush)``

    Members
    -------
    component : Component    In domain ``sync`` or combinational. The module is called
                             `component.module_name`, or the class name in snake case. Equal ones (same class,
                             same values of attributes) are converted once. If an attribute cannot be hashed,
                             each is converted and compared, unless the class gives an `emit_key`: something
                             hashable that says the same as all its attributes. One that is only instances and wires
                             may give a method `netlist`: its instances by name, equal ones best as one object, and
                             `connectivity`'s wires. Its module is then made of these, and not by Amaranth. One of cells
                             that Amaranth has not may give its module as the text `rtlil`; one that others have published
                             gives its file as the text `verilog`, has a clock ``clk``, and says in `parameters` what the
                             module is set to.
    flush : Value(1)         Resets the component, in addition to the reset of the domain.
    reset : Value(1)         Resets the component instead of the reset of the domain.
    clock : Clock            Clocks the component, and all in it, in some cycles only (`clock_gate`). Made of enables it is a
                             module of its own, ``<module>_enabled``; in an SRAM they gate its enable.
    """
    return Macro(component, flush, reset, clock)


def collect(component: wiring.Component, cache: Cache | None = None,
            take: Callable[[EmittedModule], None] = lambda module: None) -> EmitPlatform:
    """Convert a component and all macros below it to RTLIL, without Yosys; through a cache, if one is given."""
    platform = EmitPlatform(cache, take)
    with _garbage_kept():
        platform.add(component)
    return platform


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """Let Python not look for garbage: Amaranth makes millions that live, and walking them takes a third of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def emit(component: wiring.Component, out_dir: Path, cache: Cache | None = None) -> list[Path]:
    """Write a component and all macros below it as Verilog; return the files, the component's own last.

    The file list ``<top>.f`` in the same folder names them in that order, relative to the folder. Modules that were emitted
    before come from the cache (default: the user's), so that hardware that is patched in memory needs a cache of its own.
    """
    cache = cache or home()
    with Writer(cache) as writer:
        collect(component, cache, writer.take)
        return _store(writer.texts(), Path(out_dir))


def emit_each(components: Iterable[wiring.Component], out_dir: Path, cache: Cache | None = None) -> list[list[Path]]:
    """Write components that share modules into one folder; for each the files that `emit` would return."""
    cache = cache or home()
    with Writer(cache) as writer:
        platform = EmitPlatform(cache, writer.take)
        with _garbage_kept():
            names = [platform.add(component).name for component in components]
        files = {file.stem: file for file in _store(writer.texts(), Path(out_dir))}

    def below(name: str) -> dict[str, None]:
        inner = (part for macro in platform.modules[name].macros for part in below(macro))
        return dict.fromkeys((*inner, name))

    return [[files[part] for part in below(name)] for name in names]


def write(platform: EmitPlatform, out_dir: Path) -> list[Path]:
    """Write collected modules as Verilog; the last one collected is the top."""
    return _store(texts(platform), out_dir)


def texts(platform: EmitPlatform) -> dict[str, str]:
    """The Verilog of collected modules, by their names."""
    with Writer(platform.cache) as writer:
        for module in platform.modules.values():
            writer.take(module)
        return writer.texts()


def _store(texts: Mapping[str, str], out_dir: Path) -> list[Path]:
    out_dir.mkdir(parents=True, exist_ok=True)
    files = [out_dir / f"{name}.sv" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text)
    Path(out_dir, f"{files[-1].stem}.f").write_text("".join(f"{file.name}\n" for file in files))
    Path(out_dir, LINT).write_text(waived())
    return files


def _face(component: wiring.Component, module: str, names: Sequence[str]) -> Face:
    """A component as its module's ports; `names` tells whether clock and reset are among them."""
    found = ports(component)
    inputs, outputs = ({name: len(value) for name, (value, way) in found.items() if way is flow}
                       for flow in (PortDirection.Input, PortDirection.Output))
    return Face(module, inputs, outputs, tuple(clock for clock in ("clk", "rst") if clock in names))
