import random
import re
from dataclasses import replace

import pytest
from drawing import draw
from drawings import PUBLIC
from drawings_accumulated import GUSTAVSON, OUTER
from drawings_elementwise import ADD3, ELEMMUL, MASKED, MUL3, SCALED
from drawings_sums import INNER, LOCATED, MATMUL, RESIDUAL, SPMV
from graph_operands import operand_sets
from same_graphs import operations

from sardonyx.compiler.ir.graphviz import Drawing, read_graphviz
from sardonyx.compiler.ir.sam import Pin
from sardonyx.compiler.ir.sam_dot import to_dot
from sardonyx.compiler.ir.sam_levels import Scanner
from sardonyx.compiler.ir.sam_read import read_drawing, read_sam
from sardonyx.compiler.ir.sam_reduce import Reducer
from sardonyx.compiler.ir.sam_streams import Joiner
from sardonyx.compiler.ir.sam_verify import faults
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.lower import lower
from sardonyx.graph_job import check_statement, graph_data
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors import values as tensors


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_graph_gives_the_result_of_numpy_on_tokens(name):
    reading, statement = read_sam(PUBLIC[name].text, name), parse(PUBLIC[name].statement)
    for operands in operand_sets(statement, 10):
        check_statement(graph_data(reading, operands, 2048, name), statement, name)


def test_a_vector_reducer_is_an_accumulator_of_one_index():
    text = GUSTAVSON.text.replace('type="spaccumulator" order="1" in0="j" in1="i"', 'type="vectorreducer" accum_index="j"')
    assert text != GUSTAVSON.text
    assert operations(read_sam(text, "f").graph) == operations(read_sam(GUSTAVSON.text, "f").graph)


def test_joiners_of_three_sides_become_trees_that_carry_each_reference():
    for public, each in ((ADD3, 3), (MUL3, 3)):
        joiners = [op for op in read_sam(public.text, "f").graph.nodes.values() if isinstance(op, Joiner)]
        # Two of the sides that come first need a joiner each at the third.
        assert sum(sum(op.refs) for op in joiners) == 2 * (2 + 3) and len(joiners) == 2 * each


def test_a_sum_is_guided_by_coordinates_of_the_level_above_it():
    graph = read_sam(MATMUL.text, "f").graph
    reducer = next(name for name, op in graph.nodes.items() if isinstance(op, Reducer))
    assert graph.feeds[Pin(reducer, "crd")] == Pin("fiberlookup_6", "crd")
    sums = [op for op in read_sam(INNER.text, "f").graph.nodes.values() if isinstance(op, Reducer)]
    assert [op.guided for op in sums] == [True, False]


def test_what_is_read_otherwise_than_it_is_written_is_told():
    assert read_sam(RESIDUAL.text, "f").notes == \
        ("node 9 (crddrop) is passed by: it would drop coordinates whose values stay",)
    assert read_sam(MASKED.text, "f").notes == ("node 3 is of index i and is joined as j",)
    left_over = replace_line(ELEMMUL.text, "}", "99 [type=mul]\n}")
    assert read_sam(left_over, "f").notes == ("nodes that lead to no result are left out: 99",)


def test_operands_whose_values_are_not_used_need_none():
    reading = read_sam(MASKED.text, "f")
    data = {"B": tensors.to_coo([[1, 0, 1], [0, 0, 0], [1, 1, 0]], "B"), "c": tensors.to_coo([5, 6, 0], "c")}
    found = graph_data(reading, data, 2048, "f")
    assert "B_vals" not in found.loaded
    check_statement(found, parse("X(i,j) = B(i,j) * c(j)"), "f")


def test_the_second_use_of_a_level_is_a_stream_of_its_own():
    square = ELEMMUL.text.replace('tensor="C"', 'tensor="B"').replace(",C=ss01", "")
    reading = read_sam(square, "f")
    assert reading.tensors == {"B": "B", "B.2": "B"}
    operands = {"B": tensors.random_tensor((5, 7), 0.4, 3)}
    check_statement(graph_data(reading, operands, 2048, "f"), parse("X(i,j) = B(i,j) * B(i,j)"), "f")


def replace_line(text, line, by):
    assert line in text
    return by.join(text.rsplit(line, 1))


def without(text, line):
    """A graph without the edge of a line."""
    source, sink, kind, *role = line.split()
    found = re.findall(rf'    {source} -> {sink} \[label="{kind}[^\n]*comment="{"".join(role)}"\]\n', text)
    assert len(found) == 1
    return text.replace(found[0], "")


