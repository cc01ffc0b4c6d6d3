"""Spatial arrays from separate concerns: what is computed, and where and when, as values.

    >>> from sardonyx import spatial as sp
    >>> product = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
    >>> design = sp.Design(product, sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 2, "j": 2, "k": 2})
    >>> design.run(A=[[1, 2], [3, 4]], B=[[5, 6], [7, 8]], engine="tokens").value.tolist()
    [[19, 22], [43, 50]]

A design gives its Verilog, a picture, words on what moves where, and checked results. Functionality is a statement, from
which the usual recurrences are derived, or the recurrences themselves (`sardonyx.compiler.lang.recurrence` says what they
mean).

Errors:  UserError for all that does not fit.
Source:  Stellar II (five concerns). Functionality and dataflow stand here; sparsity, balance and private buffers do not yet.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import arguments
from .compiler.lang import recurrence
from .compiler.lang.recurrence import INPUT, OUTPUT, VARIABLE, Declared, Expr, Index, Number, Read, Recurrences
from .compiler.spatial import report
from .compiler.spatial.derive import derive
from .compiler.spatial.pareto import pareto
from .compiler.spatial.picture import picture
from .compiler.spatial.points import Unrolled, unroll
from .compiler.spatial.project import project
from .compiler.spatial.search import Found
from .compiler.spatial.search import search as try_transforms
from .compiler.spatial.transform import Transform
from .dump import Dump
from .hw import emit
from .hw.arch.errors import UserError
from .hw.arch.spatial import BITS, Shaped, Spatial
from .hw.spatial.array import SpatialArray
from .outcome import Outcome, silent
from .runtime.data.ports import collected, fed
from .sim import spatial as engines
from .sim.golden.spatial import evaluate

__all__ = ["Design", "Result", "Transform", "absolute", "different", "equal", "functionality", "indices", "inputs", "maximum",
           "minimum", "outputs", "search", "select", "variables"]

ENGINES = {"golden": "NumPy, no hardware", "tokens": "the description of the array, step by step",
           "rtl": "generated Verilog on streams"}
MOST_OPERATIONS = 1 << 16


class Value:
    """An expression over variables, inputs and whole numbers: ``+ - *``, comparisons, and of truth values ``& | ~``."""

    def __init__(self, expr: Expr, names: Mapping[str, Declared]) -> None:
        self.expr, self.names = expr, names

    def __add__(self, other: object) -> Value:
        return _call("add", self, other)

    def __radd__(self, other: object) -> Value:
        return _call("add", other, self)

    def __sub__(self, other: object) -> Value:
        return _call("sub", self, other)

    def __rsub__(self, other: object) -> Value:
        return _call("sub", other, self)

    def __mul__(self, other: object) -> Value:
        return _call("mul", self, other)

    def __rmul__(self, other: object) -> Value:
        return _call("mul", other, self)

    def __neg__(self) -> Value:
        return _call("neg", self)

    def __lt__(self, other: object) -> Value:
        return _call("lt", self, other)

    def __le__(self, other: object) -> Value:
        return _call("le", self, other)

    def __gt__(self, other: object) -> Value:
        return _call("lt", other, self)

    def __ge__(self, other: object) -> Value:
        return _call("le", other, self)

    def __and__(self, other: object) -> Value:
        return _call("both", self, other)

    def __or__(self, other: object) -> Value:
        return _call("either", self, other)

    def __invert__(self) -> Value:
        return _call("not", self)

    def __eq__(self, other: object) -> bool:
        raise UserError(f"{self.expr} has no value yet", "functionality", "use sp.equal, or sp.different for !=")

    __hash__ = None     # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise UserError(f"{self.expr} has no value yet", "functionality", "use sp.select, and & | ~ in place of and, or, not")

    def __str__(self) -> str:
        return str(self.expr)


class Place(Value):
    """A variable or tensor at a place, which can be assigned."""

    def eq(self, value: object) -> Assigned:
        """What it is at all points that fit."""
        given = _value(value)
        assert isinstance(self.expr, Read), "a place reads"
        return Assigned(recurrence.Assignment(self.expr, given.expr), _joined(self.names, given.names))


@dataclass(frozen=True)
class Assigned:
    """An assignment, and what its names are."""

    assignment: recurrence.Assignment
    names: Mapping[str, Declared]


@dataclass(frozen=True)
class Name:
    """A variable or a tensor: call it with a place for every index or dimension."""

    declared: Declared

    def __call__(self, *places: object) -> Place:
        return Place(Read(self.declared.name, tuple(recurrence.place(each) for each in places)),
                     {self.declared.name: self.declared})


def indices(names: str) -> tuple[Index, ...]:
    """The indices of an iteration space by their names, separated by spaces."""
    return tuple(Index.named(name) for name in _names(names))


def inputs(names: str, dtype: str = "int16") -> tuple[Name, ...]:
    """Tensors that are read; `dtype` int8, int16 or int32."""
    return _declared(names, INPUT, dtype)


def variables(names: str, dtype: str = "") -> tuple[Name, ...]:
    """Variables inside the array; `dtype` int8, int16 or int32, by default that of what they copy, else int32."""
    return _declared(names, VARIABLE, dtype)


def outputs(names: str, dtype: str = "") -> tuple[Name, ...]:
    """Tensors that are computed; `dtype` int8, int16 or int32, by default that of the variable that is assigned."""
    return _declared(names, OUTPUT, dtype)


def minimum(a: object, b: object) -> Value:
    """The smaller of two numbers."""
    return _call("min", a, b)


def maximum(a: object, b: object) -> Value:
    """The larger of two numbers."""
    return _call("max", a, b)


def absolute(a: object) -> Value:
    """A number without its sign."""
    return _call("abs", a)


def equal(a: object, b: object) -> Value:
    """1 where two numbers are equal, else 0."""
    return _call("eq", a, b)


def different(a: object, b: object) -> Value:
    """1 where two numbers differ, else 0."""
    return _call("ne", a, b)


def select(condition: object, a: object, b: object) -> Value:
    """`a` where a condition is not 0, else `b`."""
    return _call("select", condition, a, b)


def functionality(*what: object, dtype: str = "int16", sums: str = "int32") -> Recurrences:
    """What an array computes: assignments, or a statement such as ``C(i,j) = A(i,k) * B(k,j)``.

    dtype, sums: for a statement, the types of its operands and of its sums and result; int8, int16 or int32.
    """
    if len(what) == 1 and isinstance(what[0], str):
        return derive(what[0], arguments.choice("dtype", dtype, BITS), arguments.choice("dtype", sums, BITS))
    names: Mapping[str, Declared] = {}
    for each in what:
        if not isinstance(each, Assigned):
            raise UserError(f"{arguments.said(each)} is no assignment", "functionality", "write them as c(i, k).eq(...)")
        names = _joined(names, each.names)
    return recurrence.recurrences(tuple(each.assignment for each in what if isinstance(each, Assigned)), names)


@dataclass(frozen=True)
class Result(Outcome):
    """The outcome of a run: the result, by name where there are several, and the cycles of engines that count them."""

    value: Any = None
    cycles: int | None = None


@dataclass(frozen=True)
class Design:
    """A spatial array.

    Parameters
    ----------
    functionality : Recurrences    What is computed.
    dataflow : Transform           Where and when; its columns are the indices in the order of `functionality.indices`.
    bounds : mapping               The extent of every index.
    name : str                     Of the Verilog module.
    """

    functionality: Recurrences
    dataflow: Transform
    bounds: Mapping[str, int]
    name: str = field(default="array", kw_only=True)

    def __post_init__(self) -> None:
        for what, value, kind in (("functionality", self.functionality, Recurrences), ("dataflow", self.dataflow, Transform),
                                  ("bounds", self.bounds, Mapping)):
            if not isinstance(value, kind):
                raise UserError(f"it is {arguments.said(value)}, which is no {kind.__name__}", what,
                                {"functionality": "use sp.functionality(...)", "dataflow": "use sp.Transform([[...], ...])",
                                 "bounds": "give the extent of every index, as {'i': 4}"}[what])
        if re.fullmatch(r"fifo2_w\d+|spatial_beat_\d+_\d+", arguments.text("name", self.name).lower()):
            raise UserError(f"{self.name} is the name of a part", "name", "choose another one")

    @functools.cached_property
    def unrolled(self) -> Unrolled:
        """Every value at every point."""
        return unroll(self.functionality, self.bounds)

    @functools.cached_property
    def spatial(self) -> Spatial:
        """The description of the array."""
        return project(self.unrolled, self.dataflow, self.name)

    def explain(self) -> Outcome:
        """How variables move, and what the array is made of."""
        return Outcome({"indices": dict(self.unrolled.bounds), "transform": self.dataflow.rows,
                        "determinant": self.dataflow.determinant, **report.facts(self.spatial)},
                       report.explained(self.unrolled, self.dataflow, self.spatial))

    def picture(self, path: str | Path | None = None) -> str:
        """The array as SVG text, which is also written to a file if one is named."""
        drawn = picture(self.spatial, report.ways(self.unrolled, self.dataflow), f"{self.name}: {self.dataflow}")
        if path is not None:
            Dump(Path(path).parent).write({Path(path).name: drawn})
        return drawn

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<name>.f`` in dependency order, ``lint.vlt``, ``array.svg``, and ``array.json``: the
        description, whose ports say the order of the words of every stream.
        """
        began = time.perf_counter()
        folder = Dump(Path(out))
        progress(f"generating the Verilog of '{self.name}'")
        with tempfile.TemporaryDirectory() as made:
            modules = emit.emit(SpatialArray(self.spatial), Path(made))
            files: dict[str, str | bytes] = {path.name: path.read_bytes() for path in sorted(Path(made).iterdir())}
        documents = {"array.json": json.dumps(self.spatial.to_json(), indent=1) + "\n", "array.svg": self.picture()}
        folder.write({**files, **documents})
        size = sum(len(text) for name, text in files.items() if name.endswith(".sv"))
        return Outcome({**report.facts(self.spatial), "modules": len(modules), "verilog_bytes": size,
                        "file_list": str(Path(out) / f"{self.name.lower()}.f"), "documents": sorted(documents),
                        "elapsed_s": round(time.perf_counter() - began, 2)})

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            **operands: object) -> Result:
        """Run the array and check every element against NumPy.

        Parameters
        ----------
        engine : str      golden, tokens or rtl.
        stalls : int      With rtl: a seed of random stalls at all ports.
        seed : int        Of operands that are not given, which are random.
        operands          An array of whole numbers for each input, of its shape; or with an axis in front, for several
                          operations back to back. Those without it are the same for all.
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        if stalls is not None and engine != "rtl":
            raise UserError(f"engine {engine} has no stalls", "stalls", "choose engine rtl")
        patterns = None if stalls is None else arguments.whole("stalls", stalls, 1)
        given, several = self._operands(operands, arguments.seed(seed))
        count = len(next(iter(given.values()))) if given else 1
        progress("computing with NumPy")
        wanted = self._golden(given, count)
        facts: dict[str, object] = {"engine": engine, **report.facts(self.spatial), "operations": count}
        cycles = None
        if engine != "golden":
            progress(f"running {count} operation{'s' if count > 1 else ''} on '{self.name}', engine {engine}")
            streams = fed(self.spatial, given)
            ran = (engines.run_tokens(self.spatial, streams, count) if engine == "tokens"
                   else engines.run_rtl(self.spatial, streams, count, patterns))
            found = collected(self.spatial, ran.outputs, count)
            for name, array in wanted.items():
                assert np.array_equal(found[name], array), f"{name} of engine {engine} is not NumPy's"
            cycles = ran.cycles
            useful = count * sum(len(cell.steps) for cell in self.spatial.cells)
            facts |= {"elements_checked": sum(array.size for array in wanted.values()), "cycles": cycles,
                      "utilisation": round(useful / (cycles * len(self.spatial.cells)), 3)}
        values = {name: array if several else array[0] for name, array in wanted.items()}
        return Result({**facts, "elapsed_s": round(time.perf_counter() - began, 2)},
                      value=values if len(values) > 1 else next(iter(values.values())), cycles=cycles)

    def _golden(self, given: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        found = [evaluate(self.functionality, self.unrolled.bounds, {name: array[at] for name, array in given.items()})
                 for at in range(count)]
        return {name: np.stack([each[name] for each in found]) for name in found[0]}

    def _operands(self, operands: Mapping[str, object], seed: int) -> tuple[dict[str, np.ndarray], bool]:
        """The operands with an axis for operations, and whether any had one."""
        tensors = {tensor.name: tensor for tensor in self.spatial.operands}
        if unknown := [name for name in operands if name not in tensors]:
            raise UserError(f"there is no input {unknown[0]}", "operands", f"give {', '.join(tensors)}")
        found = {name: _array(tensors[name], value) for name, value in operands.items()}
        counts = {name: len(array) for name, array in found.items() if array.ndim > len(tensors[name].shape)}
        if len(set(counts.values())) > 1:
            found_counts = " and ".join(f"{count} ({name})" for name, count in counts.items())
            raise UserError(f"the operands are of {found_counts} operations", "operands", "give as many of each")
        count = next(iter(counts.values()), 1)
        if not 1 <= count <= MOST_OPERATIONS:
            raise UserError(f"the operands are of {count} operations", "operands", f"give 1 to {MOST_OPERATIONS}")
        random = np.random.default_rng(seed)
        for name, tensor in tensors.items():
            most = 1 << tensor.bits - 1
            array = found[name] if name in found else random.integers(-most, most, tensor.shape)
            found[name] = array if name in counts else np.broadcast_to(array, (count, *tensor.shape))
        return found, bool(counts)


def _array(tensor: Shaped, value: object) -> np.ndarray:
    """An operand as an array, of the shape of the tensor or with an axis in front."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise UserError(f"it is {arguments.said(value)}, which is no array", tensor.name,
                        "give an array of whole numbers") from None
    if array.dtype.kind not in "iub" and array.size:
        raise UserError(f"it holds {array.dtype}", tensor.name, "give whole numbers")
    if array.shape != tensor.shape and array.shape[1:] != tensor.shape:
        raise UserError(f"it has the shape {array.shape}", tensor.name,
                        f"give {tensor.shape}, or (operations, {', '.join(map(str, tensor.shape))})")
    most = 1 << tensor.bits - 1
    if array.size and not (-most <= int(array.min()) and int(array.max()) < most):
        raise UserError(f"it has values from {array.min()} to {array.max()}", tensor.name, f"give {-most} to {most - 1}")
    return array.astype(np.int64)


