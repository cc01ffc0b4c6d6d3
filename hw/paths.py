"""The paths from input to output that modules may have within a cycle, each with its reason; every other one is a fault.

What makes a path is listed here and nowhere else: the stitched simulation settles in the order that follows from it
(`sim/rtl/stitch.py`), and `sardonyx explain outputs` compares it with the netlists.

Input:   Arch.
Output:  `Listed`: an output, what drives it, and why, if inputs do.
Errors:  UserError naming the outputs that follow inputs by a path that is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..cache import Cache
from .arch.cgra import Arch
from .arch.errors import UserError
from .arch.primitive import Flow
from .arch.tile import LAYERS, TileSpec
from .cone import Output, outputs
from .connectivity import REQUEST, reports, stall_sides
from .emit import collect
from .enabled import ENABLED
from .soc.top import Sardonyx
from .tile.tile import logic_name, stall_members, wall_members


@dataclass(frozen=True)
class Path:
    """Outputs may follow inputs: regular expressions for both, and why that is meant."""

    outputs: str
    inputs: str
    reason: str


@dataclass(frozen=True)
class Listed:
    """An output of a module.

    Parameters
    ----------
    module, output : str
    source : str               ``register``, ``constant``, ``wire`` or ``logic``, see `cone.Output`.
    follows : tuple of str     The inputs that it follows in the same cycle.
    reasons : tuple of str     Why it may, of each path that it takes.
    """

    module: str
    output: str
    source: str
    follows: tuple[str, ...]
    reasons: tuple[str, ...]


_PASSES = "a switch box of an even tile passes words on; the next tile is odd and has a register"
_TAKES = "an odd tile takes a word when the one before it leaves; the next tile is even and is ready by a register"
_OPEN = "tracks have no registers (`fifo` inputs); routes end at core inputs, and what joins tiles settles along them"
_ANSWERS = "a tile answers a configuration request in its cycle; both come from, and go to, a register beside the tiles"
_ANSWER = Path("config__r(valid|data)", "config__(valid|write|addr)|tile_[xy]", _ANSWERS)
_ISOLATES = "what a neighbour says counts while it is awake and of the same region; that comes from registers"
_FROZEN = "a column that is frozen neither offers nor takes words; which ones are comes from registers"
_THROUGH = "what all tiles of a column share goes through them, up to the next register"
_JOINED = "what the tiles of a column report leaves as one bit"
_CHANNEL = "the channel of a column begins with a register (`hw/channel.py`)"
_GRANTS = "a bank gives its cycle to the first that asks, which a load does where its words are taken"
_CHAINED = "in a chain another tile asks, and banks of others do not wait; who is in one comes from registers"
_OWNERS = "whose tiles are whose comes from registers (`owners`)"
AROUND: dict[str, tuple[Path, ...]] = {
    "glb_tile": (Path("register_value", "register_index", "a register is read in the cycle of its number"),
                 Path(r"moved|host_(write|read)_ready|f2g\d+__ready",
                      r"g2f\d+__ready|f2g\d+__valid|f2g_bit\d+__(valid|payload)", _GRANTS),
                 Path("beyond", r"f2g\d+__valid|f2g_bit\d+__(valid|payload)", "a store that is full says so at once"),
                 Path("host_(write|read)_ready", "host_(write|read)_(valid|line)", _GRANTS),
                 Path(r"chained|config\d+__(valid|write|addr|wdata)", "west_open", "words come from a tile of the same region"),
                 Path("config_astray", "east_chained", "a word that no tile takes is reported as it is dropped"),
                 Path(r"config\d+__(valid|write|addr|wdata)", r"request\d+__(valid|write|addr|wdata)|west__(valid|word)",
                      _CHANNEL)),
    "controller": (Path("register_value", "register_index", "a register is read in the cycle of its number"),
                   Path("register_value", "mine", _OWNERS),
                   Path("cfg_(valid|write|data)", "register_(write|index|data)", "a register acts when it is written"),
                   Path("configure|config_stop", "register_(write|index|data)|commands", "a register acts when it is written"),
                   Path("refused|cfg_valid", "register_index|foreign",
                        "an access is refused in the cycle of its number")),
    "axi_lite": (),
    "axi_data": (),
    "owners": (Path("refused", "mask|occupied", "a claim is refused in its cycle"),),
    "shell": (),
}
"""Those of the modules around the array, by their names."""
RING = (Path(r"moved|host_(write|read)_ready|f2g\d+__ready", "west_open", _CHAINED),
        Path("host_(write|read)_ready", r"ring_west__(read|write)(_line)?", _GRANTS))
"""Those that a GLB tile has more with a ring."""


def around_paths(arch: Arch) -> dict[str, tuple[Path, ...]]:
    """Those of `AROUND` that a machine has."""
    found = {name: paths for name, paths in AROUND.items() if arch.regions > 1 or name != "owners"}
    if arch.column_stall:
        found["controller"] += (Path("refused|cfg_valid|stall", "mine", _OWNERS),
                                Path("refused|cfg_valid", "whole",
                                     "memories of columns that are to be frozen are not accessed"))
    return found | {"glb_tile": found["glb_tile"] + RING} if arch.glb.ring > 1 else found


def column_paths(arch: Arch) -> tuple[Path, ...]:
    """Those of what stands beside a column of tiles."""
    return tuple(Path(report, f"tiles_{report}", _JOINED) for report in reports(arch))


def feed_paths(arch: Arch, first: bool) -> tuple[Path, ...]:
    """Those of what goes through a tile that abuts; first: the northernmost one."""
    through = Path("s_clk", "clk", _THROUGH), *(Path(f"n_{each}", f"s_{each}", _JOINED) for each in reports(arch))
    if first:
        return through
    through += (Path("s_stall|[ew]_stall_o", "n_stall", _THROUGH),) if arch.column_stall else ()
    return (*through, Path("s_flush", "n_flush", _THROUGH), Path("s_reset", "n_reset|cut", _THROUGH),
            Path("s_config__(valid|write|addr|wdata)", "n_config__(valid|write|addr|wdata)|cut", _THROUGH),
            Path("n_config__r(valid|data)", "s_config__r(valid|data)|cut", _THROUGH),
            Path("n_config__r(valid|data)", "n_config__(valid|write|addr)|cut|tile_[xy]", _ANSWERS))


def tile_paths(arch: Arch, spec: TileSpec, parity: int) -> tuple[Path, ...]:
    """Those of a tile with configuration registers."""
    elastic, paths = arch.interconnect.fifo != "none", [_ANSWER]
    if arch.column_stall and spec.kind == "io":
        shown = (f"link_{port.name}__{'valid' if port.flow is Flow.IN else 'ready'}" for port in spec.ports)
        paths.append(Path("|".join(shown), "stall", _FROZEN))
    if arch.interconnect.fifo == "full":
        return tuple(paths)
    for layer in LAYERS:
        entering = [] if arch.interconnect.output_registers else _links(spec, layer)
        if arch.interconnect.fifo == "inputs":
            paths += _open(arch, spec, layer, entering)
            continue
        if parity:
            if elastic:
                links = "".join(f"|link_{name}__ready" for name in entering)
                paths.append(Path(f"[nesw]_{layer}_i_ready{links}", f"[nesw]_{layer}_o_ready", _TAKES))
                paths += _isolates(arch, spec, paths[-1].outputs) + _freezes(arch, spec, paths[-1].outputs)
            continue
        paths += _freezes(arch, spec, f"[nesw]_{layer}_o_valid")
        parts = ["valid"] * elastic + ["payload"] * bool(wall_members(arch, spec))      # power domains mask no words here
        paths += _isolates(arch, spec, f"[nesw]_{layer}_o_({'|'.join(parts)})") if parts else []
        for part in ("payload", "valid") if elastic else ("payload",):
            links = "".join(f"|link_{name}__{part}" for name in entering)
            paths.append(Path(f"[nesw]_{layer}_o_{part}", f"[nesw]_{layer}_i_{part}{links}", _PASSES))
    return tuple(paths)


def _open(arch: Arch, spec: TileSpec, layer: str, entering: Sequence[str]) -> Iterator[Path]:
    """Those of a layer of a tile whose tracks have no registers: a source is offered where all that take it can."""
    def through(part: str) -> str:
        return "|".join((f"[nesw]_{layer}_i_{part}", *(f"link_{name}__{part}" for name in entering)))

    readies, taken = through("ready"), f"[nesw]_{layer}_o_ready"
    yield Path(readies, taken, _OPEN)
    yield Path(f"[nesw]_{layer}_o_valid", f"{through('valid')}|{taken}", _OPEN)
    yield Path(f"[nesw]_{layer}_o_payload", through("payload"), _OPEN)
    for ends in (readies, f"[nesw]_{layer}_o_(valid|payload)"):
        yield from _isolates(arch, spec, ends) + _freezes(arch, spec, ends)


def _isolates(arch: Arch, spec: TileSpec, outputs: str) -> list[Path]:
    inputs = ["[nesw]_awake_i"] * arch.power_domains + ["[ew]_open"] * bool(wall_members(arch, spec))
    return [Path(outputs, "|".join(inputs), _ISOLATES)] if inputs else []


def _freezes(arch: Arch, spec: TileSpec, outputs: str) -> list[Path]:
    return [Path(outputs, "[ew]_stall", _FROZEN)] if stall_sides(arch, spec) else []


def _links(spec: TileSpec, layer: str) -> list[str]:
    """The streams that enter a layer of an IO tile from the global buffer."""
    return [port.name for port in spec.outputs(layer) if spec.kind == "io"]


def early_inputs(arch: Arch, spec: TileSpec, parity: int, registers: bool) -> list[str]:
    """The inputs of a tile that outputs of it may follow; registers: it has some, which answer requests."""
    names = [f"{side}_{layer}_{end}" for side in spec.sides for layer in LAYERS for end in ("i_payload", "i_valid", "o_ready")]
    names += [f"{side}_awake_i" for side in spec.sides if arch.power_domains]
    names += [*wall_members(arch, spec), *stall_members(arch, spec)]
    names += [f"link_{port.name}__{part}" for port in spec.ports if spec.kind == "io" for part in ("payload", "valid")]
    names += [f"config__{part}" for part in REQUEST if registers]
    paths = tile_paths(arch, spec, parity)
    return [name for name in names if any(re.fullmatch(path.inputs, name) for path in paths)]


def listed(arch: Arch, cache: Cache | None = None) -> tuple[Listed, ...]:
    """Every output of the modules that a machine is made of; UserError naming those that may not be as they are."""
    kinds = {(spec, x + y & 1): None for (x, y), spec in arch.tiles.items()}
    paths: dict[str, tuple[Path, ...]] = {}
    for spec, parity in kinds:
        paths[f"tile_{logic_name(spec, parity)}"] = own = tile_paths(arch, spec, parity)
        if arch.feed_through:
            paths[f"abutted_{logic_name(spec, parity)}"] = (*own, *feed_paths(arch, spec.kind == "io"))
    paths |= {} if arch.feed_through else {f"column_{arch.rows + 1}": column_paths(arch)}
    found = outputs(collect(Sardonyx(arch), cache))
    # What is gated by enables is a module of another name.
    paths |= {name if name in found else f"{name}{ENABLED}": each for name, each in around_paths(arch).items()}
    return judged({module: found[module] for module in paths}, paths)


def judged(found: Mapping[str, Mapping[str, Output]], paths: Mapping[str, tuple[Path, ...]]) -> tuple[Listed, ...]:
    """The outputs of modules with the paths that they take, of those that each module may have; UserError as of `listed`."""
    every, wrong = [], []
    for module, output, each in [(name, *item) for name, ports in found.items() for item in ports.items()]:
        mine = [path for path in paths[module] if re.fullmatch(path.outputs, output)]
        taken = {name: [path.reason for path in mine if re.fullmatch(path.inputs, name)] for name in each.follows}
        reasons = dict.fromkeys(reason for path in taken.values() for reason in path)
        every.append(Listed(module, output, each.source, each.follows, tuple(reasons)))
        if unlisted := [name for name, path in taken.items() if not path]:
            wrong.append(f"{module}.{output} follows {', '.join(unlisted)}")
    if wrong:
        raise UserError("outputs follow inputs in the same cycle by no path that is listed", "; ".join(wrong),
                        "end the path at a register, or list it with its reason in hw/paths.py")
    return tuple(every)
