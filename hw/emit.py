"""Convert components to Verilog, each unique component once, and use them as instances.

`macro` makes a component of a parent an instance of a module of its own; `emit` writes a component and every
macro below it, one file a module, with a file list in dependency order. While `emit_platform` converts a component to RTLIL,
`verilog` makes Verilog of those before.

Output:  ``<module>.sv`` for every module, ``<top>.f`` and ``lint.vlt``; the same input gives the same bytes, with no path
         or date in them.
Cost:    onyx, nothing cached: 15 s on two cores.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Elaboratable, EnableInserter, Instance, ResetInserter, ResetSignal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._xfrm import FragmentTransformer, StatementTransformer, ValueTransformer
from amaranth.lib import wiring

from ..cache import Cache, home
from .component import parameters, ports
from .emit_platform import EmitPlatform
from .enabled import CLOCK_ON, Enabled
from .lint import LINT, waived
from .verilog import EmittedModule, Writer


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
