"""Descriptions: every field of every class is checked where a description is made."""

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sardonyx.hw.arch
from sardonyx.hw.arch import (
    accelerator,
    cartesian,
    cgra,
    chain,
    check,
    command,
    dma,
    elastic,
    logic,
    merger,
    outer_product,
    presets,
    private_buffer,
    spatial,
    vectored,
    written,
    written_chain,
)
from sardonyx.hw.arch.buffer import MemSizes
from sardonyx.hw.arch.check import Identifier, Misfit, Misfits, OneOf, PowerOfTwo, Range, Real, Text, Whole, misfits, ranges
from sardonyx.hw.arch.config import MEMORY_REGISTER, Field
from sardonyx.hw.arch.counters import Counts
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.op import CONDITIONS, OPS
from sardonyx.hw.arch.primitive import ACCUMULATOR, LEVEL
from sardonyx.hw.arch.register_file import ScheduleSizes
from sardonyx.hw.arch.soc import address_map
from sardonyx.hw.arch.tile import MEM, PE

TINY = presets.get("tiny")
STRANGE = (None, True, "x\n", b"", -1, 2.5, float("nan"), float("inf"), 10**5000, -10**5000, (None,), [], {}, object())


def parts(value: object) -> dict[type, object]:
    """A description of each class that is in a value."""
    if isinstance(value, tuple | dict):
        inside = value.values() if isinstance(value, dict) else value
        return {cls: each for part in inside for cls, each in parts(part).items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return parts(value.fields) if hasattr(value, "fields") else {}
    return {cls: each for part in vars(value).values() for cls, each in parts(part).items()} | {type(value): value}


STAYS = logic.Apply("add", (logic.Tap("x", (0,), 1), logic.Feed("A", 0), logic.Constant(1)))
ARRAY = spatial.Spatial(
    "array", (("x", 8),), (spatial.Shaped("A", 8, (1,)),), (spatial.Shaped("X", 8, (1,)),),
    (spatial.Cell((0,), (("x", (spatial.Rule(STAYS, (0,)),)),), (("X", 0, (spatial.Rule(STAYS, (0,)),)),)),),
    (spatial.Port("A", 0, (0,), (spatial.Word(0, (0,)),)),), (spatial.Port("X", 0, (0,), (spatial.Word(0, (0,)),)),), 1, 1,
    (0,), (spatial.Chain("A", ((0,),)),))
ELASTIC = elastic.Elastic(
    "array", (("k", 8),), "k", ARRAY.operands, ARRAY.results,
    (elastic.Unit("pe", elastic.adder(8, STAYS)), elastic.Unit("to_rows", elastic.Spread(1, 1, 8)),
     elastic.Unit("balance", elastic.Balance(((0,),), (8,), 1, 8))),
    (elastic.Link(("", "A_0"), ("pe", "x")),), (elastic.Found("k", True, (("A", ("k",)),)),), (("A", ("k",)),),
    (elastic.Border("A_0", "A", elastic.FIBER, (("k", elastic.ALONG),)),), ())
MERGER = merger.Merger("merger", 2, 1, 1)
PRODUCTS = cartesian.Cartesian("products")
MEET = vectored.Vectored(
    PRODUCTS, (("c", 1), ("x", 2), ("k", 2)),
    vectored.Side(spatial.Shaped("A", 8, (1, 2)), ("c", "x"), ("x",), True, (("x", 1),), 0),
    vectored.Side(spatial.Shaped("B", 8, (1, 2)), ("c", "k"), ("k",), True, (("k", 2),), 0),
    spatial.Shaped("X", 32, (2, 2)), "k")
OUTER = outer_product.OuterProduct("outer")
PRIVATE = private_buffer.PrivateBuffer("A", (0,), 0, (private_buffer.Bank(
    8, (private_buffer.Level(private_buffer.DENSE, 2),), 16, 0, 0, (private_buffer.Loop(2, 1, 1),), 2, private_buffer.WORD,
    False),), (("A_0", "A_1"),))
CHAINED = chain.ChainedBank(
    8, tuple(private_buffer.Level(private_buffer.COMPRESSED, 2) for _ in range(2)), 16, 0, 0,
    (private_buffer.Loop(2, 1, 1),), 2, private_buffer.FIBER, True)
REDUCED = spatial.Shaped("X", 8, (1,))
LEFT = written_chain.ChainedWritten(
    spatial.Shaped("X", 8, (1, 1)), (0, 1), ("X_0",), private_buffer.COMPRESSED, 16, above=(private_buffer.COMPRESSED,))
WRITTEN = written.Written(REDUCED, (0,), ("X_0",), private_buffer.COMPRESSED, 16)
COLLECTED = accelerator.Collected(REDUCED, (0,), ("X_0",), 1, 0, ())
BEHIND = accelerator.Accelerator("behind", ARRAY, (PRIVATE,), (COLLECTED,), dma.Dma())
REQUEST = dma.Request(0, 0, False, (dma.Loop(2, 1, 1),))
SAMPLES = parts((ARRAY, ELASTIC, PRIVATE, CHAINED, LEFT, private_buffer.Run(0, 0), WRITTEN, MERGER, PRODUCTS, MEET, OUTER,
                 REQUEST, BEHIND, BEHIND.streams, command.COMMANDS, logic.OPERATIONS, TINY,
                 OPS, CONDITIONS, address_map(TINY)[0][2], MemSizes(), ScheduleSizes(32), TINY.config_map("pe").slots,
                 TINY.config_map("pe").sets, Counts()))
DECLARED = {each for module in pkgutil.iter_modules(sardonyx.hw.arch.__path__) if module.name != "check"
            for each in vars(importlib.import_module(f"sardonyx.hw.arch.{module.name}")).values()
            if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__module__.endswith(f".arch.{module.name}")}
FIELDS = [pytest.param(cls, name, each, id=f"{cls.__name__}.{name}")
          for cls in sorted(DECLARED, key=lambda cls: (cls.__name__, cls.__module__)) for name, each in ranges(cls).items()]


def outside(each: Range) -> tuple[object, ...]:
    """Values that a range just leaves out."""
    if isinstance(each, Whole):
        return each.low - 1, each.high + 1, float(each.low), str(each.low), np.float64(each.low), np.bool_(True), \
            *((3,) if isinstance(each, PowerOfTwo) else ())
    if isinstance(each, Real):
        return each.low - 1, each.high + 1, str(each.low)
    if isinstance(each, OneOf):
        return each.names[0].upper() + "?", ""
    if isinstance(each, Text):
        return "x" * (each.most + 1), "\ud800", *(("",) if each.least else ())
    return ("9", "a b", "", "é") if isinstance(each, Identifier) else (1,)


def test_every_class_of_descriptions_has_a_sample_here() -> None:
    assert {cls for cls in SAMPLES if cls.__module__.startswith("sardonyx.hw.arch.")} == DECLARED


@pytest.mark.parametrize("cls,name,each", FIELDS)
def test_a_value_that_a_field_cannot_have_is_refused(cls: type, name: str, each: Range) -> None:
    for value in (*STRANGE, *outside(each)):
        if not each.fits(value):
            with pytest.raises(UserError, match=f"{name} is "):
                dataclasses.replace(SAMPLES[cls], **{name: value})
    assert each.fits(getattr(SAMPLES[cls], name))


@pytest.mark.parametrize("cls,name,each", [each for each in FIELDS if isinstance(each.values[2], Whole)])
def test_a_number_of_numpy_becomes_one_of_python(cls: type, name: str, each: Range) -> None:
    value = getattr(SAMPLES[cls], name)
    again = dataclasses.replace(SAMPLES[cls], **{name: np.int64(value)})
    assert type(getattr(again, name)) is int and getattr(again, name) == value


def test_a_flag_of_numpy_becomes_one_of_python() -> None:
    assert MemSizes(replay=np.bool_(False)).replay is False


def test_a_number_without_a_range_is_no_declaration() -> None:
    @dataclasses.dataclass
    class Unbounded:
        wires: int = 1

    with pytest.raises(AssertionError, match=r"Unbounded\.wires needs a range"):
        ranges(Unbounded)


def test_rules_between_fields_are_read_when_every_field_fits() -> None:
    @dataclasses.dataclass
    class Pair:
        low: Annotated[int, Whole(0, 9)]
        high: Annotated[int, Whole(0, 9)]
        act: Callable[[], int] = int

        def __post_init__(self) -> None:
            check.check(self, "pair", lambda: [Misfit("low", "is above high", "swap them")] if self.low > self.high else [])

    globals()["Whole"] = Whole
    assert misfits(Pair, {"low": 3}) == []
    with pytest.raises(Misfits) as error:
        Pair(4, 3)
    assert str(error.value) == "pair: low is above high\n  try: swap them"
    with pytest.raises(Misfits) as error:
        Pair("4", 10)
    assert str(error.value) == ("pair: low is '4'; high is 10\n"
                                "  try: low: give a whole number 0..9; high: give a whole number 0..9")


@pytest.mark.parametrize("make,text", [
    (lambda: MemSizes(sram_lines=300), "mem: sram_lines is 300\n  try: give a power of two 4..16384"),
    (lambda: MemSizes(sram_lines=2), "mem: sram_lines is 2\n  try: give a power of two 4..16384"),
    (lambda: MemSizes(sram_lanes=1), "mem: sram_lanes is 1\n  try: give a power of two 2..64"),
    (lambda: MemSizes(sram_lines=16384), "mem: sram_lines is 16384, with 4 lanes more than the 32768 words that configuration "
                                         "reaches\n  try: give 8192 or less"),
    (lambda: dataclasses.replace(MEM, sipo_lines=3), "tile 'mem': sipo_lines is 3\n  try: give a whole number 1..2"),
    (lambda: dataclasses.replace(MEM, read_loops=0), "tile 'mem': read_loops is 0\n  try: give a whole number 1..16"),
    (lambda: dataclasses.replace(PE, pass_depth=-1), "tile 'pe': pass_depth is -1\n  try: give a whole number 2..256"),
    (lambda: dataclasses.replace(PE, pass_depth=2.5), "tile 'pe': pass_depth is 2.5\n  try: give a whole number 2..256"),
    (lambda: dataclasses.replace(PE, register_words=3),
     "tile 'pe': register_words is 3\n  try: give a power of two 2..32, or 0"),
    (lambda: dataclasses.replace(PE, primitives=(*PE.primitives, LEVEL)),
     "tile 'pe': primitives have level, whose stream ref is input in0, which the tile does not have\n  try: leave level out"),
    (lambda: dataclasses.replace(MEM, primitives=(ACCUMULATOR,), sram_lines=16, sram_lanes=16),
     "tile 'mem': sram_lines is 16, but an accumulator of 16 lanes needs 32, or one line would be of several outer "
     "coordinates\n  try: give more lines, fewer lanes or no accumulator"),
    (lambda: dataclasses.replace(PE, primitives=PE.primitives * 2),
     "tile 'pe': primitives have alu twice\n  try: give each once"),
    (lambda: dataclasses.replace(PE, ops="onyx"), "tile 'pe': ops is 'onyx'\n  try: give a tuple, each an Op"),
    (lambda: dataclasses.replace(PE, ops=()), "tile 'pe': ops are none, but the tile has an ALU\n  try: give one or more"),
    (lambda: dataclasses.replace(PE, ops=(*OPS, dataclasses.replace(OPS[0], name="nop"))),
     "tile 'pe': ops have nop, which is no operation of the ALU\n  try: choose among those of hw/arch/op.py"),
    (lambda: Glb(load_loops=0), "glb: load_loops is 0\n  try: give a whole number 1..27"),
    (lambda: Interconnect(switch_box="universal"), "interconnect: switch_box is 'universal'\n"
                                                   "  try: give one of wilton, imran, disjoint"),
    (lambda: dataclasses.replace(TINY, pe=MEM), "arch 'tiny': pe.kind is mem\n  try: give a tile of kind pe"),
    (lambda: dataclasses.replace(TINY, glb=Glb(1, load_loops=22)), "arch 'tiny': glb needs 68 registers a tile, more than 64\n"
                                                                   "  try: give fewer glb.load_loops or glb.store_loops"),
    (lambda: dataclasses.replace(TINY, columns=241),
     "arch 'tiny': columns are 241 in 241 GLB tiles, but 240 tiles have addresses\n"
     "  try: give more glb.columns_per_tile"),
    (lambda: dataclasses.replace(TINY, glb=Glb(1, bank_bytes=1 << 24, banks=128)),
     "arch 'tiny': glb has 4 tiles of 2147483648 bytes, more than 4294967296 in all\n"
     "  try: give less glb.bank_bytes or glb.banks"),
    (lambda: Field("form", 1, "", ("a", "b", "c")), "configuration field 'form': bits is 1, too few for 3 choices\n"
                                                    "  try: give more bits"),
])
def test_refusals_read_so(make: Callable[[], object], text: str) -> None:
    with pytest.raises(UserError) as error:
        make()
    assert str(error.value) == text


leaves = st.one_of(st.none(), st.booleans(), st.integers(-4, 300), st.sampled_from([0, 1, 2, 4, 8, 16, 512, 1 << 17, 10**300]),
                   st.floats(), st.text(max_size=5), st.sampled_from(["wilton", "imran", "disjoint", "split", "full", "none"]))
values = st.recursive(leaves, max_leaves=4, extend=lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)))


