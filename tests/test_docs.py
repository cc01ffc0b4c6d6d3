"""The documents: generated parts are fresh, examples run and print what stands there, commands and links exist."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sardonyx.cli import parser
from sardonyx.hw.arch.cgra import AVOID, MACHINE, PARTS
from sardonyx.hw.arch.primitive import PRIMITIVES

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))


def load_script(name):
    spec = importlib.util.spec_from_file_location(f"{name}_script", ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docs, performance = load_script("docs"), load_script("performance")


@pytest.fixture(scope="module")
def generated():
    return docs.generated()


def test_a_measured_table_is_put_in_its_place_and_nowhere_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- edges: begin -->\nold\n<!-- edges: end -->\nbehind\n")
    performance.write_table("edges", "new", page)
    assert page.read_text() == "before\n<!-- edges: begin -->\nnew\n<!-- edges: end -->\nbehind\n"
    with pytest.raises(AssertionError, match="has no '<!-- orders: begin -->'"):
        performance.write_table("orders", "new", page)
    assert "orders" not in page.read_text()


@pytest.mark.parametrize("name", ["docs/registers.md", "docs/ports.md", docs.PICTURE, docs.FLOORPLAN, docs.SYSTOLIC])
def test_generated_documents_are_fresh(name, generated):
    assert (ROOT / name).read_text() == generated[name], "run: python scripts/docs.py"


def test_of_every_field_of_a_description_it_is_said_what_it_trades():
    page = (ROOT / "docs/silicon.md").read_text().partition("## Switches that trade")[2].partition("\n## ")[0]
    said = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", page)}
    inside = {field for part, (_, _, names) in PARTS.items() if part not in (AVOID, "timing") for field in names}
    assert {*MACHINE} - PARTS.keys() | {AVOID, "timing"} | inside <= said, "say whether it trades cycles for area or the clock"


def test_the_picture_is_the_same_in_another_process(generated):
    script = ("from sardonyx.compiler.lang.einsum import parse; from sardonyx.compiler.einsum import compile_einsum; "
              "from sardonyx.hw.arch import presets; "
              f"print(compile_einsum(parse({docs.api.MATRIX_PRODUCT!r}), presets.get('small')).svg(), end='')")
    drawn = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert drawn.stdout == generated[docs.PICTURE]


@pytest.mark.parametrize("name", docs.DOCUMENTS)
def test_examples_print_what_the_document_says(name):
    text = (ROOT / name).read_text()
    assert docs.refreshed(text).splitlines() == text.splitlines(), "run: python scripts/docs.py"


def test_a_wrong_output_is_noticed_and_only_times_may_differ():
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```trace\npass_through\n  i  1 D\n  o  2 D\n```\n"
    assert docs.refreshed(text) == text.replace("3", "2").replace("2 D", "1 D")
    assert docs.newer("elapsed s  0.07\ndone in 0.1 s\n", "elapsed s  4.1\ndone in 5.0 s\n").startswith("elapsed s  0.07")
    assert docs.newer("cycles  7\n", "cycles  8\n") == "cycles  8\n"


def test_every_primitive_on_streams_has_an_example():
    shown = {body.split()[0] for language, options, body in docs.FENCE.findall((ROOT / "docs/streams.md").read_text())
             if (language, options) == ("trace", "")}
    assert shown == {name for name, primitive in PRIMITIVES.items() if not primitive.static}


def commands():
    """Every command of the documents."""
    for page in PAGES:
        for language, _, body in docs.FENCE.findall((ROOT / page).read_text()):
            if language == "console":
                yield from ((page, prompt) for prompt, _ in docs.sessions(body))
            elif language == "sh":
                yield from ((page, line) for line in body.splitlines())


@pytest.mark.parametrize("page,command", list(commands()))
def test_commands_are_valid(page, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.replace("\\\n", " "))
    for file in re.findall(r"\b\w+\.(?:mtx|npy|json|toml|bits)\b", command):
        Path(file).write_text("")
    if words[0] == "sardonyx":
        parser().parse_args(words[1:])
    elif words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        variables = re.findall(r"^(\w+) *=", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert all(word.partition("=")[0] in (variables if "=" in word else targets) for word in words[1:])
    else:
        assert words[0] in (*docs.SHELL, ".", "python", "sudo"), f"{page}: {command}"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files_exist(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"
    prose = docs.FENCE.sub("", text)
    for path in re.findall(r"`((?:apps|compiler|docs|hw|sardonyx|scripts|sim|tests)/[\w./-]+)`", prose):
        assert (ROOT / path).exists(), f"{page} names {path}"


def test_the_primitive_of_the_tutorial_needs_its_four_places_only(tmp_path):
    """Its files are put into a copy of the sources; bench, token model, tables, tile and mapper take it from there."""
    package = tmp_path / "sardonyx"
    shutil.copytree(ROOT / "sardonyx", package, ignore=shutil.ignore_patterns("__pycache__"))
    files = {options.strip().removeprefix("file="): body
             for _, options, body in docs.FENCE.findall((ROOT / "docs/tutorial.md").read_text()) if "/" in options}
    assert len(files) == 4
    described = package / "hw/arch/primitive.py"
    source = described.read_text()
    changed = source.replace("PE_PRIMITIVES = (", f"{files.pop('hw/arch/primitive.py')}\nPE_PRIMITIVES = (", 1)
    changed = changed.replace("PASS_THROUGH)\nMEM", "PASS_THROUGH, ENUMERATOR)\nMEM", 1)
    assert changed.count("ENUMERATOR") == 2
    described.write_text(changed)
    for name, body in files.items():
        (package / name).write_text(body)
    script = """
