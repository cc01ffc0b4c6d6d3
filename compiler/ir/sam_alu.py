"""Operations of the sparse graph that an ALU computes of values, token by token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ...hw.arch.op import BY_NAME
from ...hw.arch.primitive import ALU, Primitive
from .sam_ops import VAL, Operation, Ports, Settings, Space, in_step


class Computed(NamedTuple):
    """How the ALU computes an operation of an `Alu`: the operation of the table, its operand that is the second one, if
    there is one, and constants of others."""

    op: str
    second: str = ""
    constants: tuple[tuple[str, int], ...] = ()
    signed: bool = False

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands as ports of an `Alu`."""
        return ("a", "b") if self.second else ("a",)


# `crop` is max(min(a, b), c).
LARGEST, LEAST = 0x7fff, 0x8000
ALU_OPS = {
    "add": Computed("adc", "b"),
    "sub": Computed("sbc", "b", (("d", 1),)),
    "mul": Computed("mult0", "b"),
    "max": Computed("crop", "c", (("b", LARGEST),), signed=True),
    "min": Computed("crop", "b", (("c", LEAST),), signed=True),
    "abs": Computed("abs"),
    "sign": Computed("crop", "", (("b", 1), ("c", 0xffff)), signed=True),
    "nonzero": Computed("crop", "", (("b", 1), ("c", 0)))}


@dataclass(frozen=True)
class Alu(Operation):
    """`a op b`, or `op a`; an operand that is a constant here has no port."""

    op: str
    a: int | None = None
    b: int | None = None
    primitive: ClassVar[Primitive] = ALU

    @property
    def inputs(self) -> Ports:
        constants = {"a": self.a, "b": self.b}
        return {name: VAL for name in ALU_OPS[self.op].operands if constants[name] is None}

    @property
    def outputs(self) -> Ports:
        return {"res": VAL}

    @property
    def settings(self) -> Settings:
        computed = ALU_OPS[self.op]
        constants = {"d": 0, "a": self.a or 0, computed.second: self.b or 0, **dict(computed.constants)}
        streams = [self.renamed.get(port, port) for port in self.inputs]
        config: Settings = {"op": BY_NAME[computed.op].code, "const_d": constants["d"]}
        if computed.signed:
            config["signed"] = True
        for operand in ("a", "b", "c") if computed.op == "crop" else ("a", "b"):
            config |= {f"stream_{operand}": operand in streams, f"const_{operand}": constants.get(operand, 0) % (1 << 16)}
        return config

    @property
    def renamed(self) -> Ports:
        second = ALU_OPS[self.op].second
        return {"b": second} if second not in ("", "b") else {}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return {"res": in_step(given)}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        constant = self.b if self.a is None else self.a
        shown: dict[str, object] = {"type": self.op}
        if self.op in ("add", "sub"):
            shown = {"type": "add", "sub": int(self.op == "sub")}
        return shown if constant is None else {**shown, "const": constant}
