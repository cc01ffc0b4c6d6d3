"""What the other proofs of this folder lean on: which signals can reach which, judged by structure."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from amaranth.lib import wiring
from broken import DropsZero, lazy_fork
from prover import connected

from sardonyx.hw.arch.primitive import ADDRESS, DIVIDER, PE_PRIMITIVES, SCATTER, SHARING_PRIMITIVES, Primitive
from sardonyx.hw.arch.tile import MEM, PE
from sardonyx.hw.interconnect.stage import FifoStage, OpenStage, PassStage, RegisterStage
from sardonyx.hw.sparse import joiner
from sardonyx.hw.stream.fifo import Fifo, Fifo2
from sardonyx.hw.tile.core import build

# Paths within a cycle, besides those from input to output payload.
PATHS: dict[str, tuple[Callable[[], wiring.Component], set[tuple[str, str]]]] = {
    "pass": (lambda: PassStage(17), {("i__valid", "o__valid")}),
    "register": (lambda: RegisterStage(17), {("o__ready", "i__ready")}),
    "full": (lambda: FifoStage(17), set()),
    "open": (lambda: OpenStage(17), {("i__valid", "o__valid"), ("o__ready", "i__ready")}),
    "fifo2": (lambda: Fifo2(17), set()),
    "fifo": (lambda: Fifo(17, 16), set()),
}


@pytest.mark.parametrize("name", PATHS)
def test_handshake_paths_are_the_documented_ones(name: str, tmp_path: Path) -> None:
    make, paths = PATHS[name]
    pairs = product(("i__valid", "o__ready"), ("o__valid", "i__ready"))
    assert connected(make(), tmp_path, pairs, registers=False) == paths


@pytest.mark.parametrize("name", PATHS)
def test_control_does_not_read_the_payload_and_bits_do_not_mix(name: str, tmp_path: Path) -> None:
    bits = (0, 7, 16)
    pairs = product((f"i__payload.{bit}" for bit in bits),
                    ("o__valid", "i__ready", *(f"o__payload.{bit}" for bit in bits)))
    assert connected(PATHS[name][0](), tmp_path, pairs, registers=True) == {
        (f"i__payload.{bit}", f"o__payload.{bit}") for bit in bits}


def test_component_that_reads_its_payload_is_found(tmp_path: Path) -> None:
    pair = ("i__payload.0", "o__valid")
    assert connected(DropsZero(17), tmp_path, [pair], registers=True) == {pair}


@pytest.mark.parametrize("primitive", (*PE_PRIMITIVES, *SHARING_PRIMITIVES, ADDRESS, DIVIDER, SCATTER),
                         ids=lambda each: each.name)
def test_no_valid_of_a_primitive_follows_any_ready(primitive: Primitive, tmp_path: Path) -> None:
    outs = [port.name for port in primitive.outputs]
    pairs = product((f"{out}__ready" for out in outs), (f"{out}__valid" for out in outs))
    assert connected(build(primitive, MEM if primitive.memory else PE), tmp_path, pairs, registers=False) == set()


def test_lazy_fork_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joiner, "fork", lazy_fork)
    component: wiring.Component = joiner.Joiner()
    pairs = {("ref0_o__ready", "crd__valid"), ("crd__ready", "ref0_o__valid")}
    assert connected(component, tmp_path, [*pairs, ("crd__ready", "crd__valid")], registers=False) == pairs
