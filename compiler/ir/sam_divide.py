"""Quotients in the sparse graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...hw.arch.primitive import DIVIDER, Primitive
from .sam_ops import VAL, Operation, Ports, Settings, Space, in_step

# The type of a quotient in the public dialect.
DIV = "div"


@dataclass(frozen=True)
class Divider(Operation):
    """`a / b`; an operand that is a constant here has no port."""

    a: int | None = None
    b: int | None = None
    primitive: ClassVar[Primitive] = DIVIDER

    @property
    def inputs(self) -> Ports:
        return {name: VAL for name, constant in (("a", self.a), ("b", self.b)) if constant is None}

    @property
    def outputs(self) -> Ports:
        return {"res": VAL}

    @property
    def settings(self) -> Settings:
        constant = self.a if self.b is None else self.b
        return {"stream_a": self.a is None, "stream_b": self.b is None, "constant": (constant or 0) % (1 << 16)}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return {"res": in_step(given)}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        constant = self.a if self.b is None else self.b
        return {"type": DIV} if constant is None else {"type": DIV, "const": constant}
