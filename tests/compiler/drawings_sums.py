"""Graphs whose sums are inside the loops of their results, in the public dialect."""

from __future__ import annotations

from drawing import Public

MATMUL = Public("X=ss01,B=ss01,C=ss10", "X(i,j) = B(i,k) * C(k,j)", """
1 fiberlookup i B 0 root
2 broadcast
3 fiberwrite i X 0
4 repsiggen i
5 repeat i C root
6 fiberlookup j C 1
7 broadcast
8 fiberwrite j X 1
9 repsiggen j
10 repeat j B
11 fiberlookup k B 1
12 fiberlookup k C 0
13 intersect k
14 arrayvals B
15 arrayvals C
16 mul
17 reduce
18 fiberwrite vals X
""", """
1 2 crd
2 3 crd
2 4 crd
4 5 repsig
5 6 ref
6 7 crd
7 8 crd
7 9 crd
9 10 repsig
1 10 ref
10 11 ref
6 12 ref
11 13 crd in-B
11 13 ref in-B
12 13 crd in-C
12 13 ref in-C
13 14 ref out-B
13 15 ref out-C
14 16 val
15 16 val
16 17 val
17 18 val
""")

# Products go through a dropper in front of the sum, a level is written in front of the dropper that merges its stops, a dropper
# is left over, and comments and labels of the droppers do not agree.
MATMUL_DROP = MATMUL._replace(nodes=MATMUL.nodes + """
19 crddrop i j
20 crddrop j k
21 crddrop i j
22 crddrop j k
""", edges=MATMUL.edges.replace("2 3 crd\n", "#2 3 crd\n", 1).replace("\n7 8", "\n#7 8").replace("16 17", "#16 17") + """
13 20 crd inner-k
7 20 crd outer-j
20 8 crd outer-j
20 19 crd inner-j
2 19 crd outer_i
19 3 crd outer-i
16 22 val inner-k
7 22 crd outer-j
22 17 val inner-k
""")

# The coordinates of B go to a locator, which says neither tensor nor fibers: those of the loop around, in which nothing reads
# the references of C.
_LOOKED_UP = "12 fiberlookup k C 0\n13 intersect k\n"
LOCATED = Public("X=ss01,B=ss01,C=dd10", MATMUL.statement, MATMUL.nodes.replace("j C 1", "j C 1 dense").replace(
    _LOOKED_UP, "12 locator lvl=0 dim_size=30\n"), MATMUL.edges.replace("6 12 ref\n", "").replace("""
11 13 crd in-B
11 13 ref in-B
12 13 crd in-C
12 13 ref in-C
13 14 ref out-B
13 15 ref out-C
""", """
11 12 crd
11 14 ref
12 15 ref
"""))


RESIDUAL = Public("x=s0,b=s0,C=ss01,d=s0", "x(i) = b(i) - C(i,j) * d(j)", """
17 fiberlookup i b 0 root
18 fiberlookup i C 0 root
16 union i
15 broadcast
14 repsiggen i
13 repeat i d root
12 fiberlookup j d 0
11 fiberlookup j C 1
10 intersect j
9 crddrop i j
8 arrayvals d
7 arrayvals C
6 mul
5 reduce
4 arrayvals b
3 add sub=1
2 fiberwrite i x 0
1 fiberwrite vals x
""", """
17 16 crd in-b
17 16 ref in-b
18 16 crd in-C
18 16 ref in-C
16 15 crd i
15 9 crd i
15 14 crd
14 13 repsig
13 12 ref
16 11 ref out-C
12 10 crd in-d
12 10 ref in-d
11 10 crd in-C
11 10 ref in-C
10 9 crd in-j
9 2 crd outer-i
10 7 ref out-C
10 8 ref out-d
7 6 val
8 6 val
6 5 val
5 3 val
16 4 ref out-b
4 3 val
3 1 val
""")

_SPMV = """
20 fiberlookup i B 0 root
19 broadcast
18 repsiggen i
17 repeat i c root
16 fiberlookup j c 0
15 fiberlookup j B 1
14 intersect j
13 arrayvals B
12 arrayvals c
11 mul
10 reduce
9 crddrop i j
1 fiberwrite i x 0
0 fiberwrite vals x
"""
_SPMV_EDGES = """
20 19 crd
19 18 crd
18 17 repsig
17 16 ref
20 15 ref
16 14 crd in-c
16 14 ref in-c
15 14 crd in-B
15 14 ref in-B
14 13 ref out-B
14 12 ref out-c
13 11 val
12 11 val
10 0 val
19 9 crd i
14 9 crd in-j
9 1 crd outer-i
"""
# Rows without a product are dropped from the coordinates and from the values, ...
SPMV_DROP = Public("x=s0,B=ss01,c=s0", "x(i) = B(i,j) * c(j)", _SPMV + "8 crddrop i j\n",
                   _SPMV_EDGES + "11 8 val inner-j\n19 8 crd i\n8 10 val inner-j\n")
# ... or, as in older files, from the coordinates only.
SPMV = Public("x=s0,B=ss01,c=s0", "x(i) = B(i,j) * c(j)", _SPMV, _SPMV_EDGES + "11 10 val\n")

INNER = Public("x=none,B=ss01,C=ss01", "x = B(i,j) * C(i,j)", """
12 fiberlookup i B 0 root
11 fiberlookup i C 0 root
10 intersect i
9 fiberlookup j B 1
8 fiberlookup j C 1
7 intersect j
6 arrayvals B
5 arrayvals C
4 mul
3 reduce
2 reduce
0 fiberwrite vals x
""", """
12 10 crd in-B
12 10 ref in-B
11 10 crd in-C
11 10 ref in-C
10 9 ref out-B
10 8 ref out-C
9 7 crd in-B
9 7 ref in-B
8 7 crd in-C
8 7 ref in-C
7 6 ref out-B
7 5 ref out-C
6 4 val
5 4 val
4 3 val
3 2 val
2 0 val
""")
