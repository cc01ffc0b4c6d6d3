"""A core gives commands as a bus does: the same memory comes of it, and what is wrong is told."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from accelerators import accelerator, operands
from riscv import needs_compiler

from sardonyx.accelerators import AcceleratorDesign
from sardonyx.hw.arch import command
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.spatial.system import SpatialSystem
from sardonyx.runtime import spatial_firmware
from sardonyx.runtime.spatial_header import header
from sardonyx.runtime.spatial_products import Matrix, convolution, product
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

RAM, BYTES = 4096, 8192
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def system() -> AcceleratorDesign:
    return accelerator(ram_bytes=RAM, watchdog=True, counters=True)


@pytest.fixture(scope="module")
def simulated() -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(SpatialSystem(system().kind), BYTES, 20, system().kind.stalls) as found:
        yield found


@needs_compiler
@pytest.mark.parametrize("shape", [(3, 2, 4), (1, 1, 1), (7, 5, 9)])
def test_firmware_and_commands_leave_the_same_memory(shape: "tuple[int, int, int]", simulated: SimulatedAccelerator) -> None:
    a, b = (matrix.astype(np.int8) for matrix in operands(shape, 1))
    places = Matrix(RAM, shape[2], 0), Matrix(RAM + 256, shape[1], 0), Matrix(RAM + 512, shape[1] + 1, 2)
    firmware = spatial_firmware.product(system().kind, shape, *places)
    content = bytearray(BYTES)
    content[:RAM] = firmware
    for matrix, place in zip((a, b), places):
        content[place.address:place.address + matrix.size] = matrix.tobytes()
    simulated.write(0, bytes(content))
    ended = simulated.run([], 400_000)
    assert ended.status & 1 == 0 and ended.status >> 16 & 15 == 0
    # Of operands and of what fills the core's memory nothing comes for 20 cycles.
    assert ended.cycles > ended.stalls["operand_late"] > 40 and ended.stalls.keys() == command.STALLS.keys()
    found = simulated.read(0, BYTES)
    with SimulatedAccelerator(accelerator().hardware(), BYTES, 20) as by_bus:
        by_bus.write(0, bytes(content))
        by_bus.run(product(accelerator().kind, shape, *places).words, 400_000)
        assert found == by_bus.read(0, BYTES)
    wanted = np.zeros((shape[0], shape[1] + 1), np.int32)
    wanted[:, :-1] = a.astype(int) @ b.astype(int)
    assert found[RAM + 512:RAM + 512 + wanted.nbytes] == wanted.tobytes()


@needs_compiler
def test_a_convolution_in_c_leaves_the_memory_that_commands_leave(simulated: SimulatedAccelerator) -> None:
    what = convolution((7, 9, 2), (3, 3, 2), 2, (RAM, RAM + 256, RAM + 512), (0, 0, 2))
    content = bytearray(np.random.default_rng(1).integers(0, 256, BYTES, np.uint8).tobytes())
    content[:RAM] = spatial_firmware.product(system().kind, *what)
    simulated.write(0, bytes(content))
    assert simulated.run([], 400_000).status >> 16 & 15 == command.NONE
    with SimulatedAccelerator(accelerator().hardware(), BYTES, 20) as by_bus:
        by_bus.write(0, bytes(content))
        by_bus.run(product(accelerator().kind, *what).words, 400_000)
        assert simulated.read(0, BYTES) == by_bus.read(0, BYTES) != bytes(content)


@needs_compiler
def test_the_firmware_of_the_page_runs_as_it_is_written_there(root: Path, tmp_path: Path) -> None:
    for _, options, body in FENCE.findall((root / "docs/spatial.md").read_text()):
        if options.strip() in ("file=twice.c", "file=twice.py"):
            (tmp_path / options.strip().removeprefix("file=")).write_text(body)
    done = subprocess.run([sys.executable, "twice.py"], cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(root)})
    assert re.fullmatch(r"[\d,]+ cycles, 544 words read, 64 written\n", done.stdout), done.stderr


START = '#include "spatial.h"\n__attribute__((section(".start"), used)) void _start(void)\n'


@needs_compiler
@pytest.mark.parametrize("text,said", [
    ("int x = ;\n", "it does not compile:\n"), (START + "{ int y; for (;;) ; }\n", "unused variable"),
    ('#include "spatial.h"\nint main(void) { return 0; }\n', "_start"),
    (START + "{ for (;;) ; }\nint x[5000] = { 1 };\n", f"the firmware does not fit into {RAM} bytes"), (None, "no such file"),
])
def test_c_that_is_no_firmware_is_refused(text: "str | None", said: str, tmp_path: Path) -> None:
    source = tmp_path / "own.c"
    if text is not None:
        source.write_text(text)
    with pytest.raises(UserError) as refused:
        system().firmware(str(source))
    assert said in refused.value.what and refused.value.fix
    with pytest.raises(UserError, match="it is 3, which is no path"):
        system().firmware(3)     # type: ignore[arg-type]


@needs_compiler
def test_a_program_that_does_not_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(START + "{ for (;;) ; }\n")
    with pytest.raises(UserError, match=r"the accelerator did not end within [\d,]+ cycles") as refused:
        system().run(system().firmware(tmp_path / "own.c"), b"")
    assert "end firmware with ebreak" in refused.value.fix
    program = accelerator().program()
    program.wait()
    assert accelerator().run(program, bytes(64))[1].words_read == 0


# What a program does, and the error in `status` when it stands still. It clears the error where all was as it should be.
PROGRAMS = {
    "errors are seen and cleared": ("""
        (void)SPATIAL_COMMAND(99, 0u, 0u);
        if (spatial_fence() == 1u && (spatial_status() & SPATIAL_STATUS_REFUSED) >> SPATIAL_STATUS_REFUSED_LSB == 99u)
            spatial_clear();""", command.NONE),
    "an instruction waits while the queue is full": ("""
        spatial_set_src_and_dst(SPATIAL_STREAM_C, SPATIAL_MEMORY);
        spatial_issue();
        /* Never ends: nothing is computed. */
        spatial_wait(SPATIAL_WAIT_ALL);
        uint32_t sent = 1;
        for (; !(spatial_status() & SPATIAL_STATUS_FULL); ++sent)
            spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, SPATIAL_DENSE);
        if (sent != SPATIAL_QUEUE || (spatial_status() & SPATIAL_STATUS_ROOM))
            __asm__ volatile("j .");""", command.NONE),
    "what waits for ever is given up and named": ("""
        spatial_set_constant(SPATIAL_PATIENCE, 100);
        spatial_set_src_and_dst(SPATIAL_STREAM_C, SPATIAL_MEMORY);
        spatial_issue();
        if (spatial_fence() == 8u && spatial_given_up() == SPATIAL_WAIT_C && spatial_result_late() >= 100u) {
            spatial_clear();
            if (spatial_given_up() || (spatial_status() & SPATIAL_STATUS_BUSY))
                __asm__ volatile("j .");
        }""", command.NONE),
    "every request for its memory fills it from its first word": ("""
        uint32_t first, again;
        __asm__ volatile("lw %0, 4(zero)" : "=r"(first));
        fill(0x10000000u, 5u);
        if (spatial_fence() != 6u)
            __asm__ volatile("j .");
        spatial_clear();
        fill(0u, 3u);
        fill(0u, SPATIAL_RAM_BYTES / 4u);
        uint32_t error = spatial_fence();
        __asm__ volatile("lw %0, 4(zero)" : "=r"(again));
        if (first != again || error)
            __asm__ volatile("j .");""", command.NONE),
    "behind an error of a tensor or the bus all begins anew": ("""
        for (uint32_t n = 0; n < 2u; ++n) {
            /* Half a tensor, then none of it, for a result that never comes. */
            spatial_set_src_and_dst(SPATIAL_STREAM_C, SPATIAL_MEMORY);
            spatial_set_address(SPATIAL_FOR_DST, 0x1F80u);
            spatial_set_span(SPATIAL_FOR_BOTH, 0, 6);
            spatial_issue();
            spatial_set_src_and_dst(SPATIAL_MEMORY, SPATIAL_STREAM_A_VALUES);
            spatial_set_address(SPATIAL_FOR_SRC, n ? 0x10000000u : 0x1000u);
            spatial_set_span(SPATIAL_FOR_BOTH, 0, n ? 12 : 6);
            spatial_issue();
            if (spatial_fence() != 5u + n)
                __asm__ volatile("j .");
            spatial_clear();
            spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, SPATIAL_DENSE);
            if (spatial_fence())
                __asm__ volatile("j .");
        }""", command.NONE),
    "memory that there is not is told": ("""
        spatial_set_src_and_dst(SPATIAL_MEMORY, SPATIAL_STREAM_A_VALUES);
        spatial_set_address(SPATIAL_FOR_SRC, 0x10000000u);
        spatial_set_span(SPATIAL_FOR_BOTH, 0, 12);
        spatial_issue();
        (void)spatial_fence();""", command.BUS),
    "the core stops where it leaves its memory": ("*(volatile uint32_t *)SPATIAL_RAM_BYTES = 1; for (;;) { }", command.NONE),
    "other instructions are none": ('__asm__ volatile(".insn r 0x5b, 0, 0, x0, x0, x0"); for (;;) { }', command.NONE),
}


@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_programs_do(name: str, simulated: SimulatedAccelerator, tmp_path: Path) -> None:
    body, error = PROGRAMS[name]
    source = tmp_path / "program.c"
    source.write_text(f"""#include "spatial.h"
