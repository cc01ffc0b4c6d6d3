import pytest

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.expr import Access, Binary, Constant, Negate
from sardonyx.hw.arch.errors import UserError


def test_tree_follows_precedence_and_brackets():
    expr = parse("x(i) = -a(i) * (b(i) - 2 * c(i))").expr
    assert isinstance(expr, Binary) and expr.op == "*" and isinstance(expr.left, Negate)
    assert isinstance(expr.right, Binary) and expr.right.op == "-"
    assert expr.right.right == Binary("*", Constant(2), parse("x(i) = c(i)").expr)
    assert str(expr) == "-a(i) * (b(i) - 2 * c(i))"


def test_default_order_is_that_of_the_result_then_of_appearance():
    assert parse("X(j,i) = B(i,l) * C(l,k) * D(k,j)").order == ("j", "i", "l", "k")


def test_an_index_that_sum_names_comes_after_those_outside_it():
    assert parse("x = sum(o, A(o,l)) * b(l)").order == ("l", "o")


def test_default_formats_store_modes_in_loop_order():
    einsum = parse("X(i,j) = B(i,k) * C(k,j)")
    assert [str(access.format) for access in (einsum.result, *einsum.operands)] == ["ss01", "ss01", "ss10"]


def test_a_tensor_used_twice_has_two_slots_stored_as_each_needs():
    first, second = parse("X(i,j) = B(i,k) * B(k,j)").operands
    assert (first.slot, str(first.format), second.slot, str(second.format)) == ("B", "ss01", "B.2", "ss10")


def test_an_index_summed_in_a_bracket_comes_after_those_around_it():
    assert parse("x(i) = (B(i,j,k) * c(j) + D(i,k)) * A(i,k)").order == ("i", "k", "j")


def test_formats_with_and_without_modes():
    einsum = parse("x(i) = B(i,j) * c(j) * d", formats={"c": "d", "B": "ds01", "d": "none"})
    assert [str(access.format) for access in einsum.operands] == ["ds01", "d0", ""]


@pytest.mark.parametrize("order", ["jik", "j,i,k", "j i k", ("j", "i", "k")])
def test_orders_as_letters_lists_or_names(order):
    assert parse("X(i,j) = B(i,k) * C(k,j)", order).order == ("j", "i", "k")


def test_loops_of_the_nest_and_what_is_accumulated_in_it():
    for order, nest, accumulated in (("ijk", "ij", {}), ("ikj", "ikj", {"k": ("j",)}), ("kji", "kji", {"k": ("j", "i")})):
        einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
        assert (einsum.nest, einsum.accumulated) == (tuple(nest), accumulated)
    einsum = parse("X(i,j) = B(i,k,l) * C(k,j) * D(l,j)", "kilj")
    assert einsum.accumulated == {"k": ("i", "j"), "l": ("j",)}


def test_orders_of_long_names():
    assert parse("x(row) = B(row,col) * c(col)", "row col").order == ("row", "col")
    assert parse("x(row) = b(row)", "row").order == ("row",)


def test_extents_and_shape_of_the_result():
    einsum = parse("X(j,i) = B(i,k) * C(k,j)")
    shapes = {"B": (2, 3), "C": (3, 4)}
    assert einsum.extents(shapes) == {"j": 4, "i": 2, "k": 3}
    assert einsum.result_shape(shapes) == (4, 2)


def test_positions_do_not_make_expressions_differ():
    assert parse("x(i) = b(i)").operands == parse("x(i)   =   b( i )").operands
    assert isinstance(parse("x(i) = b(i)").expr, Access)


def caret(text, column):
    return f"\n  {text}\n  {' ' * (column - 1)}^"


