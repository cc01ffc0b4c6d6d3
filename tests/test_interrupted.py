"""Ctrl-C while work is spread over processes: it is not lost, nothing else is said, and nobody waits for what is under way."""

import os
import signal
import subprocess
import sys
import time

import pytest

from sardonyx.hw.arch.errors import UserError
from sardonyx.spread import Processes

# Of a terminal: it interrupts all processes of a command.
SCRIPT = """
import os, signal, sys, time
from sardonyx.spread import Processes

def sleep(shared, item):
    os.write(1, b"here\\n")      # in one piece, which `print` does not promise
    time.sleep(60)

def quick(shared, item):
    return item

{before}
try:
    for _ in Processes(2).each(None, {call}, range(9)):
        {meanwhile}
except KeyboardInterrupt:
    print("interrupted")
"""


def started(call: str, before: str = "", meanwhile: str = "pass") -> "subprocess.Popen[str]":
    script = SCRIPT.format(call=call, before=before, meanwhile=meanwhile)
    # A shell lets what it begins behind a `&` ignore Ctrl-C, and processes inherit that.
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def ended(process: "subprocess.Popen[str]") -> "tuple[str, str]":
    """What it said behind an interrupt, well before a part would be done; none of its processes is left."""
    said = process.communicate(timeout=30)
    end = time.monotonic() + 10
    while left := subprocess.run(["ps", "-o", "pid=", "-g", str(process.pid)], capture_output=True, text=True).stdout.split():
        assert time.monotonic() < end, f"{left} go on"
        time.sleep(0.05)
    return said


@pytest.mark.parametrize("whole", [True, False])
def test_nobody_waits_for_parts_that_are_under_way(whole: bool) -> None:
    process = started("sleep")
    assert process.stdout is not None and [process.stdout.readline() for _ in range(2)] == ["here\n"] * 2
    (os.killpg if whole else os.kill)(process.pid, signal.SIGINT)
    assert ended(process) == ("interrupted\n", "")


def test_processes_that_wait_for_parts_say_nothing() -> None:
    """All parts are done here, so that they wait for more."""
    process = started("quick", meanwhile="print('one', flush=True); time.sleep(60)")
    assert process.stdout is not None and process.stdout.readline() == "one\n"
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    assert ended(process) == ("interrupted\n", "")


def test_an_interrupt_that_comes_while_processes_begin_is_not_lost() -> None:
    """What is raised between a fork and what follows it Python prints, and goes on."""
    process = started("sleep", before="os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))")
    said, errors = ended(process)
    assert (said.replace("here\n", ""), errors) == ("interrupted\n", "")


def killed(shared: None, item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(UserError) as error:
        list(Processes(2).each(None, killed, range(9)))
    assert str(error.value) == ("jobs: one of 2 processes was killed before its part was done, as when memory runs out\n"
                                "  try: use fewer; what is kept in a file (--state) is not done again")
