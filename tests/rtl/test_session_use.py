"""What users of a session do wrong, and in which order: each is told so, and nothing is lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from machines import LEAST, copier

from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator

THREE = replace(LEAST, name="three", columns=6, regions=3)
PROGRAM, WIDE = copier(replace(LEAST, name="part")), copier(replace(LEAST, name="part", columns=4))
BOUNDS = {"b_vals": 31}


@pytest.fixture
def session() -> "Iterator[Session]":
    """Two regions of two columns, with a program each."""
    with simulator.whole_machine(THREE).start() as machine, Session(machine, [2, 2]) as found:
        for region in (0, 1):
            found.load(region, PROGRAM)
        yield found


def blocks(count: int, first: int) -> "list[dict[str, np.ndarray]]":
    return [{"a_vals": np.array([20, *range(first + number, first + number + 20)], np.uint16)} for number in range(count)]


def stored(session: Session, region: int) -> "list[list[int]]":
    return [each["b_vals"].tolist() for launch in session.wait(region) for each in launch.stored]


def words(given: "list[dict[str, np.ndarray]]") -> "list[list[int]]":
    return [each["a_vals"].tolist() for each in given]


@pytest.mark.parametrize("use", [
    pytest.param(lambda session: session.run(0, blocks(1, 0), BOUNDS), id="run"),
    pytest.param(lambda session: session.run_together({0: blocks(1, 0), 1: blocks(1, 0)}), id="run_together"),
    pytest.param(lambda session: session.load(0, PROGRAM), id="load"),
    pytest.param(lambda session: session.save(0), id="save"),
    pytest.param(lambda session: session.begin(0, lambda region: None), id="begin"),
    pytest.param(lambda session: session.split([2, 4]), id="split"),
    pytest.param(lambda session: session.regions[0].wait(10), id="as a device")])
def test_what_a_run_gave_stays_until_it_is_waited_for(session: Session, use: "Callable[[Session], Any]") -> None:
    """It ended while another region was waited for, which nobody sees."""
    given, others = blocks(2, 100), blocks(40, 500)
    session.run(0, given, BOUNDS)
    session.run(1, others, BOUNDS)
    assert stored(session, 1) == words(others) and not session.busy(0)
    with pytest.raises(UserError) as error:
        use(session)
    assert str(error.value) == "session: region 0 has given what nobody has waited for\n  try: wait(0) first"
    assert stored(session, 0) == words(given)
    assert session.wait(0) == [], "once"
    session.run(0, others, BOUNDS)
    assert stored(session, 0) == words(others)


def test_a_region_that_is_released_takes_what_it_gave_with_it(session: Session) -> None:
    session.run(0, blocks(2, 100), BOUNDS)
    session.run(1, blocks(40, 500), BOUNDS)
    with pytest.raises(UserError, match="region 0 is busy"):
        session.release(0)
    session.wait(1)
    with pytest.raises(UserError, match="nobody has waited for"):
        session.load(0, PROGRAM)
    session.release(0)
    with pytest.raises(UserError) as error:
        session.wait(0)
    assert str(error.value) == "session: there is no region 0\n  try: choose one of 1"


def test_a_program_that_is_too_wide_is_refused_and_the_one_before_stays(session: Session) -> None:
    with pytest.raises(UserError) as error:
        session.load(0, WIDE)
    assert str(error.value) == (
        f"session: the program is for machine {WIDE.fingerprint:016x}, region 0 is {PROGRAM.fingerprint:016x}, "
        f"'{session.regions[0].arch.name}'\n  try: compile it for the `arch` of this region")
    given = blocks(3, 7)
    session.run(0, given, BOUNDS)
    assert stored(session, 0) == words(given)


def test_a_region_that_runs_takes_no_program_and_no_other_run(session: Session) -> None:
    given = blocks(40, 7)
    session.run(0, given, BOUNDS)
    for use in (lambda: session.load(0, PROGRAM), lambda: session.run(0, given), lambda: session.release(0)):
        with pytest.raises(UserError) as error:
            use()
        assert str(error.value) == "session: region 0 is busy\n  try: wait(0) first"
    assert stored(session, 0) == words(given)


def test_an_error_of_the_users_words_ends_its_run_and_no_other(session: Session) -> None:
    """In the middle of a run, by what makes its words; the region is as it was before."""
    given = blocks(40, 7)

    def failing() -> "Iterator[dict[str, np.ndarray]]":
        yield from given[:30]
        raise ValueError("no more words")

    session.run(0, failing(), BOUNDS)
    session.run(1, given, BOUNDS)
    with pytest.raises(ValueError, match="no more words"):
        session.wait(0)
    assert stored(session, 1) == words(given)
    session.run(0, given, BOUNDS)
    assert stored(session, 0) == words(given)
