"""How readable the Verilog in a folder is: names that say nothing, clocks, cases, comments.

    python scripts/verilog_names.py build/onyx

A name says nothing if it is a number between underscores (``_0123_``), ends in the number of a duplicate (``o__ready_90``)
although no bit or index is meant, or has to be escaped.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DECLARED = re.compile(r"^  (?:(?:in|out)put +)?(?:wire|reg) +(?:signed )?(?:\[\d+:0\] )?(\\?\S+?)[ ,;]", re.M)


def main() -> None:
    files = sorted(Path(sys.argv[1]).glob("*.sv"))
    assert files, "the folder has no Verilog"
    texts = [file.read_text() for file in files]
    lines = sum(len(re.sub(r"^//.*\n", "", text, flags=re.M).splitlines()) for text in texts)
    declared = [name for text in texts for name in DECLARED.findall(text)]
    nameless = sum(re.fullmatch(r"_[\w]*\d+_(?:\d+_?)*", name) is not None for name in declared)
    numbered = sum(re.search(r"__\w*[a-z]_\d{2,}$", name) is not None for name in declared)
    escaped = sum(len(re.findall(r"\\\w+ ", text)) for text in texts)
    clocks = [clock for text in texts for clock in re.findall(r"posedge (\w+)", text)]
    cases = [case for text in texts for case in re.findall(r"casez .*?endcase", text, re.S)]
    print(f"files {len(files)}, lines {lines} without comments, wires and registers {len(declared)}")
    print(f"nameless {nameless}, {100 * nameless / lines:.2f} per 100 lines")
    print(f"numbered duplicates {numbered}, escaped identifiers {escaped}")
    print(f"clocked blocks {len(clocks)}, of them on an alias {sum(clock != 'clk' for clock in clocks)}")
    print(f"casez {len(cases)}, of them without a loose bit {sum('?' not in case for case in cases)}")
    print(f"files that open with a comment {sum(text.startswith('//') for text in texts)}")


if __name__ == "__main__":
    main()
