"""Drivers for benches in cocotb: token streams, the tracks and the configuration of a tile, the host of a whole machine.

    sources and sinks    `TokenSource`, `TokenSink` on a `Stream`: a port (`stream`) or a track of a tile; `watch` checks one
    stalls               `stalls`: reproducible pauses, for these and for the buses of cocotbext-axi
    a tile               `TileDriver`: configuration over its channel, tracks by side, layer and number
    an accelerator       `Commands`: the queue of a spatial accelerator
    a machine            `AxiHost`: registers, memory and interrupt over its two ports
                         `Session`: programs on it, from the same host code as everywhere, checked against NumPy

`sardonyx.cocotb.runner` builds and runs a bench. docs/cocotb.md goes from `sardonyx verilog` to one. The extra `cocotb` brings
what this needs; inside this package `cocotb` is always the library.
"""

from __future__ import annotations

try:
    from .commands import Commands
    from .host import AxiHost, BenchDevice
    from .reset import reset
    from .session import Session
    from .stalls import stalls
    from .stream import ProtocolError, Stream, stream, watch
    from .tile import TileDriver
    from .tokens import TokenSink, TokenSource
    from .tracks import Tracks
except ModuleNotFoundError as _error:
    _package = {"cocotb": "cocotb", "cocotbext": "cocotbext-axi"}.get((_error.name or "").partition(".")[0])
    if _package is None:
        raise
    raise ImportError(f"sardonyx.cocotb needs the package {_package}, which is missing\n  try: pip install 'sardonyx[cocotb]'",
                      name=_error.name) from None

__all__ = ["AxiHost", "BenchDevice", "Commands", "ProtocolError", "Session", "Stream", "TileDriver", "TokenSink", "TokenSource",
           "Tracks", "reset", "stalls", "stream", "watch"]
