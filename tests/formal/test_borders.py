"""Each part of spatial arrays and of their DMA is part of a proof, or it is said why not.

A part is proved *itself* where its own ports are those that a proof drives and looks at. *Within* another one it is whole, as
it is built, and what is proved is of the ports of that one.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import test_beat
import test_boot
import test_buffers
import test_commands
import test_counted_decoder
import test_dispatch
import test_dma
import test_elastic
import test_lane_phases
import test_ledger
import test_level_chains
import test_outer_frame
import test_outer_requests
import test_parked
import test_ports
import test_row_products
import test_run_merge
import test_waves
import test_wholes
from amaranth.lib.wiring import Component
from prover import Harness

import sardonyx.hw.dma
import sardonyx.hw.spatial
from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.dma.dma import DmaEngine
from sardonyx.hw.emit import collect
from sardonyx.hw.emit_platform import EmitPlatform
from sardonyx.hw.spatial.array.spread import Spread
from sardonyx.hw.spatial.command import dispatch
from sardonyx.hw.verilog import EmittedModule

PROOFS: dict[str, Callable[[], Harness]] = {
    "arrays in step": lambda: test_waves.Followed(test_waves.array("weights stay")),
    "balance": test_elastic.KeptBalance,
    "beats": test_beat.beats,
    "boot": test_boot.Filled,
    "bus": test_commands.Writes,
    "chain": partial(test_level_chains.chain_bank, "compressed"),
    "chosen chain": partial(test_level_chains.chosen_bank, "compressed"),
    "core": test_commands.Instructions,
    "decoder": lambda: test_counted_decoder.ToldOfArrays(test_counted_decoder.KINDS["bits"]),
    "dispatch": lambda: test_dispatch.Served(test_dispatch.KIND),
    "elements": partial(test_dma.elements, 8),
    "exit": test_ports.Leaving,
    "feeders": test_buffers.feeders,
    "lanes": test_lane_phases.lanes,
    "ledger": test_ledger.Asked,
    "level chains": test_level_chains.parts,
    "level feeders": test_level_chains.feeders,
    "outer frame": lambda: test_outer_frame.Framed("job"),
    "outer requests": lambda: test_outer_requests.Requested(test_outer_requests.KINDS["both"]),
    "parked": test_parked.Waiting,
    "port": lambda: test_dma.Asking(test_dma.WITH_LISTS),
    "row products": test_row_products.Whole,
    "rows": test_buffers.rows,
    "run merge": test_run_merge.Merged,
    "spread": lambda: test_elastic.KeptSpread(Spread(test_elastic.Spread(2, 2, 4))),
    "units": test_elastic.units,
    "vectors": test_buffers.vectors,
    "walks": test_dma.walks,
    "wholes that fill": test_wholes.fills,
    "wholes that give": test_wholes.results,
    "writers": test_buffers.writers,
    **{f"bank of {name}": partial(test_buffers.bank, name) for name in ("compressed", "table", "chosen bits", "chosen lists",
                                                                        "gathered", "searched")},
}
# What each proof has, by its name.
ITSELF = {
    "arrays in step": ("SpatialArray",),
    "balance": ("Balance",),
    "bank of chosen bits": ("RowBank",),
    "bank of compressed": ("PrivateBank",),
    "bank of gathered": ("GatherBank",),
    "bank of searched": ("AssociativeBank",),
    "beats": ("Beat", "Loading", "ShortBeat"),
    "boot": ("Boot",),
    "bus": ("CommandQueue",),
    "chain": ("ChainBank",),
    "chosen chain": ("ChosenBank",),
    "core": ("Coprocessor",),
    "decoder": ("Decoder",),
    "dispatch": ("Dispatch",),
    "elements": ("Feeder", "Gather", "Pack", "Scatter", "Unpack"),
    "exit": ("Exit", "Going"),
    "feeders": ("Answered", "CountedDrain", "CountedFeeder", "FixedDrain", "LevelFeeder", "Matcher", "Meeting"),
    "lanes": ("OuterMerge", "OuterMultiply"),
    "ledger": ("Ledger",),
    "level chains": ("Closing", "CountedLevel", "Expander", "FiberDropper", "Picker", "SegmentsDrain", "SomeBitRows"),
    "level feeders": ("LinkFeeder",),
    "outer frame": ("OuterFrame",),
    "outer requests": ("OuterRequests",),
    "parked": ("Parked",),
    "port": ("Port",),
    "rows": ("PortShare", "ResultBuffer", "SumBank", "WideBank", "WideResult"),
    "run merge": ("RunMerge",),
    "spread": ("Spread",),
    "units": ("ElasticPe", "MergeMatrix", "MergeNode", "MergeTree", "MergerArray"),
    "vectors": ("Former", "Replay"),
    "walks": ("ListWalk", "Walk"),
    "wholes that fill": ("CartesianArray", "ChainFeeder"),
    "wholes that give": ("ChainWriter", "WrittenResult"),
    "writers": ("BitWriter", "CompressedWriter", "DenseWriter", "FiberBank", "FiberCollector", "ListWriter"),
}
WITHIN = {
    "arrays in step": ("Pe", "Wave"),
    "bank of chosen bits": ("BitRows",),
    "bank of chosen lists": ("Absent",),
    "bank of gathered": ("Turns",),
    "bank of table": ("RunTable",),
    "core": ("Waiting",),
    "port": ("ShortPieces",),
    "row products": ("ElasticArray",),
    "rows": ("ResultBank",),
}
# What is in no proof, and why.
JOINED = "; that they are joined as they should be is simulated"
PARTS = "it is made of parts that are proved" + JOINED
WHOLES = "it is made of parts that are proved, and of others that are not" + JOINED
NO_STREAM = "it has no stream: it looks at others, and is simulated"
NOT = {
    "BufferedArray": PARTS, "BufferedVectors": PARTS, "DmaEngine": PARTS,
    "Core": WHOLES, "OuterCore": WHOLES, "OuterProductArray": WHOLES, "SpatialAccelerator": WHOLES, "SpatialSystem": WHOLES,
    "LaneWaits": NO_STREAM, "Quiet": NO_STREAM, "StallCounters": NO_STREAM, "Watchdog": NO_STREAM,
}


def named(table: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The proof of each part."""
    return {part: proof for proof, found in table.items() for part in found}


