"""Each pass between a buffer and an array applies to its example, and to no near miss, whose reason it says."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.hw.arch.errors import UserError

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B", dtype="int8")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
INPUT, OUTPUT, WEIGHTS = ([[0, 0, 1], [1, 0, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 1]],
                          [[0, 0, 1], [0, 1, 0], [1, 1, 1]])
ROWS_OF_A, ROWS_OF_B = sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)
CSR, COLUMNS = sp.Buffer("dense", "compressed", words=64), sp.Buffer("dense", "dense", words=64, order=(1, 0))


def dense(**options: object) -> sp.Buffer:
    return sp.Buffer("dense", "dense", words=64, **options)       # type: ignore[arg-type]


def said(rows: "list[list[int]]", buffer: sp.Buffer, skips: "Sequence[Skip]" = (), i: int = 4, j: int = 8, k: int = 3
         ) -> "list[str]":
    """What passes say of a buffer of B."""
    array = sp.Design(PRODUCT, sp.Transform(rows), {"i": i, "j": j, "k": k}, sparsity=skips, buffers={"B": buffer})
    fed, = array.fed
    lines = [str(verdict) for verdict in fed.verdicts]
    assert len(lines) == 7 and array.explain().text.splitlines()[-7:] == [f"  {line}" for line in lines]
    return lines


# What is said of the example, then of the near miss.
@pytest.mark.parametrize("example,applies,miss,reason", [
    ((OUTPUT, dense()), "constant coordinates: what 8 ports take is known, so that nothing is compared",
     (OUTPUT, COLUMNS, [ROWS_OF_A]),
     "no constant coordinates: 32 ports ask for what A_0_0, A_1_0, A_2_0, A_3_0 find, each in turn, by address"),
    ((WEIGHTS, dense()), "edge to edge: 8 streams in place of 24",
     (OUTPUT, dense()), "no edge to edge: a port takes more than one word in an operation"),
    ((OUTPUT, dense()), "constant coordinates: what 8 ports take is known, so that nothing is compared",
     (OUTPUT, CSR, [ROWS_OF_A]),
     "no constant coordinates: 32 ports ask for what A_0_0, A_1_0, A_2_0, A_3_0 find, each in turn, by 64 comparators"),
    ((OUTPUT, dense()), "loop nest: 2 loops of 6 bits in place of a table of 24",
     (OUTPUT, COLUMNS, [ROWS_OF_A]), "no loop nest: values say which element is next"),
    ((OUTPUT, COLUMNS), "transpose: by strides of 1, 3, without a register",
     (OUTPUT, dense()), "no transpose: it is taken as it is stored"),
    ((INPUT, dense(banks=3)), "banks: 3 by dimension 0, 1 port each: as many words at once",
     (INPUT, dense()), "no banks: one feeds 3 ports, a word or pair a cycle; 3 banks would give 3"),
    ((INPUT, CSR, [ROWS_OF_B]), "skew buffers: 3 of 9 pairs, 225 bits each, in place of 24 elements that are searched",
     (INPUT, sp.Buffer("dense", "compressed", words=64, banks=3), [ROWS_OF_B]),
     "no skew buffers: each bank feeds one port, so that FIFOs of 2 are enough"),
    ((OUTPUT, dense(wide=True)), "lock-step: 8 ports in place of 8 controls, 8 words a cycle",
     (OUTPUT, COLUMNS), "no lock-step: its 8 ports do not take a row of 3 elements of B at once"),
])
def test_a_pass_applies_to_its_example_and_not_to_a_near_miss(
        example: "tuple[object, ...]", applies: str, miss: "tuple[object, ...]", reason: str) -> None:
    name = applies.partition(":")[0]
    for array, line in ((example, applies), (miss, reason)):
        found, = [each for each in said(*array) if each.removeprefix("no ").startswith(f"{name}:")]   # type: ignore[arg-type]
        assert found == line


@pytest.mark.parametrize("array,reason", [
    ((INPUT, CSR, [ROWS_OF_B]), "no edge to edge: PEs take words whenever they come, not all in one step"),
    ((INPUT, dense(banks=3)), "no lock-step: each of 3 banks has its own time"),
    ((INPUT, CSR, [ROWS_OF_B]), "no lock-step: ports wait by themselves"),
    ((OUTPUT, dense()), "no lock-step: it would do, and is not asked for (wide)"),
    ((OUTPUT, dense(), (), 4, 4), "no lock-step: a row of B has 32 bits"),
    ((OUTPUT, dense(), (), 1, 1), "no banks: one feeds 1 port"),
    ((OUTPUT, dense(), (), 1, 1, 1), "loop nest: it is always the same"),
])
def test_every_other_reason_is_said_too(array: "tuple[object, ...]", reason: str) -> None:
    assert reason in said(*array)       # type: ignore[arg-type]


def test_what_is_not_the_same_of_all_banks_is_said_of_each() -> None:
    array = sp.Design(PRODUCT, sp.Transform(INPUT), {"i": 4, "j": 8, "k": 3}, sparsity=[ROWS_OF_B],
                      buffers={"B": sp.Buffer("dense", "compressed", words=64, banks=2)})
    fed, = array.fed
    assert [(bank.sinks, bank.depth) for bank in fed.buffer.banks] == [(2, 9), (1, 2)]
    assert [str(verdict) for verdict in fed.verdicts[2:7]] == [
        "banks: 2 by dimension 0, 1 to 2 ports each: as many words at once",
        "loop nest: 1 loop of 2 bits in place of a table of 2 (bank 0)", "loop nest: it is always the same (bank 1)",
        "no transpose: it is taken as it is stored",
        "skew buffers: 2 of 9 pairs, 225 bits each, in place of 16 elements that are searched (bank 0)"]


@pytest.mark.parametrize("banks,said", [
    (1, "no banks: one feeds 3 ports, for each of 2 parts of fibers, a word or pair a cycle; 3 banks would give 3"),
    (3, "banks: 3 by dimension 0, 1 port each, for each of 2 parts of fibers: as many words at once")])
def test_ports_of_a_balanced_array_are_counted_by_the_bank_that_feeds_them(banks: int, said: str) -> None:
    rows, levels = sp.skip(k, where=A(i, k) == 0), sp.Buffer("dense", "compressed", words=64, banks=banks)
    array = sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 3, "j": 2, "k": 9}, sparsity=[rows], buffers={"A": levels},
                      balance=[sp.shift(i, by=-1, where=k >= 4)])
    fed, = array.fed
    assert {bank.sinks for bank in fed.buffer.banks} == {3 // banks} and len(fed.buffer.banks) == 2 * banks
    assert said in map(str, fed.verdicts)


@pytest.mark.parametrize("rows,levels,skips", [(INPUT, ("dense", "dense"), []), (INPUT, ("dense", "compressed"), [ROWS_OF_B]),
                                               (OUTPUT, ("dense", "dense"), [ROWS_OF_A])])
def test_as_many_banks_as_are_named_take_fewer_cycles(
        rows: "list[list[int]]", levels: "tuple[str, ...]", skips: "list[Skip]") -> None:
    def array(banks: int) -> sp.Design:
        return sp.Design(PRODUCT, sp.Transform(rows), {"i": 2, "j": 8, "k": 8}, sparsity=skips,
                         buffers={"B": sp.Buffer(*levels, words=64, banks=banks)})
    line = next(str(each) for each in array(1).fed[0].verdicts if each.name == "banks")
    named = int(line.rpartition(" ")[2])
    given = array(1).random(12, 1)
    cycles = [array(banks).run("tokens", **given).cycles or 0 for banks in (1, named)]
    assert named == 8 and cycles[0] > 2 * cycles[1]


@pytest.mark.parametrize("rows,skips,fit", [(INPUT, [], "1..5"), (WEIGHTS, [sp.skip(k, where=B(k, j) == 0)], "1..4"),
                                            (OUTPUT, [ROWS_OF_A], "1..4")])
def test_banks_that_there_cannot_be_are_refused_with_those_that_there_can(
        rows: "list[list[int]]", skips: "list[Skip]", fit: str) -> None:
    kind = "compressed" if skips and "B" in str(skips[0]) else "dense"

    def made(banks: int) -> sp.Design:
        return sp.Design(PRODUCT, sp.Transform(rows), {"i": 3, "j": 4, "k": 5}, sparsity=skips,
                         buffers={"B": sp.Buffer("dense", kind, words=64, order=(1, 0) if skips else (0, 1), banks=banks)})
    for banks in range(1, 13):
        if banks <= int(fit[3:]):
            made(banks).run("tokens")
            continue
        with pytest.raises(UserError) as refused:
            made(banks).hardware()
        assert refused.value.fix == f"use {fit}"


def test_banks_are_as_many_as_divide_what_coordinates_of_a_port_are_apart() -> None:
    tree = sp.tree(k, 2, 4)
    array = sp.Design(sp.functionality("x(i) = A(i,k) * B(k)", trees=[tree]), sp.Transform([[1, 0, 0], [0, 0, 1], [1, 1, 1]]),
                      {"i": 2, **tree.bounds}, buffers={"B": sp.Buffer("dense", words=64, banks=3)})
    with pytest.raises(UserError) as refused:
        array.hardware()
    assert refused.value.fix == "use 1 or 2 or 4"
    for banks in (1, 2, 4):
        replace(array, buffers={"B": sp.Buffer("dense", words=64, banks=banks)}).run("tokens")