static inline void fill(uint32_t address, uint32_t words)
{{
    spatial_set_src_and_dst(SPATIAL_MEMORY, SPATIAL_STREAM_RAM);
    spatial_set_constant(SPATIAL_ELEMENT, 2);
    spatial_set_address(SPATIAL_FOR_SRC, address);
    spatial_set_span(SPATIAL_FOR_BOTH, 0, words);
    spatial_set_data_stride(SPATIAL_FOR_SRC, 0, 1);
    spatial_issue();
}}
__attribute__((section(".start"), used)) void _start(void)
{{{body}
    __asm__ volatile("ebreak");
}}
""")
    simulated.write(0, spatial_firmware.compiled(system().kind, source, {}))
    assert simulated.run([], 50_000).status >> 16 & 15 == error


def test_a_core_does_not_begin_without_its_memory() -> None:
    with SimulatedAccelerator(SpatialSystem(system().kind), RAM // 2, 20) as small:
        assert small.run([], 50_000).status >> 16 & 15 == command.BUS
        # What came in its place are instructions, too.
        small.write(0, bytes.fromhex("6f000000") * (RAM // 8))
        assert small.run([], 50_000).status >> 16 & 15 == command.BUS


@pytest.mark.parametrize("compiler,standard", [("gcc", "c11"), ("g++", "c++11")])
@pytest.mark.parametrize("front", ["", "#define SPATIAL_REGISTERS 0x1000\n"])
def test_compilers_take_the_header(compiler: str, standard: str, front: str, tmp_path: Path) -> None:
    assert shutil.which(compiler)
    kind = system().kind
    (tmp_path / "spatial.h").write_text(header(kind))
    language = "c" if compiler == "gcc" else "c++"
    (tmp_path / "user.c").write_text(f'{front}#include "spatial.h"\nint used(void) {{ return SPATIAL_LOOPS; }}\n')
    flags = [f"-std={standard}", "-x", language, "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([compiler, *flags, "-c", str(tmp_path / "user.c"), "-o", str(tmp_path / "user.o")], check=True)


def test_the_header_names_every_command_stream_and_register_once() -> None:
    names = re.findall(r"^#define (\w+)", header(system().kind), re.MULTILINE)
    # The last one stands in both branches.
    once = [name for name in names if name != "SPATIAL_COMMAND"]
    assert len(once) == len(set(once))
    assert {f"SPATIAL_{each.name.upper()}" for each in command.COMMANDS} <= set(once)
    assert {"SPATIAL_STREAM_A_VALUES", "SPATIAL_STREAM_B_BANK1_VALUES", "SPATIAL_STREAM_C", "SPATIAL_WAIT_C",
            "SPATIAL_STREAM_RAM"} <= set(once)
    assert all(text.count(f"uint32_t spatial_{name}(void)") == (2 if each.counters else 0) for each, text in (
        (kind, header(kind)) for kind in (system().kind, accelerator().kind)) for name in command.STALLS)


@needs_compiler
def test_firmware_that_cannot_be_is_refused(tmp_path: Path) -> None:
    big = tmp_path / "big.c"
    big.write_text('char much[9000] __attribute__((section(".start"), used)) = {1};\nvoid _start(void) {}\n')
    for made, told in (
            (lambda: spatial_firmware.compiled(accelerator().kind, big, {}), "accelerator 'tiled': it has no core\n"),
            (lambda: spatial_firmware.compiled(system().kind, big, {}),
             "accelerator 'tiled': the firmware does not fit into 4096 bytes of the processor's memory\n"
             "  try: give it more ram_bytes"),
            (lambda: system().run(accelerator().program(), b""), "tiled: its core gives commands\n"),
            (lambda: accelerator().run(b"", b""), "tiled: it has no core for firmware\n")):
        with pytest.raises(UserError) as error:
            made()
        assert str(error.value).startswith(told)