def with_edge(text, line):
    """A graph with another edge."""
    return replace_line(text, "}", draw("", "", line).splitlines()[2] + "\n}")


REFUSED = [
    (ELEMMUL.text.replace('type="mul"', 'type="abs"'),
     "f.gv: node 3 (abs): its operands are val, val\n  try: give it one operand of type val"),
    (ELEMMUL.text.replace('type="mul"', 'type="fp_exp"'),
     "f.gv: node 3 (fp_exp): the array does not compute type 'fp_exp'\n"
     "  try: compute it outside, or write it with the types that there are: fiberlookup, repeat, arrayvals, "
     "intersect, union, reduce, max_reduce, crddrop, fiberwrite, locator, crdhold, spaccumulator, vectorreducer, position, "
     "broadcast, repsiggen, "
     "add, sub, mul, max, min, abs, sign, nonzero, div"),
    (OUTER.text.replace('order="2"', 'order="3"'), "f.gv: node 16 (spaccumulator): its order is '3'\n  try: write 1 to 2"),
    (OUTER.text.replace('in1="i"', 'in1="k"'), "f.gv: node 16 (spaccumulator): its values are not those of k and j\n"
     "  try: give it one stream of values of these loops"),
    (OUTER.text.replace('type="crdhold" outer="i"', 'type="crdhold" outer="k"'),
     "f.gv: node 15 (crdhold): it gets coordinates of i, j\n  try: give it those of k and j"),
    (GUSTAVSON.text.replace('4 -> 5 [label="crd_inner-j"', '# 4 -> 5 [label="crd_inner-j"'),
     "f.gv: node 5 (spaccumulator): it gets no coordinates of j of the very loops of its values\n"
     "  try: give it those"),
    (ELEMMUL.text.replace('format="compressed" src="true" root="true"', 'format="bitvector" src="true" root="true"', 1),
     "f.gv: node 12 (fiberlookup): attribute format is 'bitvector'\n  try: write compressed or dense"),
    (ELEMMUL.text.replace("B=ss01", "B=ds01"),
     "f.gv: node 12 (fiberlookup): level 0 of B is compressed here, and not in its format ds01\n  try: write the same in both"),
    (ELEMMUL.text.replace("B=ss01", "B=us01"),
     "f.gv: format 'B=us01' is not a letter d or s for each index, then the modes in stored order\n"
     "  try: use s (compressed) and d (dense)"),
    (ELEMMUL.text.replace('comment="X=ss01,B=ss01,C=ss01"', ""),
     "f.gv: '' is no format of a tensor\n"
     '  try: write them as attribute of the graph: comment="X=ss01,B=ss01,C=ss10"'),
    (ELEMMUL.text.replace(",C=ss01", ""),
     "f.gv: node 11 (fiberlookup): tensor C has no format\n  try: add it to the comment of the graph, which has X, B"),
    (ELEMMUL.text.replace('tensor="C" mode="1"', 'tensor="C" mode="2"'),
     "f.gv: node 8 (fiberlookup): tensor C has no mode '2'\n  try: its format is ss01"),
    (ELEMMUL.text.replace('tensor="C" mode="1"', 'tensor="B" mode="1"'),
     "f.gv: node 8 (fiberlookup): it looks up level 1 of B, and its reference is for level 1 of C\n"
     "  try: take the reference of the lookup above"),
    (without(ELEMMUL.text, "7 4 ref out-C"),
     "f.gv: node 4 (arrayvals): it looks up level 2 of C, and no edge brings it a reference\n"
     "  try: draw an edge of type ref from the lookup above"),
    (ELEMMUL.text.replace('type="arrayvals" tensor="C"', 'type="arrayvals"'),
     'f.gv: node 4 (arrayvals): it has no attribute tensor\n  try: write tensor="..."'),
    (without(ELEMMUL.text, "8 7 crd in-C"),
     "f.gv: node 7 (intersect): a reference of C has no coordinates with it\n"
     "  try: write the same comment on both edges of a side, such as in-B"),
    (without(without(ELEMMUL.text, "8 7 crd in-C"), "8 7 ref in-C"),
     "f.gv: node 7 (intersect): it joins 1 streams of coordinates\n  try: give it two to 16"),
    (without(ELEMMUL.text, "8 7 ref in-C"),
     "f.gv: node 7 (intersect): side C brings no reference\n  try: give it an edge of type ref"),
    (ELEMMUL.text.replace('comment="out-C"', 'comment="out-D"'),
     "f.gv: node 10 (intersect): it joins B, C, and an edge takes a reference from it without saying whose\n"
     "  try: write it as comment of the edge, such as out-B"),
    (without(ELEMMUL.text, "4 3 val"),
     "f.gv: node 3 (mul): its operands are val\n  try: give it two operands of type val, or one and an attribute const"),
    (with_edge(ELEMMUL.text, "7 3 crd"),
     "f.gv: node 3 (mul): its operands are val, val, crd\n"
     "  try: give it two operands of type val, or one and an attribute const"),
    (with_edge(ELEMMUL.text, "7 3 bv"),
     "f.gv: node 3 (mul): an edge to it has type 'bv'\n  try: write type as one of crd, ref, val, repsig"),
    (without(ELEMMUL.text, "7 6 crd in-j"),
     "f.gv: node 6 (crddrop): it drops coordinates of i by j, and gets crd of i\n  try: give it one stream of each"),
    (with_edge(without(ELEMMUL.text, "7 6 crd in-j"), "8 6 crd in-j"),
     "f.gv: the values are not those of the innermost level\n  try: write coordinates and values of the same loops"),
    (without(ELEMMUL.text, "6 1 crd inner-j"),
     "f.gv: node 1 (fiberwrite): it has inputs of no kind\n  try: give it one of type crd"),
    (ELEMMUL.text.replace('1 [comment="type=fiberwrite', '1 [note="type=fiberwrite').replace(
        'type="fiberwrite" index="j" tensor="X" mode="1"', 'type="fiberwrite" index="j" tensor="X" mode="0"'),
     "f.gv: node 1 (fiberwrite): what it writes is written twice\n  try: write each level once"),
    (ELEMMUL.text.replace('type="fiberwrite" index="j"', 'type="note" index="j"'),
     "f.gv: node 0 (fiberwrite): level 1 of X, whose format is ss01, is not written\n  try: add a node of type fiberwrite"),
    (re.sub("fiberwrite", "note", ELEMMUL.text), 'f.gv: the graph writes no result\n  try: add nodes of type="fiberwrite"'),
    (with_edge(without(ELEMMUL.text, "4 3 val"), "3 3 val"),
     "f.gv: node 3 (mul): it is on a cycle, or behind one\n  try: the array runs graphs without cycles: cut it"),
    (SPMV.text.replace('18 -> 17 [label="repsig" style=bold type="repsig"', '18 -> 17 [label="crd" style=bold type="crd"'),
     "f.gv: node 18 (repsiggen): it takes crd and gives crd\n"
     "  try: let a broadcast give what it takes, and repsiggen take crd and give repsig"),
    (without(SPMV.text, "18 17 repsig"),
     "f.gv: node 17 (repeat): it has 0 signals\n  try: give it one edge of type repsig"),
    (with_edge(without(SPMV.text, "18 17 repsig"), "19 17 repsig"),
     "f.gv: node 19 (broadcast): it takes crd and gives repsig\n"
     "  try: let a broadcast give what it takes, and repsiggen take crd and give repsig"),
    (without(SPMV.text, "19 18 crd"),
     "f.gv: node 18 (repsiggen): it has 0 inputs\n  try: give it one input, from another node"),
    (SPMV.text.replace('tensor="c" root="true"', 'tensor="c" root="false"'),
     "f.gv: node 17 (repeat): it has inputs of no kind\n  try: give it one of type ref"),
    (SPMV.text.replace('tensor="c" mode="0" format="compressed" src="true" root="false"',
                       'tensor="c" mode="0" format="compressed" src="true" root="true"'),
     'f.gv: node 16 (fiberlookup): it begins at the root and has an input\n  try: write root="false", or take the edge away'),
    (SCALED.text.replace('const="3"', 'const="70000"'),
     "f.gv: node 9 (mul): attribute const is '70000'\n  try: write a whole number of 16 bits"),
    (draw("x=none,b=none", "1 arrayvals b\n2 reduce\n0 fiberwrite vals x", "1 2 val\n2 0 val"),
     "f.gv: node 2 (reduce): it sums a number, which is no fiber\n  try: sum values of a loop"),
    (with_edge(without(INNER.text, "2 0 val"), "3 0 val"),
     "f.gv: levels [] are written but the values are 1 levels deep\n  try: write coordinates and values of the same loops"),
    (with_edge(without(INNER.text, "5 4 val"), "99 4 val")
     .replace("    12 [", '    99 [type="arrayvals" tensor="e"]\n    12 [', 1).replace("C=ss01", "C=ss01,e=none"),
     "f.gv: node 4 (mul): the operands are not of the same loops\n  try: connect streams of the same loops; "
     "`sardonyx explain program --graph` writes a graph that does"),
    (without(LOCATED.text, "11 12 crd"),
     "f.gv: node 12 (locator): it has inputs of no kind\n  try: give it one of type crd, and perhaps one of type ref"),
    (LOCATED.text.replace("C=dd10", "C=ds10"),
     "f.gv: node 12 (locator): level 1 of C is compressed in its format ds10\n"
     "  try: locate in a dense level, or look up and intersect"),
    (LOCATED.text.replace('type="locator"', 'type="locator" mode="2"'),
     "f.gv: node 12 (locator): tensor C has no mode '2'\n  try: its format is dd10"),
    (LOCATED.text.replace('type="locator"', 'type="locator" tensor="D"'),
     "f.gv: node 12 (locator): tensor D has no format\n  try: add it to the comment of the graph, which has X, B, C"),
    (LOCATED.text.replace('type="arrayvals" tensor="C"', 'type="reduce"'),
     'f.gv: node 12 (locator): it says no tensor, and neither does what takes its references\n  try: write tensor="..."'),
    (with_edge(LOCATED.text, "1 12 ref"),
     "f.gv: node 12 (locator): it locates in level 1 of C, and its reference is for level 1 of B\n"
     "  try: take the reference of the lookup above"),
    (LOCATED.text.replace('type="locator"', 'type="locator" mode="1" tensor="C"')
     .replace("}\n", '    6 -> 12 [type="ref"]\n}\n'),
     "f.gv: node 12 (locator): it locates in the outermost level and has a reference\n  try: take the edge away"),
    (with_edge(without(LOCATED.text, "11 12 crd"), "1 12 crd"),
     "f.gv: node 12 (locator): there is no reference of C for level 1 in the loops around it\n"
     "  try: give it one by an edge of type ref"),
]


