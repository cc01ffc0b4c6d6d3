"""A machine without hardware that copies, for tests of what is done with a machine."""

from collections.abc import Iterable

import numpy as np

from sardonyx.compiler.backend.image import applied
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.soc import CONFIGURED, FINISHED
from sardonyx.runtime.held import Held


class Copier:
    """A device without hardware that does what the program of `copier` does: stores what it loads."""

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.memory = np.zeros(arch.glb_tiles * arch.glb.tile_bytes // 2, np.uint16)
        self.registers: dict[tuple[str, int | None], int] = Held(arch, after_reset=True).values | {
            ("fingerprint_high", None): arch.fingerprint >> 32, ("fingerprint_low", None): arch.fingerprint & 0xFFFFFFFF}
        self.configured: list[tuple[int, int]] = []

    def held(self, before: "dict[int, int]") -> dict[int, int]:
        """The registers of the array, had they held 9 all."""
        return applied(self.configured, self.arch, dict.fromkeys(before, 9))

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        self.registers[name, glb_tile] = value
        if name == "control":
            (self._configure if value == 4 else self._copy)()

    def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        return self.registers[name, glb_tile]

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        self.configured += words

    def read_configuration(self, address: int) -> int:
        return 0

    def write_memory(self, address: int, words: np.ndarray) -> None:
        self.memory[address // 2:address // 2 + len(words)] = words

    def read_memory(self, address: int, count: int) -> np.ndarray:
        return self.memory[address // 2:address // 2 + count].copy()

    def wait(self, limit: int) -> bool:
        return True

    def _configure(self) -> None:
        for tile in range(self.arch.glb_tiles):
            count = 4 * self.registers["config_words", tile] * self.registers["config_control", tile]
            first = tile * self.arch.glb.tile_bytes + self.registers["config_start", tile]
            for line in self.read_memory(first, count).view("<u8").tolist():
                self.configured.append((line >> 32 | tile << 24, line & 0xFFFFFFFF))
        self.registers["status", None] = 1 << CONFIGURED

    def _copy(self) -> None:
        count, tile = self.registers["load_extent0", 0] + 1, self.arch.glb.tile_bytes
        begin = (tile + self.registers["store_start", 1]) // 2
        assert count <= self.registers["store_limit", 1]
        self.memory[begin:begin + count] = self.read_memory(self.registers["load_start", 0], count)
        self.registers |= {("store_words", 1): count, ("status", None): 1 << FINISHED, ("cycles", None): 7 + count}


def block(*numbers: int) -> np.ndarray:
    return np.array([len(numbers), *numbers], np.uint16)
