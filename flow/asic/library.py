"""Cell libraries: the files of one, and what synthesis has to know of its cells.

Input:   a folder as docs/silicon.md describes it, or a file; Liberty text, plain or compressed with gzip.
Output:  `Library`: which family it is, and its text.
Errors:  UserError where nothing is there, it is no text, or the family is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...hw.arch.errors import UserError
from ...tensors.content import read_content


@dataclass(frozen=True)
class Family:
    """What the Liberty text of a library does not say.

    Parameters
    ----------
    name : str               As it is called on the command line and in documents.
    mark : str               What its text has in it, and no other's.
    flops_unused : tuple     Flops that are left out, as patterns: large ones that nothing here needs.
    cells_unused : tuple     Cells that logic is not mapped to: weak drive, scan flops, clock gates.
    gates_unused : tuple     Clock gates that are left out.
    driver : str             The cell that drives inputs while cells are sized.
    load : float             What outputs drive then, in the library's unit of capacitance.
    high, low : tuple        Cell and port of the constants.
    opens_high, opens_low : tuple    Latches that are open while their enable is 1, and 0: cell, data, enable, output.
    inverter : tuple         An inverter for a word: cell, input, output.
    gate : tuple             A clock gate: cell, clock, enable, gated clock, and pins that are tied to 0.
    conditions : str         Process, voltage, temperature.
    """

    name: str
    mark: str
    flops_unused: tuple[str, ...]
    cells_unused: tuple[str, ...]
    gates_unused: tuple[str, ...]
    driver: str
    load: float
    high: tuple[str, str]
    low: tuple[str, str]
    opens_high: tuple[str, str, str, str]
    opens_low: tuple[str, str, str, str]
    inverter: tuple[str, str, str]
    gate: tuple[str, ...]
    conditions: str


FAMILIES = (
    Family("asap7", "_ASAP7_75t_", ("DFFHQx4*",), ("*x1p*", "*xp*", "SDF*", "ICG*"), ("*DC_*", "ICGx2p67*"),
           "BUFx2_ASAP7_75t_R", 1.0, ("TIEHIx1_ASAP7_75t_R", "H"), ("TIELOx1_ASAP7_75t_R", "L"),
           ("DHLx1_ASAP7_75t_R", "D", "CLK", "Q"), ("DLLx1_ASAP7_75t_R", "D", "CLK", "Q"),
           ("INVx2_ASAP7_75t_R", "A", "Y"), ("ICGx1_ASAP7_75t_R", "CLK", "ENA", "GCLK", "SE"), "RVT, TT, 0.7 V, 25 C"),
    Family("sky130hd", "sky130_fd_sc_hd__", (), ("*__probe*", "*__lpflow*", "*__dl*", "*__edf*", "*__sdf*", "*__sedf*"), (),
           "sky130_fd_sc_hd__buf_2", 0.01, ("sky130_fd_sc_hd__conb_1", "HI"), ("sky130_fd_sc_hd__conb_1", "LO"),
           ("sky130_fd_sc_hd__dlxtp_1", "D", "GATE", "Q"), ("sky130_fd_sc_hd__dlxtn_1", "D", "GATE_N", "Q"),
           ("sky130_fd_sc_hd__inv_2", "A", "Y"), ("sky130_fd_sc_hd__dlclkp_1", "CLK", "GATE", "GCLK"),
           "TT, 1.8 V, 25 C"),
)


ADVICE = "give a library as its makers publish it; docs/silicon.md says where"


@dataclass(frozen=True)
class Library:
    """A family and the file of its cells."""

    family: Family
    path: Path

    @cached_property
    def text(self) -> str:
        return _read(self.path)

    @cached_property
    def picoseconds(self) -> float:
        """Its unit of time. Errors: UserError where it states none, which Liberty demands."""
        found = re.search(r'time_unit\s*:\s*"?\s*([0-9.]+)\s*(ps|ns)', self.text)
        if found is None:
            raise UserError("this library states no unit of time in ps or ns", str(self.path), ADVICE)
        return float(found[1]) * {"ps": 1.0, "ns": 1000.0}[found[2]]


def find_library(place: Path, name: str = FAMILIES[0].name) -> Library:
    """The library in a file, or the one of this name in a folder: ``asap7/*.lib.gz`` or directly in it."""
    advice = "make silicon LIBERTY=folder; docs/silicon.md says where libraries can be had"
    if place.is_file():
        text = _read(place)
        for family in FAMILIES:
            if family.mark in text:
                return Library(family, place)
        raise UserError("the cells of this library are not known", str(place),
                        f"add what synthesis must know of them to flow/asic/library.py; known: "
                        f"{', '.join(family.name for family in FAMILIES)}")
    for path in sorted(path for folder in (place / name, place) if folder.is_dir() for path in folder.iterdir()
                       if re.search(r"\.lib(\.gz)?$", path.name)):
        found = find_library(path, name)
        if found.family.name == name:
            return found
    raise UserError(f"there is no cell library {name}", str(place), advice)


def _read(path: Path) -> str:
    try:
        return read_content(path).decode()
    except UnicodeDecodeError:
        raise UserError("this is no Liberty file", str(path), "give one as text, or compressed with gzip (.gz)") from None