@dataclass(frozen=True)
class Searched(Outcome):
    """What a search found: the transforms that no other one beats in estimated area and time, the fastest first."""

    best: tuple[Found, ...] = ()


def search(functionality: Recurrences, bounds: Mapping[str, int], picture: str | Path | None = None,
           progress: Callable[[str], None] = silent) -> Searched:
    """Try transforms of some functionality, and list those that give the smallest and the fastest arrays.

    bounds: the extent of every index, best small: other bounds seldom change the order. picture: a file for a plot of all of
    them.
    """
    if not isinstance(functionality, Recurrences):
        raise UserError(f"it is {arguments.said(functionality)}, which is no Recurrences", "functionality",
                        "use sp.functionality(...)")
    found = try_transforms(unroll(functionality, bounds),
                           lambda at, count: progress(f"trying transforms, {at:,} of {count:,} done"))
    if picture is not None:
        Dump(Path(picture).parent).write({Path(picture).name: pareto(found)})
    rows = [("gates", "path", "steps", "interval", "PEs", "transform", "on their way")]
    rows += [(f"{each.gates:,}", f"{each.path:.0f}", str(each.steps), str(each.interval), str(each.pes), str(each.transform),
              "; ".join(f"{way.variable} {way}" for way in each.ways)) for each in found.best]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    lines = ["  ".join([*(f"{text:>{wide}}" for text, wide in zip(row, widths)), row[-1]]) for row in rows]
    more = f", {found.left:,} more were not tried" if found.left else ""
    lines.append(f"{len(found.found):,} of {found.tried:,} transforms fit{more}")
    best = [{"transform": each.transform.rows, "gates": each.gates, "path": round(each.path, 1), "steps": each.steps,
             "interval": each.interval, "pes": each.pes} for each in found.best]
    return Searched({"best": best, "fit": len(found.found), "tried": found.tried, "not_tried": found.left}, "\n".join(lines),
                    found.best)


