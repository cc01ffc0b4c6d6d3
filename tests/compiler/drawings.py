"""Graphs in the public dialect as its tools draw them: broadcasts, generators of signals, joiners of many sides, edges that are
commented out, nodes left over, and roles that contradict their labels. `PUBLIC` has them with what they compute."""

from __future__ import annotations

from drawings_accumulated import GUSTAVSON, OUTER, ROWS
from drawings_elementwise import ADD3, ADD_RELU, ELEMMUL, MUL3, SCALED, TO_SPARSE
from drawings_products import MTTKRP, SDDMM
from drawings_sums import INNER, LOCATED, MATMUL, MATMUL_DROP, RESIDUAL, SPMV, SPMV_DROP

PUBLIC = {"matmul": MATMUL, "matmul_drop": MATMUL_DROP, "elemmul": ELEMMUL, "add3": ADD3, "mul3": MUL3, "residual": RESIDUAL,
          "spmv": SPMV, "spmv_drop": SPMV_DROP, "mttkrp": MTTKRP, "sddmm": SDDMM, "to_sparse": TO_SPARSE, "inner": INNER,
          "scaled": SCALED, "add_relu": ADD_RELU, "gustavson": GUSTAVSON, "outer": OUTER, "rows": ROWS,
          "located": LOCATED}
