"""A wire without a name is called after what it is connected to, what it says, or what it is read for."""

import re

from sardonyx.hw.names import KEYWORDS, named

NAMELESS = re.compile(r"_\d+_(?:\d+_?)*")
BLOCK = "  always_comb begin\n    if (_4_) begin\n      x = _5_;\n    end\n  end"
INSTANCE = "  fifo queue (\n    .rst(_6_),\n    .o(y)\n  );"


def names(assigns: "dict[str, str]", operators: "dict[str, str] | None" = None, *more: str) -> "dict[str, str]":
    return named([*assigns, *more], list(assigns.items()), [BLOCK, INSTANCE], operators or {}, NAMELESS)


def test_after_what_it_says() -> None:
    found = names({"_1_": "held & o__ready", "_2_": "~ held", "_3_": "mode == 2'h2", "z": "{ _1_, _2_, _3_ }"})
    assert found == {"_1_": "held_and_o__ready", "_2_": "not_held", "_3_": "mode_is_2"}


def test_after_the_input_of_an_instance() -> None:
    assert names({"_6_": "rst | flush"}) == {"_6_": "queue__rst"}


def test_after_what_is_made_of_it() -> None:
    found = names({"_4_": "_1_ & b", "_5_": "_1_ + w", "_1_": "_5_"}, {"_4_": "if", "_5_": "+"})
    assert found["_4_"] == "x_when" and found["_5_"] == "x_sum"


def test_a_part_has_the_name_of_the_whole() -> None:
    assert names({"_5_": "_1_ + w", "_5_3_0": "_5_[3:0]"}, {"_5_": "+"})["_5_3_0"] == "x_sum_3_0"


def test_no_name_is_given_twice_and_none_is_reserved() -> None:
    found = names({"_1_": "~ held", "_2_": "~ held", "z": "{ _1_, _2_ }"}, None, "not_held")
    assert found == {"_1_": "not_held_2", "_2_": "not_held_3"}
    assert {"wait", "static", "logic", "table", "endmodule"} <= KEYWORDS
