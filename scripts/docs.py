"""Write the parts of the documents that are made from the sources, and run their examples.

    python scripts/docs.py            tables, picture, traces, and the output of examples that run in seconds
    python scripts/docs.py --slow     also those that build Verilog, `make demo` among them

Written whole: docs/registers.md, docs/ports.md, the pictures in docs/images (the floorplan of the areas in docs/silicon.md). In
the other documents, by fence:

    ```python          run, one namespace a document; a ```text fence right after it is what it prints
    ```toml file=NAME  a file that later examples read; a NAME with folders is a change to the sources, and not made
    ```console         lines after `$`: sardonyx commands that build no Verilog are run, with ls, head and cat; of `run einsum`
                       and `run kernel` in Verilog the rows that the token model has, too
    ```trace           a primitive, its configuration and streams: outputs are filled in from the token model
    ```toml trace      a statement with its operands: the table after it has the tokens of every stream

Everything runs in one empty folder a document, from top to bottom. Times are written as found but not compared.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, get_args

import numpy as np

from sardonyx import api, designs, emission
from sardonyx.cli import main as sardonyx_main
from sardonyx.compiler import einsum
from sardonyx.compiler import halide as compiled_halide
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.mapped import LOAD, MappedGraph, Pin
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.pipeline import BALANCE, CONFIGURE, FINISH, MAP, PLACE_AND_ROUTE, PROGRAM, RETIME
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.flow.asic import floorplan
from sardonyx.hw import tables
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.primitive import PRIMITIVES, Flow
from sardonyx.hw.arch.token import parse_stream, show_stream
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.options import ENGINES
from sardonyx.runtime.commands import Command
from sardonyx.runtime.data.sub_tiles import named
from sardonyx.sim.model.tokens.network import Network
from sardonyx.tensors import values as tensors

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/architecture.md", "docs/graphs.md", "docs/halide.md", "docs/schedules.md", "docs/spatial.md",
             "docs/streams.md", "docs/tutorial.md")
PICTURE = "docs/images/spmspm_small.svg"
FLOORPLAN = "docs/images/floorplan_onyx.svg"
SYSTOLIC = "docs/images/matmul_input_stationary.svg"
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
SHELL = ("ls", "head", "cat")
DEMO = ["make", "demo"]
QUICK_ENGINES = ("golden", "tokens", "fabric")

# What differs from run to run and from machine to machine: seconds, and rates by seconds.
TIMES = (re.compile(r"\d[\d.,]* s\b"), re.compile(r"\d[\d.,]*$"))
PROGRESS = re.compile(r"^  .*(\.\.\. \d+ s|: \d+\.\d s)\n", re.MULTILINE)     # Of stages that take long on a busy machine.
ROW = re.compile(r"(\S.*?)( {2,})(.*)")      # Of a report: label, space and value.
TIMED_ROW = re.compile(r"^(compile s|build s|simulate s|elapsed s|simulated cycles per s) ")


def generated() -> dict[str, str]:
    """The documents that are generated whole."""
    onyx = presets.get("onyx")
    ports = emission.top_ports(Sardonyx(onyx))
    return {"docs/registers.md": tables.registers(onyx), "docs/ports.md": tables.ports(onyx, ports),
            PICTURE: compile_einsum(parse(api.MATRIX_PRODUCT), presets.get("small")).svg(),
            SYSTOLIC: designs.design("matmul_input_stationary").picture(),
            FLOORPLAN: floorplan.svg(onyx, floorplan.areas((ROOT / "docs/silicon.md").read_text()))}


def flow() -> str:
    """The way of a program, statements on the left and Halide on the right, from the names of stages, commands and engines."""
    fronts = (einsum.STAGES, compiled_halide.STAGES)
    shared = (MAP, BALANCE, PLACE_AND_ROUTE, RETIME, CONFIGURE, PROGRAM)
    own = list(dict.fromkeys(stage for front in fronts for stage in front if stage not in shared))
    assert {stage for each in FINISH.values() for stage in each} == set(shared), "every stage of the pipeline has its line"
    where = {own[0]: "compiler/einsum.py, compiler/halide.py", MAP: "compiler/pipeline.py"}
    rows: list[tuple[str, ...]] = [("sardonyx.einsum", "sardonyx.halide.run", "sardonyx/api.py, sardonyx/halide.py"),
                                   ("statement", "pipeline", "compiler/lang")]
    rows += [(*(stage if stage in front else "|" for front in fronts), where.get(stage, "")) for stage in (*own, *shared)]
    # NumPy alone runs no bitstream.
    verilog = [name for name in ENGINES if name.startswith("rtl")]
    models = [name for name in ENGINES if name not in (*verilog, "golden")]
    rows += [(", ".join(models), ", ".join(verilog), "sim/engines.py"),
             ("|", "plan of a launch", "runtime/plan.py")]
    rows += [("|", command.__name__, "" if at else "runtime/commands.py") for at, command in enumerate(get_args(Command))]
    lines = [f"{left:^27}{right:^27}{place}".rstrip() for left, right, place in rows]
    bits, words = (f"{what:^54}{place}" for what, place in (("bitstream", "compiler/backend/encode.py"),
                                                            ("words, checked against NumPy", "sardonyx/execute.py")))
    at = len(own) + len(shared) + 2
    return "\n".join([*lines[:at], bits, *lines[at:], words]) + "\n"


def refreshed(text: str, slow: bool = False) -> str:
    """A document with the outputs that its examples have now; unchanged where only times differ."""
    parts: list[str] = []
    at = 0
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with empty_folder():
        for fence in FENCE.finditer(text):
            if fence.start() < at:
                continue    # The output of the fence before it.
            language, options, body = fence[1], fence[2].strip(), fence[3]
            parts.append(text[at:fence.start()])
            at = fence.end()
            if options.startswith("file=") and "/" not in options:
                Path(options.removeprefix("file=")).write_text(body)
            if language == "python" and not options:
                parts.append(fence[0])
                output = FENCE.match(text, at + 1) if text[at:at + 1] == "\n" else None
                old = output[3] if output and output[1] == "text" else ""
                if old and output:
                    at = output.end()
                new = run_python(body, namespace)
                if old or new:
                    parts.append(f"\n```text\n{newer(old, new)}```\n")
            elif language == "console":
                parts.append(f"```console\n{run_console(body, slow)}```\n")
            elif language == "trace":
                parts.append(f"```trace\n{run_primitive_trace(body)}```\n")
            elif (language, options) == ("text", "flow"):
                parts.append(f"```text flow\n{flow()}```\n")
            elif (language, options) == ("toml", "trace"):
                parts.append(f"{fence[0]}\n{statement_table(tomllib.loads(body))}")
                old_table = re.compile(r"\n(\|[^\n]*\n)+").match(text, at)
                at = old_table.end() if old_table else at
            else:
                parts.append(fence[0])
    return "".join([*parts, text[at:]])


def newer(old: str, new: str) -> str:
    """The new output, or the old one if only times differ."""
    return old if timeless(old) == timeless(new) else new


def timeless(text: str) -> list[str]:
    """The lines of an output without what differs from run to run."""
    seconds, last = TIMES
    return [last.sub("T", line) if TIMED_ROW.match(line) else seconds.sub("T s", line) for line in text.splitlines()]


@contextmanager
def empty_folder() -> Iterator[None]:
    """Work in a new folder that vanishes afterwards."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def run_python(code: str, namespace: dict[str, Any]) -> str:
    """What an example prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), namespace)
    return printed.getvalue()


def run_console(body: str, slow: bool) -> str:
    """A session with the outputs that its commands have now; those that are not run keep theirs."""
    parts = []
    for prompt, old in sessions(body):
        command = shlex.split(prompt.replace("\\\n", " "))
        simulated = command[:2] == ["sardonyx", "run"] and command[2] in ("einsum", "kernel") and "--engine" not in command
        parts.append(f"$ {prompt}\n" + (newer(old, run_command(command)) if runs(command, slow) else
                                        with_rows(old, run_command([*command, "--engine", "tokens"])) if simulated else old))
    return "".join(parts)


def with_rows(old: str, modelled: str) -> str:
    """The report of a run in Verilog with the values that are those of the token model as well: how it is cut and compiled."""
    head, blank, table = old.partition("\n\n")
    rows = {row[1]: row[3] for row in map(ROW.match, modelled.partition("\n\n")[0].splitlines()) if row}
    lines = [row[1] + row[2] + rows[row[1]]
             if (row := ROW.match(line)) and row[1] in rows and row[1] != "engine" and not TIMED_ROW.match(line) else line
             for line in head.splitlines()]
    return "\n".join(lines) + blank + table


def sessions(body: str) -> list[tuple[str, str]]:
    """Commands, perhaps of several lines, and their outputs."""
    return [(found[1], found[2]) for found in
            re.finditer(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", body, re.MULTILINE)]


def runs(command: list[str], slow: bool) -> bool:
    """Whether an example is run."""
    if command[0] in SHELL:
        return True
    if command == DEMO:
        return slow
    if command[0] != "sardonyx" or command[1] == "doctor":      # The answer of the doctor depends on the patient.
        return False
    if command[1] == "run" and "--list" not in command:
        quick = "--engine" in command and command[command.index("--engine") + 1] in QUICK_ENGINES
        return slow or quick
    return slow or command[1] != "verilog"


def run_command(command: list[str]) -> str:
    """What a command prints, results and messages in their order."""
    if command[0] in SHELL:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        sardonyx_main(["run", "demo"] if command == DEMO else command[1:])
    return PROGRESS.sub("", printed.getvalue())


def run_primitive_trace(body: str) -> str:
    """A primitive with its inputs as given and its outputs as the token model has them."""
    head, *rows = body.splitlines()
    name, *settings = head.split()
    config: dict[str, Any] = {key: int(value) if value.isdigit() else value
                              for key, value in (setting.split("=") for setting in settings)}
    PRIMITIVES[name].config.numbers(config)
    ports = {port.name: port for port in PRIMITIVES[name].ports}
    streams = [(row.split()[0], row.split()[1:]) for row in rows]
    given = {("it", port): parse_stream(tokens) for port, tokens in streams if ports[port].flow is Flow.IN}
    wanted = [("it", port) for port, _ in streams if ports[port].flow is Flow.OUT]
    found = Network({"it": (name, config)}, []).run(given, wanted).outputs
    width = max(len(port) for port, _ in streams)
    lines = [f"  {port:{width}}  {show_stream((given | dict(found))['it', port])}" for port, _ in streams]
    return "\n".join([head, *lines, ""])


def statement_table(example: dict[str, Any]) -> str:
    """Every stream of a statement's graph on one transaction, in the order of the graph."""
    einsum = parse(example["expression"], example.get("order", ""), example.get("formats"))
    graph = map_graph(lower(einsum))
    blocks: dict[str, np.ndarray] = {}
    for access in einsum.operands:
        operand = tensors.to_coo(np.array(example[access.tensor]), access.tensor)
        blocks |= named(access, tensors.encode(operand, access.format, access.tensor))
    streams = trace(graph, blocks)
    rows = ["| from | stream | tokens | to |", "|---|---|---|---|"]
    for source, (tokens, sinks) in streams.items():
        rows.append(f"| `{source.block}` | `{source.port}` | `{show_stream(tokens)}` | {', '.join(f'`{s}`' for s in sinks)} |")
    return "\n".join(rows) + "\n"


