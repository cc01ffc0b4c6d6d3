"""Values of signals, cycle by cycle, from a VCD."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path


class Vcd:
    """The bits of every signal by scope and name, cycle by cycle: those that changed since the cycle before."""

    def __init__(self, path: Path) -> None:
        self.signals: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        self.values: dict[str, list[int]] = defaultdict(lambda: [0])
        scope: list[str] = []
        lines = iter(path.read_text().splitlines())
        for line in lines:
            match line.split():
                case ["$scope", _, name, *_]:
                    scope.append(name)
                case ["$upscope", *_]:
                    scope.pop()
                case ["$var", _, _, code, name, *_]:
                    self.signals[tuple(scope)][name] = code
                case ["$enddefinitions", *_]:
                    break
        self._read(lines)

    def _read(self, lines: "Iterator[str]") -> None:
        self.cycles = 0
        now: dict[str, int] = {}
        for line in lines:
            if line.startswith("#"):
                # A cycle in which nothing changes has no line.
                self._keep(now)
                self.cycles = int(line[1:])
            elif line.startswith("b"):
                value, code = line[1:].split()
                now[code] = int(value, 2)
            elif line:
                now[line[1:]] = int(line[0])
        self._keep(now)
        self.series = {code: [*values, *[values[-1]] * (self.cycles + 1 - len(values))] for code, values in self.values.items()}

    def _keep(self, now: "dict[str, int]") -> None:
        for code, value in now.items():
            values = self.values[code]
            values += [values[-1]] * (self.cycles - len(values))
            values.append(value)
        now.clear()

    def series_of(self, scope: "tuple[str, ...]", name: str) -> "list[list[int]]":
        """The values of a signal, of an array those of every word; the first cycle is what there was before."""
        found = self.signals[scope]
        names = [name] if name in found else [each for each in found if each.startswith(f"{name}[")]
        assert names, f"{name} is not in {'.'.join(scope)}"
        return [self.series[found[each]][1:] for each in names]
