"""Blocks that a store places by their numbers, in plans."""

from dataclasses import replace

import pytest
from copying import block
from machines import LEAST, copier

from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.commands import WriteRegister
from sardonyx.runtime.plan import launches


def test_a_block_with_a_number_has_as_many_words_as_its_register_says() -> None:
    """Of more the store would see the lowest bits only."""
    arch = replace(LEAST, glb=replace(LEAST.glb, bank_bytes=1 << 19, numbered=True))
    load, store = copier(arch).transfers
    made = replace(copier(arch), transfers=(load, replace(store, blocks=2, order=load.name)))
    limits = [command.value for each in launches(made, arch, [{"a_vals": block(0, 1)}], {"b_vals": 2 * 65535})
              for command in each.starts if isinstance(command, WriteRegister) and command.name == "store_limit"]
    assert limits == [65535]
    with pytest.raises(UserError, match="a block of stream b_vals may have 65,536 words, and a store places blocks of 65,535 "
                                        "at most"):
        list(launches(made, arch, [{"a_vals": block(0, 1)}], {"b_vals": 2 * 65536}))
