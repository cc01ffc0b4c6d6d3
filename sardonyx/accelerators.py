"""Accelerators around spatial arrays: commands, a DMA, memory to memory.

    >>> from sardonyx import spatial as sp
    >>> product = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
    >>> tile = sp.Buffer("dense", "dense", words=16)
    >>> design = sp.Design(product, sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 2, "j": 2, "k": 2},
    ...                    buffers={"A": tile, "B": tile})
    >>> design.accelerator(ports=3).product([[1, 2, 3]], [[4], [5], [6]], engine="golden").value.tolist()
    [[32]]

Errors:  UserError for all that does not fit.
Source:  Stellar IV-A and V.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from . import arguments, component_files
from .compiler.spatial.buffer import Buffer
from .compiler.spatial.collected import collected
from .hw.arch.accelerator import Accelerator, Collected
from .hw.arch.dma import LINE, Dma
from .hw.arch.elastic import Elastic
from .hw.arch.errors import UserError
from .hw.arch.private_buffer import LINKED, PrivateBuffer
from .hw.arch.reduction import NAMES
from .hw.arch.spatial import Shaped, Spatial
from .hw.arch.written import Written
from .hw.spatial.accelerator import SpatialAccelerator
from .hw.spatial.system import SpatialSystem
from .outcome import Computed, Outcome, silent
from .runtime.spatial_commands import Program, check
from .runtime.spatial_firmware import compiled
from .runtime.spatial_firmware import product as firmware
from .runtime.spatial_header import header
from .runtime.spatial_products import Matrix, by_columns, check_shape, convolution, product, tiles
from .sim.rtl.accelerator import LATENCY, Ended, SimulatedAccelerator, Unended
from .sparse_products import ENGINES, sparse_product

# The names of modules that accelerators are made of.
PARTS = re.compile(r"axi_lite|boot|command_queue|coprocessor|counted_\w+|dma(_\w+)?|((level|link)_)?feeder_\w+|fifo\w+|"
                   r"fixed_drain_\w+|segments_drain|picorv32|pieces_\d+|replay_\w+|result_\w+|sram_[\dx]+|"
                   r"stall_counters|sum_bank_\w+|waiting|watchdog|wide_result_\w+")
# Elements of random matrices and their product: seconds of simulation, or minutes.
MOST_RANDOM = 1 << 20
# Of random matrices that are stored without zeros, how much is not 0.
DENSITY = 0.2
# Cycles that a command or an element may take at most, if nothing hangs.
PATIENCE = 1000


@dataclass(frozen=True)
class AcceleratorDesign:
    """An accelerator; made by `Design.accelerator`."""

    kind: Accelerator

    def __post_init__(self) -> None:
        arguments.module_name(self.name, PARTS)

    @property
    def name(self) -> str:
        """Of the Verilog module."""
        return self.kind.name

    def hardware(self) -> SpatialAccelerator | SpatialSystem:
        """The component that is the top of the Verilog, a new one each time."""
        return SpatialSystem(self.kind) if self.kind.ram_bytes else SpatialAccelerator(self.kind)

    def header(self) -> str:
        """The C header of its commands and streams."""
        return header(self.kind)

    def program(self) -> Program:
        """A program without a command."""
        return Program(self.kind)

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<top>.f`` in dependency order, ``lint.vlt``, ``spatial.h``: its commands in C, and
        ``accelerator.json``: the description, with its streams in the order of their indices.
        """
        documents = {"accelerator.json": json.dumps(self.kind.to_json(), indent=1) + "\n", "spatial.h": self.header()}
        facts = {"streams": [stream.name for stream in self.kind.streams], "ports": self.kind.dma.ports}
        return component_files.write(self.name, self.hardware, out, documents, facts, progress)

    def firmware(self, source: str | Path) -> bytes:
        """A program in C for `run`: all of the core's memory. It includes ``spatial.h`` and ends with ``ebreak``; ``_start``
        in section ``.start`` is where it begins."""
        if not isinstance(source, str | Path):
            raise UserError(f"it is {arguments.said(source)}, which is no path", "source", "name a file of C")
        return compiled(self.kind, Path(source), {})

    def run(self, program: Program | bytes, memory: bytes, latency: int = LATENCY) -> tuple[bytes, Ended]:
        """Do a program in generated Verilog on the contents of memory; what memory holds then, and how it ended.

        program: of one with a core its firmware, which memory begins with.  latency: cycles from an address to its first word.
        UserError for an error that the accelerator tells, and for a program that does not end.
        """
        try:
            return self._run(program, memory, latency)
        except Unended as still:
            raise UserError(str(still), self.name, "end firmware with ebreak, and ask for all operands of what is waited for; "
                            "watchdog=True and `Program.patience` tell which") from still

    def _run(self, program: Program | bytes, memory: bytes, latency: int) -> tuple[bytes, Ended]:
        """As `run`, of programs that end."""
        latency = arguments.whole("latency", latency, 1)
        words = program.words if isinstance(program, Program) else []
        if isinstance(program, Program) == bool(self.kind.ram_bytes):
            what, fix = (("its core gives commands", "give firmware") if self.kind.ram_bytes else
                         ("it has no core for firmware", "give a Program"))
            raise UserError(what, self.name, fix)
        if isinstance(program, bytes):
            memory = program + memory[len(program):]
        size = -(-len(memory) // self.kind.dma.bus_bytes) * self.kind.dma.bus_bytes
        limit = PATIENCE * (len(words) + size + latency)
        with SimulatedAccelerator(self.hardware(), max(8, size), latency, self.kind.stalls) as simulated:
            simulated.write(0, memory)
            ended = simulated.run(words, limit)
            check(ended.status, self.name)
            return simulated.read(0, len(memory)), ended

    def compute(self, engine: str = "rtl", latency: int = LATENCY, progress: Callable[[str], None] = silent, seed: int = 0,
                stored: int | None = None, **operands: object) -> Computed:
        """Operations of an array of vectors, as `VectorAcceleratorDesign.compute`; UserError for any other one."""
        raise UserError("its operands are matrices, or requests of a program", self.name,
                        "use product(...) or run(...), or --product RxCxT")

    def random(self, rows: int, columns: int, terms: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Random matrices for `product`, of all values that elements have; UserError for shapes that it cannot have."""
        check_shape(rows, columns, terms)
        shapes = (rows, terms), (terms, columns)
        if (size := rows * columns + sum(map(prod, shapes))) > MOST_RANDOM:
            raise UserError(f"random matrices with {size:,} elements", "product",
                            f"use {MOST_RANDOM:,} or fewer, or give matrices in Python")
        random = np.random.default_rng(arguments.seed(seed))
        a, b = (random.integers(-1 << each.bits - 1, 1 << each.bits - 1, shape)
                for each, shape in zip(self.kind.array.operands, shapes, strict=True))
        if isinstance(self.kind.array, Elastic):
            for each in (a, b):
                each *= random.random(each.shape) < DENSITY
        return a, b

    def product(self, a: object, b: object, engine: str = "rtl", latency: int = LATENCY,
                progress: Callable[[str], None] = silent, stored: int | None = None, aligned: bool = False) -> Computed:
        """A product of matrices of any shape, tile by tile, from memory to memory, checked against NumPy.

        An operand whose banks are chosen by columns lies in memory by columns, others by rows; where zeros are skipped
        matrices lie without them (`runtime.spatial_sparse`), and may be those of SciPy.

        Parameters
        ----------
        a, b : array      Whole numbers of the bits of the operands, (rows, terms) and (terms, columns).
        engine : str      golden or rtl.
        latency : int     Of the memory, as of `run`.
        stored : int      Bytes of an element of the result in memory, 1, 2 or 4: its low ones; by default those of a sum.
        aligned : bool    Every row of an operand, or column, begins at a word of the bus, so that no tile has one word more.
        """
        if isinstance(self.kind.array, Elastic):
            if not self.kind.sums:
                raise UserError(f"its result is {NAMES[self.kind.array.reduction]}, and tiles of a product are added up",
                                self.name, "use run(program, memory), or give it a sum")
            refused = {"stored": (stored is not None, "sums without zeros are stored whole"),
                       "aligned": (aligned, "matrices without zeros have no rows of one length")}
            for where, (is_set, reason) in refused.items():
                if is_set:
                    raise UserError(reason, where, "leave it out")

            def run(program: Program | bytes, memory: bytes) -> tuple[bytes, Ended]:
                progress(f"simulating the Verilog of '{self.name}'")
                return self._run(program, memory, latency)

            return sparse_product(self.kind, run, a, b, engine)
        tiles(self.kind)
        operands = [_operand(shaped, given, 2) for shaped, given in zip(self.kind.array.operands, (a, b), strict=True)]
        (rows, terms), (inner, columns) = (each.shape for each in operands)
        if terms != inner:
            raise UserError(f"a row has {terms} elements and a column {inner}", "product",
                            "give matrices that can be multiplied")
        wanted = operands[0].astype(np.int64) @ operands[1].astype(np.int64)
        lies = [by_columns(self.kind, shaped.name) for shaped in self.kind.array.operands]
        placed = [each.T if down else each for each, down in zip(operands, lies)]
        if aligned:
            placed = [np.pad(each, ((0, 0), (0, -each.shape[1] % (self.kind.dma.bus_bytes // each.itemsize))))
                      for each in placed]
        pitches = [(1, each.shape[1]) if down else (each.shape[1], 1) for each, down in zip(placed, lies)]
        content, addresses, sizes = self._placed(placed, stored)
        places = [Matrix(address, pitch, size, step) for address, size, (pitch, step) in
                  zip(addresses, sizes, (*pitches, (columns, 1)), strict=True)]
        what = (rows, columns, terms), *places
        return self._computed(what, content, wanted, rows * columns * terms, sizes[2], engine, latency, progress)

    def convolution(self, image: object, weights: object, stride: int = 1, engine: str = "rtl", latency: int = LATENCY,
                    progress: Callable[[str], None] = silent, stored: int | None = None) -> Computed:
        """A convolution without padding, from memory to memory, checked against NumPy.

        Parameters
        ----------
        image, weights : array     (rows, columns, channels) and (rows, columns, channels, outputs), as of `product`.
        stride : int               Pixels between the places of the kernel, both ways.
        engine, latency, stored    As of `product`.
        """
        tiles(self.kind)
        pixels, kernel = (_operand(shaped, given, axes) for shaped, given, axes in
                          zip(self.kind.array.operands, (image, weights), (3, 4), strict=True))
        if pixels.shape[2] != kernel.shape[2]:
            raise UserError(f"the image has {pixels.shape[2]} channels, the weights {kernel.shape[2]}", "convolution",
                            "give both as many")
        content, addresses, sizes = self._placed([pixels, kernel], stored)
        rows, columns, _, outputs = kernel.shape
        what = convolution(pixels.shape, (rows, columns, outputs), arguments.whole("stride", stride, 1), addresses, sizes)
        under = np.lib.stride_tricks.sliding_window_view(pixels.astype(np.int64), (rows, columns), axis=(0, 1))
        wanted = np.einsum("yxcij,ijco->yxo", under[::stride, ::stride], kernel.astype(np.int64))
        terms = wanted.size * rows * columns * pixels.shape[2]
        return self._computed(what, content, wanted, terms, sizes[2], engine, latency, progress)

    def _placed(self, operands: Sequence[np.ndarray],
                stored: int | None) -> tuple[bytes, tuple[int, int, int], tuple[int, int, int]]:
        """Memory with operands, where they and the result lie, and the logarithms of the bytes of their elements."""
        # The memory of a core comes from the first bytes.
        content, addresses = bytes(self.kind.ram_bytes), []
        for each in operands:
            addresses.append(len(content))
            content += each.tobytes() + bytes(-each.nbytes % LINE)
        result, = self.kind.array.results
        last = stored_as(result.bits, stored)
        sizes = [dtype.itemsize.bit_length() - 1 for dtype in (*(each.dtype for each in operands), last)]
        return content, (addresses[0], addresses[1], len(content)), (sizes[0], sizes[1], sizes[2])

    def _computed(self, what: tuple[Any, ...], content: bytes, exact: np.ndarray, terms: int, size: int, engine: str,
                  latency: int, progress: Callable[[str], None]) -> Computed:
        """Do a product, as `runtime.spatial_products.product` takes it, and compare its result; terms: of all sums; size: the
        logarithm of the bytes of its elements."""
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        result, = self.kind.array.results
        assert isinstance(self.kind.array, Spatial), "products of dense matrices are of arrays in step"
        kind = _dtype(8 << size)
        wanted = wrapped_sums(wrapped_sums(exact, result.bits), 8 << size)
        if engine == "golden":
            return Computed({"engine": engine, "elements": wanted.size}, value=wanted)
        progress(f"simulating the Verilog of '{self.name}'")
        made = firmware if self.kind.ram_bytes else product
        commands: Program | bytes = made(self.kind, *what)
        found, ended = self._run(commands, content + bytes(wanted.size * kind.itemsize), latency)
        value = np.frombuffer(found[len(content):], kind).reshape(wanted.shape).astype(np.int64)
        assert np.array_equal(value, wanted), "the accelerator's result is not NumPy's"
        given = {"commands": len(commands.words)} if isinstance(commands, Program) else {"firmware": "C on the core"}
        return Computed({"engine": engine, **given, "elements_checked": value.size, **ended.report,
                         "utilisation": round(terms / (len(self.kind.array.cells) * ended.cycles), 3),
                         "elapsed_s": round(time.perf_counter() - began, 2)}, value=value, cycles=ended.cycles)


def accelerator(array: Spatial | Elastic, private: tuple[PrivateBuffer, ...], *, buffers: Mapping[str, Buffer],
                stored: Sequence[Written], dma: Dma, queue: int, ram_bytes: int, watchdog: bool = False,
                counters: bool = False) -> AcceleratorDesign:
    """The accelerator around an array and its private buffers, of its name.

    buffers: of the design, those of results too; stored: those of results that are fibers.
    """
    found = {each.tensor.name: replace(each, sums=each.kind != LINKED) for each in stored}
    results = tuple(found.get(result.name) or collected(array, result, buffers.get(result.name)) for result in array.results)
    inside = replace(array, name=f"{array.name}_array")
    rows = any(isinstance(result, Collected) and result.wide for result in results)
    wide = rows or any(bank.wide for buffer in private for bank in buffer.banks)
    return AcceleratorDesign(Accelerator(array.name, inside, private, results, replace(dma, wide=wide), queue, ram_bytes,
                                         watchdog, counters))


def wrapped_sums(values: np.ndarray, bits: int) -> np.ndarray:
    """The low bits of numbers, in two's complement."""
    half = 1 << bits - 1
    return np.asarray((np.asarray(values, np.int64) + half) % (2 * half) - half)


def stored_as(bits: int, stored: int | None) -> np.dtype[Any]:
    """The type in memory of elements of a result, of so many bytes, or of those of a sum; UserError for others."""
    if stored is not None and (isinstance(stored, bool) or stored not in (1, 2, 4)):
        raise UserError(f"it is {arguments.said(stored)}", "stored", "give 1, 2 or 4 bytes")
    return _dtype(bits if stored is None else 8 * stored)


def _dtype(bits: int) -> np.dtype[Any]:
    return np.dtype(np.int8 if bits <= 8 else np.int16 if bits <= 16 else np.int32)


def _operand(shaped: Shaped, given: object, axes: int) -> np.ndarray:
    """An operand as it lies in memory."""
    found = np.array(given)
    if found.ndim != axes or not found.size or found.dtype.kind not in "iu":
        raise UserError(f"it is {arguments.said(given)}", shaped.name, f"give whole numbers in {axes} dimensions")
    least, most = -1 << shaped.bits - 1, (1 << shaped.bits - 1) - 1
    if found.min() < least or found.max() > most:
        raise UserError(f"it has {found.min()}..{found.max()}", shaped.name, f"give {least}..{most}")
    return np.ascontiguousarray(found.astype(_dtype(shaped.bits)))
