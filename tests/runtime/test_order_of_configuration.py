"""Words of the first launch are written while configuration streams, where they lie beside its words."""

from dataclasses import replace

import numpy as np
import pytest
from copying import Copier, block
from machines import LEAST, copier

from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime import host

# Words of its configuration have no room in the last part of a GLB tile, and begin in front.
TIGHT = replace(LEAST, glb=replace(LEAST.glb, bank_bytes=64))


class Told(Copier):
    """One that keeps what it was told, in order."""

    def __init__(self, arch: Arch) -> None:
        super().__init__(arch)
        self.told: list[str] = []

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        if name == "control":
            self.told.append({1: "start", 4: "configure"}[value])
        super().write_register(name, value, glb_tile, region)

    def write_memory(self, address: int, words: np.ndarray) -> None:
        self.told.append(f"{len(words)} words")
        super().write_memory(address, words)

    def wait(self, limit: int) -> bool:
        self.told.append("wait")
        return True


@pytest.mark.parametrize("arch,overlapped,expected", [
    (LEAST, True, ["configure", "4 words", "wait", "start", "wait"]),
    (LEAST, False, ["configure", "wait", "4 words", "start", "wait"]),
    (TIGHT, True, ["configure", "wait", "4 words", "start", "wait"])])
def test_the_first_words_come_while_configuration_streams_unless_they_would_lie_on_it(arch, overlapped, expected):
    device = Told(arch)
    found = list(host.run(device, copier(arch), [{"a_vals": block(5, 6, 7)}], {"b_vals": 4}, overlapped=overlapped))
    assert device.told[device.told.index("configure"):] == expected
    assert found[0].stored[0]["b_vals"].tolist() == block(5, 6, 7).tolist()


def test_no_portion_of_words_comes_while_a_launch_computes_where_nothing_may() -> None:
    arch = replace(LEAST, glb=replace(LEAST.glb, bank_bytes=8192))
    device, given = Told(arch), block(*range(1999))
    found, = host.run(device, copier(arch), [{"a_vals": given}], {"b_vals": 1999}, overlapped=False, early=())
    assert device.told[device.told.index("configure"):] == ["configure", "wait", "2000 words", "start", "wait"]
    assert found.stored[0]["b_vals"].tolist() == given.tolist()


def test_registers_of_streams_are_written_before_configuration_is_waited_for_but_no_event_is_cleared() -> None:
    class Named(Told):
        def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
            if name != "control":
                self.told.append(name)
            super().write_register(name, value, glb_tile, region)

    device = Named(LEAST)
    list(host.run(device, copier(LEAST), [{"a_vals": block(5, 6, 7)}], {"b_vals": 4}))
    streamed, run = (at for at, each in enumerate(device.told) if each == "wait")
    first = device.told.index("configure")
    assert {"load_control", "load_extent0", "store_control", "store_limit"} <= set(device.told[first:streamed])
    assert not {"irq_status", "irq_enable"} & set(device.told[first:streamed]) and "irq_status" in device.told[streamed:run]
    # That a descriptor is queued is a bit that the machine clears, so a control is written anew unless it was just now.
    assert LEAST.glb.queue and not {"load_control", "store_control"} & set(device.told[streamed:run])


def test_configuration_is_waited_for_where_there_is_nothing_to_do():
    device = Told(LEAST)
    assert list(host.run(device, copier(LEAST), [])) == [] and device.told[-2:] == ["configure", "wait"]