KNOWN = "use + - * / > < != and brackets, relu abs sign nonzero max min sum, and one ="
POINTED = [
    ("X(i,j) = B(i,k)", 1, "index j of X(i,j) is on no tensor of the right side",
     "use j on the right, or leave it out of the result"),
    ("x(i) = b(i) // c(i)", 13, "operator '//' is not supported", KNOWN),
    ("x(i) = B(i,k) / C(i,k)", 8, "index k is summed on both sides of a quotient",
     "write sum(k, B(i,k) / C(i,k)) for a sum of quotients, or give the sums other indices"),
    ("x = sum(n, a(n)) / sum(n, b(n))", 5, "index n is summed on both sides of a quotient", "give the sums other indices"),
    ("x(i) = b(i) / (2 - 2)", 13, "it is divided by 0, which gives 0 everywhere", "divide by something else"),
    ("x(i) = b(i) / (c(i) + 1)", 23, "constant 1 is added to a tensor, so the result would be dense",
     "make it a tensor with the indices of the other terms"),
    ("x(i) = (b(i) + 3) / 2", 9, "(b(i) + 3) / 2 is 1 where every tensor is 0, so the result would be dense",
     "choose constants with which zeros give 0, as in max(b(i), -5)"),
    ("x(i) = b(i) ^ 2", 13, "operator '^' is not supported", KNOWN),
    ("x(i) += b(i)", 6, "operator '+=' is not supported", KNOWN),
    ("x(i) = b(i) >= c(i)", 13,
     "operator '>=' is not supported: it gives 1 where both sides are 0, so the result would be dense",
     "use > < or !="),
    ("x(i) = b(i) > c(i) > d(i)", 20, "comparisons stand in a row", "put one of them in brackets"),
    ("x(i) = max(b(i))", 8, "max takes 2 arguments, not 1", "write max(a, b)"),
    ("x(i) = max(b(i), c(i), d(i))", 8, "max takes 2 arguments, not 3", "nest it, as in max(a, max(b, c))"),
    ("x(i) = relu(b(i), c(i))", 8, "relu takes 1 argument, not 2", "write relu(a)"),
    ("x(i) = (b(i), c(i))", 8, "there is a comma in brackets that are no function's",
     "use a function: relu, abs, sign, nonzero, max, min"),
    ("x(i) = b(i) * relu", 15, "relu is a function and no tensor",
     "give it arguments in brackets on the right side, or rename the tensor"),
    ("abs(i) = b(i)", 1, "abs is a function and no tensor",
     "give it arguments in brackets on the right side, or rename the tensor"),
    ("x(i) = b(i) * max(c(i), 3)", 15, "max(c(i), 3) is 3 where every tensor is 0, so the result would be dense",
     "choose constants with which zeros give 0, as in max(b(i), -5)"),
    ("x(i) = relu(b(i) + 3)", 8, "relu(b(i) + 3) is 3 where every tensor is 0, so the result would be dense",
     "choose constants with which zeros give 0, as in max(b(i), -5)"),
    ("x(i) = relu(b(i) - 30000 - 30000)", 8,
     "relu(b(i) - 30000 - 30000) is 5536 where every tensor is 0, so the result would be dense",
     "choose constants with which zeros give 0, as in max(b(i), -5)"),
    ("x(i) = 1 > b(i)", 8, "1 > b(i) is 1 where every tensor is 0, so the result would be dense",
     "choose constants with which zeros give 0, as in max(b(i), -5)"),
    ("x(i) = relu(c(i) * (b(i) - 3))", 28, "constant 3 is added to a tensor, so the result would be dense",
     "make it a tensor with the indices of the other terms"),
    ("x(i) = max(b(i), c)", 18, "argument c has no index i but other arguments of max do, so the result would be dense",
     "multiply it by a tensor with index i"),
    ("x(i) = sum(k, b(i))", 15, "b(i) has no index k, over which it is summed", "use k in it, or leave out sum"),
    ("x(i) = max(k, B(i,k) - b(i))", 24,
     "term b(i) has no index k but other terms of the sum do, so the result would be dense",
     "multiply it by a tensor with index k"),
    ("x(i) = max(k, b(i))", 12, "argument k has no index i but other arguments of max do, so the result would be dense",
     "multiply it by a tensor with index i"),
    ("x(i) = B(i,k) * max(k, C(i,k))", 17, "index k stands outside of max(k, C(i,k)), too",
     "give the index of the sum a name of its own"),
    ("x(i) = sum(i, b(i))", 8, "index i stands outside of sum(i, b(i)), too", "give the index of the sum a name of its own"),
    ("x(i) = B(i,k) * sum(k, C(i,k))", 17, "index k stands outside of sum(k, C(i,k)), too",
     "give the index of the sum a name of its own"),
    ("x(i) = relu(sum(k, B(i,k) - 3))", 13, "sum(k, B(i,k) - 3) is -3 where every tensor is 0, so the result would be dense",
     "choose constants with which zeros give 0, as in max(b(i), -5)"),
    ("x(i) = sum(B(i,k), k)", 13, "',' was expected, not '('", "write it as in X(i,j) = B(i,k) * C(k,j)"),
    ("x(i) = sum * b(i)", 8, "sum is a function and no tensor",
     "give it arguments in brackets on the right side, or rename the tensor"),
    ("x(i) = min(b(i), min(99999, 3))", 22, "constant 99999 does not fit 16 bits", "use -32768 to 32767"),
    ("x(i) = (sign(40000) + 1) * b(i)", 14, "constant 40000 does not fit 16 bits", "use -32768 to 32767"),
    ("x(i) = b(i) c(i)", 13, "an operator or the end was expected, not 'c'",
     "write it as in X(i,j) = B(i,k) * C(k,j)"),
    ("x(i) = (b(i)", 13, "')' was expected, not the end", "write it as in X(i,j) = B(i,k) * C(k,j)"),
    ("x(i) = c(i) + sqrt(b(i))", 15, "there is no function sqrt",
     "use relu abs sign nonzero max min sum; in the brackets of a tensor are names of indices"),
    ("x(i) = b(2)", 10, "an index was expected, not '2'", "write it as in X(i,j) = B(i,k) * C(k,j)"),
    ("x(i) =", 7, "a tensor was expected, not the end", "write it as in X(i,j) = B(i,k) * C(k,j)"),
    ("x_{i} = b", 3, "'=' was expected, not '{'", "write it as in X(i,j) = B(i,k) * C(k,j)"),
    ("x(i) = ² * b(i)", 8, "² is not an integer", "scale the operands to integers"),
    ("x(i) = 2.5 * b(i)", 8, "2.5 is not an integer", "scale the operands to integers"),
    ("x(i) = 300 * 300 * b(i)", 8, "constant 90000 does not fit 16 bits", "use -32768 to 32767"),
    ("x = 3", 5, "the right side has no tensor", "use at least one tensor"),
    ("X(i,i) = b(i)", 1, "an index stands twice in the result X(i,i)", "make the diagonal a result with one index"),
    ("x(i) = B(i,i) * B(i)", 17, "B has 1 indices here but 2 in B(i,i)", "use the same number of indices everywhere"),
    ("x(i) = b(i) * b(i,j)", 15, "b has 2 indices here but 1 in b(i)",
     "use the same number of indices everywhere"),
    ("x(i) = b(i) * x(i)", 15, "x is the result and cannot be an operand",
     "give the result a name of its own"),
    ("x(i) = b(i) * i", 15, "i is both a tensor and an index", "rename one of them"),
    ("x(i) = b(i) + c", 15,
     "term c has no index i but other terms of the sum do, so the result would be dense",
     "multiply it by a tensor with index i"),
    ("X(i,j) = B(i,j) * (c(i) + D(i,j))", 20,
     "term c(i) has no index j but other terms of the sum do, so the result would be dense",
     "multiply it by a tensor with index j"),
    ("x(i) = b(i) + 1", 15, "constant 1 is added to a tensor, so the result would be dense",
     "make it a tensor with the indices of the other terms"),
    ("x = b - 1", 9, "constant 1 is added to a tensor, so the result would be dense",
     "make it a tensor with the indices of the other terms"),
]


