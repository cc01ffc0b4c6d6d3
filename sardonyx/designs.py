"""Designs of spatial arrays, mergers and others of their own kind by name, or from files of Python that have a `design`."""

from __future__ import annotations

import difflib
import pkgutil
import runpy
import traceback
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from .apps import spatial as shipped
from .hw.arch.errors import UserError
from .mergers import MergerDesign
from .outcome import Outcome, silent
from .outer_products import OuterProductDesign
from .phases import PhasedDesign
from .spatial import Design

# Designs that are stated by sizes, and what each is.
AnyDesign = Design | MergerDesign | OuterProductDesign
SIZED = {MergerDesign: "merger", OuterProductDesign: "product of lanes", PhasedDesign: "product of two phases"}


def names() -> dict[str, str]:
    """The designs that we ship, with what each is."""
    modules = [module.name for module in pkgutil.iter_modules(shipped.__path__)]
    texts = {name: import_module(f"{shipped.__name__}.{name}").__doc__ or "" for name in modules}
    return {name: text.partition("\n")[0].rstrip(".") for name, text in texts.items()}


def demo(out: Path, progress: Callable[[str], None] = silent) -> Outcome:
    """A matrix product on an array of 8 x 8 PEs: its Verilog and a picture in a folder, and a run of it, every word checked."""
    array = replace(design("matmul_weight_stationary"), bounds={"i": 32, "j": 8, "k": 8})
    array.verilog(out / "verilog", progress)
    array.picture(out / "array.svg")
    result = array.run(progress=progress, **array.random(20))
    return Outcome({"program": f"matrix products on a spatial array, {array.name}", **result.report, "numpy": "equal",
                    "verilog": str(out / "verilog"), "array": str(out / "array.svg")})


def design(name: str) -> Design:
    """An array that we ship, or that of a file; UserError for a file that has none, or raises an error, and for no array."""
    found = any_design(name)
    if not isinstance(found, Design):
        raise UserError(f"it is a {SIZED[type(found)]}, not an array", name, "choose a design with a functionality")
    return found


def any_design(name: str) -> AnyDesign:
    """An array, or a design of its own kind, otherwise as `design`."""
    path = Path(name)
    if path.suffix != ".py":
        if name in names():
            found = import_module(f"{shipped.__name__}.{name}").design
            assert isinstance(found, AnyDesign), "every module that we ship has a design"
            return found
        near = difflib.get_close_matches(name, names(), n=1)
        raise UserError("there is no design of this name", name, f"use {near[0]}" if near else
                        f"use one of {', '.join(names())}, or a file that ends in .py")
    if not path.is_file():
        raise UserError("no such file", name, "give a file of Python that has a `design`")
    try:
        variables = runpy.run_path(name)
    except UserError as mistake:
        raise UserError(mistake.what, mistake.where or name, mistake.fix) from mistake
    except SystemExit as error:
        raise UserError(f"it ends Python (SystemExit {error.code})", name, "leave that out") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:      # a file may raise what is no Exception, too
        lines = [f":{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
        # Of null bytes a SyntaxError says no line.
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else lines[-1] if lines else ""
        raise UserError(f"{type(error).__name__}: {error}", f"{name}{line}", "correct it; python shows more") from error
    found = variables.get("design")
    if not isinstance(found, AnyDesign):
        raise UserError("it has no `design` that is a sardonyx.spatial.Design", name,
                        "write design = sp.Design(...), or sp.merger(...)")
    return found
