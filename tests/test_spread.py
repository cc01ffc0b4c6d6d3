"""Work spread over processes and clusters: results as of one process, and what a cluster cannot do is told.

The package distributed is an extra: a stand-in has its interface here, which runs what it is given by way of bytes, and one
test uses the real one where it is installed.
"""

import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sardonyx
from sardonyx import spread
from sardonyx.cli import main
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import PRIMITIVES
from sardonyx.spread import Cluster, Processes, workers
from sardonyx.tensors.values import random_tensor, to_value

PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
OPERANDS: "dict[str, Any]" = {"B": to_value(random_tensor((9, 5), 0.3, 1)), "C": to_value(random_tensor((5, 8), 0.4, 2))}


def scaled(shared: int, item: int) -> int:
    if item == 13:
        raise UserError("13 is refused")
    return shared * item


def waited(shared: int, item: int) -> int:
    time.sleep(0.2)
    return scaled(shared, item)


def named(arch: Arch, name: str) -> bool:
    """Whether a machine has a primitive, of which there is one object in a process."""
    return PRIMITIVES[name] in arch.pe.primitives


@pytest.mark.parametrize("jobs,items", [(1, 3), (2, 7), (3, 1), (2, 0)])
def test_processes_give_every_item_once(jobs: int, items: int) -> None:
    assert dict(Processes(jobs).each(5, scaled, range(items))) == {item: 5 * item for item in range(items)}
    with pytest.raises(UserError, match="13 is refused"):
        dict(Processes(jobs).each(5, scaled, [1, 13]))


@pytest.mark.parametrize("name", presets.PRESETS)
def test_a_machine_is_the_same_behind_bytes(name: str) -> None:
    arch = presets.get(name)
    assert (again := pickle.loads(pickle.dumps(arch))) == arch and again.fingerprint == arch.fingerprint


class Future:
    """What `call` gives, asked for."""

    def __init__(self, call: Any) -> None:
        self.result = call


def lost() -> object:
    raise sys.modules["distributed"].CancelledError("lost")     # type: ignore[attr-defined]


# What is other than a cluster with one worker: its versions (all), after how many items it is gone (lost), how often a worker
# leaves while it is sent something (leaving), and a scheduler without Sardonyx (no scheduler).
CLUSTER: "dict[str, Any]" = {}


class Client:
    """Runs what is asked for when its result is, all of it made bytes and read again."""

    def __init__(self, address: str, **_: object) -> None:
        if address == "tcp://nowhere:1":
            raise OSError("timed out")
        self.status, self.loop, self.done = "running", None, 0

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.status = "closed"

    def run(self, call: Any) -> "dict[str, str]":
        return CLUSTER.get("all") or {"worker": call()}

    def run_on_scheduler(self, call: Any) -> str:
        if "no scheduler" in CLUSTER:
            raise ModuleNotFoundError("No module named 'sardonyx'")
        return str(call())

    def scatter(self, shared: object, **_: object) -> bytes:
        if CLUSTER.get("leaving", 0):
            CLUSTER["leaving"] -= 1
            raise KeyError("tcp://worker")
        return pickle.dumps(shared)

    def submit(self, call: Any, shared: bytes, item: object, **_: object) -> Any:
        self.done += 1
        if CLUSTER.get("lost", 99) < self.done:
            return Future(lost)
        call, item = pickle.loads(pickle.dumps((call, item)))
        return Future(lambda: pickle.loads(pickle.dumps(call(pickle.loads(shared), item))))

    def cancel(self, futures: "list[Any]") -> None:
        assert self.status == "running"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> "Iterator[dict[str, Any]]":
    module: Any = ModuleType("distributed")
    module.Client, module.as_completed = Client, lambda futures, **_: reversed(futures)
    module.CancelledError = type("CancelledError", (Exception,), {})
    module.scheduler = SimpleNamespace(KilledWorker=type("KilledWorker", (Exception,), {}))
    module.comm = SimpleNamespace(CommClosedError=type("CommClosedError", (OSError,), {}))
    monkeypatch.setitem(sys.modules, "distributed", module)
    yield CLUSTER
    CLUSTER.clear()


def test_workers_of_a_cluster_find_what_processes_do(cluster: "dict[str, Any]") -> None:
    report = sardonyx.tune(PRODUCT, budget=6, cluster="tcp://there:8786", **OPERANDS).report
    assert report == sardonyx.tune(PRODUCT, budget=6, jobs=1, **OPERANDS).report
    with workers("tcp://there:8786", 1) as found:
        assert dict(found.each(presets.get("sparse"), named, ["divider", "filter"])) == {"divider": True, "filter": True}
        assert [*found.each(1, scaled, [])] == []
        with pytest.raises(UserError, match="13 is refused"):
            dict(found.each(5, scaled, [1, 13]))


