"""Documents derived from a description: register map, port tables, C header.

They are written beside the Verilog by `make verilog`, and the ones of preset `onyx` stand in `docs/`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .arch.cgra import Arch
from .arch.config import MEMORY_REGISTER, STATUS_FAULT, STATUS_OVERFLOW, STATUS_REGISTER, STATUS_WALLED, ConfigMap
from .arch.counters import COUNTER_REGISTER, EVENTS
from .arch.interconnect import Interconnect
from .arch.soc import (
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    GROUP,
    GROUP_REGISTERS,
    REGION_STRIDE,
    Register,
    controller_registers,
    glb_registers,
)
from .arch.system import GLB_WINDOW, HOST, HOST_REGISTERS, MACHINE_IRQ, MACHINE_REGISTERS
from .arch.tile import TileSpec


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def _tiles(arch: Arch) -> tuple[TileSpec, ...]:
    return (arch.pe, arch.mem, arch.io)


def registers(arch: Arch) -> str:
    """The register map in Markdown: AXI4-Lite registers, then the configuration space of each tile kind."""
    parts = [f"# Registers of `{arch.name}`\n\nGenerated from the description; fingerprint `{arch.fingerprint:016x}`.\n",
             f"## Controller, AXI4-Lite\n\nRegion r at r * {REGION_STRIDE:#x}, r = 0..{arch.regions - 1}.\n",
             _register_table(controller_registers(arch), 0),
             *([f"## Several regions, AXI4-Lite\n\nAt {GROUP_REGISTERS:#06x}.\n", _register_table(GROUP, 0)]
               if arch.regions > 1 else []),
             f"## GLB tiles, AXI4-Lite\n\nTile t at {GLB_REGISTERS:#06x} + t * {GLB_REGISTER_STRIDE:#x}, "
             f"t = 0..{arch.glb_tiles - 1}.\n", _register_table(glb_registers(arch.glb), 0)]
    if arch.system.processor:
        parts += [f"## Processor\n\nMemory of {arch.system.ram_bytes} bytes at 0, the registers of the machine at "
                  f"{MACHINE_REGISTERS:#x}, the global buffer, for the system DMA, at {GLB_WINDOW:#x}; at "
                  f"{HOST_REGISTERS:#x}:\n",
                  _register_table(HOST, 0)]
    walled = f"bit {STATUS_WALLED}, words at a wall; " if arch.regions > 1 else ""
    counters = (f"Registers from {COUNTER_REGISTER:#06x} on are counters of {arch.counter_bits} bits (`hw/arch/counters.py`): "
                f"{', '.join(EVENTS)}; a write to the first one clears all.\n") if arch.counter_bits else ""
    for tile in _tiles(arch):
        space = arch.config_map(tile.kind)
        still = " or the column stands still" if arch.memory_readback and arch.column_stall else ""
        memory = (f"Registers from {MEMORY_REGISTER:#06x} on write the SRAM, two words each, while no program runs{still}"
                  f"{', and read as these words' if arch.memory_readback else ''}.\n"
                  if any(primitive.memory for primitive in tile.primitives) else "")
        parts += [f"## Configuration of {tile.kind} tiles, {space.words} words\n\n"
                  "Address {x[31:24], y[23:16], register[15:0]} through config_address. "
                  f"Register {STATUS_REGISTER:#06x} is the tile's status (read only): from bit 0 on, inputs that hold tokens, "
                  f"then outputs that wait; {walled}bit {STATUS_FAULT}, a fault of its streams; bit "
                  f"{STATUS_OVERFLOW}, that or an overflow.\n"
                  f"{'' if arch.config_readback else 'All others read as 0. '}{memory}{counters}", _space_table(space)]
    return "\n".join(parts)


def _register_table(registers: tuple[Register, ...], base: int) -> str:
    rows: list[tuple[object, ...]] = []
    for register in registers:
        rows.append((f"`{base + register.offset:#05x}`", f"`{register.name}`", "31:0", register.access, register.doc))
        rows += [("", f"`.{name}`", f"{lsb + bits - 1}:{lsb}" if bits > 1 else lsb, "", doc)
                 for name, lsb, bits, doc in register.fields]
    return _table(("offset", "name", "bits", "access", "meaning"), rows)


def _space_table(space: ConfigMap) -> str:
    rows = []
    for (name, field), slot in space.slots.items():
        info = space.sets[name].fields[field]
        top = slot.lsb + info.bits - 1
        choices = "; " + ", ".join(f"{i} {c}" for i, c in enumerate(info.choices)) if info.choices else ""
        rows.append((slot.word, f"{top}:{slot.lsb}" if info.bits > 1 else slot.lsb, f"`{name}.{field}`", info.doc + choices))
    return _table(("word", "bits", "field", "meaning"), rows)


def ports(arch: Arch, top_ports: Iterable[tuple[str, str, int]]) -> str:
    """The port tables in Markdown: of the top module (name, direction, bits), of tile cores, of primitives."""
    parts = [f"# Ports of `{arch.name}`\n\nGenerated from the description.\n", "## Top module\n",
             _table(("port", "direction", "bits"), ((f"`{n}`", d, b) for n, d, b in top_ports))]
    for tile in _tiles(arch):
        parts += [f"## Core ports of {tile.kind} tiles\n",
                  _table(("port", "direction", "layer", "sources of its connection box"),
                         ((f"`{p.name}`", p.flow.value, p.layer, len(_sources(arch.interconnect, tile, p.layer, p.name)) or "")
                          for p in tile.ports))]
    used = [p for tile in _tiles(arch) for p in tile.primitives]
    for primitive in used:
        parts += [f"## Primitive {primitive.name}\n\n{primitive.doc[0].upper()}{primitive.doc[1:]}.\n",
                  _table(("stream", "direction", "tile port", "bits", "meaning"),
                         ((f"`{p.name}`", p.flow.value, p.tile_port, p.width, p.doc) for p in primitive.ports))]
    return "\n".join(parts)


def _sources(interconnect: Interconnect, tile: TileSpec, layer: str, port: str) -> tuple[str, ...]:
    return interconnect.fanin(tile, layer).get(port, ())


def header(arch: Arch) -> str:
    """The register map as a C header, for C11 and C++11.

    Names start with SARDONYX_. A register's name alone is its byte offset, so that values have names that no register has.
    """
    lines = ["/* Register map of a Sardonyx machine, generated from its description. */",
             "#ifndef SARDONYX_H", "#define SARDONYX_H", "",
             "/* What the machine is; registers fingerprint_high and fingerprint_low show the fingerprint. */",
             f"#define SARDONYX_FINGERPRINT 0x{arch.fingerprint:016x}ull",
             f"#define SARDONYX_COLUMNS {arch.columns}", f"#define SARDONYX_ROWS {arch.rows}",
             f"#define SARDONYX_REGIONS {arch.regions}", f"#define SARDONYX_GLB_TILES {arch.glb_tiles}",
             f"#define SARDONYX_GLB_TILE_BYTES 0x{arch.glb.tile_bytes:x}u", ""]
    lines += ["/* Byte address of a region's controller, and offsets of its registers; fields as (lowest bit, mask). */",
              f"#define SARDONYX_REGION(region) ((region) * 0x{REGION_STRIDE:x}u)"]
    lines += _header_registers("SARDONYX_", controller_registers(arch))
    if arch.regions > 1:
        lines += ["", "/* Byte address of the registers of all regions, and their offsets from there. */",
                  f"#define SARDONYX_ALL_REGIONS 0x{GROUP_REGISTERS:x}u", *_header_registers("SARDONYX_", GROUP)]
    lines += ["", "/* Byte address of a GLB tile's registers, and their offsets from there. */",
              f"#define SARDONYX_GLB(tile) (0x{GLB_REGISTERS:x}u + (tile) * 0x{GLB_REGISTER_STRIDE:x}u)"]
    lines += _header_registers("SARDONYX_GLB_", glb_registers(arch.glb))
    if arch.system.processor:
        lines += ["", "/* Addresses of the processor: its registers, fields as (lowest bit, mask), and the machine's. */",
                  f"#define SARDONYX_MACHINE 0x{MACHINE_REGISTERS:x}u", f"#define SARDONYX_GLB_WINDOW 0x{GLB_WINDOW:x}u",
                  f"#define SARDONYX_RAM_BYTES 0x{arch.system.ram_bytes:x}u",
                  f"#define SARDONYX_HOST 0x{HOST_REGISTERS:x}u",
                  "/* The processor's interrupt of a region. */",
                  f"#define SARDONYX_IRQ(region) ({MACHINE_IRQ}u + (region))"]
        lines += _header_registers("SARDONYX_HOST_", HOST)
    lines += ["", "/* Configuration addresses of tile (x, y); fields as (word, lowest bit, mask). */",
              "#define SARDONYX_CONFIG(x, y, word) ((x) * 0x1000000u + (y) * 0x10000u + (word))",
              f"#define SARDONYX_TILE_STATUS 0x{STATUS_REGISTER:x}u",
              f"#define SARDONYX_TILE_MEMORY 0x{MEMORY_REGISTER:x}u",
              *([f"#define SARDONYX_TILE_{event.upper()} 0x{COUNTER_REGISTER + n:x}u" for n, event in enumerate(EVENTS)]
                if arch.counter_bits else [])]
    for tile in _tiles(arch):
        space = arch.config_map(tile.kind)
        for (name, field), slot in space.slots.items():
            prefix = f"SARDONYX_{tile.kind}_{name}_{field}".upper()
            mask = (1 << space.sets[name].fields[field].bits) - 1
            lines += [f"#define {prefix}_{part} {value}" for part, value in
                      (("WORD", slot.word), ("LSB", slot.lsb), ("MASK", f"0x{mask:x}u"))]
    return "\n".join([*lines, "", "#endif", ""])


def _header_registers(prefix: str, registers: tuple[Register, ...]) -> list[str]:
    lines = []
    for register in registers:
        name = f"{prefix}{register.name.upper()}"
        lines.append(f"#define {name} 0x{register.offset:x}u")
        for field, lsb, bits, _ in register.fields:
            lines += [f"#define {name}_{field.upper()}_LSB {lsb}",
                      f"#define {name}_{field.upper()}_MASK 0x{(1 << bits) - 1:x}u"]
    return lines


