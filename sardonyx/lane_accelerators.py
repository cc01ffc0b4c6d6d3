"""Accelerators around arrays of lanes: commands for one phase of a product, from memory to memory.

    multiply.accelerator().run(A=a, B=b)        # `multiply`, a design with the dataflow `Lanes`

Errors:  UserError for all that does not fit.
Source:  Stellar V and VI-C; OuterSPACE IV.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import component_files, lane_hardware, lane_operands, lane_runs
from .compiler.spatial.laned import Laned
from .hw.arch.errors import UserError
from .hw.arch.outer_product import OuterProduct
from .hw.spatial.accelerator import SpatialAccelerator
from .hw.spatial.outer.product import OuterProductArray
from .hw.spatial.system import SpatialSystem
from .outcome import Computed, Outcome, silent
from .runtime.spatial_header import header
from .runtime.spatial_products import check_shape
from .sim.rtl.accelerator import LATENCY

# What to do where a setting of other accelerators is given.
REMEDIES = {"ports": "give sp.Lanes(..., ports=16)", "watchdog": "leave it out: a wait for what is not asked for is refused",
            "bus_bytes": "leave it out: nodes of lists have heads of 8 bytes"}


@dataclass(frozen=True)
class LaneAccelerator:
    """An accelerator of one phase; made by `Design.accelerator`."""

    made: Laned

    @property
    def kind(self) -> OuterProduct:
        """The description."""
        return self.made.kind

    @property
    def name(self) -> str:
        """Of the Verilog module."""
        return self.kind.name

    def hardware(self) -> OuterProductArray | SpatialAccelerator | SpatialSystem:
        """The component that is the top of the Verilog, a new one each time."""
        return lane_hardware.top(self.kind)

    def header(self) -> str:
        """The C header of its commands and streams."""
        return header(self.kind)

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<top>.f`` in dependency order, ``lint.vlt``, ``spatial.h``: its commands in C, and
        ``outer_product.json``: the description, with the errors of lanes.
        """
        documents = {"outer_product.json": json.dumps(self.kind.to_json(), indent=1) + "\n", "spatial.h": self.header()}
        return component_files.write(self.name, self.hardware, out, documents, lane_runs.facts(self.made), progress)

    def matrices(self, rows: int, columns: int, terms: int, seed: int = 0) -> dict[str, Any]:
        """Random operands for `run`, of which a tenth is not 0: so many lists, places in a run, and runs, as of a product."""
        check_shape(rows, columns, terms)
        return lane_operands.shaped(self.made, (rows, terms, columns), seed)

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            latency: int = LATENCY, **operands: object) -> Computed:
        """Do all operations as commands say, of firmware where there is a core, and check every element against NumPy.

        Parameters
        ----------
        engine : str      golden, tokens or rtl.
        seed : int        Of operands that are not given, which are random.
        latency : int     With rtl: cycles from an address to its first word, and from the last word of a write to its answer.
        operands          As of `Design.run`.
        """
        return lane_runs.run(self.made, self.name, engine, stalls, progress, seed, operands, latency)


def around(made: Laned, queue: int, ram_bytes: int, counters: bool, others: Mapping[str, bool]) -> LaneAccelerator:
    """Commands around lanes; others: the settings of other accelerators, and whether they are given."""
    for name, is_given in others.items():
        if is_given:
            raise UserError("an array of lanes has no such choice", name, REMEDIES.get(name, "leave it out"))
    return LaneAccelerator(replace(made, kind=replace(made.machine, queue=queue, ram_bytes=ram_bytes, counters=counters)))
