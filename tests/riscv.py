"""Tests of what runs on the processor need a C compiler for it, which is not installed with the rest."""

import pytest

from sardonyx.runtime.toolchain import COMPILERS, installed

FOUND = installed()
needs_compiler = pytest.mark.skipif(not FOUND, reason=f"no C compiler for RISC-V: one of {', '.join(COMPILERS)}")
each_compiler = pytest.mark.parametrize("compiler", [
    pytest.param(name, marks=pytest.mark.skipif(name not in FOUND, reason=f"{name} is not installed")) for name in COMPILERS])
