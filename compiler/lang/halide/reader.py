"""Read a Halide program: the bytes of `halide.serialize_pipeline` -> `Pipeline`.

Input:   the algorithm as serialized by the pinned Halide, before any lowering, with its schedule.
Errors:  UserError for another serialization version, bytes that are no pipeline or not all of one, parameters without a
         value, and what the language has but `Pipeline` has not (extern stages, atomic updates, requirements, ...):
         named with the Func and the reason.
Cost:    10 ms for a 3 x 3 stencil; a tenth of a second for 1000 operations.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter

import numpy as np

from sardonyx.hw.arch.errors import UserError

from .decode import Decoder, read_type
from .flat import Damaged, File, Record
from .intrinsics import is_integer, limits
from .names import plain_names
from .pipeline import BOOL, INT32, Expr, Func, Input, Number, Pipeline, Range, Split, Type, Update, Variable
from .schema import VERSION
from .walk import accesses, definition, postorder

_WRITER = "halide.serialize_pipeline of halide 21.0.0"
# Of an input; Halide's own arrays have rarely more than four.
MOST_DIMENSIONS = 16


def read(data: bytes, parameters: Mapping[str, int | float] | None = None, origin: str = "") -> Pipeline:
    """The pipeline of a file.

    Parameters
    ----------
    data : bytes             Of ``halide.serialize_pipeline(halide.Pipeline(...))`` or a .hlpipe file.
    parameters : mapping     Values of the scalar parameters (``halide.Param``) by name; files hold none.
    origin : str             Where the bytes come from, for errors.
    """
    root = _root(data, origin)
    try:
        return _pipeline(root, parameters or {}, origin)
    except Damaged as damage:
        raise UserError(f"the serialized Halide pipeline is damaged: {damage}", origin, f"write it again with {_WRITER}") \
            from None


def _root(data: bytes, origin: str) -> Record:
    try:
        root = Record("Pipeline", File(data), struct.unpack_from("<I", data)[0])
        version = root.text("serialization_version")
    except (Damaged, struct.error):
        version = ""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise UserError("this is not a serialized Halide pipeline", origin, f"give the bytes of {_WRITER}")
    if version != VERSION:
        raise UserError(f"the pipeline has serialization version {version} but {VERSION} is read", origin,
                        f"write it with {_WRITER}")
    return root


def _pipeline(root: Record, values: Mapping[str, int | float], origin: str) -> Pipeline:
    if root.count("requirements"):
        raise UserError("the pipeline has requirements, which are checked at run time", origin,
                        "leave out add_requirement")
    records = {record.text("name"): record for record in root.records("funcs")}
    images: dict[str, Input] = {}
    for image in _images(root):
        if image.name in records or image.name in images:
            raise UserError(f"an input and a {'Func' if image.name in records else 'second one'} are both called {image.name}",
                            origin, "rename one of them")
        images[image.name] = image
    types = {}
    for name, record in records.items():
        with _place(_func_place(name, origin)):
            types[name] = tuple(map(read_type, record.records("output_types")))
    decoder = Decoder(types, {name: len(record.texts("args")) for name, record in records.items()},
                      {name: (each.type, each.dimensions) for name, each in images.items()},
                      _parameters(root, values, origin))
    outputs = root.texts("output_names")
    if not outputs:
        raise Damaged("it has no outputs")
    found = _reachable(records, outputs, lambda name: _func(records[name], decoder, _func_place(name, origin)))
    used = {access.name for func in found.values() for access in accesses(func)}
    used_images = {name: image for name, image in images.items() if name in used}
    return plain_names(Pipeline(found, used_images, outputs, decoder.parameters))


def _func_place(name: str, origin: str) -> str:
    return f"{origin}: Func {name}" if origin else f"Func {name}"


def _reachable(records: Mapping[str, Record], outputs: tuple[str, ...], read: Callable[[str], Func]) -> dict[str, Func]:
    """The Funcs that the outputs need, producers first."""
    funcs: dict[str, Func] = {}
    order: TopologicalSorter[str] = TopologicalSorter()
    waiting = list(reversed(outputs))
    while waiting:
        name = waiting.pop()
        if name in funcs:
            continue
        if name not in records:
            raise Damaged(f"Func {name} is called but not there")
        funcs[name] = read(name)
        producers = list(dict.fromkeys(each.name for each in accesses(funcs[name]) if each.name in records))
        # A Func may read itself in its updates.
        order.add(name, *(each for each in producers if each != name))
        waiting += reversed(producers)
    try:
        return {name: funcs[name] for name in order.static_order()}
    except CycleError as cycle:
        raise Damaged(f"the Funcs {', '.join(cycle.args[1])} call each other in a circle") from None


def _images(root: Record) -> Iterator[Input]:
    # The other table of parameters holds the output buffer of every Func.
    for record in root.records("external_parameters"):
        if record.flag("is_buffer"):
            name, dimensions = record.text("name"), record.integer("dimensions")
            _check_dimensions(f"input {name}", dimensions)
            yield Input(name, read_type(record.record("type")), dimensions)
    for record in root.records("buffers"):
        yield _buffer(record)


def _check_dimensions(what: str, count: int) -> None:
    if not 0 <= count <= MOST_DIMENSIONS:
        raise Damaged(f"{what} has {count} dimensions")


def _buffer(record: Record) -> Input:
    """A constant Buffer. Its data are a dense copy in the order of its strides, whatever these are.

    Halide writes only one of several Buffers that have one name; nothing in the file tells.
    """
    name, type_ = record.text("name"), read_type(record.record("type"))
    dims = record.records("dims")
    _check_dimensions(f"Buffer {name}", len(dims))
    extents = tuple(each.integer("extent") for each in dims)
    strides = tuple(each.integer("stride") for each in dims)
    dtype = np.dtype("bool" if type_.bits == 1 else f"{type_.kind}{type_.bits}") if is_integer(type_) \
        else {("float", 32): np.dtype("<f4"), ("float", 64): np.dtype("<f8")}.get((type_.kind, type_.bits))
    if dtype is None:
        raise UserError(f"it holds {type_}", f"Buffer {name}", "give its contents as integers, float32 or float64")
    content = record.bytes("data")
    if min((1, *extents)) < 1 or len(content) != math.prod(extents) * dtype.itemsize:
        raise Damaged(f"Buffer {name} of {' x '.join(map(str, extents))} {type_} has {len(content)} bytes")
    # NumPy puts the first axis outermost, so the dimension with the largest stride comes first.
    order = sorted(range(len(dims)), key=lambda dim: -abs(strides[dim]))
    stored = np.frombuffer(content, dtype.newbyteorder("<")).reshape([extents[dim] for dim in order])
    x_last = stored.transpose([order.index(dim) for dim in reversed(range(len(dims)))])
    return Input(name, type_, len(dims), tuple(x_last.ravel().tolist()), tuple(each.integer("min") for each in dims), extents)


def _parameters(root: Record, values: Mapping[str, int | float], origin: str) -> Mapping[str, Number]:
    scalars = {record.text("name"): read_type(record.record("type")) for table in ("parameters", "external_parameters")
               for record in root.records(table) if not record.flag("is_buffer")}
    for name in values:
        if name not in scalars:
            raise UserError(f"parameter {name} is not in the pipeline", origin,
                            f"give values for {', '.join(sorted(scalars))}" if scalars else "give no parameters")
    missing = [f"{name} ({type_})" for name, type_ in sorted(scalars.items()) if name not in values]
    if missing:
        raise UserError(f"no value for the parameters {', '.join(missing)}", origin, "give a value for each by its name")
    return {name: _parameter(name, type_, values[name], origin) for name, type_ in scalars.items()}


def _parameter(name: str, type_: Type, value: int | float, origin: str) -> Number:
    if not is_integer(type_):
        return Number(type_, float(value))
    low, high = limits(type_)
    if not (isinstance(value, int) or value.is_integer()) or not low <= value <= high:
        raise UserError(f"parameter {name} is {value} but its type {type_} holds whole numbers from {low} to {high}", origin,
                        "give such a value")
    return Number(type_, int(value))


def _func(record: Record, decoder: Decoder, where: str) -> Func:
    name, pure, schedule = record.text("name"), record.record("init_def"), record.record("func_schedule")
    if record.text("extern_function_name"):
        raise UserError(f"it is an extern stage, the C function {record.text('extern_function_name')}", where,
                        "write it as a Halide expression")
    if pure is None:
        raise UserError("it has no definition", where, "define it before serializing")
    if schedule is None:
        raise Damaged(f"Func {name} has no schedule")
    args, types = record.texts("args"), decoder.funcs[name]
    values = _values(pure, decoder, f"{where}, pure definition")
    if tuple(value.type for value in values) != types or not types:
        raise Damaged(f"the values of Func {name} have other types than it")
    if len(set(args)) < len(args):
        raise Damaged(f"Func {name} has two arguments of one name")
    updates = tuple(_update(each, decoder, f"{where}, update {at}", types, len(args))
                    for at, each in enumerate(record.records("updates")))
    func = Func(name, args, types, values, updates, _schedule(record, pure, schedule, decoder),
                _bounds(schedule, "bounds", decoder))
    _check_variables(func, decoder)
    return func


def _check_variables(func: Func, decoder: Decoder) -> None:
    """Every variable is an argument, of the update's domain, or the place of an input."""
    places = {f"{name}.{what}.{dim}" for name, (_, dimensions) in decoder.images.items()
              for what in ("min", "extent") for dim in range(dimensions)}
    for update in (None, *func.updates):
        known = {*places, *func.args, *(each.name for each in (update.domain if update else ()))}
        for part in postorder(*(definition(update) if update else func.values)):
            if isinstance(part, Variable) and (part.name not in known or part.type != INT32):
                raise Damaged(f"Func {func.name} has no variable {part.name}")


