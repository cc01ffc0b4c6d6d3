"""Run one stream component as compiled Verilog: tokens in, tokens out, with random stalls.

The ports are found from the component's signature: every member that is a stream is driven or collected,
plain inputs (``cfg`` first of all) are set before the start, plain outputs are read at the end. One model
is built for a component; configuration, tokens and stalls are inputs of its process.

Checked every cycle, with an AssertionError naming port and cycle: an output's valid is never retracted, its
payload never changes while it waits, and (in runs with stalls) its valid does not depend on its ready.

Cost: 0.6 s to build a small model, once on a machine; then 10 ms a `Bench`, 3 ms a call, 3 us a transfer.
"""

from __future__ import annotations

import functools
import importlib
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.lib import wiring

from ...cache import Cache, home
from ...hw import emit
from ...hw.arch.check import Whole
from ...hw.arch.errors import UserError, shown
from ...hw.arch.primitive import PRIMITIVES, Primitive
from ...hw.arch.tile import MEM, PE, TileSpec
from ...hw.arch.token import parse_stream, show_stream
from ...hw.component import module_name
from . import verilator
from .bench_top import BenchTop

MAIN = [Path(__file__).with_suffix(suffix) for suffix in (".cpp", ".h")]
MODEL = Path(__file__).with_name("bench_model.h")
_NONE = (1 << 64) - 1
_COUNTS = dict.fromkeys(("stalls", "max_cycles", "idle"), Whole(1, _NONE))
# In the order of `Fault` in bench.cpp.
_FAULTS = ("", "valid is retracted", "the payload changes while it waits",
           "valid depends on ready of the same stream", "tokens still move at the limit")

Config = int | Mapping[str, int]
Written = str | Iterable[str | int]


