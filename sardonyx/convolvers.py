"""Arrays of Cartesian products, which convolve sparse images with sparse weights without a product of a zero.

    >>> from sardonyx import spatial as sp
    >>> design = sp.convolver(image=(2, 4, 4), kernel=(3, 3, 3))
    >>> design.run("golden", image=[[[1] * 4] * 4] * 2, weights=[[[[1] * 3] * 3] * 2] * 3).value[0, 2].tolist()
    [6, 12, 18, 18, 12, 6]

Errors:  UserError for all that does not fit.
Source:  SCNN (Parashar et al., ISCA 2017); Stellar VI-B. `sardonyx.hw.arch.cartesian` says what the values mean.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from . import arguments, component_files
from .hw.arch.cartesian import Cartesian
from .hw.arch.errors import UserError
from .hw.arch.spatial import BITS
from .hw.spatial.convolve.cartesian import CartesianArray
from .outcome import Computed, Outcome, silent
from .runtime.data.convolved import collected, fibers, streams
from .sim.golden.convolution import convolved
from .sim.model.crossbar import ideal_cycles
from .sim.rtl.bench import Bench

# The names of modules that they are made of.
PARTS = re.compile(r"fifo_w\d+_d\d+|replay_\w+|sum_bank_\w+|sram_[\dx]+")
MOST_EXTENT, MOST_PRODUCTS = 1 << 12, 1 << 28
# How many of random elements are not 0.
DENSITY = 0.4
# Cycles for each word and product after which a run is taken to stand, and without a word.
PATIENCE = 200
ENGINES = {"golden": "NumPy, no hardware", "rtl": "generated Verilog on streams"}


def convolver(image: Sequence[int], kernel: Sequence[int], *, pixels: int = 4, weights: int = 4, banks: int = 32,
              words: int = 64, dtype: str = "int8", name: str = "convolver") -> ConvolverDesign:
    """An array of Cartesian products for convolutions.

    Parameters
    ----------
    image : tuple              Channels, rows and columns, 1..4,096 each.
    kernel : tuple             Outputs, rows and columns of the weights, likewise.
    pixels, weights : int      Of a channel, that meet in a cycle; 1..8.
    banks, words : int         Of sums; powers of two, 2..64 and 2..4,096. Outputs are computed in groups that fit.
    dtype : str                int8 or int16: of pixels and weights; sums have 32 bits.
    name : str                 Of the Verilog module.
    """
    arguments.choice("dtype", dtype, {each: bits for each, bits in BITS.items() if bits <= 16})
    shapes = []
    for where, given in (("image", image), ("kernel", kernel)):
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 3:
            raise UserError(f"it is {arguments.said(given)}", where, "give three extents")
        extents = [arguments.whole(where, each, 1, MOST_EXTENT) for each in given]
        shapes.append((extents[0], extents[1], extents[2]))
    return ConvolverDesign(Cartesian(name, pixels, weights, banks, words, BITS[dtype]), shapes[0], shapes[1])


@dataclass(frozen=True)
class ConvolverDesign:
    """An array of Cartesian products; made by `convolver`.

    Parameters
    ----------
    kind : Cartesian
    image, kernel : tuple      As of `convolver`.
    """

    kind: Cartesian
    image: tuple[int, int, int]
    kernel: tuple[int, int, int]

    def __post_init__(self) -> None:
        arguments.module_name(self.name, PARTS)
        if prod(self.plane) > self.kind.places:
            raise UserError(f"an output has {prod(self.plane):,} sums, and the array {self.kind.places:,}", self.name,
                            "give smaller images, or more words")

    @property
    def name(self) -> str:
        """Of the Verilog module."""
        return self.kind.name

    @property
    def plane(self) -> tuple[int, int]:
        """Rows and columns of an output, in which the kernel may lie over the edges of the image."""
        return self.image[1] + self.kernel[1] - 1, self.image[2] + self.kernel[2] - 1

    @property
    def weights(self) -> tuple[int, int, int, int]:
        """The shape of the weights: outputs, channels, rows, columns."""
        return self.kernel[0], self.image[0], *self.kernel[1:]

    def facts(self) -> dict[str, object]:
        """Numbers of it."""
        kind = self.kind
        return {"multipliers": kind.left * kind.right, "banks": kind.banks, "sums": kind.places,
                "fifos": kind.left * kind.right * kind.lanes}

    def explain(self) -> Outcome:
        """What meets what, and where products go."""
        kind, facts = self.kind, self.facts()
        channels, rows, columns = self.image
        outputs, down, across = self.kernel
        lines = [
            f"images of {channels} x {rows} x {columns}, {outputs} outputs by kernels of {down} x {across}: "
            f"{self.plane[0]} x {self.plane[1]} sums each",
            f"{kind.left} pixels and {kind.right} weights of a channel that are not 0 meet in a cycle, each with each: "
            f"{facts['multipliers']} multipliers",
            f"products go through {kind.lanes} FIFOs of {kind.depth} each to {kind.banks} banks of {kind.words:,} sums, which "
            "add one a cycle",
            f"outputs go together {kind.places // prod(self.plane)} at a time, or fewer where more than {kind.stored} vectors "
            "of weights would be held", "sums leave while those of the next outputs grow"]
        return Outcome(facts, "\n".join(lines))

    def picture(self, path: str | Path | None = None) -> str:
        """There is none: UserError."""
        raise UserError("it is a convolver, of which there is no picture", self.name, "leave --picture out")

    def verilog(self, out: str | Path, progress: Callable[[str], None] = silent) -> Outcome:
        """Write the Verilog into a folder.

        Files: one .sv per module, ``<name>.f`` in dependency order, ``lint.vlt``, and ``convolver.json``: the description.
        """
        described = json.dumps(self.kind.to_json(), indent=1) + "\n"
        return component_files.write(self.name, CartesianArray(self.kind), out, {"convolver.json": described}, self.facts(),
                                     progress)

    def random(self, operations: int = 1, seed: int = 0) -> dict[str, np.ndarray]:
        """A random image and weights, with zeros; one operation."""
        if arguments.whole("operations", operations, 1) > 1:
            raise UserError(f"{operations} operations", "operations", "give 1: a convolver takes one image after the other")
        random, most = np.random.default_rng(arguments.seed(seed)), 1 << self.kind.bits - 1
        found = {}
        for name, shape in (("image", self.image), ("weights", self.weights)):
            values = random.integers(-most, most, shape)
            found[name] = values * (random.random(shape) < DENSITY)
        return found

    def run(self, engine: str = "rtl", stalls: int | None = None, progress: Callable[[str], None] = silent, seed: int = 0,
            **operands: object) -> Computed:
        """Convolve and check every output against NumPy.

        Parameters
        ----------
        engine : str      golden or rtl.
        stalls : int      With rtl: a seed of random stalls at all streams.
        seed : int        Of operands that are not given, which are random.
        image, weights    Arrays of whole numbers: (channels, rows, columns) and (outputs, channels, rows, columns).

        The value has an output for each place of the kernel that meets the image: (outputs, rows, columns).
        """
        began = time.perf_counter()
        arguments.choice("engine", engine, ENGINES)
        if stalls is not None and engine != "rtl":
            raise UserError(f"engine {engine} has no stalls", "stalls", "choose engine rtl")
        patterns = None if stalls is None else arguments.whole("stalls", stalls, 1)
        if unknown := sorted(operands.keys() - {"image", "weights"}):
            raise UserError(f"there is no input {unknown[0]}", "operands", "give image and weights")
        given = {name: self._operand(name, each) for name, each in {**self.random(1, seed), **operands}.items()}
        groups = fibers(self.kind, given["image"], given["weights"])
        products = sum(group.products for group in groups)
        if products > MOST_PRODUCTS:
            raise UserError(f"{products:,} products", self.name, f"give images and weights of {MOST_PRODUCTS:,} or fewer")
        progress("convolving with NumPy")
        half = 1 << self.kind.sum_bits - 1
        wanted = (convolved(given["image"], given["weights"]) + half) % (2 * half) - half
        facts: dict[str, object] = {"engine": engine, **self.facts(), "groups": len(groups), "products": products}
        cycles = None
        if engine == "rtl":
            progress(f"simulating the Verilog of '{self.name}'")
            words = streams(self.kind, groups)
            ran = Bench(CartesianArray(self.kind)).run(
                words, stalls=patterns, idle=PATIENCE + 2 * self.kind.places,
                max_cycles=PATIENCE * (products + len(groups) * self.kind.places + sum(map(len, words.values()))))
            assert not ran.left, f"words are left at {', '.join(ran.left)}"
            found = collected(self.kind, ran.outputs, [group.outputs for group in groups], self.plane)
            assert np.array_equal(found, wanted), "what the array convolved is not NumPy's"
            cycles = ran.cycles
            ideal = ideal_cycles(self.kind, groups)
            facts |= {"elements_checked": wanted.size, "cycles": cycles, "cycles_of_ideal_crossbar": ideal,
                      "utilisation": round(products / (self.kind.left * self.kind.right * cycles), 3),
                      "of_ideal": round(ideal / cycles, 3)}
        return Computed({**facts, "elapsed_s": round(time.perf_counter() - began, 2)}, value=wanted, cycles=cycles)

    def _operand(self, name: str, given: object) -> np.ndarray:
        shape = self.image if name == "image" else self.weights
        array = np.asarray(given)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise UserError(f"it is {arguments.said(given)}", name, f"give whole numbers, {' x '.join(map(str, shape))}")
        most = 1 << self.kind.bits - 1
        if array.min() < -most or array.max() >= most:
            raise UserError(f"it has {array.min()}..{array.max()}", name, f"give {-most}..{most - 1}")
        return array.astype(np.int64)
