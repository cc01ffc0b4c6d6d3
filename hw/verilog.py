"""Write converted modules as Verilog with Yosys, and tidy it, several at once, while others are still being converted.

Input:   RTLIL of each module (`rtlil.readable`), macros before what has instances of them.
Output:  Verilog with ``always_comb``, because plain ``always @*`` never runs in Icarus while its inputs do not change. What is
         written of a module does not depend on when it is, and beside which others.
Cost:    Yosys runs twice for each group of modules, 4 ms each and what there is to do.
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
from .kept import KEY_DIGITS, generator, load, save
from .rtlil import whole_reads
from .tidy import tidy
from .yosys import run_yosys

# Letters of RTLIL that are worth a run of Yosys while there is more to come.
GROUP = 1_000_000


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
    take(module)    Starts Yosys, in a thread of its own, as soon as there is enough to do for it.
    texts()         The Verilog of all modules that were taken, in their order.
    """

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache
        self._modules: dict[str, EmittedModule] = {}
        self._parts: set[str] = set()
        self._kept: dict[str, str] = {}
        self._waiting: list[EmittedModule] = []
        self._running: list[Future[dict[str, str]]] = []
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
        self._waiting.append(module)
        if sum(len(each.rtlil) for each in self._waiting) >= GROUP:
            self._start(self._waiting)
            self._waiting = []

    def texts(self) -> dict[str, str]:
        for group in _groups(self._waiting, os.cpu_count() or 1):
            self._start(group)
        self._waiting = []
        found = dict(self._kept)
        for running in self._running:
            found |= running.result()
        return {name: found[name] for name in self._modules}

    def _start(self, group: Sequence[EmittedModule]) -> None:
        self._running.append(self._pool.submit(self._write, group))

    def _write(self, group: Sequence[EmittedModule]) -> dict[str, str]:
        texts = _written(self._modules, group)
        if self._cache is not None:
            for module in group:
                save(self._cache, self._key(module), texts[module.name])
        return texts

    def _key(self, module: EmittedModule) -> str:
        """What Yosys reads to write a module."""
        outsides = (self._modules[name].outside for name in module.macros)
        seen = "\0".join((generator(), repr(module.said), module.rtlil, *outsides))
        return f"{module.name}-sv-{hashlib.sha256(seen.encode()).hexdigest()[:KEY_DIGITS]}"


def _groups(modules: Sequence[EmittedModule], count: int) -> list[list[EmittedModule]]:
    """Modules in so many groups of about the same size of text, for as many runs of Yosys at once."""
    groups: list[list[EmittedModule]] = [[] for _ in range(count)]
    for module in sorted(modules, key=lambda module: -len(module.rtlil)):
        min(groups, key=lambda group: sum(len(each.rtlil) for each in group)).append(module)
    return [group for group in groups if group]


def _written(modules: Mapping[str, EmittedModule], group: Sequence[EmittedModule]) -> dict[str, str]:
    """The Verilog of some modules; what they have instances of stands beside them with its ports only."""
    names = [module.name for module in group]
    inside = dict.fromkeys(name for module in group for name in module.macros if name not in names)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "all.il").write_text("\n".join((*(modules[name].outside for name in inside),
                                                  *(module.rtlil for module in group))))
        # What is no macro (Amaranth's own submodules) is drawn into its parent, so that every file is a module that a
        # designer named. Without muxes and ROMs, processes stay `if` and `case` as they were written.
        script = ["read_rtlil all.il", "hierarchy -check", *(f"setattr -mod -set keep_hierarchy 1 {name}" for name in names),
                  "flatten -noscopeinfo -separator _", "proc -nomux -norom", "memory_collect", "write_rtlil flat.il"]
        (folder / "flatten.ys").write_text("\n".join(script) + "\n")
        run_yosys(["-q", "-s", "flatten.ys"], folder)
        # Last, because what is drawn in reads parts of its parent's vectors, and `proc` cuts vectors of which a part is
        # overridden.
        (folder / "whole.il").write_text(whole_reads((folder / "flat.il").read_text()))
        script = ["read_rtlil whole.il"]
        script += [f"select {name}\nwrite_verilog -sv -noattr -selected {name}.sv" for name in names]
        (folder / "write.ys").write_text("\n".join(script) + "\n")
        run_yosys(["-q", "-s", "write.ys"], folder)
        # Yosys' header names its build.
        texts = {name: (folder / f"{name}.sv").read_text().partition("*/\n")[2].lstrip("\n") for name in names}
        return {name: modules[name].said.comment + tidy(text, modules[name].said.fields) for name, text in texts.items()}
