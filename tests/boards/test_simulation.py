"""A whole board in simulation, with the host at the other end of its serial line, programs included: the Verilog that goes to
synthesis, and the netlist of ECP5 cells that comes from it.

Measured on two cores: Verilog 0.7 minutes; netlist, beside place and route, 12.6 minutes, most of it synthesis and build.
"""

from collections.abc import Iterator

import numpy as np
import pytest
import skimage.data

import sardonyx
import sardonyx.halide
from sardonyx.apps.dense import binomial
from sardonyx.boards import simulation
from sardonyx.boards.device import SerialDevice, connect
from sardonyx.boards.project import project
from sardonyx.boards.route import NETLIST, synthesise
from sardonyx.boards.targets import target
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.rtl import verilator

pytest.importorskip("amaranth_boards", reason="needs the extra sardonyx[board]")
pytestmark = pytest.mark.slow
FPGA, FAST = presets.get("fpga"), simulation.fast(target("ulx3s-85f"))


def of_netlist() -> verilator.Model:
    return simulation.of_netlist(synthesise(project(FPGA, FAST), FAST, lambda stage: None).folder / NETLIST, FAST)


@pytest.fixture(scope="module", params=["verilog", "netlist"])
def line(request: pytest.FixtureRequest) -> Iterator[simulation.SimulatedLine]:
    model = of_netlist() if request.param == "netlist" else simulation.of_project(project(FPGA, FAST), FAST)
    with simulation.SimulatedLine(model) as found:
        yield found


@pytest.fixture
def device(line: simulation.SimulatedLine) -> SerialDevice:
    return connect(FPGA, line)


def test_another_machine_is_refused(line: simulation.SimulatedLine) -> None:
    with pytest.raises(UserError, match="the board has machine"):
        connect(presets.get("tiny"), line)


def test_memory_holds_what_was_written(device: SerialDevice) -> None:
    words = np.random.default_rng(1).integers(0, 1 << 16, 50).astype(np.uint16)
    for address in (0, 16 * 1024 - 64, 3 * 32 * 1024 + 8):
        device.write_memory(address, words)
        assert device.read_memory(address, 50).tolist() == words.tolist()


def test_sparse_vectors_are_multiplied(device: SerialDevice) -> None:
    result = sardonyx.kernel("vec_elemmul", size=100, density=0.3, arch=FPGA, engine=device)
    tokens = sardonyx.kernel("vec_elemmul", size=100, density=0.3, arch=FPGA, engine="tokens")
    assert result.report["engine"] == "device" and result.cycles and np.array_equal(result.value, tokens.value)
    assert np.count_nonzero(result.value)


def test_a_photograph_is_blurred(device: SerialDevice) -> None:
    photo = skimage.data.camera()[100:124, 150:182]
    result = sardonyx.halide.run(binomial.build(), inputs={"photo": photo}, arch=FPGA, engine=device)
    assert result.value.shape == (22, 30) and len(np.unique(result.value)) > 20


def test_a_program_for_another_machine_is_refused(device: SerialDevice) -> None:
    with pytest.raises(UserError) as error:
        sardonyx.kernel("vec_elemmul", arch="tiny", engine=device)
    assert str(error.value) == "arch 'tiny': the device is machine 'fpga'\n  try: compile for the device (arch=device.arch)"