@pytest.mark.parametrize("text, column, what, fix", POINTED)
def test_mistakes_are_pointed_at(text, column, what, fix):
    with pytest.raises(UserError) as error:
        parse(text)
    assert str(error.value) == f"column {column}: {what}{caret(text, column)}\n  try: {fix}"


def test_endless_statements_are_refused():
    with pytest.raises(UserError) as error:
        parse("x = " + "b + " * 999 + "b")
    assert str(error.value) == ("column 1201: the statement is longer than 600 words\n"
                                f"   {'b + ' * 22}b\n  {' ' * 45}^\n  try: split it into several statements")
    with pytest.raises(UserError, match=r"^column 55: brackets are nested deeper than 50\n"):
        parse("x = " + "(" * 99 + "b" + ")" * 99)
    with pytest.raises(UserError, match=r"^column 5: more than 50 signs stand in a row\n"):
        parse("x = " + "-" * 99 + "b")
    assert len(parse("x = " + " + ".join(f"b{at}" for at in range(299))).operands) == 299


def test_the_origin_stands_in_front():
    with pytest.raises(UserError) as error:
        parse("x(i) = b(i) ^ 2", origin="mine.toml")
    assert str(error.value).startswith("mine.toml, column 13: operator '^' is not supported\n")


def test_sums_inside_each_others_loops_have_no_order():
    text = "x = A(k) * (B(k,j) + c(k)) + D(j) * (E(j,k) + f(j))"
    with pytest.raises(UserError) as error:
        parse(text)
    assert str(error.value) == (f"column 5: indices k and j are summed each inside the loop of the other"
                                f"{caret(text, 5)}\n  try: give the summed indices of one term other names")


