"""Write converted modules as Verilog with Yosys, and tidy it, several at once, while others are still being converted.

Each has runs of Yosys of its own: names that it has met before, those of other modules too, decide the order of what it writes.

Input:   RTLIL of each module (`rtlil.readable`), macros before what has instances of them.
Output:  Verilog with ``always_comb``, because plain ``always @*`` never runs in Icarus while its inputs do not change. What is
         written of a module does not depend on when it is, and beside which others.
Cost:    Yosys runs twice for each module, 4 ms each and what there is to do.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ..cache import Cache
from .describe import Description
from .kept import KEY_DIGITS, load, save, writer
from .rtlil import whole_reads
from .tidy import tidy
from .yosys import run_yosys


@dataclass(frozen=True)
class EmittedModule:
    """A converted component.

    Parameters
    ----------
    name : str
    key : Hashable | None      What tells components of one name apart; None: compare the text.
    rtlil : str                The module and the Amaranth submodules inside it.
    parts : tuple of str       All module names in `rtlil`, `name` last.
    ports : tuple of str       Port names, clk and rst among them where used.
    kept : str | None          Its name in the cache (`kept.identity`), if it can be kept.
    macros : tuple of str      Modules that it has instances of.
    said : Description         What its file says before it.
    verilog : str | None       Its file, for a module that was published as Verilog; then `rtlil` has its ports only.
    """

    name: str
    key: Hashable | None
    rtlil: str
    parts: tuple[str, ...]
    ports: tuple[str, ...]
    kept: str | None
    macros: tuple[str, ...]
    said: Description
    verilog: str | None = None

    @classmethod
    def published(cls, name: str, key: Hashable | None, text: str, ports: Mapping[str, tuple[int, bool]],
                  parameters: Iterable[str]) -> EmittedModule:
        """A module that is there as Verilog; ports: of each its bits, and whether it is an output."""
        lines = ["attribute \\blackbox 1", f"module \\{name}", *(f"  parameter \\{each}" for each in parameters)]
        lines += [f"  wire width {bits} {'output' if out else 'input'} {number} \\{port}"
                  for number, (port, (bits, out)) in enumerate(ports.items(), 1)]
        modules = re.findall(r"^module (\w+)", text, re.M)
        assert name in modules, f"the Verilog of {name} has it"
        return cls(name, key, "\n".join([*lines, "end", ""]), tuple(modules), tuple(ports), None, (), Description(), text)

    @classmethod
    def from_rtlil(cls, name: str, key: Hashable | None, text: str, kept: str | None, macros: tuple[str, ...],
                   said: Description) -> EmittedModule:
        parts = re.findall(r"^module \\(\S+)$", text, re.M)
        assert parts and parts[0] == name, f"component {name} has no ports and no contents"
        # Amaranth writes the component itself first.
        head = text[:text.index("\nend\n")]
        ports = re.findall(r"^  wire width \d+ (?:input|output) \d+ \\(\S+)$", head, re.M)
        return cls(name, key, text, tuple(reversed(parts)), tuple(ports), kept, macros, said)

    @property
    def outside(self) -> str:
        """The module with its ports only, as others see it."""
        head = self.rtlil[:self.rtlil.index("\nend\n")]
        ports = re.findall(r"^  (?:parameter|wire width \d+ (?:input|output) \d+) \\\S+$", head, re.M)
        return "\n".join(["attribute \\blackbox 1", f"module \\{self.name}", *ports, "end", ""])


class Writer:
    """Takes modules and gives their Verilog, from a cache where it is there; use it as a context.

    Members
    -------
    take(module)    Starts Yosys, in a thread of its own.
    texts()         The Verilog of all modules that were taken, in their order.
    """

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache
        self._modules: dict[str, EmittedModule] = {}
        self._parts: set[str] = set()
        self._kept: dict[str, str] = {}
        self._running: dict[str, Future[str]] = {}
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def take(self, module: EmittedModule) -> None:
        assert self._parts.isdisjoint(module.parts), "a submodule has the name of a macro: rename the macro"
        self._parts.update(module.parts)
        self._modules[module.name] = module
        if module.verilog is not None:
            self._kept[module.name] = module.verilog
            return
        text = None if self._cache is None else load(self._cache, self._key(module))
        if text is not None:
            self._kept[module.name] = text
            return
        self._running[module.name] = self._pool.submit(self._write, module)

    def texts(self) -> dict[str, str]:
        return {name: self._kept[name] if name in self._kept else self._running[name].result() for name in self._modules}

    def _write(self, module: EmittedModule) -> str:
        text = _written(module, [self._modules[name].outside for name in module.macros])
        if self._cache is not None:
            save(self._cache, self._key(module), text)
        return text

    def _key(self, module: EmittedModule) -> str:
        """What Yosys reads to write a module."""
        outsides = (self._modules[name].outside for name in module.macros)
        seen = "\0".join((writer(), repr(module.said), module.rtlil, *outsides))
        return f"{module.name}-sv-{hashlib.sha256(seen.encode()).hexdigest()[:KEY_DIGITS]}"


def _written(module: EmittedModule, outsides: Sequence[str]) -> str:
    """The Verilog of a module; outsides: what it has instances of, with its ports only."""
    name = module.name
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "all.il").write_text("\n".join((*outsides, module.rtlil)))
        # What is no macro (Amaranth's own submodules) is drawn into its parent, so that every file is a module that a
        # designer named. Without muxes and ROMs, processes stay `if` and `case` as they were written.
        script = ["read_rtlil all.il", "hierarchy -check", f"setattr -mod -set keep_hierarchy 1 {name}",
                  "flatten -noscopeinfo -separator _", "proc -nomux -norom", "memory_collect", "write_rtlil flat.il"]
        (folder / "flatten.ys").write_text("\n".join(script) + "\n")
        run_yosys(["-q", "-s", "flatten.ys"], folder)
        # Last, because what is drawn in reads parts of its parent's vectors, and `proc` cuts vectors of which a part is
        # overridden.
        (folder / "whole.il").write_text(whole_reads((folder / "flat.il").read_text()))
        (folder / "write.ys").write_text(f"read_rtlil whole.il\nselect {name}\nwrite_verilog -sv -noattr -selected {name}.sv\n")
        run_yosys(["-q", "-s", "write.ys"], folder)
        # Yosys' header names its build.
        text = (folder / f"{name}.sv").read_text().partition("*/\n")[2].lstrip("\n")
    return module.said.comment + tidy(text, module.said.fields)
