"""The machines we ship: complete values of `Arch`, by name."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from .cgra import Arch
from .errors import UserError
from .glb import Glb
from .interconnect import Interconnect
from .load import load
from .op import OPS
from .primitive import ADDRESS, ALU, BUFFER, DIVIDER, LEVEL, SCATTER, SHARING_PRIMITIVES
from .tile import MEM, PE

_SMALL_GLB = Glb(columns_per_tile=1)
# What an FPGA of 84,000 LUTs holds and routes: few tracks and loops, narrow counters, lines of two words, delays in LUT RAM,
# multipliers of its own, 32 KB a column in block RAM, between registers one primitive or one tile's boxes at most, a register
# for configuration and reset in each row, and no accumulators.
_FPGA_PE = replace(PE, pass_depth=4, register_words=16, register_schedules=False, multiplier_tree=False)
_FPGA_MEM = replace(MEM, primitives=(LEVEL, BUFFER), sram_lines=1024, sram_lanes=2, cycle_bits=11, extent_bits=8,
                    read_loops=2, write_loops=2, replay=False, multiplier_tree=False)
_FPGA_GLB = Glb(columns_per_tile=1, bank_bytes=16 * 1024, load_loops=3, store_loops=2, configuration_dma=False)

_MEM = replace(MEM, locate=True, early=True)

PRESETS = {arch.name: arch for arch in (
    Arch("tiny", 4, 4, mem=_MEM, glb=_SMALL_GLB),
    Arch("small", 8, 8, mem=_MEM, glb=_SMALL_GLB),
    # All that sparse programs can use, of a size that the largest kernel of `apps/sparse` asks for.
    Arch("sparse", 16, 8, pe=replace(PE, primitives=(*PE.primitives, DIVIDER, *SHARING_PRIMITIVES, ADDRESS), reduce_max=True),
         mem=replace(_MEM, primitives=(*MEM.primitives, SCATTER)), glb=replace(_SMALL_GLB, numbered=True, listed=True)),
    Arch("fpga", 4, 3, mem_every=2, config_rows=1, pe=_FPGA_PE, mem=_FPGA_MEM, glb=_FPGA_GLB, operand_isolation=False,
         config_readback=False, interconnect=Interconnect(tracks=2, fifo="full", output_registers=True)),
    # Amber JSSC: 32 x 16, dense, static 16-bit tracks, ALU with two 16-bit operands.
    Arch("amber", 32, 16, pe=replace(PE, primitives=(ALU,), ops=tuple(op for op in OPS if "c" not in op.operands)),
         mem=replace(MEM, primitives=(BUFFER,), extent_bits=16, write_loops=6, replay=False, sipo_lines=2),
         interconnect=Interconnect(switch_box="imran", fifo="none")),
    # Onyx JSSC II: 32 x 16, 384 PE and 128 MEM tiles, 16 GLB tiles.
    Arch("onyx", 32, 16, mem=_MEM),
)}


def get(name: str) -> Arch:
    """A preset by name, or the description in a file ending in .json; UserError names what comes close."""
    if not isinstance(name, str):
        raise UserError(f"it is of type {type(name).__name__}, which names no machine", "preset",
                        f"name one of {', '.join(PRESETS)}, or a .json file")
    if name in PRESETS:
        return PRESETS[name]
    if name.endswith(".json"):
        return load(Path(name))
    close = difflib.get_close_matches(name, PRESETS, n=1)
    raise UserError(f"there is no preset '{name}'" + (f", do you mean '{close[0]}'?" if close else ""),
                    fix=f"choose one of {', '.join(PRESETS)}, or give a .json file")