import sys

from dataclasses import replace

from sardonyx.compiler.ir.mapped import verify as check
from sardonyx.compiler.ir.sam import Edge, Pin, SamGraph
from sardonyx.compiler.ir.sam_enumerate import Enumerator
from sardonyx.compiler.ir.sam_levels import LevelWriter, Scanner, ValuesWriter
from sardonyx.compiler.ir.sam_verify import verify
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.hw import tables
from sardonyx.hw.arch import presets, primitive
from sardonyx.hw.arch.tile import PE
from sardonyx.hw.arch.token import parse_stream, show_stream
from sardonyx.sim.rtl.bench import run_primitive
from sardonyx.sim.model.tokens.network import Network

tokens = "7 9 S0 S0 4 S1 D 3 S0 D"
outcome = Network({"it": ("enumerator", {})}, []).run({("it", "i"): parse_stream(tokens)}, [("it", "o")])
expected = show_stream(outcome.outputs["it", "o"])
assert expected == "0 1 S0 S0 0 S1 D 0 S0 D", expected
for stalls in (None, 3):
    assert run_primitive("enumerator", {}, {"i": tokens}, stalls=stalls)[0] == {"o": expected}
arch = presets.get("tiny")
assert "enumerator" in {p.name for p in PE.primitives} and primitive.__file__.startswith(sys.argv[1])
assert "## Primitive enumerator" in tables.ports(arch, []) and "7 enumerator" in tables.registers(arch)

nodes = {"scan": Scanner("b", 0, "i", root=True), "number": Enumerator("i"),
         "write_i": LevelWriter("x", 0, "i"), "write_vals": ValuesWriter("x")}
wires = ("scan.crd", "number.i"), ("scan.crd", "write_i.wr"), ("number.o", "write_vals.wr")
graph = SamGraph("numbers", ("i",), {"x": "s0", "b": "s0"}, nodes, tuple(Edge(*map(Pin.parse, wire)) for wire in wires))
mapped = map_graph(verify(graph))
assert mapped.blocks["number"].primitive == "enumerator" and SamGraph.from_json(graph.to_json()) == graph
configured = replace(arch, columns=8, rows=8)
check(balance(mapped, configured), configured)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