def parts() -> Iterator[type[Component]]:
    """All that are built."""
    for package in (sardonyx.hw.spatial, sardonyx.hw.dma):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for _, each in inspect.getmembers(module, inspect.isclass):
                if each.__module__ == module.__name__ and issubclass(each, Component) and hasattr(each, "elaborate"):
                    yield each


def test_of_every_part_it_is_said_what_proves_it() -> None:
    names = [each.__name__ for each in parts()]
    assert sorted([*named(ITSELF), *named(WITHIN), *NOT]) == sorted(names), "say which proof has it, or why none has"


def test_a_proof_is_one_that_there_is() -> None:
    assert {*ITSELF, *WITHIN} == {*PROOFS}, "a proof that has nothing says nothing here"


def test_what_is_in_no_proof_is_said_in_the_documents(root: Path) -> None:
    page = (root / "docs/proofs.md").read_text()
    said = page[page.index("In no proof:"):]
    said = said[:said.index("\n\n")]
    assert sorted(re.findall(r"`(\w+)`", said)) == sorted(NOT)


@pytest.mark.slow
def test_proofs_have_the_parts_that_they_are_said_to_have(monkeypatch: pytest.MonkeyPatch) -> None:
    itself: dict[str, set[str]] = {}
    within: dict[str, set[str]] = {}
    inside: list[Component] = []
    add, built = EmitPlatform.add, tuple(parts())

    def found(component: Component) -> None:
        outer = [each for each in inside if each is not component and not isinstance(each, Harness)]
        (within if outer else itself).setdefault(type(component).__name__, set()).add(proof)

    # Modules of their own, and parts of modules.
    def added(platform: EmitPlatform, component: Component) -> EmittedModule:
        if isinstance(component, built):
            found(component)
        inside.append(component)
        try:
            return add(platform, component)
        finally:
            inside.pop()

    def watched(elaborate: Callable[..., Any]) -> Callable[..., Any]:
        def elaborated(component: Component, platform: Any) -> Any:
            found(component)
            return elaborate(component, platform)
        return elaborated

    monkeypatch.setattr(EmitPlatform, "add", added)
    for part in built:
        if "elaborate" in vars(part):
            monkeypatch.setattr(part, "elaborate", watched(part.elaborate))       # type: ignore[attr-defined]
    for proof, harness in PROOFS.items():
        # Of requests and ports the DMA is any that keeps what `Port` promises.
        monkeypatch.setattr(dispatch, "DmaEngine", test_dispatch.AnyEngine if proof == "dispatch" else DmaEngine)
        collect(harness())
    for name, proof in named(ITSELF).items():
        assert proof in itself.get(name, ()), f"{name} is no part of the proof itself"
    for name, proof in named(WITHIN).items():
        assert proof in within.get(name, ()), f"{name} is not within it"
        assert name not in itself, f"{name} is proved itself, by {itself[name]}"
    assert not (itself.keys() | within.keys()) & NOT.keys(), "it is in a proof now"


@pytest.mark.slow
def test_wholes_that_no_proof_has_are_made_of_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    has: dict[str, set[str]] = {name: set() for name in NOT}
    inside: list[Component] = []
    add = EmitPlatform.add

    def added(platform: EmitPlatform, component: Component) -> EmittedModule:
        if inside:
            has.setdefault(type(inside[-1]).__name__, set()).add(type(component).__name__)
        inside.append(component)
        try:
            return add(platform, component)
        finally:
            inside.pop()

    monkeypatch.setattr(EmitPlatform, "add", added)
    outer = sp.outer_product(lanes=2, ports=1, rows=16, pairs=32)
    for made in (outer.accelerator(ram_bytes=4096, counters=True), outer.accelerator(), designs.design("scnn").accelerator(),
                 designs.design("tiled_matmul").accelerator(1, ram_bytes=4096, watchdog=True, counters=True)):
        collect(made.hardware())
    known = {each.__name__ for each in parts()}
    for name, reason in NOT.items():
        found = has[name] & known
        others = {each for each in found if NOT.get(each, NO_STREAM) != NO_STREAM}
        assert bool(found) == (reason in (PARTS, WHOLES)) and bool(others) == (reason == WHOLES), (name, reason, found)