def trace(graph: MappedGraph, blocks: dict[str, np.ndarray]) -> dict[Pin, tuple[list[int], list[str]]]:
    """Tokens of every net by its source, and the names of its sinks; ports of primitives by their names as streams."""
    def stream(pin: Pin, flow: Flow) -> Pin:
        primitive = graph.blocks[pin.block].primitive
        if not primitive:
            return Pin(pin.block, "block")
        return Pin(pin.block, next(p.name for p in PRIMITIVES[primitive].ports if p.tile_port == pin.port and p.flow is flow))

    nodes = {name: (block.primitive, block.config) for name, block in graph.blocks.items() if block.primitive}
    nets = [(stream(net.source, Flow.OUT), [stream(sink, Flow.IN) for sink in net.sinks]) for net in graph.nets]
    given = {s.block: [int(word) for word in blocks[s.name]]
             for s in graph.streams if s.direction == LOAD}
    inputs = {(sink.block, sink.port): given[source.block] for source, sinks in nets if source.block in given for sink in sinks}
    edges = [(source, sink) for source, sinks in nets if source.block in nodes
             for sink in sinks if sink.block in nodes]
    outputs = [source for source, _ in nets if source.block in nodes]
    found = Network(nodes, edges).run(inputs, outputs).outputs
    order = {name: at for at, name in enumerate(graph.blocks)}
    nets.sort(key=lambda net: (net[0].block in nodes, order[net[0].block]))
    return {source: (given[source.block] if source.block in given else list(found[source]),
                     [sink.block if sink.port == "block" and sink.block not in nodes else f"{sink.block}.{sink.port}"
                      for sink in sinks]) for source, sinks in nets}


def main() -> int:
    """Write what is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="run the examples that build Verilog, too")
    options = parser.parse_args()
    for name, text in generated().items():
        write(name, text)
    for name in DOCUMENTS:
        write(name, refreshed((ROOT / name).read_text(), options.slow))
    return 0


def write(name: str, text: str) -> None:
    """Write a document if it changed, and say so."""
    path = ROOT / name
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{name} written", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
