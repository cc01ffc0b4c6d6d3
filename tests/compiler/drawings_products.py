"""Graphs that sum products of three tensors, in the public dialect."""

from __future__ import annotations

from drawing import Public

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
