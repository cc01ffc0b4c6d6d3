"""`sardonyx cache`: what was built is kept on disk; how much that is, and how it is removed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..cache import Cache, Entry, home
from .console import Console
from .parser import Parser, add_common


@dataclass(frozen=True)
class Contents:
    """What the cache holds, or what was removed from it, as a table and as a report."""

    report: Mapping[str, object]
    text: str = ""


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "cache", prog="sardonyx cache", help="show or clear what was built",
        about="Show where simulations and other things that take long to build are kept, and how large they are;\n"
              "clear removes all of them that no process uses. They are built again when they are needed.",
        examples=["sardonyx cache", "sardonyx cache clear", "sardonyx cache --json"])
    parser.add_argument("action", nargs="?", choices=("show", "clear"), default="show", metavar="ACTION",
                        help="show or clear (default: show)")
    add_common(parser)
    parser.set_defaults(body=body)


def body(options: argparse.Namespace, console: Console) -> int:
    """Show, or remove and show what was removed."""
    store = home()
    console.show(clear(store) if options.action == "clear" else contents(store))
    return 0


def contents(store: Cache) -> Contents:
    """Place, size, entries by kind and bound."""
    entries = store.entries()
    return Contents({"folder": str(store.folder), "bytes": sum(entry.bytes for entry in entries), "bound_bytes": store.bound,
                     "entries": len(entries), "kinds": _kinds(entries)})


def clear(store: Cache) -> Contents:
    """Remove what nobody uses."""
    removed = store.clear()
    return Contents({"folder": str(store.folder), "removed": len(removed),
                     "removed_bytes": sum(entry.bytes for entry in removed), "in_use": len(store.entries())})


def _kinds(entries: list[Entry]) -> dict[str, dict[str, int]]:
    kinds: dict[str, dict[str, int]] = {}
    for entry in sorted(entries, key=lambda entry: entry.kind):
        kind = kinds.setdefault(entry.kind, {"entries": 0, "bytes": 0})
        kind["entries"] += 1
        kind["bytes"] += entry.bytes
    return kinds
