"""The machine of a program whose user names none: the smallest preset that has all it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .execute import Options, Result
from .hw.arch import presets
from .hw.arch.cgra import Arch
from .hw.arch.errors import Lacking, TooSmall
from .runtime.device import Device

# Those that have sparse primitives, without the ones that are for tests and boards.
SMALLEST_FIRST = ("small", "sparse", "onyx")


def named(arch: str | Arch | None, engine: object) -> str | Arch:
    """The machine that a user names, else that of the device, else the smallest one."""
    return arch if arch is not None else engine.arch if isinstance(engine, Device) else SMALLEST_FIRST[0]


def on_smallest(arch: str | Arch | None, how: Options, progress: Callable[[str], None],
                run: Callable[[Options], Result]) -> Result:
    """Run a program where `how` says, or, if its user names no machine and no device, on the first preset that lacks nothing of
    what it needs: the report says behind the machine what those before it lack.

    run: raises Lacking where a machine does not do. Tiles to avoid are those of the smallest one, and then no other is tried.
    """
    if arch is not None or isinstance(how.engine, Device) or how.arch.avoid:
        return run(how)
    lacks: list[Lacking] = []
    for name in SMALLEST_FIRST:
        try:
            found = run(replace(how, arch=presets.get(name)))
        except Lacking as lack:
            lacks.append(lack)
            progress(f"looking for a larger machine: {lack.what}")
            continue
        return replace(found, report=_explained(found.report, lacks)) if lacks else found
    # Of machines that have all kinds of primitives, what the last one lacks in number is the nearest.
    raise next((lack for lack in reversed(lacks) if isinstance(lack, TooSmall)), lacks[-1])


def _explained(report: Mapping[str, object], lacks: Sequence[Lacking]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in report.items():
        found[key] = value
        if key == "arch":
            found["smaller"] = "; ".join(lack.what for lack in lacks)
    return found
