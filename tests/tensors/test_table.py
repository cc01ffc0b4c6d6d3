import numpy as np
import pytest

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors import table
from sardonyx.tensors.table import INDEX, REAL, read_rows, row_at


def refuse(number: int, words: "list[str]") -> UserError:
    return UserError(f"{number}: {words}")


def test_rows_are_lines_and_empty_lines_are_none() -> None:
    assert read_rows(b"head\n\n 1\t2.5 \r\n \n3 -4e1", (INDEX, REAL), refuse, 5).tolist() == [[1, 2.5], [3, -40]]
    assert read_rows(b"\n \n", (INDEX, REAL), refuse).shape == (0, 2)


def test_a_wrong_line_is_named_with_its_words() -> None:
    with pytest.raises(UserError, match=r"^4: \['3', 'x'\]$"):
        read_rows(b"head\n1 2\n\n3 x\n5 6\n", (INDEX, REAL), refuse, 5)


def test_text_is_looked_at_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_PIECE_BYTES", 7)
    text = b"".join(b"%d %d.5\n\n" % (number, number) for number in range(100))
    assert np.array_equal(read_rows(text, (INDEX, REAL), refuse)[:, 1], np.arange(100) + 0.5)
    assert row_at(text, 42) == (85, ["42", "42.5"])
    with pytest.raises(UserError, match=r"^161: \['80', '80,5'\]$"):
        read_rows(text.replace(b"80.5", b"80,5"), (INDEX, REAL), refuse)


def test_a_nonzero_below_the_smallest_double_stays_one() -> None:
    tiny = 5e-324
    text = b"1 1e-400\n2 -1E-999\n3 0e-400\n4 -0." + b"0" * 400 + b"7\n5 2e-300\n"
    assert read_rows(text, (INDEX, REAL), refuse).tolist() == [[1, tiny], [2, -tiny], [3, 0], [4, -tiny], [5, 2e-300]]
