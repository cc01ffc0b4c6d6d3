"""`sardonyx doctor`: which tools are there, and what is not possible without one."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from sardonyx.cli import doctor, main


def test_doctor_names_each_tool(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    answer = json.loads(capsys.readouterr().out)["report"]
    found = {tool["name"]: tool["version"] for tool in answer["tools"]}
    assert list(found) == ("python g++ make amaranth yosys verilator icarus cocotb boolector boards projects nextpnr ecppack "
                           "serial riscv").split()
    assert found["amaranth"] == "0.5.10"
    assert code == (0 if answer["fit"] else 2)


@pytest.mark.parametrize("missing,code,verdict,install", [
    ((), 0, "everything works", None),
    (("iverilog",), 0, "everything works but some tests", "sudo apt-get install iverilog"),
    (("amaranth-boards", "iverilog"), 0, "everything works but boards and some tests",
     f"sudo apt-get install iverilog && {sys.executable} -m pip install -c constraints.txt -e '.[dev,board]'"),
    (("cocotb",), 0, "everything works but some tests", f"{sys.executable} -m pip install -c constraints.txt -e '.[dev]'"),
    (("g++", "clang++", "c++", "make"), 2, "not everything works", "sudo apt-get install g++ make"),
])
def test_doctor_says_what_a_missing_tool_disables(
        missing: "tuple[str, ...]", code: int, verdict: str, install: "str | None",
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None if name in missing else f"/bin/{name}")
    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="tool 12.3"))
    monkeypatch.setattr(doctor, "_package_version", lambda name: "" if name in missing else "1.0")
    assert main(["doctor"]) == code
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == verdict
    assert ("missing: without it no " in out) == bool(missing)
    assert err == "" if install is None else f"next: {install}\n" in err


def test_help_and_doctor_import_no_heavy_package() -> None:
    script = ("import sys, sardonyx.cli as cli; cli.main(['doctor']); "
              "sys.exit(', '.join({'numpy', 'scipy', 'amaranth'} & set(sys.modules)) or None)")
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