MATMUL = "X(i,j) = B(i,k) * C(k,j)"
SQUARE = "X(i,j) = B(i,k) * B(k,j)"
NAMED = [
    (MATMUL, "ikj", {"C": "ss10"}, "format ss10 of C(k,j): it stores j k but the loop order is i k j\n"
     "  try: use ss01 or loop order i j k"),
    (MATMUL, "kij", {"B": "ss01"}, "format ss01 of B(i,k): it stores i k but the loop order is k i j\n"
     "  try: use ss10"),
    (MATMUL, "ij", {}, f"loop order i j of {MATMUL}: it must name each of i, j, k once\n  try: use i j k"),
    (MATMUL, "ijj", {}, f"loop order i j j of {MATMUL}: it must name each of i, j, k once\n  try: use i j k"),
    (MATMUL, "", {"C": "ss01"},
     "format ss01 of C(k,j): it stores k j but the loop order is i j k\n  try: use ss10"),
    (SQUARE, "", {"B": "ss01"}, "format ss01 of B(k,j): it stores k j but the loop order is i j k\n"
     "  try: use ss, in which every use of B is stored in loop order"),
    (SQUARE, "", {"B": "sd10"}, "format sd10 of B(i,k): it stores k i but the loop order is i j k\n"
     "  try: use sd, in which every use of B is stored in loop order"),
    ("X(i,j) = B(i,j) + B(i,j)", "", {"B": "ss10"}, "format ss10 of B(i,j): it stores j i but the loop order is i j\n"
     "  try: use ss01 or loop order j i"),
    (MATMUL, "", {"X": "ss10"}, "format ss10 of X(i,j): it stores j i but the loop order is i j k\n"
     "  try: use ss01 or loop order j i k"),
    ("X(i,j,k) = B(i,j,k)", "", {"X": "sds"},
     "format sds of X(i,j,k): level j of the result is dense below a compressed level and above compressed level k: only "
     "the innermost levels can be\n  try: use sss012 or ddd012"),
    ("X(i,j,k,l,m,n) = B(i,j,k,l,m,n)", "", {"X": "sddddd"},
     "format sddddd of X(i,j,k,l,m,n): 5 levels of the result are dense below a compressed one: 4 can be\n"
     "  try: use ssdddd012345 or dddddd012345"),
    ("X(i,j,k) = B(i,j,k)", "", {"X": "dsdd"},
     "format dsdd of X(i,j,k): it is not a letter d or s for each index, then perhaps the modes in stored order\n"
     "  try: write sss012"),
    ("X(i,j,k) = B(i,j,k)", "", {"X": "ddd210"}, "format ddd210 of X(i,j,k): it stores k j i but the loop order is i j k\n"
     "  try: use ddd012 or loop order k j i"),
    (MATMUL, "", {"B": "sq"},
     "format sq of B(i,k): it is not a letter d or s for each index, then perhaps the modes "
     "in stored order\n  try: write ss01"),
    (MATMUL, "", {"B": "sss"},
     "format sss of B(i,k): it is not a letter d or s for each index, then perhaps the "
     "modes in stored order\n  try: write ss01"),
    (MATMUL, "", {"B": "ss00"},
     "format ss00 of B(i,k): it is not a letter d or s for each index, then perhaps the "
     "modes in stored order\n  try: write ss01"),
    (MATMUL, "", {"D": "ss"},
     "formats: there is a format for D but no such tensor\n  try: name one of X, B, C"),
]


@pytest.mark.parametrize("text, order, formats, message", NAMED)
def test_orders_and_formats_that_do_not_work(text, order, formats, message):
    with pytest.raises(UserError) as error:
        parse(text, order, formats)
    assert str(error.value) == message


def test_letters_alone_store_every_use_of_a_tensor_in_loop_order():
    assert [str(access.format) for access in parse(SQUARE, formats={"B": "sd"}).operands] == ["sd01", "sd10"]


SHAPED = [
    ({"B": (2, 3)}, "tensor C has no operand\n  try: give C=..., on the command line --C FILE"),
    ({"B": (2, 3), "C": (3, 4), "b": (2,)}, "operand b is not in the expression\n  try: give B, C"),
    ({"B": (2, 3), "C": (3, 4, 5)}, "C(k,j) has 2 indices but operand C has 3 dimensions\n"
     "  try: give a tensor of that many dimensions"),
    ({"B": (2, 3), "C": (4, 5)}, "index k runs to 3 in B(i,k) but to 4 in C(k,j)\n"
     "  try: give operands whose shapes agree"),
]


@pytest.mark.parametrize("shapes, message", SHAPED)
def test_operands_that_do_not_fit(shapes, message):
    with pytest.raises(UserError) as error:
        parse(MATMUL).extents(shapes)
    assert str(error.value) == f"{MATMUL}: {message}"


def test_a_long_constant_is_refused_by_its_digits():
    with pytest.raises(UserError) as error:
        parse(f"x(i) = {'9' * 5000} * b(i)")
    assert str(error.value) == (f"column 8: a constant of 5000 digits does not fit 16 bits\n  x(i) = {'9' * 83}\n         ^\n"
                                "  try: use -32768 to 32767")
