"""Dense operands of sparse programs that lie in the global buffer, in Verilog; words are compared with NumPy by sub-tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from machines import KERNELS, PART, copier
from three_regions import THREE

import sardonyx
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiles import cut_one
from sardonyx.hw.arch.system import System
from sardonyx.runtime.data.blocks import Blocks
from sardonyx.runtime.data.lying import Lying, lying
from sardonyx.runtime.firmware import Job
from sardonyx.runtime.session import Session
from sardonyx.sim import system
from sardonyx.tensors.coordinates import Coo

# A machine that copies, behind a processor; the loops of a tile are two.
ARCH = replace(PART, glb=replace(PART.glb, bank_bytes=16384, listed=True),
               system=System(processor=True, ram_bytes=16384, serial_cycles=4))


def dense(*sides: int) -> np.ndarray:
    return np.random.default_rng(sum(sides)).integers(1, 9, sides)


def sparse(*sides: int) -> np.ndarray:
    return np.where(np.random.default_rng(1).random(sides) < 0.15, dense(*sides), 0)


@pytest.mark.parametrize("text,order,formats,tile,operands", [
    ("x(i) = A(i,j) * b(j)", "ij", {"b": "d"}, {"i": 4, "j": 13}, {"A": sparse(31, 29), "b": dense(29)}),
    ("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"}, {"i": 5, "k": 7, "j": 6}, {"A": sparse(23, 19), "B": dense(19, 17)}),
    ("X(i,j) = A(i,k) * B(k,j)", "ijk", {"B": "dd10"}, {"i": 5, "k": 7, "j": 6}, {"A": sparse(23, 19), "B": dense(19, 17)}),
    ("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"}, {"i": 1, "k": 1, "j": 11}, {"A": sparse(13, 7), "B": dense(7, 11)}),
    ("X(i,j) = A(i,k,l) * B(k,j,l)", "ijkl", {"A": "sss", "B": "ddd102"}, {"i": 2, "j": 3, "k": 4, "l": 5},
     {"A": sparse(7, 5, 11), "B": dense(5, 7, 11)}),
], ids=("vector", "by rows", "by columns", "rows left out", "three dimensions"))
def test_programs_give_the_words_of_numpy_with_operands_as_they_lie(
        text: str, order: str, formats: Mapping[str, str], tile: Mapping[str, int], operands: Mapping[str, np.ndarray]) -> None:
    report = sardonyx.einsum(text, order=order, formats=formats, tile=tile, arch=KERNELS, engine="rtl-full", **operands).report
    assert " as they lie in operands" in report["words_in"]


def test_copies_with_links_of_their_own_take_an_operand_as_it_lies() -> None:
    report = sardonyx.einsum("x(i) = A(i,j) * b(j)", order="ij", formats={"b": "d"}, tile={"i": 4, "j": 13}, arch=KERNELS,
                             engine="rtl-full", unroll=2, A=sparse(61, 29), b=dense(29)).report
    assert report["link_groups"] == "1 + 1" and " as they lie in operands" in report["words_in"] and "copied" not in report


def tiles_of(operand: np.ndarray, edges: tuple[int, int]) -> Lying:
    """An operand cut into tiles, each of which has nonzeros, read by columns."""
    places = np.argwhere(operand)
    einsum = parse("X(j,i) = A(i,j)", "ji", {"A": "dd10"})
    coo = Coo.make(operand.shape, places, operand[tuple(places.T)].astype(np.int64))
    found = lying(cut_one(einsum.operands[0], coo, dict(zip("ij", edges, strict=True))), False)
    assert found is not None
    return found


@pytest.mark.slow
def test_a_processor_brings_an_operand_once_and_launches_of_a_run_take_its_sub_tiles_in_any_order() -> None:
    """It is in one bank with the lists; results of a launch, which are in two banks in turn, have a quarter of both."""
    found = tiles_of(dense(37, 21), (5, 4))
    picks = np.random.default_rng(2).integers(0, len(found.firsts) - 1, 500).tolist()
    took: list[Blocks] = []
    ran = system.run_jobs([Job("copy", copier(ARCH), [{"a_vals": found.tile(pick)} for pick in picks], {"b_vals": 21})],
                          [took.append], ARCH, lambda stage: None)
    assert [each["b_vals"].tolist() for each in took] == [found.tile(pick).words.tolist() for pick in picks]
    launches = [launch for launch, _ in ran.firmware.launches[0]]
    assert any(each.joins for each in launches) and sum(each.lying for each in launches) == found.size
    image = found.image.astype("<u2").tobytes()
    assert [content for _, content in ran.firmware.content].count(image) == 1


@pytest.mark.slow
def test_regions_have_operands_of_their_own_wherever_they_are() -> None:
    """Programs are compiled for a width; lists count from the first byte of a GLB tile."""
    arch = replace(THREE, glb=replace(THREE.glb, listed=True))
    part = replace(arch, columns=2, regions=1)
    operands = {region: tiles_of(dense(9 + region, 7), (3, 4)) for region in (0, 2)}
    picks = {region: np.random.default_rng(region).integers(0, len(each.firsts) - 1, 30).tolist()
             for region, each in operands.items()}
    with sardonyx.simulated(arch) as device, Session(device, [2, 2, 2]) as session:
        for region in operands:
            session.load(region, copier(part))
        for region, each in operands.items():
            session.run(region, [{"a_vals": each.tile(pick)} for pick in picks[region]], {"b_vals": 13})
        for region, each in operands.items():
            found = session.wait(region)
            assert len(found) > 1 and sum(one.lying for one in found) == each.size
            assert [stored["b_vals"].tolist() for one in found for stored in one.stored] == [
                each.tile(pick).words.tolist() for pick in picks[region]]