def _schedule(record: Record, pure: Record, schedule: Record, decoder: Decoder) -> dict[str, object]:
    compute, store = _level(schedule, "compute_level"), _level(schedule, "store_level")
    # A Func is stored where it is computed unless the program says more.
    return {"compute": compute, "store": compute if store == "inline" else store, "memory": schedule.choice("memory_type"),
            **_loops(pure, decoder),
            "updates": tuple(_loops(each, decoder) for each in record.records("updates")),
            "estimates": _bounds(schedule, "estimates", decoder),
            "others": tuple(dict.fromkeys(_others(record, schedule)))}


def _values(record: Record, decoder: Decoder, where: str) -> tuple[Expr, ...]:
    for each in record.records("specializations"):
        if each.text("failure_message"):
            raise UserError("it has a specialization that fails", where, "leave out specialize_fail")
    schedule = record.record("stage_schedule")
    if schedule is not None and schedule.flag("atomic"):
        raise UserError("it is an atomic update", where, "leave out atomic()")
    with _place(where):
        return decoder.exprs(record.members("values"))


def _update(record: Record, decoder: Decoder, where: str, types: tuple[Type, ...], count: int) -> Update:
    values = _values(record, decoder, where)
    schedule = record.record("stage_schedule")
    ranges = schedule.records("rvars") if schedule is not None else ()
    with _place(where):
        args, predicate = decoder.exprs(record.members("args")), decoder.expr(record.member("predicate"))
        domain = tuple(Range(each.text("var"), decoder.expr(each.member("min")), decoder.expr(each.member("extent")))
                       for each in ranges)
    indices = (*args, *(part for each in domain for part in (each.start, each.extent)))
    if tuple(value.type for value in values) != types or len(args) != count or predicate.type != BOOL \
            or any(each.type != INT32 for each in indices):
        raise Damaged("an update does not fit its Func")
    always = isinstance(predicate, Number) and predicate.value == 1
    return Update(args, values, domain, None if always else predicate)


