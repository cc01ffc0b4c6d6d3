"""Loop nests: statements as they are lowered, with those whose results they take from MEM tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sardonyx.compiler.lang.einsum import Einsum


@dataclass(frozen=True)
class Nest:
    """A statement that is lowered as one loop nest, and those whose results it takes from MEM tiles, by slot."""

    einsum: Einsum
    kept: Mapping[str, Nest] = field(default_factory=dict)

    def walk(self) -> Iterator[Nest]:
        """All nests whose result is kept, each before the one that takes it."""
        for nest in self.kept.values():
            yield from nest.walk()
            yield nest

    @property
    def sums(self) -> dict[str, str]:
        """The sums that are statements of their own in it and in those that it takes, with their loops."""
        return {each.result.tensor: f"{each.text}, loops {' '.join(each.order)}, in MEM tiles"
                for nest in (*self.walk(), self) for each in nest.einsum.every[:-1]}

    def apart(self) -> Nest:
        """The same where sums that are around loops outside of them are nests of their own."""
        einsum, made = self.einsum.apart
        found = {**self.kept, **{slot: Nest(each, self._used(each)) for slot, each in made.items()}}
        return Nest(einsum, {access.slot: found[access.slot].apart() for access in einsum.operands if access.slot in found})

    def _used(self, einsum: Einsum) -> dict[str, Nest]:
        """What a part of the statement takes."""
        return {access.slot: self.kept[access.slot] for access in einsum.operands if access.slot in self.kept}
