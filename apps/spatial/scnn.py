"""A convolution of sparse images with sparse weights, 4 pixels with 4 weights in a cycle and 32 banks of sums, as in SCNN.

Source: Parashar et al., SCNN, ISCA 2017; Stellar VI-B, Fig. 15.
"""

from __future__ import annotations

from sardonyx import spatial as sp

design = sp.convolver(image=(16, 7, 7), kernel=(32, 3, 3), name="scnn")