def test_a_sweep_goes_on_behind_a_cluster_that_went_away(cluster: "dict[str, Any]", tmp_path: Any) -> None:
    cluster["lost"] = 4
    with pytest.raises(UserError) as error:
        sardonyx.tune(PRODUCT, budget=6, cluster="tcp://there:8786", state=tmp_path / "kept", **OPERANDS)
    assert str(error.value) == ("cluster tcp://there:8786: the cluster went away: CancelledError lost\n"
                                "  try: start it again; what is kept in a file (--state) is not done again")
    found = sardonyx.tune(PRODUCT, budget=6, jobs=1, state=tmp_path / "kept", **OPERANDS).report
    assert found == sardonyx.tune(PRODUCT, budget=6, jobs=1, **OPERANDS).report


def test_a_worker_that_leaves_while_it_is_sent_something_stops_nothing(cluster: "dict[str, Any]",
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "SENT_S", 0)
    for leaving in (1, spread.SENT):
        cluster["leaving"] = leaving
        with workers("tcp://there:8786", 1) as found:
            if leaving < spread.SENT:
                assert dict(found.each(5, scaled, [1, 2])) == {1: 5, 2: 10}
            else:
                with pytest.raises(UserError, match="the cluster went away: KeyError 'tcp://worker'"):
                    dict(found.each(5, scaled, [1, 2]))


def test_parts_of_a_run_are_run_by_workers_of_a_cluster(cluster: "dict[str, Any]", tmp_path: Any) -> None:
    whole = sardonyx.einsum(PRODUCT, tile=2, engine="tokens", **OPERANDS)
    cluster["lost"] = 1
    how: dict[str, Any] = {"tile": 2, "engine": "tokens", "cluster": "tcp://there:8786", "state": tmp_path / "kept", **OPERANDS}
    with pytest.raises(UserError, match="the cluster went away"):
        sardonyx.einsum(PRODUCT, **how)
    cluster.clear()
    cut = sardonyx.einsum(PRODUCT, **how)
    assert (cut.value != whole.value).nnz == 0 and cut.report["words_checked"] == whole.report["words_checked"]
    assert cut.report["spread"] == {"parts": 2, "kept": 0} and sardonyx.einsum(PRODUCT, **how).report["spread"]["kept"] == 2


@pytest.mark.parametrize("address,versions,message", [
    ("tcp://nowhere:1", None, "cluster tcp://nowhere:1: no scheduler answers: timed out\n"
     "  try: start one with 'dask scheduler', and workers with 'dask worker ADDRESS', or use local"),
    ("tcp://there:1", {"one": "9.9"}, "cluster tcp://there:1: workers have version 9.9 of Sardonyx, here it is "),
    ("tcp://there:1", {"one": ""}, "cluster tcp://there:1: workers have version "),
    ("tcp://there:1", "no scheduler", "cluster tcp://there:1: the scheduler has version none of Sardonyx, here it is ")])
def test_a_cluster_that_does_not_do_is_told(address: str, versions: Any, message: str, cluster: "dict[str, Any]") -> None:
    cluster["all"] = versions
    if versions == "no scheduler":
        cluster["all"] = cluster[versions] = None
    with pytest.raises(UserError) as error, workers(address, 1):
        pass
    assert str(error.value).startswith(message)


def test_a_cluster_without_the_package_or_with_jobs_of_its_own_is_refused(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = ["tune", "x(i) = a * b(i)", "--a", "3", "--b", "3", "--cluster"]
    assert main([*words, "tcp://there:1", "--jobs", "2"]) == 2
    assert capsys.readouterr().err == ("sardonyx: jobs: the workers of tcp://there:1 are as many as it has\n"
                                       "  try: leave jobs out, or use cluster local\n")
    with pytest.raises(UserError) as error:
        sardonyx.tune(PRODUCT, cluster="local", **OPERANDS)
    assert str(error.value) == ("cluster: a cluster needs the package distributed, which is not installed\n"
                                "  try: pip install 'sardonyx[cluster]'")


@pytest.mark.slow
def test_a_cluster_here_finds_what_processes_do() -> None:
    pytest.importorskip("distributed", reason="needs the extra sardonyx[cluster]")
    report = sardonyx.tune(PRODUCT, budget=6, cluster="local", jobs=2, **OPERANDS).report
    assert report == sardonyx.tune(PRODUCT, budget=6, jobs=1, **OPERANDS).report
    cut, whole = (sardonyx.einsum(PRODUCT, tile=2, without="pipelining", **how, **OPERANDS)
                  for how in ({"cluster": "local", "jobs": 2}, {}))
    assert cut.cycles == whole.cycles and (cut.value != whole.value).nnz == 0


@pytest.mark.slow
def test_items_of_a_worker_that_is_killed_are_looked_at_elsewhere() -> None:
    pytest.importorskip("distributed", reason="needs the extra sardonyx[cluster]")
    with workers("local", 2) as found:
        assert isinstance(found, Cluster)
        one, _ = found.client.run(os.getpid).values()
        given = dict[int, int]()
        for item, result in found.each(5, waited, range(8)):
            given[item] = result
            if len(given) == 2:
                os.kill(one, signal.SIGKILL)
    assert given == {item: 5 * item for item in range(8)}
