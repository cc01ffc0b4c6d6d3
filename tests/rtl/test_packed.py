"""Machines in generated Verilog that packed words configure."""

import random
from dataclasses import replace

from copying import block
from machines import LEAST, copier

from sardonyx.compiler.backend.encode import address
from sardonyx.compiler.backend.image import image
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime import host
from sardonyx.runtime.data.images import images
from sardonyx.runtime.held import Held
from sardonyx.runtime.streamed import streamed
from sardonyx.sim.rtl import simulator

# Two columns a GLB tile, and two segments of a column.
PACKS = replace(LEAST, name="packs", columns=4, rows=3, config_rows=2, glb=replace(LEAST.glb, columns_per_tile=2, packed=True))


def test_every_register_holds_what_is_streamed_and_a_program_behind_it_runs() -> None:
    draw = random.Random(7)
    wanted = {address(*site, register): draw.getrandbits(32) & (1 << bits) - 1 & draw.choice((0, 0xFF, 0xFF00, 0xFFFF_FFFF))
              for site, spec in PACKS.tiles.items() for register, bits in enumerate(word_bits(PACKS.config_map(spec.kind)))}
    given, = images(wanted.items(), PACKS)
    held = Held(PACKS, after_reset=True)
    with simulator.whole_machine(PACKS).start(posts=True) as machine:
        host.execute(machine, held.changes(streamed(given, PACKS)))
        assert {where: machine.read_configuration(where) for where in wanted} == wanted
        # From what registers hold, or after nobody knows what: then every row is written, and others over that.
        held.tiles = wanted
        assert len(image(copier(PACKS), PACKS)) != len(image(copier(PACKS), PACKS, wanted))
        for known in (held, None):
            found = list(host.run(machine, copier(PACKS), [{"a_vals": block(5, 6, 7)}], {"b_vals": 4}, held=known))
            assert found[0].stored[0]["b_vals"].tolist() == block(5, 6, 7).tolist()
