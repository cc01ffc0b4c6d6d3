"""Tiles that are off: what leaves them is X in Icarus and random in Verilator, and programs beside them notice nothing.

Icarus has the array alone, whose borders a bench drives as the global buffer does; Verilator the whole machine.
"""

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from collect import simulated
from corruption import UNKNOWN, corrupted, corrupting_machine
from machines import KERNELS, LEAST, copier
from test_static import ARCH as STATIC_ARCH
from test_static import STENCIL_LATENCY, Tiles, expected, load, run, stencil, store, stored

from sardonyx.compiler.backend.encode import words
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.primitive import ALU, DROPPER, JOINER, PASS_THROUGH
from sardonyx.hw.arch.soc import FINISHED
from sardonyx.hw.array import Array
from sardonyx.sim import engines
from sardonyx.sim.rtl import simulator

# 8 PE, 8 MEM and 4 IO tiles, of which `vec_elemmul` leaves some in the middle of its routes.
SPARSE = replace(KERNELS, name="elementwise", columns=4, rows=4, mem_every=2, interconnect=Interconnect(3), power_domains=True,
                 pe=replace(KERNELS.pe, primitives=(ALU, JOINER, DROPPER, PASS_THROUGH), ops=(BY_NAME["mult0"],)))
ELASTIC = replace(LEAST, columns=3, rows=2, power_domains=True)
# The program of `test_static` in the west of a wider array.
DENSE = replace(STATIC_ARCH, name="static", columns=3, rows=3, power_domains=True)
X = np.random.default_rng(1).integers(0, 1 << 16, 40).astype(np.uint16)
FIRST = STATIC_ARCH.glb.load_start_cycle + STENCIL_LATENCY + 5

# Configures, flushes, and lets words enter and leave; static words come in fixed cycles, whatever is valid.
BENCH = """
module bench;
  reg clk = 0, reset = 1, flush = 0;
  reg [63:0] words [0:{last}];
  integer at = 0, wait_cycles = 0, cycle = -1;
  wire asked = !reset && at <= {last};
  wire [{columns} - 1:0] active, overflow;
  always #5 clk = ~clk;
  {signals}
  array dut (.clk(clk), .reset(reset), .flush(flush), .active(active), .overflow(overflow){ports});
  initial $readmemh("words.hex", words);
  {reads}
  always @(posedge clk) if (!reset) begin
    if (asked) at <= at + 1; else wait_cycles <= wait_cycles + 1;
    flush <= wait_cycles == 20;
    if (flush) cycle <= 0; else if (cycle >= 0) cycle <= cycle + 1;
    if (^{{active, overflow}} === 1'bx) $display("leak x");
    {moves}
  end
  initial begin
    #42 reset = 0;
    #{time} $finish;
  end
endmodule
"""


@dataclass(frozen=True)
class Words:
    """What enters by column, and how many cycles that takes."""

    given: Mapping[int, list[int]]
    cycles: int
    start: int | None = None        # of the first word of a static program


Broken = Callable[[Path], None]


def intact(file: Path) -> None:
    """Leave a module as it is."""


def in_icarus(arch: Arch, program: Program, enters: Words, folder: Path,
              broken: Broken = intact) -> dict[int, list[str]]:
    """What leaves the array by column, in hexadecimal digits, x where it is unknown."""
    files = corrupted(emit.emit(Array(arch), folder), arch, UNKNOWN)
    for file in files:
        broken(file)
    configuration = words(program, arch)
    (folder / "words.hex").write_text("".join(f"{where:08x}{word:08x}\n" for where, word in configuration))
    signals, ports, reads, moves = [], [], [], []
    for x in range(arch.columns):
        ports.append(f".config{x}__valid(asked && words[at][63:56] == {x}), .config{x}__write(1'b1), "
                     f".config{x}__addr(words[at][55:32]), .config{x}__wdata(words[at][31:0])")
        given = enters.given.get(x, [])
        (folder / f"in{x}.hex").write_text("".join(f"{word:x}\n" for word in [*given, 0]))
        signals.append(f"reg [16:0] in{x} [0:{len(given)}]; integer n{x} = 0; wire r{x}, v{x}, bv{x}, b{x}; wire [16:0] o{x};")
        reads.append(f'initial $readmemh("in{x}.hex", in{x});')
        if enters.start is None:
            valid, number = f"cycle >= 0 && n{x} < {len(given)}", f"n{x}"
            moves += [f"if (cycle >= 0 && n{x} < {len(given)} && r{x} !== 1'b0) n{x} <= n{x} + 1;",
                      f'if (cycle >= 0 && v{x} !== 1\'b0) $display("{x} %h", o{x});']
        else:
            valid = f"cycle >= {enters.start} && cycle < {enters.start + len(given)}"
            number = f"({valid} ? cycle - {enters.start} : {len(given)})"
            moves.append(f'if (cycle >= 0 && b{x} !== 1\'b0) $display("{x} %h", o{x});')
        ports.append(f".g2f{x}__payload(in{x}[{number}]), .g2f{x}__valid({valid}), .g2f{x}__ready(r{x}), "
                     f".g2f_bit{x}__payload(1'b0), .g2f_bit{x}__valid(1'b0), .f2g{x}__payload(o{x}), .f2g{x}__valid(v{x}), "
                     f".f2g{x}__ready(1'b1), .f2g_bit{x}__payload(b{x}), .f2g_bit{x}__valid(bv{x}), .f2g_bit{x}__ready(1'b1)")
    lines = "\n    "
    (folder / "bench.sv").write_text(BENCH.format(
        last=len(configuration) - 1, columns=arch.columns, signals="\n  ".join(signals), ports=", ".join(["", *ports]),
        reads="\n  ".join(reads), moves=lines.join(moves), time=10 * (len(configuration) + enters.cycles + 60)))
    built = subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.sv", *(file.name for file in files)],
                           cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    said = subprocess.run(["vvp", "-n", "bench.vvp"], cwd=folder, capture_output=True, text=True, check=True).stdout
    found: dict[int, list[str]] = {}
    for column, word in re.findall(r"^(\S+) (\w+)$", said, re.MULTILINE):
        found.setdefault(-1 if column == "leak" else int(column), []).append(word)
    return found