def _call(operation: str, *operands: object) -> Value:
    values = [_value(each) for each in operands]
    names: Mapping[str, Declared] = {}
    for each in values:
        names = _joined(names, each.names)
    return Value(recurrence.call(operation, *(each.expr for each in values)), names)


def _value(value: object) -> Value:
    return value if isinstance(value, Value) else Value(Number(recurrence.whole(value)), {})


def _joined(first: Mapping[str, Declared], second: Mapping[str, Declared]) -> dict[str, Declared]:
    """Names of both; UserError for one that is declared in two ways."""
    for name in first.keys() & second.keys():
        if first[name] != second[name]:
            raise UserError(f"{name} is declared twice, as {first[name].role} and as {second[name].role}", "functionality",
                            "give each variable and tensor a name of its own")
    return {**first, **second}


def _declared(names: str, role: str, dtype: str) -> tuple[Name, ...]:
    if dtype or role == INPUT:
        arguments.choice("dtype", dtype, BITS)
    return tuple(Name(Declared(name, role, dtype)) for name in _names(names))


def _names(names: str) -> list[str]:
    found = arguments.text("names", names).split()
    for name in found:
        if not (name.isascii() and name.isidentifier()):
            raise UserError(f"{arguments.said(name)} is no name", "functionality", "use letters, digits and underscores")
    return found
