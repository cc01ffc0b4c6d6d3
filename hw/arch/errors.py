"""The one error a user can cause, and how it reads.

Everything a user can get wrong (a file, an expression, a value, a program that does not fit) is raised as
`UserError`; the command line prints it and leaves with code 2. Faults of ours stay `assert` with a reason.
"""

from __future__ import annotations

# Characters of one part of an error, whatever a user's file or argument holds.
LONGEST = 1000


def shown(text: str, longest: int = 60) -> str:
    """A user's text as an error shows it: on one line, without what no terminal prints, the middle left out if it is long."""
    return "".join(each if each.isprintable() else "?" for each in _cut(text, longest))


def many(count: int, what: str) -> str:
    """1 port, 2 ports."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest // 2]} ... {text[-(longest // 2):]}"


class UserError(Exception):
    """A mistake in what the user gave: what does not fit, where, and what to try.

    Parameters
    ----------
    what : str     What is wrong, lower case, both sides of a mismatch, quantities with units.
    where : str    File and line, expression, tensor or tile; empty when the call itself is the place.
    fix : str      What to try.
    """

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = _cut(what, LONGEST), _cut(where, LONGEST), _cut(fix, LONGEST)
        super().__init__(self.what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  try: {self.fix}" if self.fix else ""
        return f"{place}{self.what}{remedy}"


class Lacking(UserError):
    """A machine has not what a program needs, tiles, streams or primitives: another one may."""


class TooSmall(Lacking):
    """A machine has all kinds of what a program needs, but not as many."""
