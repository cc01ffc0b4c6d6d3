"""Graphs of the public Sparse Abstract Machine tools, from their file to a checked result."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from . import arguments
from .compiler.graph import compile_graph
from .compiler.ir.graphviz import MOST_BYTES
from .compiler.ir.sam import SamGraph
from .compiler.ir.sam_dot import to_dot
from .compiler.ir.sam_kept import KeptScanner
from .compiler.ir.sam_levels import Values
from .compiler.ir.sam_read import Reading, read_sam
from .compiler.lang.einsum import parse
from .dump import Dump, beside
from .execute import Result, execute, options
from .graph_job import GraphData, GraphJob, check_statement, graph_data
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError, shown
from .machines import named, on_smallest
from .options import VALUES
from .outcome import silent
from .runtime.device import Device
from .sim import engines
from .tensors import values as tensors
from .tensors.content import read_content
from .tensors.coordinates import Coo
from .tensors.fibertree import DENSE, Format, build, flatten
from .tensors.files import read_tensor
from .tensors.level_files import file_name, read_levels, written

FILES = ("1_sam.txt", "1_sam.json", "1_sam.dot", "2_mapped.txt", "3_balanced.txt", "4_placement.json", "5_routing.txt",
         "app.bits", "program.json", "array.svg")
ENDINGS = (".mtx", ".mtx.gz", ".tns", ".tns.gz", ".npy")


def graph(file: str | Path, /, *, folder: str | Path | None = None, statement: str | None = None, out: str | Path | None = None,
          arch: str | Arch | None = None, engine: str | Device = "rtl", values: str = "exact", dump: str | Path | None = None,
          seed: int = 0, progress: Callable[[str], None] = silent, power: str | None = None, avoid: object = None,
          counters: bool = False, **operands: object) -> Result:
    """Run a graph in the Graphviz dialect of the public Sparse Abstract Machine tools on whole operands.

    Parameters
    ----------
    file : Path             The graph, such as ``matmul.gv``.
    folder : Path           Where its operands are: ``B.mtx``, ``.tns``, ``.npy``, or ``tensor_B_mode_0_seg`` and its like.
    statement : str         What the graph should compute: the result is compared with NumPy. Without it every word is compared
                            with the token model only.
    out : Path              Folder for the result, as files of the same kind as ``tensor_B_mode_0_seg``.
    operands                By name of the tensor, as of `einsum`; they come before what is in the folder.

    The other parameters are those of `einsum`. Raises UserError for whatever does not fit; nothing is run then.
    """
    began = time.perf_counter()
    path, progress = Path(file), arguments.function("progress", progress)
    arguments.choice("way to take values", values, VALUES)
    how = options(engine, named(arch, engine), dump, seed, FILES, power, avoid, counters)
    if how.engine == engines.GOLDEN:
        raise UserError("engine golden computes statements, not graphs", "engine",
                        "choose tokens, fabric or rtl; statement compares with NumPy")
    program = None if statement is None else parse(arguments.text("statement", statement))
    reading = read_graph(path)
    place = None if folder is None else Path(folder)
    found = _operands(reading, place, operands, values, how.seed, path.name)
    progress("running the graph on the token model")
    data = graph_data(reading, found, how.arch.mem.level_words, path.name)
    if program is not None:
        check_statement(data, program, path.name)
    files = _result_files(data) if out is not None else {}
    written = None if out is None else Dump.made(out)
    if written is not None:
        written.check(files)

    result = on_smallest(arch, how, progress, lambda each: execute(
        each, lambda tell: GraphJob(compile_graph(data.reading.graph, each.arch, each.seed, tell, words=data.words), data,
                                    program), began,
        progress))
    if written is not None:
        written.write(files)
    return result


def read_graph(path: Path) -> Reading:
    """The graph in a file."""
    return read_sam(read_content(path, MOST_BYTES, "give the path of a Graphviz file").decode(errors="replace"), path.name)


def write_graph(sam: SamGraph, path: Path) -> Path:
    """Write a graph in the dialect, to a file that is not there or that was written so before; its place."""
    result = next(iter(sam.formats))
    if any(isinstance(op, KeptScanner) for op in sam.nodes.values()):
        raise UserError(f"sums around dense levels of {result} stay in MEM tiles, for which the public tools have no node",
                        str(path), f"give {result} compressed levels, or an order in which its loops are outside of the sums")
    folder, name = beside(path, "graph", ".gv", ".dot")
    folder.write({name: to_dot(sam)})
    return folder.folder / name


def _operands(reading: Reading, folder: Path | None, given: Mapping[str, object], values: str, seed: int, name: str
              ) -> dict[str, Coo]:
    """The operands of a graph by tensor."""
    wanted = dict.fromkeys(reading.tensors.values())
    for tensor in given:
        if tensor not in wanted:
            raise UserError(f"the graph reads no tensor {shown(tensor)}", name, f"name one of {', '.join(wanted)}")
    looked_up = {reading.tensors[op.slot] for op in reading.graph.nodes.values() if isinstance(op, Values)}
    found = dict[str, Coo]()
    for tensor in wanted:
        form = reading.formats.get(tensor) or Format("", ())
        if tensor not in given:
            found[tensor] = _from_folder(folder, tensor, form, values, seed, tensor not in looked_up)
        elif isinstance(value := given[tensor], str | Path):
            found[tensor] = _scalar(read_tensor(value, values, seed), form)
        else:
            found[tensor] = _scalar(tensors.to_coo(value, tensor), form)
    return found


def _from_folder(folder: Path | None, tensor: str, form: Format, values: str, seed: int, pattern: bool) -> Coo:
    """An operand in a folder; pattern: only its coordinates matter."""
    if folder is None:
        raise UserError(f"tensor {tensor} has no operand", "operands", "give it by name, or a folder that has it")
    names = [f"{tensor}{ending}" for ending in ENDINGS]
    whole = [folder / name for name in names if (folder / name).is_file()]
    apart = [path for path in folder.glob(f"tensor_{tensor}_mode_*") if re.fullmatch(r"vals|shape|[0-9]+_(seg|crd)",
                                                                                  path.name[len(f"tensor_{tensor}_mode_"):])]
    if not folder.is_dir():
        raise UserError("there is no such folder", str(folder), "name the folder of the operands, or give each by name")
    if len(whole) + bool(apart) > 1:
        both = [path.name for path in whole] + [path.name for path in apart[:1]]
        raise UserError(f"tensor {tensor} is there more than once: {', '.join(sorted(both))}", str(folder),
                        "leave one of them there")
    if not whole and not apart:
        raise UserError(f"there is no tensor {tensor}", str(folder),
                        f"put {names[0]}, {names[2]} or {names[4]} there, or {file_name(tensor, 'vals')} and its like")
    if whole:
        return _scalar(read_tensor(whole[0], values, seed), form)
    return read_levels(folder, tensor, form, values, seed, pattern)


def _scalar(tensor: Coo, form: Format) -> Coo:
    """An operand; of a scalar, which files hold as one element, that number."""
    if form.rank or tensor.shape != (1,):
        return tensor
    return Coo.make((), tensor.coords[:, :0], tensor.values)


def _result_files(data: GraphData) -> Mapping[str, str]:
    """The result as files: as it is stored, or, if its format has dense levels, stored anew so."""
    reading, tree = data.reading, data.tree
    form = reading.formats[reading.result]
    if DENSE in form.letters:
        tree = build(flatten(tree), form)
    return written(reading.result, tree)