@pytest.mark.parametrize("text,message", REFUSED, ids=lambda text: text[:60] if text.startswith("f.gv") else "")
def test_what_the_array_cannot_run_is_refused_at_its_node(text, message):
    with pytest.raises(UserError) as refusal:
        read_sam(text, "f.gv")
    assert str(refusal.value) == message


def test_a_subtraction_takes_the_operand_whose_comment_says_so():
    turned = RESIDUAL.text.replace('5 -> 3 [label="val" style=bold type="val" comment=""]',
                                   '5 -> 3 [label="val" style=bold type="val" comment="a"]').replace(
        '4 -> 3 [label="val" style=bold type="val" comment=""]', '4 -> 3 [label="val" style=bold type="val" comment="b"]')
    reading, statement = read_sam(turned, "f"), parse("x(i) = C(i,j) * d(j) - b(i)")
    for operands in operand_sets(statement, 3):
        check_statement(graph_data(reading, operands, 2048, "f"), statement, "f")


def test_a_tree_of_joiners_behind_joiners_is_verified_in_steps():
    """Equal tags that are made apart would take 2^40 steps to compare."""
    graph = lower(parse("x(i) = b(i) * c(i)"))
    nodes, edges = dict(graph.nodes), list(graph.edges)
    crd, refs = Pin("intersect_i", "crd"), (Pin("intersect_i", "ref0_o"), Pin("intersect_i", "ref1_o"))
    edge = type(edges[0])
    for level in range(40):
        for side in range(2):
            name = f"again_{level}_{side}"
            nodes[name] = Joiner("intersect", "i", (True, False))
            edges += [edge(crd, Pin(name, "crd0")), edge(refs[side], Pin(name, "ref0")), edge(crd, Pin(name, "crd1"))]
        crd, refs = Pin(f"again_{level}_0", "crd"), tuple(Pin(f"again_{level}_{side}", "ref0_o") for side in range(2))
    ends = {Pin("values_b", "ref"): refs[0], Pin("values_c", "ref"): refs[1], Pin("drop_i", "outer"): crd}
    edges = [edge(ends.get(each.dst, each.src), each.dst) for each in edges]
    assert faults(replace(graph, nodes=nodes, edges=tuple(edges))) == []


