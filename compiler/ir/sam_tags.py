"""Tags of spaces, each once: two that are equal are one object.

The tag of a joiner or a dropper is made of those of its inputs (`sam_streams`), so that the text of one doubles with every
joiner behind another. Here a tag is told from another by what it is, in a step.
"""

from __future__ import annotations

from .sam_ops import Space


class Tag:
    """A tag; parts: how an operation wrote it, with tags for those of its inputs."""

    __slots__ = ("parts",)

    def __init__(self, parts: object) -> None:
        self.parts = parts


class Tags:
    """The tags of a graph."""

    def __init__(self) -> None:
        self._known = dict[object, Tag]()

    def of(self, space: Space) -> Space:
        """The space with its tags."""
        return tuple((index, tag if isinstance(tag, Tag) else self._known.setdefault(tag, Tag(tag))) for index, tag in space)


def parts(tag: object) -> object:
    """How an operation wrote a tag."""
    return tag.parts if isinstance(tag, Tag) else tag
