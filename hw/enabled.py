"""Components whose clock is gated by enables, as modules of their own."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from amaranth.hdl import EnableInserter, Fragment
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .component import decided_by, module_name
from .describe import Description, describe

# What the modules of parts are called that are gated by enables, and the port for it.
ENABLED, CLOCK_ON = "_enabled", "clock_on"


class Enabled(wiring.Component):
    """A component whose registers keep their words in cycles without `clock_on`, but for a reset.

    Members
    -------
    clock_on : In(1)     And those of the component, whose interface objects they are.
    """

    def __init__(self, component: wiring.Component) -> None:
        self.component = component
        component._MustUse__used = True     # this one stands for it
        super().__init__({**component.signature.members, CLOCK_ON: In(1)})
        for name in component.signature.members:
            setattr(self, name, getattr(component, name))

    @property
    def module_name(self) -> str:
        return f"{module_name(self.component)}{ENABLED}"

    @property
    def emit_key(self) -> Hashable:
        return decided_by(self.component)

    def describe(self) -> Description:
        """What is said of the component, and of the port."""
        said = describe(self.component, self.module_name)
        more = f"//\n// {CLOCK_ON}: without it registers keep their words, but for a reset.\n"
        return replace(said, comment=said.comment + more)

    def elaborate(self, platform: Any) -> Fragment:
        platform.clock_on = self.clock_on
        inner = Fragment.get(self.component, platform)
        platform.clock_on = None
        return EnableInserter(self.clock_on)(inner)
