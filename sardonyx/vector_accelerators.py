"""Accelerators around arrays whose elements meet in vectors: fibers and sums go from memory to memory.

Errors:  UserError for operands that do not fit.
Source:  Stellar V and VI-B; SCNN IV.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from . import arguments
from .accelerators import ENGINES, AcceleratorDesign, stored_as, wrapped_sums
from .array_operands import taken
from .array_runs import golden
from .concerns import Concerns
from .hw.arch.accelerator import Accelerator, Collected
from .hw.arch.dma import Dma
from .hw.arch.errors import UserError
from .hw.arch.private_buffer import Loop
from .hw.arch.spatial import Shaped
from .hw.arch.vectored import Vectored
from .outcome import Computed, silent
from .runtime.data.vector_arrays import laid
from .runtime.data.vectors import parts
from .runtime.spatial_commands import Program
from .runtime.spatial_vectors import firmware, vectors
from .sim.rtl.accelerator import LATENCY


@dataclass(frozen=True)
class VectorAcceleratorDesign(AcceleratorDesign):
    """Such an accelerator; made by `Design.accelerator`.

    concerns: what its array is stated by.
    """

    concerns: Concerns

    def compute(self, engine: str = "rtl", latency: int = LATENCY, progress: Callable[[str], None] = silent, seed: int = 0,
                stored: int | None = None, **operands: object) -> Computed:
        """Operations from memory to memory, checked against NumPy.

        Parameters
        ----------
        engine : str      golden or rtl.
        latency : int     Of the memory, as of `run`.
        seed, operands    As of `Design.run`.
        stored : int      Bytes of an element of the result in memory, as of `product`.
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        array = self.kind.array
        assert isinstance(array, Vectored), "its elements meet in vectors"
        kind = stored_as(array.result.bits, stored)
        size, result = kind.itemsize.bit_length() - 1, self.kind.rows[0]
        sizes = result.sizes(self.kind.dma.word_bits)
        if size not in sizes:
            raise UserError(f"a row of {array.kind.banks} sums of {kind.itemsize} byte{'s' * (size > 0)} is no word of the bus",
                            "stored", f"give {' or '.join(str(1 << each) for each in sizes)}")
        given, several = taken(self.concerns.tensors, self.concerns.promises, operands, arguments.seed(seed))
        count = len(next(iter(given.values())))
        exact = golden(self.concerns.functionality, self.concerns.extents, given, count)[array.result.name]
        wanted = wrapped_sums(exact, 8 * kind.itemsize)
        value = wanted if several else wanted[0]
        if engine == "golden":
            return Computed({"engine": engine, "elements": wanted.size}, value=value)
        place = laid(array, given, self.kind.ram_bytes, size)
        progress(f"simulating the Verilog of '{self.name}'")
        commands: Program | bytes = (firmware if self.kind.ram_bytes else vectors)(self.kind, place)
        memory, ended = self._run(commands, place.content + bytes(place.result_bytes), latency)
        found = np.frombuffer(memory[len(place.content):], kind).reshape(wanted.shape)
        assert np.array_equal(found, wanted), "the accelerator's result is not NumPy's"
        products = sum(part.products for at in range(count)
                       for part in parts(array, {name: each[at] for name, each in given.items()}))
        told = {"commands": len(commands.words)} if isinstance(commands, Program) else {"firmware": "C on the core"}
        pes = array.kind.left * array.kind.right
        return Computed({"engine": engine, **told, "parts": len(place.sums), "products": products,
                         "elements_checked": wanted.size, **ended.report,
                         "utilisation": round(products / (pes * ended.cycles), 3),
                         "elapsed_s": round(time.perf_counter() - began, 2)}, value=value, cycles=ended.cycles)


def around(array: Vectored, concerns: Concerns, dma: Dma, queue: int, ram_bytes: int,
           watchdog: bool, counters: bool) -> VectorAcceleratorDesign:
    """The accelerator around an array, of its name; its sums leave as rows, one of each bank."""
    kind = array.kind
    sums = Collected(Shaped(array.result.name, kind.sum_bits, (kind.words, kind.banks)), (0, 1),
                     tuple(f"o{n}" for n in range(kind.banks)), kind.words, 0,
                     (Loop(kind.banks, 0, 1), Loop(kind.words, 0, 0)), wide=True)
    inside = replace(array, kind=replace(kind, name=f"{kind.name}_array"))
    found = Accelerator(kind.name, inside, (), (sums,), replace(dma, wide=True), queue, ram_bytes, watchdog, counters)
    return VectorAcceleratorDesign(found, concerns)
