"""Measure area and timing of the emitted Verilog in a cell library.

    make silicon LIBERTY=folder                       everything
    make silicon LIBERTY=folder ARGS="pe_odd row"     only these
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sardonyx.emission import emit_arch
from sardonyx.flow.asic.library import FAMILIES, find_library
from sardonyx.flow.asic.measure import COMPONENTS, component, measure, text
from sardonyx.hw.arch.errors import UserError


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(COMPONENTS)}, or a module; default: all of these")
    parser.add_argument("--liberty", metavar="PLACE", type=Path, required=True, help="folder of libraries, or one library")
    parser.add_argument("--library", metavar="NAME", default=FAMILIES[0].name, help="one of "
                        f"{', '.join(family.name for family in FAMILIES)} in the folder (default: %(default)s)")
    parser.add_argument("--preset", metavar="NAME", default="onyx", help="the machine (default: onyx)")
    parser.add_argument("--verilog", metavar="FOLDER", type=Path, help="of the machine; default: written anew")
    parser.add_argument("--only", choices=("area", "timing"), help="default: both")
    parser.add_argument("--no-points", action="store_true", help="paths without their points")
    options = parser.parse_args()
    try:
        library = find_library(options.liberty, options.library)
        with tempfile.TemporaryDirectory() as made:
            folder = options.verilog or Path(made)
            if options.verilog is None:
                emit_arch(options.preset, folder)
            for name in options.names or COMPONENTS:
                found = measure(component(folder, name), library, options.only != "timing", options.only != "area")
                for line in text(name, found, not options.no_points):
                    print(line, flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