def products() -> tuple[Program, dict[str, np.ndarray], dict[str, list[int]]]:
    """An element-wise product: the program, a transaction, and what it stores."""
    program = compile_einsum(load_kernel("vec_elemmul").einsum(), SPARSE).program
    assert {spec.kind for site, spec in SPARSE.tiles.items() if site not in program.config} >= {"pe", "mem"}
    blocks = {"b0": [2, 0, 4, 4, 0, 2, 5, 9], "b_vals": [4, 1, 5, 7, 2], "c0": [2, 0, 4, 4, 2, 3, 5, 9],
              "c_vals": [4, 3, 1, 2, 100]}
    return (program, {name: np.array(each, np.uint16) for name, each in blocks.items()},
            {"x0": [3, 2, 5, 9], "x_vals": [3, 15, 14, 200]})


def in_the_west() -> Program:
    """The stencil, with its tiles switched on."""
    made = stencil(STATIC_ARCH, FIRST - 6)
    tiles = Tiles(DENSE)
    for site, sets in made.config.items():
        for name, values in sets.items():
            tiles.put(site, name, **values)
        tiles.put(site, "power", on=1)
    return tiles.program()


def copies_in_icarus(folder: Path, broken: Broken = intact) -> tuple[object, object]:
    """What a program gives that copies blocks beside unknown tiles, and what it should."""
    block = [4, 6, 0x1FE, 8]       # even, so that a bit that leaks is none of theirs
    found = in_icarus(ELASTIC, copier(ELASTIC), Words({0: block}, 40), folder, broken)
    return found, {1: [f"{word:05x}" for word in block]}


def stencil_in_icarus(folder: Path, broken: Broken = intact) -> tuple[object, object]:
    """What a stencil gives beside unknown tiles, and what it should."""
    # The bench counts from the flush on, which tiles see a cycle later.
    start = DENSE.glb.load_start_cycle + 1
    found = in_icarus(DENSE, in_the_west(), Words({0: X.tolist()}, start + 60, start), folder, broken)
    return {column: each[:len(X) - 5] for column, each in found.items()}, {1: [f"{word:05x}" for word in expected(X)]}


@pytest.mark.icarus
@pytest.mark.parametrize("simulate", [copies_in_icarus, stencil_in_icarus])
def test_nothing_unknown_leaves_a_tile_that_is_off(simulate: Callable[..., tuple[object, object]], tmp_path: Path) -> None:
    found, right = simulate(tmp_path)
    assert found == right


def leaking(module: str) -> Broken:
    """Modules whose output is unknown where any input is, and else what it should be."""
    def broken(file: Path) -> None:
        if file.stem.startswith(module):
            text, changes = re.subn(r"^  assign o = ([^;]*);", r"  assign o = (\1) | (^i ^ ^i);", file.read_text(),
                                    flags=re.MULTILINE)
            assert changes == 1, file.name
            file.write_text(text)

    return broken


@pytest.mark.icarus
@pytest.mark.parametrize("module", ["isolation_", "one_hot_mux_"])
@pytest.mark.parametrize("simulate", [copies_in_icarus, stencil_in_icarus])
def test_protection_that_leaks_is_found(simulate: Callable[..., tuple[object, object]], module: str, tmp_path: Path) -> None:
    found, right = simulate(tmp_path, leaking(module))
    assert found != right and "x" in str(found).lower()


# The dense program builds the same machine smaller; in Icarus both see X.
@pytest.mark.slow
def test_a_sparse_kernel_beside_random_tiles_gives_the_same_words_in_as_many_cycles() -> None:
    program, blocks, right = products()
    want, alone = simulated(program, SPARSE, [blocks], full=True)
    found: list[engines.Blocks] = []
    beside = engines.run_on(corrupting_machine(SPARSE), program, [blocks], found.append)
    assert {name: each.tolist() for name, each in found[0].items()} == right
    assert engines.differences(found, want)[1] == [] and beside.cycles == alone.cycles


def test_a_dense_program_beside_random_tiles_gives_the_same_words_in_as_many_cycles() -> None:
    program, cycles = in_the_west(), []
    for made in (simulator.whole_machine(DENSE), corrupting_machine(DENSE)):
        with made.start() as machine:
            for _ in range(2):
                load(machine, 0, X)
                store(machine, 1, len(X) - 5)
                assert run(machine, program, True) == 1 << FINISHED
                assert stored(machine, 1) == expected(X)
                cycles.append(machine.read_register("cycles"))
    assert len(set(cycles)) == 1