@contextmanager
def _place(where: str) -> Iterator[None]:
    """Gives errors without a place this one."""
    try:
        yield
    except UserError as error:
        if error.where:
            raise
        raise UserError(error.what, where, error.fix) from None


def _level(schedule: Record, field: str) -> str:
    level = schedule.record(field)
    if level is None or not level.text("var_name"):
        return "inline"
    return "root" if level.text("var_name") == "__root" else f"{level.text('func_name')}.{level.text('var_name')}"


def _loops(record: Record, decoder: Decoder) -> dict[str, object]:
    schedule = record.record("stage_schedule")
    if schedule is None:
        return {"splits": (), "loops": (), "unrolled": (), "kinds": {}}
    dims = [(each.text("var"), each.choice("for_type")) for each in schedule.records("dims")]
    return {"splits": tuple(_split(each, decoder) for each in schedule.records("splits")),
            "loops": tuple(name for name, _ in dims if name != "__outermost"),
            "unrolled": tuple(name for name, kind in dims if kind == "unrolled"),
            "kinds": {name: kind for name, kind in dims if kind != "serial"}}


def _others(record: Record, schedule: Record) -> Iterator[str]:
    """What a program says of a Func that is neither a loop nor a level: the names of the directives."""
    for stage in (record.record("init_def"), *record.records("updates")):
        loops = stage.record("stage_schedule") if stage is not None else None
        if stage is None or loops is None:
            continue
        fused = loops.record("fuse_level")
        if fused is not None and _level(fused, "fuse_level") != "inline":
            yield "compute_with"
        if stage.count("specializations"):
            yield "specialize"
        if loops.count("prefetches"):
            yield "prefetch"
        if any(each.integer("partition_policy") for each in loops.records("dims")):
            yield "partition"
        if any(each.text("var") == "__outermost" and each.integer("device_api") for each in loops.records("dims")):
            yield "hexagon"
    if _level(schedule, "hoist_storage_level") != "inline":
        yield "hoist_storage"
    for field, name in (("memoized", "memoize"), ("async", "async")):
        if schedule.flag(field):
            yield name
    if _given(schedule, "ring_buffer"):
        yield "ring_buffer"
    storage = schedule.records("storage_dims")
    if tuple(each.text("var") for each in storage) != record.texts("args"):
        yield "reorder_storage"
    for field, name in (("alignment", "align_storage"), ("bound", "bound_storage"), ("fold_factor", "fold_storage")):
        if any(_given(each, field) for each in storage):
            yield name
    for each in schedule.records("bounds"):
        if _given(each, "modulus"):
            yield "align_bounds"
        elif not _given(each, "min"):
            yield "bound_extent"


def _given(record: Record, field: str) -> bool:
    """Whether an expression is there."""
    member = record.member(field)
    return member is not None and member.table != "UndefinedExpr"


def _split(record: Record, decoder: Decoder) -> Split:
    return Split(record.choice("split_type"), record.text("old_var"), record.text("outer"), record.text("inner"),
                 _constant(record, "factor", decoder))


def _bounds(schedule: Record, field: str, decoder: Decoder) -> dict[str, tuple[int, int]]:
    found = {}
    for each in schedule.records(field):
        # `bound_extent` says no start; outputs begin at 0.
        start = _constant(each, "min", decoder) if _given(each, "min") else 0
        extent = _constant(each, "extent", decoder)
        if start is not None and extent is not None:
            found[each.text("var")] = (start, extent)
    return found


def _constant(record: Record, field: str, decoder: Decoder) -> int | None:
    """The value of an expression if it is a number."""
    if not _given(record, field):
        return None
    expr = decoder.expr(record.member(field))
    return int(expr.value) if isinstance(expr, Number) else None
