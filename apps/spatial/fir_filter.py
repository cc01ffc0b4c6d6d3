"""A FIR filter on a row of PEs: samples and sums move the same way, samples twice as fast, weights stay.

    Y(i) = sum over k of W(k) * X(i + k)

The determinant is -2: a PE works in every second step.

Source: Kung, Why systolic architectures?, 1982 (design W2).
"""

from __future__ import annotations

from sardonyx import spatial as sp

TAPS, SAMPLES = 4, 16

i, k = sp.indices("i k")
X, W = sp.inputs("X W", dtype="int16")
x, w = sp.variables("x w")
(y,) = sp.variables("y", dtype="int32")
(Y,) = sp.outputs("Y")

design = sp.Design(
    sp.functionality(
        # A sample that comes from no neighbour is read: along the first i and the last k.
        x(0, k).eq(X(k)),
        x(i, k.upper).eq(X(i + TAPS - 1)),
        x(i, k).eq(x(i - 1, k + 1)),
        w(i.lower, k).eq(W(k)),
        w(i, k).eq(w(i - 1, k)),
        y(i, k.lower).eq(0),
        y(i, k).eq(y(i, k - 1) + w(i, k) * x(i, k)),
        Y(i).eq(y(i, k.upper)),
    ),
    sp.Transform([[0, 1], [2, 1]]), {"i": SAMPLES - TAPS + 1, "k": TAPS}, name="fir_filter")