def rewired(drawing, seed):
    """A drawing with edges that lead elsewhere, left out or added, and attributes of other nodes."""
    random_ = random.Random(seed)
    nodes = {name: dict(attributes) for name, attributes in drawing.nodes.items()}
    edges, names = [list(edge) for edge in drawing.edges], sorted(nodes)
    for _ in range(random_.choice((1, 1, 2))):
        how, edge = random_.randrange(5), random_.choice(edges)
        if how < 2:
            edge[how] = random_.choice(names)
        elif how == 2:
            edges.remove(edge)
        elif how == 3:
            edges.append([random_.choice(names), random_.choice(names), edge[2]])
        else:
            changed, other = nodes[random_.choice(names)], nodes[random_.choice(names)]
            key = random_.choice(sorted(changed))
            changed[key] = other.get(key, changed[key])
    return Drawing(drawing.attributes, nodes, tuple(map(tuple, edges)))


def test_a_rewired_graph_runs_or_is_refused():
    drawings, ran = [read_graphviz(PUBLIC[name].text, name) for name in ("elemmul", "spmv_drop")], 0
    for seed in range(300):
        try:
            reading = read_drawing(rewired(drawings[seed % 2], seed), "f")
        except UserError:
            continue
        ranks = {tensor: reading.formats[tensor].rank for tensor in reading.tensors.values()}
        operands = {tensor: tensors.random_tensor((4,) * rank, 0.5, seed) for tensor, rank in ranks.items()}
        assert graph_data(reading, operands, 1024, "f").tree.shape == (4,) * reading.formats[reading.result].rank
        ran += 1
    assert 20 < ran < 100


