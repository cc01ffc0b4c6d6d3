"""A convolution of sparse images with sparse weights, 4 pixels with 4 weights in a cycle and 32 banks of sums, as in SCNN.

Source: Parashar et al., SCNN, ISCA 2017; Stellar VI-B, Fig. 15. Departure: sums have room for all places of an output over
which the kernel lies, also over the edges of the image, in place of an exchange of halos.
"""

from __future__ import annotations

from sardonyx import spatial as sp

c, y, x, k, r, s = sp.indices("c y x k r s")
image, weights = sp.inputs("image weights", dtype="int8")
(product,) = sp.variables("product")
(output,) = sp.outputs("output")


def convolution(channels: int, tile: int, outputs: int, size: int) -> sp.Design:
    """Of square images and kernels."""
    return sp.Design(
        functionality=sp.functionality(
            product(c, y, x, k, r, s).eq(image(c, y, x) * weights(k, c, r, s)),
            output(k, y - r + size - 1, x - s + size - 1).add(product(c, y, x, k, r, s))),
        dataflow=sp.Vectors((y, x), (k, r, s), sizes=(4, 4)),
        bounds={"c": channels, "y": tile, "x": tile, "k": outputs, "r": size, "s": size},
        sparsity=[sp.skip(y, x, where=image(c, y, x) == 0), sp.skip(k, r, s, where=weights(k, c, r, s) == 0)],
        buffers={"weights": sp.Held(vectors=64, fibers=3), "output": sp.Sums(banks=32, words=64)},
        name="scnn")


design = convolution(channels=16, tile=7, outputs=32, size=3)
