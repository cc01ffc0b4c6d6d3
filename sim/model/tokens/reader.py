"""Reader: a complete level as the words of a block, one per cycle.

    segments 0 2 2 3, coordinates 4 7 9     block_o ``4 0 2 2 3  3 4 7 9``
    values 5 6                              block_o ``2 5 6``
"""

from __future__ import annotations

from .process import Config, Inputs, Outputs, Steps, idle


def meaning(config: Config, i: Inputs, o: Outputs) -> Steps:
    """Config: values (a value array, else segments and coordinates)."""
    levels, block = i["level"], o["block_o"]
    values = bool(config.get("values"))
    while True:
        yield idle(levels)
        seg, crd = levels[0]
        arrays = (crd,) if values else (seg, crd)
        words = [word for array in arrays for word in (len(array), *array)]
        for word in words[:-1]:
            block(word)
            yield None
        levels.popleft()
        block(words[-1])
        yield None
