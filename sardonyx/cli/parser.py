"""Parsers whose errors are UserErrors, whose help shows examples, and which take tensors as options."""

from __future__ import annotations

import argparse
import difflib
import importlib.metadata
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ..hw.arch.errors import UserError, shown
from .console import answer

Number = int | float

_TENSOR = re.compile(r"--([A-Za-z][A-Za-z0-9_]*)")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,18}")
_FORMAT = re.compile(r"([A-Za-z][A-Za-z0-9_]*)=([sd]+[0-9]*)")


def version() -> str:
    """The installed version."""
    return importlib.metadata.version("sardonyx")


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations: an unknown option is never taken for a known one.

    Parameters
    ----------
    prog, about : str           The command and a sentence or two on it.
    examples : Sequence[str]    Command lines shown by --help, each valid.
    operands : bool             Take every option that is not known, ``--NAME FILE`` or ``--NAME=FILE``, for a
                                tensor; the result has them as ``operands: dict[str, Path | int | float]``.
    """

    def __init__(self, prog: str, about: str, examples: Sequence[str], operands: bool = False) -> None:
        self.examples, self.operands = tuple(examples), operands
        self._known: set[str] = set()
        super().__init__(prog=prog, description=about, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter,
                         epilog="examples:\n" + "\n".join(f"  {line}" for line in examples))

    def error(self, message: str) -> NoReturn:
        """A malformed command line is a mistake like any other."""
        raise UserError(message, where=self.prog, fix=f"{self.prog} --help")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version, which go where results go."""
        answer(message.rstrip("\n"))

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """As always, but the names are remembered."""
        self._known.update(names)
        return super().add_argument(*names, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As always, but the operands are taken out first: argparse would give their files to positionals."""
        if not self.operands:
            found, extra = super().parse_known_args(args, namespace)
            self._refuse(extra)
            return found, extra
        args = [*args]
        rest, operands = self._split(args)
        try:
            found, extra = super().parse_known_args(rest, namespace)
        except UserError:
            self._check_names(rest)
            raise
        taken = getattr(found, "expression", "")
        self._check_names([taken])
        unnamed = [word for word in extra if not word.startswith("-")]
        self._check_kernels([taken, *unnamed])
        if unnamed:
            if "=" in unnamed[0] and "=" not in taken:
                raise UserError(f"the expression is '{shown(taken)}' already", shown(unnamed[0]), f"leave out '{shown(taken)}'")
            raise UserError("an operand has no name", shown(unnamed[0]), "give it by the name of its tensor, as --B FILE")
        self._refuse(extra)
        if tensors := _tensors(args):
            for name in operands.keys() - tensors:
                self._check_elsewhere(f"--{name}")
        found.operands = operands
        return found, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """UserError for what is none of the choices, with the nearest one."""
        if action.choices is None or value in action.choices:
            return
        option, near = "/".join(action.option_strings) or str(action.metavar), _near(str(value), action.choices)
        raise UserError(f"there is no '{shown(str(value))}' for {option}", self.prog,
                        f"use {near}" if near else f"choose one of {', '.join(map(str, action.choices))}")

    def _refuse(self, extra: Sequence[str]) -> None:
        """UserError for words that a command itself, not a group of them, does not know."""
        if not extra or self.get_default("body") is None:
            return
        option = extra[0].partition("=")[0]
        if not option.startswith("-"):
            raise UserError(f"there is nothing that '{shown(option)}' could be", self.prog, f"{self.prog} --help")
        self._check_elsewhere(option)
        near = _near(option, sorted(self._known))
        raise UserError(f"there is no option {shown(option)}", self.prog, f"use {near}" if near else f"{self.prog} --help")

    def _check_elsewhere(self, option: str) -> None:
        """UserError for an option that another command has, with the name of that."""
        from . import parser  # the whole, which has this one in it

        if others := [each.prog for each in _all(parser()) if option in each._known and each.get_default("body")]:
            raise UserError(f"there is no option {option} here: '{others[0]}' has it", self.prog,
                            f"leave it out, or see {self.prog} --help")

    def _check_names(self, words: Iterable[str]) -> None:
        """UserError for an expression with a tensor called like an option, which takes what is given for the tensor."""
        from ..compiler.lang.program import parse_program  # here, so that help and doctor work where a package is broken

        for word in words:
            try:
                tensors = [*parse_program(word).inputs]
            except UserError:
                continue
            if taken := [name for name in tensors if f"--{name}" in self._known]:
                raise UserError(f"tensor {taken[0]} is called like an option, so that no operand reaches it", word,
                                "rename it in the expression")

    def _check_kernels(self, words: Sequence[str]) -> None:
        """UserError for the name of a kernel where an expression belongs, the first word."""
        from ..compiler.lang.kernel import kernel_names, load_kernel, other_names

        known = () if not words[0] or "=" in words[0] else [word for word in words if word in {*kernel_names(), *other_names()}]
        if known:
            kernel = load_kernel(known[0])
            operands = " ".join(f"--{name} FILE" for name in kernel.einsum().tensors)
            raise UserError(f"{known[0]} is a kernel, and this takes an expression", self.prog,
                            f"{self.prog} '{kernel.expression}' {operands}")

    def _split(self, words: Iterable[str]) -> tuple[list[str], dict[str, Path | Number]]:
        rest: list[str] = []
        operands: dict[str, Path | Number] = {}
        all_ = [*words]
        words = iter(all_)
        for word in words:
            option, equals, text = word.partition("=")
            name = _TENSOR.fullmatch(option)
            if name is None or option in self._known:
                rest.append(word)
                continue
            text = text if equals else next(words, "")
            if not text or text.startswith("--"):
                self.error(f"option {option} is not known, and as a tensor it needs a file or a number")
            if name[1] in operands:
                self.error(f"tensor {name[1]} is given twice")
            try:
                operands[name[1]] = operand(text, option, self._known)
            except UserError:
                if name[1] not in _tensors(all_):
                    self._check_elsewhere(option)
                raise
        return rest, operands


def _tensors(words: Iterable[str]) -> set[str]:
    """The tensors that expressions among some words read."""
    from ..compiler.lang.program import parse_program  # here, so that help and doctor work where a package is broken

    found = set[str]()
    for word in words:
        with suppress(UserError):
            found.update(parse_program(word).inputs)
    return found


def _all(one: Parser) -> list[Parser]:
    """A parser and all below it."""
    below = [child for action in one._actions if isinstance(action.choices, dict) for child in action.choices.values()]
    return [one, *(found for child in below for found in _all(child))]


def _near(word: str, known: Iterable[str]) -> str:
    """The known word that is closest, or none."""
    return next(iter(difflib.get_close_matches(word, [*map(str, known)], n=1)), "")


def operand(text: str, option: str, known: Iterable[str] = ()) -> Path | Number:
    """The file or the number given for a tensor; UserError when there is no such file."""
    path = Path(text)
    if os.path.isfile(path):    # unlike the method it takes a name that is too long for none
        return path
    # No scalar has more digits than a tenth of that.
    if _NUMBER.fullmatch(text) and len(text) <= 200:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    near = _near(option, sorted(known))
    there = os.path.exists(path)
    raise UserError("this is a folder" if os.path.isdir(path) else "this is a device or a pipe" if there else "no such file",
                    where=f"{option} {shown(text)}",
                    fix="give a file (.mtx, .tns, .npy), or a number for a scalar"
                        + f"; if no tensor is meant, {near}" * bool(near))


def tensor_format(text: str) -> tuple[str, str]:
    """``C=ss10`` as a tensor and its format."""
    found = _FORMAT.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"'{shown(text)}' is not a format: write tensor=levels and mode order, as C=ss10")
    return found[1], found[2]


def path(text: str) -> Path:
    """The place of a file or folder. Of nothing, as of a variable of a shell that is not set, Path makes the folder here."""
    if not text:
        raise argparse.ArgumentTypeError("'' is no path")
    return Path(text)


def whole(low: int) -> Callable[[str], int]:
    """The type of an integer option of at least `low`."""
    def convert(text: str) -> int:
        if not _DIGITS.fullmatch(text) or int(text) < low:
            raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a whole number of at least {low} and at most 18 digits")
        return int(text)
    return convert


def fraction(text: str) -> float:
    """The type of an option from 0 to 1."""
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= 1:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a number from 0 to 1")
    return float(text)


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options that every command has."""
    parser.add_argument("--json", action="store_true", help="print the result, or the error, as JSON")
    parser.add_argument("--debug", action="store_true", help="print the traceback of an error")
