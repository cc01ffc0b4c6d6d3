"""Graphs in the public dialect as its tools draw them: broadcasts, generators of signals, joiners of many sides, edges that are
commented out, nodes left over, and roles that contradict their labels. `PUBLIC` has them with what they compute."""

from __future__ import annotations

from typing import NamedTuple

_PLACES = {"fiberlookup": ("index", "tensor", "mode"), "repeat": ("index", "tensor"), "repsiggen": ("index",),
           "union": ("index",), "intersect": ("index",), "arrayvals": ("tensor",), "crddrop": ("outer", "inner")}


class Public(NamedTuple):
    """A graph, the statement that it computes, and the shape of each operand, of extents by index."""

    formats: str
    statement: str
    nodes: str
    edges: str

    @property
    def text(self) -> str:
        return draw(self.formats, self.nodes, self.edges)


def draw(formats: str, nodes: str, edges: str) -> str:
    """Graphviz text. nodes: number, type, values of its first attributes, and flags (root, dense) or others as key=value.
    edges: source, sink, type, comment; those that begin with # are commented out."""
    lines = ["digraph SAM {", f'    comment="{formats}"']
    for line in filter(None, nodes.splitlines()):
        number, kind, *words = line.split()
        attributes = {"type": kind, **_attributes(kind, words)}
        listed = ",".join(f"{key}={value}" for key, value in attributes.items())
        written = " ".join(f'{key}="{value}"' for key, value in attributes.items())
        lines.append(f'    {number} [comment="{listed}" label="{kind}\\n" color=green4 shape=box style=filled {written}]')
    for line in filter(None, edges.splitlines()):
        dead, parts = line.startswith("#"), line.lstrip("#").split()
        source, sink, kind, role = (*parts, "")[:4]
        comma = "," if role.startswith("in") else ""
        label = f"{kind}_{role}" if role else kind
        lines.append(f'    {"# " if dead else ""}{source} -> {sink} [label="{label}"{comma} style=bold type="{kind}" '
                     f'comment="{role}"]')
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(kind: str, words: list[str]) -> dict[str, str]:
    """The attributes of a node."""
    flags = [word for word in words if word in ("root", "dense") or "=" in word]
    values = [word for word in words if word not in flags]
    if kind == "fiberwrite":
        if values[0] == "vals":
            return {"mode": "vals", "tensor": values[1], "size": "1*B0_dim", "sink": "true"}
        index, tensor, mode = values
        return {"index": index, "tensor": tensor, "mode": mode, "format": "dense" if "dense" in flags else "compressed",
                "segsize": "2", "crdsize": "B0_dim*C1_dim", "sink": "true"}
    found = dict(zip(_PLACES.get(kind, ()), values, strict=True))
    if kind == "fiberlookup":
        found |= {"format": "dense" if "dense" in flags else "compressed", "src": "true"}
    if kind in ("fiberlookup", "repeat"):
        found["root"] = "true" if "root" in flags else "false"
    return found | dict(flag.split("=") for flag in flags if "=" in flag)


# The sum is guided by coordinates of j, which nothing in the file connects to it. Zeros are written.
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

MTTKRP = Public("X=ss01,B=sss012,C=ss01,D=ss01", "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", """
40 fiberlookup i B 0 root
39 broadcast
38 repsiggen i
37 broadcast
36 repeat i C root
35 repeat i D root
34 fiberlookup j C 0
33 fiberlookup j D 0
32 intersect j
31 broadcast
30 repsiggen j
29 repeat j B
28 fiberlookup k B 1
27 fiberlookup k C 1
26 intersect k
25 repsiggen k
24 repeat k D
23 fiberlookup l D 1
22 fiberlookup l B 2
21 intersect l
20 repsiggen l
19 repeat l C
18 arrayvals C
17 arrayvals B
16 arrayvals D
15 mul
14 mul
13 reduce
12 reduce
2 fiberwrite i X 0
1 fiberwrite j X 1
0 fiberwrite vals X
""", """
40 39 crd
39 2 crd
39 38 crd
38 37 repsig
37 36 repsig
37 35 repsig
36 34 ref
35 33 ref
34 32 crd in-C
34 32 ref in-C
33 32 crd in-D
33 32 ref in-D
32 31 crd
31 1 crd
31 30 crd
30 29 repsig
40 29 ref
29 28 ref
32 27 ref out-C
28 26 crd in-B
28 26 ref in-B
27 26 crd in-C
27 26 ref in-C
26 25 crd
25 24 repsig
32 24 ref out-D
24 23 ref
26 22 ref out-B
23 21 crd in-D
23 21 ref in-D
22 21 crd in-B
22 21 ref in-B
21 20 crd
20 19 repsig
26 19 ref out-C
19 18 ref
21 17 ref out-B
21 16 ref out-D
18 15 val
17 15 val
15 14 val
16 14 val
14 13 val
13 12 val
12 0 val
""")

