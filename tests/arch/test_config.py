"""Configuration: packing, inverse, refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.config import ConfigMap, ConfigSet, Field
from sardonyx.hw.arch.errors import UserError

FORM = Field("form", 1, "", ("coordinate", "value"))

sets = st.lists(st.lists(st.integers(1, 32), min_size=1, max_size=6), min_size=1, max_size=4).map(
    lambda widths: tuple(ConfigSet(f"set{i}", *(Field(f"f{j}", bits, "") for j, bits in enumerate(row)))
                         for i, row in enumerate(widths)))


@given(sets, st.randoms())
def test_decode_inverts_encode(configs, random):
    space = ConfigMap(configs)
    values = {each.name: {f.name: random.randrange(1 << f.bits) for f in each.fields.values()} for each in configs}
    words = space.encode(values)
    assert len(words) == space.words and all(0 <= word < 1 << 32 for word in words)
    assert space.decode(words) == values


@given(sets)
def test_fields_do_not_overlap_or_straddle_words(configs):
    space = ConfigMap(configs)
    taken = set()
    for (name, field), slot in space.slots.items():
        bits = space.sets[name].fields[field].bits
        assert slot.lsb + bits <= 32
        places = {(slot.word, slot.lsb + i) for i in range(bits)}
        assert not places & taken
        taken |= places


def test_choices_are_written_and_read_by_name():
    dropper = ConfigSet("dropper", FORM)
    assert dropper.encode(form="value") == 1
    assert dropper.decode(0) == {"form": "coordinate"}


@pytest.mark.parametrize("values,message", [
    ({"form": "both"}, "dropper: 'both' is not a value of form\n  try: choose one of coordinate, value"),
    ({"form": 0.5}, "dropper: 0.5 is not a value of form\n  try: give 0..1"),
    ({"form": None}, "dropper: None is not a value of form\n  try: give 0..1"),
    ({"form": 2}, "dropper: 2 is not a value of form\n  try: give 0..1"),
    ({"mode": 1}, "dropper has no configuration field 'mode'\n  try: fields are form"),
])
def test_wrong_values_are_refused(values, message):
    with pytest.raises(UserError) as error:
        ConfigSet("dropper", FORM).encode(**values)
    assert str(error.value) == message
