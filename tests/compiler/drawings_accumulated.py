"""Graphs whose sums are around loops of their results, in the public dialect."""

from __future__ import annotations

from drawing import Public

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
