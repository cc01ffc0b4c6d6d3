"""Measure area, timing and energy of the emitted Verilog in a cell library, and write the tables of docs/silicon.md.

    make silicon LIBERTY=folder                        everything, about an hour when nothing is cached; writes the tables
    make silicon LIBERTY=folder ARGS="pe_odd row"      components or any module: parts, and points of paths
    make silicon LIBERTY=folder ARGS="pe"              both parities
    make silicon LIBERTY=folder ARGS="delays ratios"   other tables; ARGS=pe_sparse is one row of the ratios
    make silicon LIBERTY=folder ARGS="domains"         what power domains, walls and stalls take: area of tiles, delays of a hop
    make silicon LIBERTY=folder ARGS=beside            shells of several regions, the processor's host, the crossing of clocks
    make silicon LIBERTY=folder ARGS="energy --write"  what flops, changes and leakage take, for `sardonyx run --power`
    make silicon LIBERTY=folder ARGS=spatial           a generated spatial array against one written by hand
    make silicon ARGS=gain                             what pipelining gains the programs of apps/dense; needs no library
    make silicon ARGS=power                            the energy of programs by kind of tile; needs no library

Without OpenSTA, or without LIBERTY, it says what is missing and ends well: nothing else depends on it. What is given and wrong
is told with exit code 2.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np

from sardonyx.compiler.dense.map.product import find
from sardonyx.compiler.halide import compile_halide
from sardonyx.emission import emit_arch
from sardonyx.flow.asic import report
from sardonyx.flow.asic.beside import BESIDE, beside
from sardonyx.flow.asic.delays import delays, lines
from sardonyx.flow.asic.energy import measured
from sardonyx.flow.asic.gain import unpipelined_ps
from sardonyx.flow.asic.library import FAMILIES, Library, find_library
from sardonyx.flow.asic.measure import COMPONENTS, component, measure, text
from sardonyx.flow.asic.power import COMPLETE, write
from sardonyx.flow.asic.synthesis import Registers
from sardonyx.flow.asic.timing import find_sta
from sardonyx.flow.asic.variants import COMPARISONS, DOMAINS, Change, Comparison, compare, hops, walls, with_options
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "silicon.md"
RATIOS = {each.name: each for each in COMPARISONS}
PAIRS = ("pe", "mem", "io")
GAIN, POWER, ENERGY, PROTECTION, AROUND, SPATIAL = "gain", "power", "energy", "domains", "beside", "spatial"
# Tables that need no library.
PROGRAMS = (GAIN, POWER)
# What is shown of the energies.
SHOWN = ("alu", "level", "buffer", "boxes_pe_data_odd", "stage_register_17", "fifo2_w17", "joiner", "reducer", "glb_tile")


def chosen(names: list[str]) -> list[str]:
    """What to measure: `pe` is both parities, `ratios` every comparison, `beside` all of that; nothing is everything."""
    found = []
    groups = {**{name: [f"{name}_odd", f"{name}_even"] for name in PAIRS}, "ratios": [*RATIOS], AROUND: [*BESIDE]}
    for name in names or [*COMPONENTS, AROUND, "delays", ENERGY, "ratios", PROTECTION, SPATIAL, GAIN, POWER]:
        found += groups.get(name, [name])
    return list(dict.fromkeys(found))


def gain(preset: str) -> dict[str, report.Gain]:
    """The programs of apps/dense with and without registers in the interconnect."""
    # Imports the simulators, a second that only this needs.
    from bench_pictures import DENSE, pipeline_of

    arch, found = presets.get(preset), {}
    for name in DENSE:
        pipeline = pipeline_of(name)
        if find(pipeline) is None:
            compiled = compile_halide(pipeline, arch, (62, 62))
            found[name] = report.Gain(compiled.tiles["pe"], compiled.tiles["mem"], compiled.timing.delay_ps,
                                      unpipelined_ps(compiled.graph, compiled.routing.hops, arch))
    return found


def powers(preset: str, say: Callable[[str], None]) -> dict[str, report.Run]:
    """The energy of sparse kernels and of dense programs."""
    # Imports the simulators, a second that only this needs.
    from sardonyx import api, halide

    def run(name: str, found: api.Result) -> None:
        power = found.report["power"]
        assert isinstance(power, dict), "it was asked for"
        runs[name] = report.Run.of(power)
        say(f"{name}: {power['pj']:,.0f} pJ, gated {power['pj_gated']:,.0f} pJ")

    runs: dict[str, report.Run] = {}
    for name in ("vec_elemmul", "spmv", "spmspm", "sddmm", "mttkrp"):
        run(name, api.kernel(name, arch=preset, power=COMPLETE))
    generator = np.random.default_rng(0)
    for name in ("pointwise", "gaussian", "harris"):
        program, photo = import_module(f"sardonyx.apps.dense.{name}").build(), generator.integers(0, 256, (64, 64), np.uint8)
        run(name, halide.run(program, inputs={"photo": photo}, arch=preset, power=COMPLETE))
    return runs


def spatial_table(library: Library) -> str:
    """A generated spatial array beside the one written by hand."""
    # Imports the simulators, a second that only this needs.
    from bench_commands import SIZES
    from bench_spatial import energy_per_mac, silicon

    found = silicon(library)
    return report.table(("weight-stationary, int8", "by hand, sums of 32 bits", "by hand, of as many as generated", "generated",
                         "to as many", "paper"), (
        (what, f"{wide:,.0f}", f"{by_hand:,.0f}", f"{ours:,.0f}", f"{ours / by_hand - 1:+.1%}", paper)
        for what, (wide, by_hand, ours), paper in (
            ("16 x 16, um2, enables as multiplexers", found.enables, "+26 %, the array"),
            ("16 x 16, um2, the same, the generated one waits by one clock gate", found.one_gate, ""),
            ("16 x 16, um2, with clock gates", found.gates, ""),
            ("4 x 4, shortest period, ps", found.period_ps, "+43 %, 1,000 to 1,429 ps, the accelerator"),
            ("the same, each module mapped alone", found.by_module_ps, ""),
            ("16 x 16, the same, sums in the trees of products", found.large_ps, ""),
            ("16 x 16, the same, with clock gates", found.large_gates_ps, ""),
            ("16 x 16, the same, the generated one waits by one clock gate", found.gated_ps, ""),
            *((f"{size} x {size}, fJ a product and sum, nothing gated", energy_per_mac(library, size),
               "+7 to +30 %, the accelerator") for size in SIZES))))


def parts_table(library: Library) -> str:
    """Parts of spatial arrays, of which one is larger than the other."""
    from bench_parts import parts

    return report.table(("um2", "the first", "the second", "ratio"), (
        (what, f"{small:,.0f}", f"{large:,.0f}", f"{large / small:.1f}") for what, small, large in parts(library)))


def lanes_table(library: Library) -> str:
    """Lanes of mergers that take one element in a cycle."""
    from bench_parts import lane_periods

    return report.table(("ways of a lane", "um2", "shortest period, ps"), (
        (str(ways), f"{um2:,.0f}", f"{ps:,.0f}") for ways, um2, ps in lane_periods(library)))


def changes(each: Comparison, library: Library, made: Path) -> dict[Registers, Change]:
    """What a comparison comes to, with registers made in two ways."""
    return {way: compare(each, library, made / "variants", way) for way in (Registers.ENABLES, Registers.LATCHES)}


def of_programs(options: argparse.Namespace, say: Callable[[str], None]) -> Iterator[dict[str, str]]:
    """Tables that need no library, of those asked for."""
    names = chosen(options.names)
    if GAIN in names:
        found = report.gain_table(gain(options.preset))
        say(found)
        yield {GAIN: found}
    if POWER in names:
        found = report.power_table(powers(options.preset, say))
        say(found)
        yield {POWER: found}


@dataclass(frozen=True)
class Place:
    """What is asked for, the library, the Verilog of the machine, a folder for that of others, and who is told."""

    options: argparse.Namespace
    library: Library
    folder: Path
    made: Path
    say: Callable[[str], None]

    @property
    def parts(self) -> tuple[bool, bool]:
        """Whether areas and whether timing is asked for."""
        return self.options.only != "timing", self.options.only != "area"


def _components(names: list[str], at: Place) -> dict[str, str]:
    found = {}
    for name in names:
        found[name] = measure(component(at.folder, name), at.library, *at.parts)
        at.say("\n".join(text(name, found[name], not at.options.no_points)))
    return {"areas": report.area_table(found), "paths": report.path_table(found)}


def _beside(names: list[str], at: Place) -> dict[str, str]:
    found = {}
    for name in names:
        found[name] = beside(name, at.library, at.made / "beside", *at.parts)
        at.say("\n".join(text(name, found[name], not at.options.no_points)))
    return {"beside": report.area_table(found), "beside paths": report.path_table(found)}


def _delays(names: list[str], at: Place) -> dict[str, str]:
    found = delays(at.folder, at.library)
    at.say("\n".join(lines(found)))
    return {"delays": report.delay_table(found, asdict(presets.get(at.options.preset).timing))}


def _energies(names: list[str], at: Place) -> dict[str, str]:
    """Of the library, and where all is measured of each one in the folder."""
    tables = {}
    for library in [at.library] if at.options.names else each_library(at.options.liberty, at.library):
        found = measured(at.folder, library, at.say)
        if at.options.preset == "onyx":
            for n, arch in enumerate(with_options(presets.get(at.options.preset))):
                emit_arch(arch, at.made / f"options{n}")
                found |= measured(at.made / f"options{n}", library, at.say, found)
        if at.options.write:
            family = library.family
            write(family.name, {module: each.rates for module, each in found.items()})
            tables[f"energies {family.name}"] = report.energy_table(family.name, family.conditions, SHOWN)
    return tables


def _protection(names: list[str], at: Place) -> dict[str, str]:
    tables = {"hops": report.hop_table(hops(at.library, at.made / "variants")),
              "walls": report.wall_table(walls(at.library, at.made / "variants"))}
    at.say(f"{tables['hops']}\n{tables['walls']}")
    tables[PROTECTION] = report.ratio_table({each: changes(each, at.library, at.made) for each in DOMAINS})
    at.say(tables[PROTECTION])
    return tables


def _spatial(names: list[str], at: Place) -> dict[str, str]:
    tables = {SPATIAL: spatial_table(at.library), "spatial parts": parts_table(at.library),
              "spatial lanes": lanes_table(at.library)}
    at.say("\n\n".join(tables.values()))
    return tables


def _ratios(names: list[str], at: Place) -> dict[str, str]:
    found = {}
    for name in names:
        found[RATIOS[name]] = changes(RATIOS[name], at.library, at.made)
        at.say("\n".join(f"{name} with {way.value}: {ours} um2" for way, ours in found[RATIOS[name]].items()))
    return {"ratios": report.ratio_table(found)}


def each_library(place: Path, first: Library) -> list[Library]:
    """A library, and those of the other families in its folder."""
    found = [first]
    for family in FAMILIES:
        if place.is_dir() and family != first.family:
            with suppress(UserError):
                found.append(find_library(place, family.name))
    return found


def of_modules(options: argparse.Namespace, library: Library, say: Callable[[str], None]) -> Iterator[dict[str, str]]:
    """Tables of what is measured in a library, of those asked for, group by group: what was measured stays if one fails."""
    named: dict[Callable[[list[str], Place], dict[str, str]], list[str]] = {}
    groups = {"delays": _delays, ENERGY: _energies, PROTECTION: _protection, SPATIAL: _spatial,
              **dict.fromkeys(RATIOS, _ratios), **dict.fromkeys(BESIDE, _beside)}
    for name in chosen(options.names):
        if name not in PROGRAMS:
            named.setdefault(groups.get(name, _components), []).append(name)
    if not named:
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.verilog or Path(made, "machine")
        if options.verilog is None:
            emit_arch(options.preset, folder)
        for group, names in named.items():
            yield group(names, Place(options, library, folder, Path(made), say))


def lacking(options: argparse.Namespace) -> UserError | None:
    """What is not here that nobody has to have."""
    if options.names and set(options.names) <= set(PROGRAMS):
        return None
    if options.liberty is None:
        return UserError("no cell library is given", fix="make silicon LIBERTY=folder; docs/silicon.md says where some are")
    if options.only != "area":
        try:
            find_sta()
        except UserError as error:
            return error
    return None


def main() -> int:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of "
                        f"{', '.join(COMPONENTS)}, a module, delays, domains, energy, gain, power, ratios, beside, "
                        f"{', '.join(BESIDE)}, "
                        f"{', '.join(RATIOS)}; "
                        "default: all of these")
    parser.add_argument("--liberty", metavar="PLACE", type=Path, help="folder of libraries, or one library")
    parser.add_argument("--library", metavar="NAME", default=FAMILIES[0].name, help="one of "
                        f"{', '.join(family.name for family in FAMILIES)} in the folder (default: %(default)s)")
    parser.add_argument("--preset", metavar="NAME", default="onyx", help="the machine (default: onyx)")
    parser.add_argument("--verilog", metavar="FOLDER", type=Path, help="of the machine; default: written anew")
    parser.add_argument("--only", choices=("area", "timing"), help="default: both")
    parser.add_argument("--no-points", action="store_true", help="paths without their points")
    parser.add_argument("--write", action="store_true", help="also write the tables of what is measured; done if all of it is")
    options = parser.parse_args()
    if not options.names and options.preset == "onyx" and options.only is None:
        options.write = True
    try:
        library = None if options.liberty is None else find_library(options.liberty, options.library)
        if missing := lacking(options):
            print(f"skipped: {missing}", file=sys.stderr)
            return 0
        def say(words: str) -> None:
            print(words, flush=True)

        begun = time.monotonic()
        # With everything measured on `onyx`, the tables are written. The energy of programs is that of modules, so it is last.
        for tables in chain(() if library is None else of_modules(options, library, say), of_programs(options, say)):
            for name, content in tables.items() if options.write else ():
                report.put(DOCUMENT, name, content)
            say(f"{', '.join(tables)}: measured {(time.monotonic() - begun) / 60:.0f} minutes after the start")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
