"""Build the preset `fpga` for the boards, and write what came of it to docs/boards.md, with the picture of the floorplan.

    make board                         ulx3s-85f to a bitstream, arty-a7-100 synthesised; an hour on two slow cores
    make board ARGS="arty-a7-100"      one of them
    make board ARGS="--until synthesis"     no place and route
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from sardonyx.board import build_board
from sardonyx.boards.targets import TARGETS
from sardonyx.cli.board import UNTIL
from sardonyx.cli.console import Console
from sardonyx.flow.asic.report import put
from sardonyx.hw.arch.errors import UserError
from sardonyx.outcome import Outcome

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT, PICTURES = ROOT / "docs" / "boards.md", ROOT / "docs" / "images"
LEFT_OUT = ("project", "bitstream", "floorplan", "elapsed_s")


def table(report: dict[str, object]) -> str:
    """A report as a table of the document."""
    rows = [f"| {name.replace('_', ' ')} | {value} |" for name, value in report.items() if name not in LEFT_OUT]
    return "\n".join(["| | |", "|---|---|", *rows])


def commit() -> str:
    """Of the sources, with a mark if they have changed since."""
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main() -> int:
    """Read the command line, build and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--out", metavar="DIR", type=Path, default=ROOT / "build", help="folder of the projects")
    parser.add_argument("--until", choices=UNTIL, default=UNTIL[-1], help="where to stop (default: %(default)s)")
    options = parser.parse_args()
    for name in options.names or TARGETS:
        with Console() as console:
            try:
                found: Outcome = build_board(name, options.out / name, until=options.until, progress=console.progress)
            except UserError as error:
                print(error, file=sys.stderr)
                return 2
            put(DOCUMENT, name, table({**found.report, "commit": commit()}))
            if "floorplan" in found.report:
                shutil.copyfile(str(found.report["floorplan"]), PICTURES / f"floorplan_{name}.svg")
            console.show(found)
            console.end(f"read {DOCUMENT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