def test_a_level_that_is_written_from_coordinates_of_another_depth_is_refused():
    text = """digraph SAM { comment="X=sss,B=sss"
      0 [type="fiberlookup" index="i" tensor="B" mode="0" root="true"] 1 [type="fiberlookup" index="j" tensor="B" mode="1"]
      2 [type="fiberlookup" index="k" tensor="B" mode="2"] 3 [type="arrayvals" tensor="B"]
      4 [type="fiberwrite" index="i" tensor="X" mode="0"] 5 [type="fiberwrite" index="j" tensor="X" mode="1"]
      6 [type="fiberwrite" index="k" tensor="X" mode="2"] 7 [type="fiberwrite" tensor="X" mode="vals"]
      0 -> 1 [type="ref"] 1 -> 2 [type="ref"] 2 -> 3 [type="ref"] 0 -> 4 [type="crd"] 1 -> 5 [type="crd"] 0 -> 6 [type="crd"]
      3 -> 7 [type="val"] }"""
    with pytest.raises(UserError, match="level 2 of X"):
        read_sam(text, "bad.gv")


def test_an_edge_from_a_node_without_outputs_is_refused():
    with pytest.raises(UserError, match=r"node 1 \(fiberwrite\): it gives no val"):
        read_sam(with_edge(without(ELEMMUL.text, "4 3 val"), "1 3 val"), "f")


def damaged(text, seed):
    """A text with letters changed, parts cut out or repeated, and lines in another order."""
    random_, found = random.Random(seed), text
    for _ in range(random_.choice((1, 1, 2, 5))):
        at = random_.randrange(len(found))
        end = at + random_.randrange(1, 60)
        how = random_.randrange(5)
        if how == 0:
            found = found[:at] + chr(ord(found[at]) ^ 1 << random_.randrange(7)) + found[at + 1:]
        elif how == 1:
            found = found[:at] + found[end:]
        elif how == 2:
            found = found[:end] + found[at:end] * random_.randrange(1, 4) + found[end:]
        elif how == 3:
            found = found[:at] + random_.choice("ijk019BCx\"[]{}->;,") + found[at + 1:]
        else:
            lines = found.split("\n")
            random_.shuffle(lines[2:-1])
            lines[random_.randrange(len(lines))] = lines[random_.randrange(len(lines))]
            found = "\n".join(lines)
        found = found or " "
    return found


def test_a_damaged_graph_is_read_consistently_or_refused():
    texts = [SCALED.text, to_dot(lower(parse("x(i) = b(i)"))), to_dot(lower(parse("x = b(i) * c(i)")))]
    read = 0
    for seed in range(45):
        try:
            reading = read_sam(damaged(texts[seed % len(texts)], seed), "f")
        except UserError:
            continue
        assert faults(reading.graph) == [] and all(isinstance(op, Scanner) or op.inputs or op.outputs
                                                   for op in reading.graph.nodes.values())
        read += 1
    assert 5 < read < 40
