"""The checker of the bus tests finds what it is meant to find."""

from collections.abc import Mapping, Sequence

import pytest
from axi_protocol import Protocol

Cycle = Mapping[str, tuple[bool, Mapping[str, int]]]


def address(beats: int, identity: int = 1) -> dict[str, int]:
    return {"id": identity, "addr": 0, "len": beats - 1, "size": 3, "burst": 1}


def word(last: int, data: int = 5) -> dict[str, int]:
    return {"data": data, "strb": 255, "last": last}


def beat(last: int, identity: int = 1) -> dict[str, int]:
    return {"id": identity, "data": 7, "resp": 0, "last": last}


ANSWER = {"id": 1, "resp": 0}
AW, AR, W, B = (True, address(2)), (True, address(2)), (True, word(0)), (True, ANSWER)
LAST, R, R_LAST = (True, word(1)), (True, beat(0)), (True, beat(1))
WRITTEN: "list[Cycle]" = [{"aw": AW, "w": W}, {"w": LAST}]


def violations(cycles: Sequence[Cycle], resets: Sequence[int] = ()) -> list[str]:
    protocol = Protocol()
    for number, cycle in enumerate(cycles):
        protocol.step(cycle, number in resets)
    protocol.finish()
    return protocol.violations


@pytest.mark.parametrize("cycles", [
    [*WRITTEN, {"b": B}],
    [{"w": W}, {"w": LAST}, {"aw": AW}, {"b": (False, ANSWER)}, {"b": B}],
    [{"ar": AR, "aw": AW}, {"r": (False, beat(0)), "w": W}, {"r": R, "w": LAST}, {"r": R_LAST, "b": B}],
    [{"aw": (True, {"addr": 4}), "w": (True, {"data": 3, "strb": 15}), "ar": (True, {"addr": 8})},
     {"b": (True, {"resp": 0}), "r": (True, {"data": 1, "resp": 0})}],
], ids=["a write", "words before their address", "both at once", "AXI4-Lite"])
def test_what_axi_allows_is_no_violation(cycles: "list[Cycle]") -> None:
    assert violations(cycles) == []


BROKEN: "dict[str, list[Cycle]]" = {
    "bvalid is retracted, cycle 3": [*WRITTEN, {"b": (False, ANSWER)}, {}, {"b": B}],
    "b changes while it waits, cycle 3": [*WRITTEN, {"b": (False, ANSWER)}, {"b": (True, {"id": 1, "resp": 2})}],
    "awvalid is retracted, cycle 1": [{"aw": (False, address(2))}, {}],
    "an answer comes before the last beat and its address, cycle 1": [{"aw": AW, "w": W}, {"w": LAST, "b": B}],
    "an answer comes before the last beat and its address, cycle 2": [{"w": W}, {"w": LAST}, {"aw": AW, "b": B}],
    "an answer comes before the last beat and its address, cycle 3": [*WRITTEN, {"b": B}, {"b": B}],
    "an answer has another identity than its burst, cycle 2": [*WRITTEN, {"b": (True, {"id": 2, "resp": 0})}],
    "wlast is not at the last beat, cycle 0": [{"aw": AW, "w": LAST}, {"b": B}],
    "a burst goes on after its last beat, cycle 1": [{"aw": AW, "w": W}, {"w": W}, {"w": LAST}, {"b": B}],
    "a word comes before its address, cycle 0": [{"ar": AR, "r": R}, {"r": R}, {"r": R_LAST}],
    "rlast is not at the last beat, cycle 1": [{"ar": AR}, {"r": R_LAST}, {"r": R_LAST}],
    "rlast is not at the last beat, cycle 2": [{"ar": AR}, {"r": R}, {"r": R}, {"r": R_LAST}],
    "a word has another identity than its burst, cycle 2": [{"ar": AR}, {"r": R}, {"r": (True, beat(1, 2))}],
    "1 bursts of aw have 0 answers on b, cycle 2": WRITTEN,
    "1 bursts of ar have 0 answers on r, cycle 2": [{"ar": AR}, {"r": R}],
    "a burst has not ended, cycle 1": [{"w": W}],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_that_is_broken_is_found(rule: str) -> None:
    assert rule in violations(BROKEN[rule])


def test_a_reset_ends_all_bursts_and_no_answer_follows_it() -> None:
    begun: list[Cycle] = [{"aw": AW, "ar": AR}, {"r": (False, beat(0))}]
    assert violations([*begun, {}], [1]) == []
    assert violations([*begun, {"r": (False, beat(0))}, {"r": (False, beat(0))}], [1])[:2] == [
        "an answer is offered after a reset, cycle 2", "a word comes before its address, cycle 2"]
