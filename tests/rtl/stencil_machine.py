"""The machines on which dense programs run in reconfigurable Verilog."""

from dataclasses import replace

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import ALU, BUFFER
from sardonyx.hw.arch.tile import MEM, PE

# The least machine for stencils, quick to build: 9 PE and 3 MEM tiles.
STENCILS = Arch("stencils", 4, 3, pe=replace(PE, primitives=(ALU,)), mem=replace(MEM, primitives=(BUFFER,), read_loops=3),
                interconnect=Interconnect(3), glb=Glb(columns_per_tile=1, bank_bytes=8192, load_loops=5, store_loops=3))

# The least one for harris: 54 PE and 18 MEM tiles.
CORNERS = Arch("corners", 12, 6, pe=STENCILS.pe, mem=replace(MEM, primitives=(BUFFER,)), glb=STENCILS.glb)

# The least one for a Gaussian blur in 14 lanes, with 14 load and 14 store streams and 148 PEs: 168 PE and 56 MEM tiles.
LANES = Arch("lanes", 28, 8, pe=STENCILS.pe, mem=CORNERS.mem, interconnect=STENCILS.interconnect, glb=STENCILS.glb)