# Dense operands, and droppers of which the inner one is passed by, since the sums are not dropped.
SDDMM = Public("X=ss01,B=ss01,C=dd01,D=dd10", "X(i,j) = B(i,j) * C(i,k) * D(k,j)", """
1 fiberlookup i B 0 root
2 fiberlookup i C 0 root dense
3 intersect i
4 broadcast
5 repsiggen i
6 repeat i D root
7 fiberlookup j D 1 dense
8 fiberlookup j B 1
9 intersect j
10 broadcast
11 repsiggen j
12 repeat j C
13 fiberlookup k C 1 dense
14 fiberlookup k D 0 dense
15 intersect k
16 broadcast
17 repsiggen k
18 repeat k B
19 arrayvals B
20 arrayvals C
21 arrayvals D
22 mul
23 mul
24 reduce
25 crddrop j k
26 crddrop i j
27 fiberwrite i X 0
28 fiberwrite j X 1
29 fiberwrite vals X
""", """
1 3 crd in-B
1 3 ref in-B
2 3 crd in-C
2 3 ref in-C
3 4 crd i
4 26 crd i
4 5 crd
5 6 repsig
6 7 ref
3 8 ref out-B
7 9 crd in-D
7 9 ref in-D
8 9 crd in-B
8 9 ref in-B
9 10 crd j
10 25 crd j
10 11 crd
11 12 repsig
3 12 ref out-C
12 13 ref
9 14 ref out-D
13 15 crd in-C
13 15 ref in-C
14 15 crd in-D
14 15 ref in-D
15 16 crd k
16 25 crd k
16 17 crd
17 18 repsig
9 18 ref out-B
18 19 ref
15 20 ref out-C
15 21 ref out-D
19 22 val
20 22 val
22 23 val
21 23 val
23 24 val
24 29 val
25 26 crd outer-j
26 27 crd outer-i
26 28 crd inner-j
""")

# c is looked up as i and joined as j; the values of B are not used.
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
GUSTAVSON = Public("X=ss01,B=ss01,C=ss01", "X(i,j) = B(i,k) * C(k,j)", """
1 fiberlookup i B 0 root
2 broadcast
3 crdhold outer=i inner=k
4 crdhold outer=i inner=j
5 spaccumulator order=1 in0=j in1=i
6 fiberwrite vals X
7 fiberwrite j X 1
8 fiberwrite i X 0
9 repsiggen i
10 repeat i C root
11 fiberlookup k C 0
12 intersect k
13 repeat j B
14 arrayvals B
15 mul
16 fiberlookup j C 1
17 broadcast
18 repsiggen j
19 arrayvals C
20 fiberlookup k B 1
""", """
1 2 crd
2 3 crd i
3 4 crd outer-i
4 5 crd outer-i
5 6 val
5 7 crd out-j
5 8 crd out-i
4 5 crd inner-j
3 5 crd inner-k
2 9 crd
9 10 repsig
10 11 ref
11 12 crd in-C
12 3 crd k
12 13 ref out-B
13 14 ref
14 15 val
15 5 val
12 16 ref out-C
16 17 crd
17 4 crd j
17 18 crd
18 13 repsig
16 19 ref
19 15 val
11 12 ref in-C
1 20 ref
20 12 crd in-B
20 12 ref in-B
""")

# The loop of k around both.
OUTER = Public("X=ss01,B=ss10,C=ss01", "X(i,j) = B(i,k) * C(k,j)", """
1 fiberlookup k B 1 root
2 fiberlookup k C 0 root
3 intersect k
4 fiberlookup i B 0
5 broadcast
6 repsiggen i
7 repeat i C
8 fiberlookup j C 1
9 broadcast
10 repsiggen j
11 repeat j B
12 arrayvals B
13 arrayvals C
14 mul
15 crdhold outer=i inner=j
16 spaccumulator order=2 in0=j in1=i
17 fiberwrite vals X
18 fiberwrite j X 1
19 fiberwrite i X 0
""", """
1 3 crd in-B
1 3 ref in-B
2 3 crd in-C
2 3 ref in-C
3 16 crd k
3 4 ref out-B
4 5 crd
5 6 crd
5 15 crd i
6 7 repsig
3 7 ref out-C
7 8 ref
8 9 crd
9 10 crd
9 15 crd j
10 11 repsig
4 11 ref
11 12 ref
8 13 ref
12 14 val
13 14 val
14 16 val
15 16 crd outer-i
15 16 crd inner-j
16 17 val
16 18 crd out-j
16 19 crd out-i
""")

# As Gustavson's, with fibers in place of points, of which droppers take the empty ones away before they are summed.
ROWS = Public("X=ss01,B=ss01,C=ss01", "X(i,j) = B(i,k) * C(k,j)", """
30 fiberlookup i B 0 root
29 broadcast
28 repsiggen i
27 repeat i C root
26 fiberlookup k C 0
25 fiberlookup k B 1
24 intersect k
23 fiberlookup j C 1
22 broadcast
21 repsiggen j
20 repeat j B
19 arrayvals B
18 arrayvals C
17 mul
2 fiberwrite i X 0
1 fiberwrite j X 1
0 fiberwrite vals X
16 crddrop k j
15 crddrop k j
14 vectorreducer accum_index=j
13 crddrop i k
12 broadcast
""", """
30 29 crd
29 28 crd
28 27 repsig
27 26 ref
30 25 ref
26 24 crd in-C
26 24 ref in-C
25 24 crd in-B
25 24 ref in-B
24 23 ref out-C
23 22 crd
22 21 crd
21 20 repsig
24 20 ref out-B
20 19 ref
23 18 ref
19 17 val
18 17 val
24 12 crd outer-k
12 16 crd outer-k
12 15 crd outer-k
17 16 val inner-j
16 14 val
22 15 crd inner-j
15 14 crd inner-j
15 13 crd inner-k
30 13 crd outer-i
13 2 crd outer-i
14 0 val
14 1 crd out-j
""")

PUBLIC = {"matmul": MATMUL, "matmul_drop": MATMUL_DROP, "elemmul": ELEMMUL, "add3": ADD3, "mul3": MUL3, "residual": RESIDUAL,
          "spmv": SPMV, "spmv_drop": SPMV_DROP, "mttkrp": MTTKRP, "sddmm": SDDMM, "to_sparse": TO_SPARSE, "inner": INNER,
          "scaled": SCALED, "add_relu": ADD_RELU, "gustavson": GUSTAVSON, "outer": OUTER, "rows": ROWS}
