"""Runs whose sub-tiles are spread over processes or a cluster, and go on where they were stopped.

    Spread(jobs=4)                              parts of a run on four simulators beside each other
    Spread(state=Path("run.jsonl"))             one after the other, each kept in the file when it is done

Words and cycles are those of one simulator (`sim/parts.py`). A part that is in the file is not run again; it is known by its
program, machine and words, so that one file may be of many runs. Its words are compared with NumPy as all others are.

Errors:  UserError for what `Workers` and `Kept` say, and for engines whose runs are not cut.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import arguments
from .compiler.graph import CompiledGraph
from .hw.arch.errors import UserError
from .kept import Kept
from .outcome import silent
from .runtime.data.blocks import Blocks
from .sim import engines, parts
from .sim.engines import Data, Run, Take
from .spread import processes, workers

HEAD = {"runs": 1}
# What of a `Run` is kept.
COUNTED = ("cycles", "launches", "loaded", "simulator", "build_s", "simulate_s", "simulated", "lying", "arranged")


@dataclass(frozen=True)
class Spread:
    """Who runs the parts, and the file that keeps them; as of `spread`."""

    jobs: int = 1
    cluster: str | None = None
    state: Path | None = None


def spread(engine: object, jobs: object = None, cluster: object = None, state: object = None, power: object = None,
           counters: object = False) -> Spread | None:
    """How a run is spread, from arguments; None: it is not.

    jobs: processes, 1 where nobody says. cluster: as of `spread.workers`. state: a file.
    """
    if jobs is None and cluster is None and state is None:
        return None
    what = "jobs" if jobs is not None else "cluster" if cluster is not None else "state"
    if (name := engines.name_of(engine) if isinstance(engine, str) else engines.DEVICE) not in parts.ENGINES:
        raise UserError(f"a run on engine {name} is not cut into parts", what, f"choose one of {', '.join(parts.ENGINES)}")
    if power is not None or counters:
        read, option = ("what moves is", "power") if power is not None else ("counters are", "counters")
        raise UserError(f"{read} read from one simulation of a whole run", what, f"leave out {what}, or {option}")
    count = processes(jobs, cluster, 1)
    if state is not None and not isinstance(state, str | Path):
        raise UserError(f"it is {arguments.said(state)}, which is no path", "state", "name a file, which need not be there")
    return Spread(count, None if cluster is None else str(cluster), None if state is None else Path(state))


def run(how: Spread, engine: str, compiled: CompiledGraph, data: Data, take: Take, single: bool,
        progress: Callable[[str], None] = silent) -> tuple[Run, dict[str, object]]:
    """Run a compiled program on its data in parts, and give `take` what each transaction stored, in order; what was counted,
    and for the report how it was spread. single: see `engines.run`."""
    kept = Kept(how.state, HEAD, "the file does not keep parts of runs", _read)
    shared = parts.Shared(engine, compiled, data.cycles())
    found = parts.cut(shared, data, single)
    keys = [part.key(shared) for part in found] if how.state is not None else [str(number) for number in range(len(found))]
    asked = [(number, part) for number, part in enumerate(found) if keys[number] not in kept.found]
    known = len(found) - len(asked)
    if asked and how.cluster is None and not shared.models:
        shared.simulator(progress)     # Before there are processes, which find it then.
    what = f"{'running' if shared.models else 'simulating'} {len(data)} {data.unit} in {len(found)} parts"

    def in_order(answers: Iterator[tuple[tuple[int, parts.Part], parts.Done]]) -> Iterator[parts.Done]:
        came = dict[int, parts.Done]()
        for number, key in enumerate(keys):
            while number not in came and key not in kept.found:
                (other, _), came[other] = next(answers)
                if how.state is not None:
                    kept.add(keys[other], _written(came[other]))
                progress(f"{what}: {number + len(came)} done, {known} of them kept before")
            yield came.pop(number) if number in came else _read(kept.found[key])

    total = Run()
    if how.cluster is not None:
        progress(f"looking for the workers of cluster {how.cluster}")
    with workers(how.cluster, how.jobs) as there:
        for done in in_order(there.each(shared, _run, asked)):
            for stored in done.stored:
                take(stored)
            total += done.run
    own = {} if how.cluster is not None else {"processes": min(how.jobs, max(1, len(asked)))}
    return total, {"parts": len(found), "kept": known, **own}


def _run(shared: parts.Shared, asked: tuple[int, parts.Part]) -> parts.Done:
    return parts.run(shared, asked[1])


def _written(done: parts.Done) -> dict[str, Any]:
    """What a part gave as plain data."""
    names = list(done.stored[0]) if done.stored else []
    blocks = [each[name] for each in done.stored for name in names]
    return {"names": names, "lengths": [len(block) for block in blocks],
            "words": base64.b64encode(b"".join(block.astype("<u2").tobytes() for block in blocks)).decode(),
            "verilog": str(done.run.verilog or ""), "run": {name: getattr(done.run, name) for name in COUNTED}}


def _read(kept: Mapping[str, Any]) -> parts.Done:
    """The part; KeyError, TypeError or ValueError for what another version kept."""
    if kept["run"].keys() != {*COUNTED}:
        raise KeyError("what it lacks would count as nothing")
    names, ends = kept["names"], np.cumsum(kept["lengths"], dtype=np.intp)
    words = np.frombuffer(base64.b64decode(kept["words"]), "<u2").astype(np.uint16)
    blocks = np.split(words, ends[:-1]) if len(ends) else []
    stored: list[Blocks] = [dict(zip(names, blocks[at:at + len(names)], strict=True))
                            for at in range(0, len(blocks), max(1, len(names)))]
    return parts.Done(tuple(stored), Run(**kept["run"], verilog=Path(kept["verilog"]) if kept["verilog"] else None))
