"""Graphs that compute each element by itself, and changes of format, in the public dialect."""

from __future__ import annotations

from drawing import Public

ELEMMUL = Public("X=ss01,B=ss01,C=ss01", "X(i,j) = B(i,j) * C(i,j)", """
12 fiberlookup i B 0 root
11 fiberlookup i C 0 root
10 intersect i
9 fiberlookup j B 1
8 fiberlookup j C 1
7 intersect j
6 crddrop i j
5 arrayvals B
4 arrayvals C
3 mul
2 fiberwrite i X 0
1 fiberwrite j X 1
0 fiberwrite vals X
""", """
12 10 crd in-B
12 10 ref in-B
11 10 crd in-C
11 10 ref in-C
10 6 crd in-i
10 9 ref out-B
10 8 ref out-C
9 7 crd in-B
9 7 ref in-B
8 7 crd in-C
8 7 ref in-C
7 6 crd in-j
7 5 ref out-B
7 4 ref out-C
5 3 val
4 3 val
3 0 val
6 2 crd outer-i
6 1 crd inner-j
""")


def _three(op: str, compute: str, statement: str) -> Public:
    """Three matrices through joiners of three sides."""
    nodes = [f"{9 + n} fiberlookup i {t} 0 root\n{19 + n} fiberlookup j {t} 1\n{29 + n} arrayvals {t}"
             for n, t in enumerate("BCD")]
    edges = [f"{9 + n} 5 crd in-{t}\n{9 + n} 5 ref in-{t}\n5 {19 + n} ref out-{t}\n{19 + n} 6 crd in-{t}\n"
             f"{19 + n} 6 ref in-{t}\n6 {29 + n} ref out-{t}" for n, t in enumerate("BCD")]
    last = ["29 4 val", "30 4 val", "4 3 val", "31 3 val", "3 0 val", "5 2 crd", "6 1 crd"]
    return Public("X=ss01,B=ss01,C=ss01,D=ss01", statement, "\n".join([
        *nodes, f"5 {op} i", f"6 {op} j", f"4 {compute}", f"3 {compute}", "2 fiberwrite i X 0", "1 fiberwrite j X 1",
        "0 fiberwrite vals X"]), "\n".join([*edges, *last]))


ADD3 = _three("union", "add sub=0", "X(i,j) = B(i,j) + C(i,j) + D(i,j)")
MUL3 = _three("intersect", "mul", "X(i,j) = B(i,j) * C(i,j) * D(i,j)")

# The dropper would take away rows of which only b has an element; the operand with the smaller number is subtracted from.


MASKED = Public("X=ss01,B=ss01,c=s0", "", """
0 fiberlookup i B 0 root
1 repsiggen i
2 repeat i c root
3 fiberlookup i c 0
4 fiberlookup j B 1
5 intersect j
6 arrayvals c
7 fiberwrite i X 0
8 fiberwrite j X 1
9 fiberwrite vals X
10 broadcast
""", """
0 10 crd
10 1 crd
1 2 repsig
2 3 ref
0 4 ref
3 5 ref in-c
3 5 crd in-c
4 5 ref in-B
4 5 crd in-B
5 6 ref out-c
10 7 crd
5 8 crd
6 9 val
""")

TO_SPARSE = Public("X=ss01,B=dd01", "X(i,j) = B(i,j)", """
5 fiberlookup i B 0 root dense
4 fiberlookup j B 1 dense
3 arrayvals B
6 crddrop j val mode=0
7 crddrop i j
2 fiberwrite i X 0
1 fiberwrite j X 1
0 fiberwrite vals X
""", """
5 4 ref
4 3 ref
3 6 val inner-val
4 6 crd outer-j
6 7 crd outer-j
5 7 crd outer_i
6 0 val inner-val
7 1 crd inner-j
7 2 crd outer-i
""")


SCALED = Public("x=d0,b=none,c=s0", "x(i) = 3 * b * c(i)", """
8 fiberlookup i c 0 root
7 broadcast
6 repsiggen i
5 repeat i b root
4 arrayvals c
3 arrayvals b
2 mul
9 mul const=3
1 fiberwrite i x 0 dense
0 fiberwrite vals x
""", """
8 7 crd
7 1 crd
7 6 crd
6 5 repsig
5 3 ref
8 4 ref
3 2 val
4 2 val
2 9 val
9 0 val
""")

# Negative sums are dropped with their coordinates.
ADD_RELU = Public("X=ss01,B=ss01,C=ss01", "X(i,j) = max(B(i,j) + C(i,j), 0)", """
14 fiberlookup i B 0 root
13 fiberlookup i C 0 root
12 union i
11 fiberlookup j B 1
10 fiberlookup j C 1
9 union j
8 arrayvals B
7 arrayvals C
6 add sub=0
5 smax const0=0
4 crddrop j val mode=0
3 crddrop i j
2 fiberwrite i X 0
1 fiberwrite j X 1
0 fiberwrite vals X
""", """
14 12 crd in-B
14 12 ref in-B
13 12 crd in-C
13 12 ref in-C
12 11 ref out-B
12 10 ref out-C
11 9 crd in-B
11 9 ref in-B
10 9 crd in-C
10 9 ref in-C
9 8 ref out-B
9 7 ref out-C
8 6 val
7 6 val
6 5 val val
5 4 val inner-val
9 4 crd outer-j
4 0 val val
4 3 crd inner-j
12 3 crd outer-i
3 2 crd outer-i
3 1 crd inner-j
""")

# The loop of k around j: coordinates are held for each value in front of the accumulator.
