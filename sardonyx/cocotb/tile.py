"""A tile in a bench: reset, configuration over its channel, tracks.

    tile = TileDriver(dut, arch, (2, 2))
    await tile.reset()
    await tile.configure(program)
    result = TokenSink(tile.tracks.leaving("e", 3))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cocotb.triggers import RisingEdge

from ..compiler.backend.encode import address, words
from ..compiler.ir.program import Program
from ..hw.arch.cgra import Arch
from ..hw.arch.config import STATUS_REGISTER, Values
from ..hw.arch.errors import UserError
from ..hw.arch.tile import DATA
from ..hw.configuration import ADDRESS_BITS
from ..hw.tile.tile import wall_members
from .reset import reset
from .stream import signal
from .tracks import Tracks

# What a tile takes from its column beside the tracks.
REQUEST = tuple(f"config__{name}" for name in ("valid", "write", "addr", "wdata"))


class TileDriver:
    """Drives a tile with configuration registers: ``tile_{kind}_{parity}`` of `hw/tile/tile.py`.

    Parameters
    ----------
    dut : handle        The tile.
    arch : Arch         Whose tile it is.
    site : (x, y)       Where it is in the array; its kind and the parity of x + y are those of the module.
    """

    def __init__(self, dut: Any, arch: Arch, site: tuple[int, int]) -> None:
        if site not in arch.tiles:
            raise UserError(f"there is no tile at {site}", f"machine '{arch.name}'",
                            f"give x of 0..{arch.columns - 1} and y of 0..{arch.rows}, row 0 being the IO tiles")
        self.dut, self.arch, self.site, self.spec = dut, arch, site, arch.tiles[site]
        self.tracks = Tracks(dut, arch, self.spec)

    async def reset(self) -> None:
        """Set all inputs to 0 and reset the tile, whose clock runs; it then is where `site` says."""
        signal(self.dut, "tile_y").value = self.site[1]
        for name in wall_members(self.arch, self.spec):     # what is driven here is of the tile's region
            signal(self.dut, name).value = 1
        await reset(self.dut, [*self.tracks.inputs, "flush", *REQUEST])

    async def configure(self, given: Program | Mapping[str, Values] | Iterable[int]) -> None:
        """Write the configuration registers, one a cycle; it is in force when this ends.

        given: a program (compiled, or decoded from a bitstream), of which the tile gets its part, contents of its memory
        included; fields by set, as ``{"core": {"mode": "alu"}}``; or words from register 0 on. UserError for what the tile does
        not have.
        """
        for where, word in self._requests(given):
            await self._request(where, 1, word)
        signal(self.dut, "config__valid").value = 0
        await RisingEdge(self.dut.clk)

    async def read(self, register: int = STATUS_REGISTER) -> int:
        """Read a register back; what does not exist reads as 0."""
        await self._request(address(*self.site, register), 0, 0)
        found = int(signal(self.dut, "config__rdata").value)
        signal(self.dut, "config__valid").value = 0
        return found

    def select(self, sink: str, source: str, layer: str = DATA) -> int:
        """The code with which the multiplexer of a core input or of a leaving track takes a source; 0 is off.

        Such as ``select("data0", "w_in0")``: operand 0 is track 0 from the west. UserError if there is no such way.
        """
        fanin = self.arch.interconnect.fanin(self.spec, layer)
        for what, name, known in (("sink", sink, [*fanin]), ("source", source, fanin.get(sink, ()))):
            if name not in known:
                raise UserError(f"there is no {what} '{name}'" + (f" of '{sink}'" if what == "source" else ""),
                                f"{layer} layer of a {self.spec.kind} tile of '{self.arch.name}'",
                                f"choose one of {', '.join(known)}")
        return self.arch.interconnect.select(self.spec, sink, source, layer)

    def _requests(self, given: Program | Mapping[str, Values] | Iterable[int]) -> list[tuple[int, int]]:
        if isinstance(given, Program):
            if given.fingerprint != self.arch.fingerprint:
                raise UserError(f"the program is for machine {given.fingerprint:016x}, '{self.arch.name}' is "
                                f"{self.arch.fingerprint:016x}", f"tile {self.site}", f"compile it for '{self.arch.name}'")
            if self.site not in given.config:
                used = ", ".join(map(str, sorted(at for at in given.config if self.arch.tiles[at] == self.spec)))
                raise UserError("the program does not use the tile", f"tile {self.site}",
                                f"drive one of the {self.spec.kind} tiles that it uses: {used or 'there are none'}")
            return [(where, word) for where, word in words(given, self.arch) if where >> 16 == address(*self.site, 0) >> 16]
        space = self.arch.config_map(self.spec.kind)
        found = space.encode(given) if isinstance(given, Mapping) else [*given]
        if len(found) > space.words:
            raise UserError(f"{len(found)} words, and the tile has {space.words} registers", f"tile {self.site}",
                            "give the words from register 0 on")
        return [(address(*self.site, register), word) for register, word in enumerate(found)]

    async def _request(self, where: int, write: int, word: int) -> None:
        for name, value in zip(REQUEST, (1, write, where & (1 << ADDRESS_BITS) - 1, word), strict=True):
            signal(self.dut, name).value = value
        await RisingEdge(self.dut.clk)
