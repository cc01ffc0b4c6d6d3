"""Addresses of registers, and whether a device is the machine that it is taken for."""

from dataclasses import replace

import pytest
from machines import LEAST

from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import GLB_REGISTER_STRIDE
from sardonyx.runtime.device import check_fingerprint, register_address


@pytest.mark.parametrize("name,tile,what,fix", [
    ("statos", None, "controller: there is no register 'statos', do you mean 'status'?", "choose one of fingerprint_high, "),
    ("load_strat", 1, "GLB tile 1: there is no register 'load_strat', do you mean 'load_start'?", "choose one of load_cont"),
    ("status", 0, "GLB tile 0: there is no register 'status'", "choose one of load_control, "),
    ("load_start", 2, "machine 'least': there is no GLB tile 2", "choose one of 0..1"),
])
def test_a_register_that_does_not_exist_is_refused(name: str, tile: "int | None", what: str, fix: str) -> None:
    with pytest.raises(UserError) as error:
        register_address(LEAST, name, tile)
    assert str(error.value).startswith(f"{what}\n  try: {fix}")


def test_a_register_is_at_its_stride_in_every_glb_tile() -> None:
    first, second = (register_address(LEAST, "load_start", tile) for tile in range(2))
    assert second - first == GLB_REGISTER_STRIDE


class Prints:
    """A device of which only the fingerprint can be read."""

    arch = LEAST

    def __init__(self, fingerprint: int) -> None:
        self.words = {"fingerprint_high": fingerprint >> 32, "fingerprint_low": fingerprint & 0xFFFFFFFF}

    def read_register(self, name: str, glb_tile: "int | None" = None) -> int:
        return self.words[name]


def test_another_machine_is_refused() -> None:
    check_fingerprint(Prints(LEAST.fingerprint), "it", "there", "another")
    other = replace(LEAST, columns=4).fingerprint
    with pytest.raises(UserError) as error:
        check_fingerprint(Prints(other), "the line", "port", "look")
    assert str(error.value) == (f"port: the line has machine {other:016x}, not 'least', which is {LEAST.fingerprint:016x}\n"
                                "  try: look")
