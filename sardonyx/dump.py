"""A folder that is written into, for stages of a compilation or the Verilog of a machine, with files of others left alone.

`sardonyx.sha256` in the folder lists the files that were written here with their digests, as `sha256sum` writes them. A file
that is listed and has not changed may be written again; any other of a name that is needed is refused. Nothing is ever removed.

    0f9c...  1_sam.txt
    53b1...  verilog/Array.sv
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import arguments
from .hw.arch.errors import UserError

LIST = "sardonyx.sha256"
VERILOG = "verilog"
UNROUTABLE = "unroutable.svg"
# Names in a refusal; more are counted.
NAMED = 3


@dataclass(frozen=True)
class Dump:
    """A folder to write into, which need not be there. Its methods raise UserError where it cannot be written."""

    folder: Path

    @classmethod
    def made(cls, value: object, name: str = "out") -> Dump:
        """The folder of an argument of this name, made: before a run, which may take minutes. UserError for what is no path,
        and where no folder can be."""
        path = _path(value, name)
        with _told(name, f"{path} cannot be made"):
            at = next(each for each in (path, *path.parents) if each.exists())
            if not at.is_dir():
                raise UserError(f"{at} is a file", name, "name a folder, which need not be there")
            path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    def check(self, names: Iterable[str], below: str | None = None) -> None:
        """UserError if a file of one of these names is not ours, or anything in a folder in this one."""
        with _told(f"folder {self.folder}", "it cannot be read"):
            found = [] if below is None else [self.folder / below, *sorted((self.folder / below).rglob("*"))]
            self._refuse([*names, *(path.relative_to(self.folder).as_posix() for path in found if not path.is_dir())])

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files by their names in the folder, and list them; UserError before the first if one would overwrite what is
        not ours."""
        contents = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
        with _told(f"folder {self.folder}", "it cannot be written"):
            self._refuse(contents)
            for name, content in contents.items():
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            self._list({name: _digest(content) for name, content in contents.items()})

    def make(self, name: str, write: Callable[[Path], None]) -> Path:
        """Let a function write one file, and list it; where it is."""
        with _told(f"folder {self.folder}", "it cannot be written"):
            self._refuse([name])
            path = self.folder / name
            write(path)
            self._list({name: _digest(path.read_bytes())})
        return path

    def keep(self, verilog: Path) -> Path:
        """Copy the files of a folder of Verilog into ``verilog``; where they are now."""
        self.write({f"{VERILOG}/{path.name}": path.read_bytes() for path in sorted(verilog.iterdir())})
        return self.folder / VERILOG

    def _refuse(self, names: Iterable[str]) -> None:
        listed = self._listed()
        foreign = [name for name in names if not self._ours(name, listed)]
        if foreign:
            more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
            raise UserError(f"sardonyx did not write {', '.join(foreign[:NAMED])}{more}, or the contents have changed since",
                            f"folder {self.folder}", "name another folder, or move these files away")

    def _list(self, digests: Mapping[str, str]) -> None:
        listed = {**self._listed(), **digests}
        (self.folder / LIST).write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items())))

    def _ours(self, name: str, listed: Mapping[str, str]) -> bool:
        """Whether a name is free, or that of an unchanged file of ours."""
        path = self.folder / name
        if not path.exists() and not path.is_symlink():
            return True
        return path.is_file() and listed.get(name) == _digest(path.read_bytes())

    def _listed(self) -> dict[str, str]:
        """Digests by name; UserError for a list that is none."""
        path = self.folder / LIST
        if not path.exists() and not path.is_symlink():     # what a link leads to may not be there
            return {}
        pairs = [line.split("  ", 1) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        if not all(len(pair) == 2 and len(pair[0]) == 64 for pair in pairs):
            raise UserError("it is no list of what sardonyx wrote", str(path), "name another folder, or move it away")
        return {name: digest for digest, name in pairs}


def beside(value: object, name: str, *endings: str) -> tuple[Dump, str]:
    """The folder of one file to write, made, and the name of the file in it; value, name: of the argument that says it;
    endings: of names of such files. UserError, before a run, if it is not ours."""
    path = _path(value, name, "file")
    if not path.name:
        raise UserError(f"{path} is a folder", name, "name a file in it")
    # The list of files has a line for each.
    if path.name == LIST or not path.name.isprintable():
        raise UserError(f"no file of ours is called {arguments.said(path.name)}", name, "choose another name")
    if path.suffix not in endings:
        raise UserError(f"{arguments.said(path.name)} does not end in {' or '.join(endings)}, as such a file does", name,
                        f"name it {arguments.said(path.with_suffix(endings[0]).name)}")
    folder = Dump.made(path.parent, name)
    folder.check([path.name])
    return folder, path.name


def check_file(path: Path, what: str) -> None:
    """UserError, before a run that may take minutes, where a file of the user's own cannot be written; what: would be."""
    try:
        there = next(each for each in (path, *path.parents) if each.exists())
        wrong = (errno.EISDIR if path.is_dir() else errno.ENOTDIR if there != path and not there.is_dir()
                 else 0 if os.access(there, os.W_OK) else errno.EACCES)
    except OSError as error:
        wrong = error.errno or errno.EIO
    if wrong:
        raise UserError(f"cannot write {what}: {os.strerror(wrong)}", str(path), "name a file that can be written")


def _path(value: object, name: str, kind: str = "folder") -> Path:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise UserError(f"it is {arguments.said(value)}, which is no path", name, f"name a {kind}, which need not be there")
    return Path(value)


@contextlib.contextmanager
def _told(where: str, what: str) -> Iterator[None]:
    """What the system refuses, as a UserError."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise UserError(f"{what}: {getattr(error, 'strerror', None) or error}", where,
                        "name a folder that can be written") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
