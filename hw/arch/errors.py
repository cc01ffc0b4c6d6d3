"""The one error a user can cause, and how it reads.

Everything a user can get wrong (a file, an expression, a value, a program that does not fit) is raised as
`UserError`; the command line prints it and leaves with code 2. Faults of ours stay `assert` with a reason.
"""

from __future__ import annotations


class UserError(Exception):
    """A mistake in what the user gave: what does not fit, where, and what to try.

    Parameters
    ----------
    what : str     What is wrong, lower case, both sides of a mismatch, quantities with units.
    where : str    File and line, expression, tensor or tile; empty when the call itself is the place.
    fix : str      What to try.
    """

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(self.what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  try: {self.fix}" if self.fix else ""
        return f"{place}{self.what}{remedy}"
