"""The tracks of a tile as streams, by side, number and layer.

Tracks of a side share their signals: track t is word t of the payload and bit t of valid and ready.
"""

from __future__ import annotations

from typing import Any

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.tile import DATA, LAYERS, TileSpec
from .stream import Part, Stream, Wire, resets, signal

ENTERING, LEAVING = "i", "o"


class Tracks:
    """The tracks of a tile; all drivers of a tile share one of these.

    Parameters
    ----------
    dut : handle       The tile.
    arch : Arch
    spec : TileSpec    Its kind, of `arch`.
    """

    def __init__(self, dut: Any, arch: Arch, spec: TileSpec) -> None:
        if arch.interconnect.fifo == "none":
            raise UserError("tracks without FIFOs are words without valid and ready, no streams", f"machine '{arch.name}'",
                            "drive the payloads cycle by cycle, or describe another interconnect.fifo")
        self._dut, self._interconnect, self._spec = dut, arch.interconnect, spec
        self._where = f"{spec.kind} tile of '{arch.name}'"
        self._wires: dict[str, Wire] = {}

    @property
    def inputs(self) -> list[str]:
        """The ports of all tracks that a bench drives."""
        return [f"{side}_{layer}_{end}" for side in self._spec.sides for layer in LAYERS
                for end in ("i_payload", "i_valid", "o_ready")]

    def entering(self, side: str, track: int, layer: str = DATA) -> Stream:
        """A track into the tile; side: n, e, s or w. UserError if there is none."""
        return self._stream(side, track, layer, ENTERING)

    def leaving(self, side: str, track: int, layer: str = DATA) -> Stream:
        """A track out of the tile; side: n, e, s or w. UserError if there is none."""
        return self._stream(side, track, layer, LEAVING)

    def _stream(self, side: str, track: int, layer: str, way: str) -> Stream:
        for what, value, known in (("side", side, self._spec.sides), ("layer", layer, LAYERS),
                                   ("track", track, range(self._interconnect.tracks))):
            if value not in known:
                raise UserError(f"there is no {what} {value!r}", self._where,
                                f"choose one of {', '.join(map(str, known))}")
        bits, name = self._interconnect.widths[layer], f"{side}_{layer}_{way}"
        payload, valid, ready = (self._wire(f"{name}_{part}") for part in ("payload", "valid", "ready"))
        return Stream(f"{name}[{track}]", signal(self._dut, "clk"), Part(payload, bits * track, bits), Part(valid, track, 1),
                      Part(ready, track, 1), resets(self._dut))

    def _wire(self, name: str) -> Wire:
        if name not in self._wires:
            self._wires[name] = Wire(signal(self._dut, name))
        return self._wires[name]
