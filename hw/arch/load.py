"""Read the description of a machine from a JSON file, such as the arch.json beside generated Verilog.

Output:  Arch.
Errors:  UserError for what is no JSON, with its line, for a name that stands twice, and as of `cgra.from_json`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from .cgra import Arch, from_json
from .check import shown
from .errors import UserError

# Descriptions have some kilobytes; a device never ends.
MOST_BYTES = 1 << 20


def load(path: str | Path) -> Arch:
    """An `Arch` from a JSON file, such as the arch.json beside generated Verilog."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read the machine description: {error.strerror}", str(path),
                        "name a preset, or a file such as the arch.json beside generated Verilog") from None
    except ValueError:
        raise UserError("this is no path: it holds a NUL", shown(str(path)), "give the path of a file") from None
    if len(content) > MOST_BYTES:
        raise UserError(f"the file has more than {MOST_BYTES >> 20} MB", str(path), "start from the arch.json of a preset")
    return from_json(_parse(content, str(path)), str(path))


def _parse(content: bytes, where: str) -> Any:
    """The data in a JSON text; UserError also for a name that stands twice in one table, of which JSON keeps the last."""
    repeated: list[tuple[dict[str, Any], str]] = []

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.append((found, Counter(name for name, _ in pairs).most_common(1)[0][0]))
        return found

    try:
        raw = json.loads(content.decode("utf-8"), object_pairs_hook=table)
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error.msg}", f"{where}:{error.lineno}", "start from the arch.json of a preset") from None
    except (ValueError, RecursionError):
        # Other bytes than UTF-8, an integer of thousands of digits, or a table in a table in a table and so on.
        raise UserError("not JSON", where, "start from the arch.json of a preset") from None
    if repeated:
        found, name = repeated[-1]
        parts = raw.items() if isinstance(raw, dict) else ()
        place = next((f" in {shown(part)}" for part, each in parts if each is found), "")
        raise UserError(f"{shown(name)} stands twice{place}", where, "leave one of them")
    return raw