def places(raw: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every field."""
    return [path for name, value in raw.items()
            for path in ((*above, name), *(places(value, (*above, name)) if isinstance(value, dict) else ()))]


# Of a machine of a few tiles, so that accepted ones are made in no time.
RAW = TINY.to_json() | {"columns": 2, "rows": 2}


def small(raw: dict[str, Any]) -> None:
    """The properties of the machine of a description, if it is one and small; UserError if it is none."""
    arch = cgra.from_json(raw, "m.json")
    assert cgra.from_json(json.loads(json.dumps(arch.to_json()))) == arch
    assert arch.fingerprint and address_map(arch)
    assert all(arch.config_map(kind).words <= MEMORY_REGISTER for kind in ("pe", "mem", "io"))
    assert arch.columns * arch.rows > 40 or arch.graph.nodes


@given(st.dictionaries(st.sampled_from(places(RAW)), values, min_size=1, max_size=4))
def test_any_json_is_a_machine_or_refused(changes: dict[tuple[str, ...], Any]) -> None:
    raw = json.loads(json.dumps(RAW))
    for path, value in changes.items():
        within = raw
        for name in path[:-1]:
            within = within[name] if isinstance(within.get(name), dict) else {}
        within[path[-1]] = value
    try:
        small(raw)
    except UserError as error:
        assert error.where == "m.json" and len(str(error)) < 5000


def legal(each: Range) -> st.SearchStrategy[object]:
    """Values of a range."""
    if isinstance(each, PowerOfTwo):
        return st.sampled_from([1 << n for n in range(25) if each.low <= 1 << n <= each.high] + [0] * each.zero)
    if isinstance(each, Whole):
        return st.integers(each.low, each.high)
    return st.sampled_from(each.names) if isinstance(each, OneOf) else st.booleans()


SIZES = {(part, name): each for part, (cls, _, names) in cgra.PARTS.items() for name, each in ranges(cls).items()
         if name in names and isinstance(each, Whole | OneOf | check.Flag)}


@settings(max_examples=30)
@given(st.data())
def test_a_machine_of_sizes_in_their_ranges_has_all_that_follows_from_them(data: st.DataObject) -> None:
    raw = json.loads(json.dumps(RAW))
    for part, name in data.draw(st.sets(st.sampled_from(sorted(SIZES)), max_size=8)):
        raw[part][name] = data.draw(legal(SIZES[part, name]), label=f"{part}.{name}")
    try:
        small(raw)
    except Misfits as error:
        # Rules between fields.
        assert {each.path for each in error.misfits} <= {
            "columns", "glb", "glb.bank_macros", "glb.kept_bytes", "glb.packed", "mem.sram_lines"}