@dataclass(frozen=True)
class Case:
    """One run.

    Parameters
    ----------
    inputs : mapping           Tokens of each input stream; absent ones get none.
    config : int | mapping     Value of ``cfg``, or values of plain inputs by name; the others are 0.
    stalls : int | None        Seed of random stalls on all ports, 1 or more; None: never stall.
    expect : mapping | None    Stop as soon as every output named has given this many tokens.
    max_cycles : int           More is a fault.
    idle : int                 Stop after this many cycles without a transfer.
    """

    inputs: Mapping[str, Sequence[int]] = field(default_factory=dict)
    config: Config = 0
    stalls: int | None = None
    expect: Mapping[str, int] | None = None
    max_cycles: int = 1_000_000
    idle: int = 64


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Parameters
    ----------
    outputs : dict     Tokens of each output stream.
    cycles : int       From the first cycle after reset to the last output transfer, both included.
    stamps : dict      The cycle, from 0, of every transfer of every stream, inputs and outputs.
    left : dict        Tokens that were not taken, for the inputs where there are any.
    status : dict      Plain outputs in the last cycle.
    """

    outputs: dict[str, list[int]]
    cycles: int
    stamps: dict[str, list[int]]
    left: dict[str, int]
    status: dict[str, int]


class Bench:
    """The compiled model of a component.

    Parameters
    ----------
    component : Component    Fresh: it is elaborated here.
    fifos : bool             A `Fifo2` on every input, as in a tile.
    cache : Path             Folder of built models; default: the user's.
    """

    def __init__(self, component: wiring.Component, *, fifos: bool = False,
                 cache: Path | None = None) -> None:
        self.name = module_name(component)
        top = BenchTop(component, fifos)
        self._inputs, self._outputs = top.inputs, top.outputs
        self._config, self._status = top.config, top.status
        platform = emit.collect(top, Cache(cache) if cache else home())
        header = top.header(platform.modules["bench"].ports)
        self.model = verilator.build(emit.texts(platform), MODEL, "bench", includes={"ports.h": header}, main=MAIN, cache=cache)

    def run(self, inputs: Mapping[str, Sequence[int]] | None = None, config: Config = 0,
            stalls: int | None = None, **options: Any) -> Result:
        """Run one `Case`, given by its fields."""
        return self.run_many([Case(inputs or {}, config, stalls, **options)])[0]

    def run_many(self, cases: Sequence[Case]) -> list[Result]:
        """Run cases one after the other, each on a fresh model, in one process."""
        words = [np.array([len(cases)], np.uint64), *(part for case in cases for part in self._encode(case))]
        done = subprocess.run([str(self.model.executable)], input=np.concatenate(words).tobytes(),
                              capture_output=True)
        assert done.returncode == 0, f"simulation of {self.name} failed: {done.stderr.decode()}"
        answer = _Reader(np.frombuffer(done.stdout, np.uint64))
        return [self._decode(case, answer) for case in cases]

    def _encode(self, case: Case) -> Iterator[np.ndarray]:
        config = case.config
        if not isinstance(config, Mapping):
            config = {"cfg": config} if config else {}
        _known(config, self._config, f"plain input of {self.name}")
        _known(case.inputs, self._inputs, f"input stream of {self.name}")
        _known(case.expect or {}, self._outputs, f"output stream of {self.name}")
        assert case.stalls is None or case.stalls > 0, "a seed of stalls is 1 or more"
        head = [case.stalls or 0, case.max_cycles, case.idle]
        for name, width in self._config.items():
            value = config.get(name, 0)
            assert 0 <= value < 1 << width, f"{value} does not fit the {width} bits of {name}"
            head += [value >> 64 * word & _NONE for word in range(_words(width))]
        default = _NONE if case.expect is None else 0
        head += [(case.expect or {}).get(name, default) for name in self._outputs]
        yield np.array(head, np.uint64)
        for name, width in self._inputs.items():
            tokens = np.array(case.inputs.get(name, ()), np.uint64)
            assert not len(tokens) or int(tokens.max()) < 1 << width, f"{name} takes {width} bits"
            yield np.array([len(tokens)], np.uint64)
            yield tokens

    def _decode(self, case: Case, answer: _Reader) -> Result:
        fault, port, cycle = answer.take(3)
        stamps: dict[str, list[int]] = {}
        outputs: dict[str, list[int]] = {}
        for name in self._inputs:
            stamps[name] = answer.take(answer.one())
        for name in self._outputs:
            count = answer.one()
            outputs[name] = answer.take(count)
            stamps[name] = answer.take(count)
        status = {name: sum(word << 64 * n for n, word in enumerate(answer.take(_words(width))))
                  for name, width in self._status.items()}
        if fault:
            place = "" if fault == len(_FAULTS) - 1 else f"port {list(self._outputs)[port]}: "
            moved = ", ".join(f"{name} {len(each)}" for name, each in stamps.items())
            raise AssertionError(f"{self.name}: {place}{_FAULTS[fault]}, cycle {cycle} (transfers: {moved})")
        left = {name: len(tokens) - len(stamps[name]) for name, tokens in case.inputs.items()
                if len(tokens) > len(stamps[name])}
        cycles = 1 + max((stamps[name][-1] for name in outputs if stamps[name]), default=-1)
        return Result(outputs, cycles, stamps, left, status)


def run_component(component: wiring.Component, config: Config = 0,
                  inputs: Mapping[str, Sequence[int]] | None = None, stalls: int | None = None,
                  **options: Any) -> Result:
    """Build (once) and run a component; `options` are the other fields of `Case`."""
    return Bench(component).run(inputs, config, stalls, **options)


def run_many(component: wiring.Component, cases: Sequence[Case]) -> list[Result]:
    """Build (once) and run a component on many cases in one process."""
    return Bench(component).run_many(cases)


@functools.cache
def primitive_bench(name: str, tile: TileSpec | None = None) -> Bench:
    """The bench of a primitive with a `Fifo2` on every input, as in its tile."""
    primitive = PRIMITIVES[name]
    module, _, class_name = primitive.component.partition(":")
    component = getattr(importlib.import_module(module), class_name)
    return Bench(component(_spec(name, tile)) if primitive.sized else component(), fifos=True)


def _spec(name: str, tile: TileSpec | None) -> TileSpec:
    """The tile that a primitive is in."""
    return tile or (PE if PRIMITIVES[name] in PE.primitives else MEM)


def primitive_case(name: str, config: Mapping[str, int | str | bool] | None = None,
                   inputs: Mapping[str, Written] | None = None, stalls: int | None = None,
                   tile: TileSpec | None = None, **options: Any) -> Case:
    """The `Case` of a primitive from configuration values by name and written tokens."""
    tokens = {port: parse_stream(text) for port, text in (inputs or {}).items()}
    return Case(tokens, _spec(name, tile).config(PRIMITIVES[name]).encode(**(config or {})), stalls, **options)


def run_primitive(name: str, config: Mapping[str, int | str | bool] | None = None,
                  inputs: Mapping[str, Written] | None = None, stalls: int | None = None,
                  tile: TileSpec | None = None, **options: Any) -> tuple[dict[str, str], int]:
    """Run a primitive of `hw.arch.primitive` on written tokens; return the written outputs and the cycles.

    ``run_primitive("joiner", {"op": "union"}, {"crd0": "1 2 S0 D", "crd1": "2 S0 D"}, stalls=7)``
    """
    _check_primitive(name, config, inputs, tile)
    _check_options(name, {"stalls": stalls, **options})
    case = primitive_case(name, config, inputs, stalls, tile, **options)
    result = primitive_bench(name, tile).run_many([case])[0]
    missing = [port.name for port in PRIMITIVES[name].inputs if port.name not in case.inputs]
    if result.left and missing:
        raise UserError(f"it waits with tokens left at {', '.join(result.left)}, and nothing is given for {', '.join(missing)}",
                        f"primitive {name}", "give the tokens of that stream, up to D")
    return written(PRIMITIVES[name], result), result.cycles


def _check_primitive(name: object, config: object, inputs: object, tile: TileSpec | None) -> None:
    """UserError for a primitive or a stream that there is not, and for what says no names."""
    if not isinstance(name, str) or name not in PRIMITIVES:
        raise UserError(f"there is no primitive {shown(repr(name))}", fix=f"choose one of {', '.join(PRIMITIVES)}")
    for what, each in (("config", config), ("inputs", inputs)):
        if not isinstance(each, Mapping | None):
            raise UserError(f"{what} is of type {type(each).__name__}, which says no names", f"primitive {name}",
                            f"give a dictionary, {what}={{'name': ...}}")
    known = _spec(name, tile).config(PRIMITIVES[name]).fields
    for field_name in (config or {}):     # type: ignore[attr-defined]
        if field_name not in known:
            raise UserError(f"it has no configuration field {shown(repr(field_name))}", f"primitive {name}",
                            f"its fields are {', '.join(known) or 'none'}")
    ports = [port.name for port in PRIMITIVES[name].inputs]
    for port, tokens in (inputs or {}).items():     # type: ignore[attr-defined]
        if port not in ports:
            raise UserError(f"it has no stream {shown(repr(port))} to give tokens to", f"primitive {name}",
                            f"its streams are {', '.join(ports)}")
        if not isinstance(tokens, Iterable):
            raise UserError(f"the tokens of {port} are of type {type(tokens).__name__}", f"primitive {name}",
                            "write them, as '1 2 S0 D', or give a list")


def _check_options(name: str, options: Mapping[str, object]) -> None:
    """UserError for a field of `Case` that is out of range; None means what it means there."""
    counts = [(option, value, _COUNTS[option]) for option, value in options.items() if option in _COUNTS and value is not None]
    expect = options.get("expect")
    if expect is not None:
        outputs = [port.name for port in PRIMITIVES[name].outputs]
        if not isinstance(expect, Mapping) or not set(expect) <= set(outputs):
            raise UserError(f"expect is {shown(repr(expect))}, which is no dictionary of its outputs", f"primitive {name}",
                            f"give the tokens to stop at by stream, of {', '.join(outputs)}")
        counts += [(f"expect of {port}", value, Whole(0, _NONE)) for port, value in expect.items()]
    for option, value, legal in counts:
        if not legal.fits(value):
            raise UserError(f"{option} is {shown(repr(value))}", f"primitive {name}", f"give {legal.legal}")


def written(primitive: Primitive, result: Result) -> dict[str, str]:
    """The outputs of a run as people write tokens; bits as 0 and 1."""
    return {port.name: show_stream(result.outputs[port.name]) for port in primitive.outputs}


class _Reader:
    """Takes words from an answer in order."""

    def __init__(self, words: np.ndarray) -> None:
        self._words, self._at = words, 0

    def take(self, count: int) -> list[int]:
        self._at += count
        assert self._at <= len(self._words), "the simulation's answer is cut short"
        return self._words[self._at - count:self._at].tolist()

    def one(self) -> int:
        return self.take(1)[0]


def _words(width: int) -> int:
    return (width + 63) // 64


def _known(names: Iterable[str], known: Mapping[str, int], what: str) -> None:
    for name in names:
        assert name in known, f"{name} is no {what}: there are {', '.join(known) or 'none'}"
