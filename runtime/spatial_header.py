"""The C header of a spatial accelerator: its commands as functions, its streams by name.

For C11 and C++11. On RISC-V commands are instructions; elsewhere they are writes of registers, from `SPATIAL_REGISTERS` on, an
address that who includes the header defines.

Input:   Accelerator or OuterProduct.
Output:  the text.
Source:  Stellar V, Listing 7, whose names these are.
"""

from __future__ import annotations

from ..hw.arch import command
from ..hw.arch.accelerator import Accelerator
from ..hw.arch.outer_product import OuterProduct

_FUNCTIONS = """
/* Do a command, and give the register `status` of before it. The core waits while the queue is full. */
#if defined(__riscv)
#define SPATIAL_COMMAND(number, rs1, rs2) __extension__({ \\
    uint32_t spatial_status_; \\
    __asm__ volatile(".insn r %1, 0, %2, %0, %3, %4" : "=r"(spatial_status_) \\
                     : "i"(SPATIAL_OPCODE), "i"(number), "r"((uint32_t)(rs1)), "r"((uint32_t)(rs2)) : "memory"); \\
    spatial_status_; })
static inline uint32_t spatial_status(void) { return SPATIAL_COMMAND(SPATIAL_READ_STATUS, 0u, 0u); }
static inline void spatial_clear(void) { (void)SPATIAL_COMMAND(SPATIAL_CLEAR, 0u, 0u); }
/* With a watchdog: the requests that it gave up, SPATIAL_WAIT_... of their streams. */
#if defined(SPATIAL_PATIENCE)
static inline uint32_t spatial_given_up(void) { return SPATIAL_COMMAND(SPATIAL_READ_GIVEN_UP, 0u, 0u); }
#endif
#elif defined(SPATIAL_REGISTERS)
static inline volatile uint32_t *spatial_register(uint32_t offset)
{
    return (volatile uint32_t *)((uintptr_t)SPATIAL_REGISTERS + offset);
}
static inline uint32_t spatial_status(void) { return *spatial_register(SPATIAL_STATUS); }
static inline void spatial_clear(void) { *spatial_register(SPATIAL_CLEAR_REGISTER) = 1u; }
#if defined(SPATIAL_PATIENCE)
static inline uint32_t spatial_given_up(void) { return *spatial_register(SPATIAL_GIVEN_UP); }
#endif
static inline uint32_t spatial_command(uint32_t number, uint32_t rs1, uint32_t rs2)
{
    uint32_t status;
    while ((status = spatial_status()) & SPATIAL_STATUS_FULL)
        ;
    *spatial_register(SPATIAL_RS1) = rs1;
    *spatial_register(SPATIAL_RS2) = rs2;
    *spatial_register(SPATIAL_COMMAND_REGISTER) = number;
    return status;
}
#define SPATIAL_COMMAND(number, rs1, rs2) spatial_command((number), (rs1), (rs2))
#endif

#if defined(SPATIAL_COMMAND)
static inline void spatial_set_src_and_dst(uint32_t source, uint32_t destination)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_SRC_AND_DST, source, destination);
}
/* sides: SPATIAL_FOR_SRC, SPATIAL_FOR_DST or SPATIAL_FOR_BOTH. */
static inline void spatial_set_address(uint32_t sides, uint32_t address)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_ADDRESS, sides, address);
}
static inline void spatial_set_span(uint32_t sides, uint32_t axis, uint32_t span)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_SPAN, sides | axis, span);
}
static inline void spatial_set_data_stride(uint32_t sides, uint32_t axis, int32_t stride)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_DATA_STRIDE, sides | axis, (uint32_t)stride);
}
static inline void spatial_set_axis_type(uint32_t sides, uint32_t axis, uint32_t type)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_AXIS_TYPE, sides | axis, type);
}
/* array: 0 segments, bits or heads, then those in front of the values. */
static inline void spatial_set_metadata_address(uint32_t sides, uint32_t array, uint32_t address)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_METADATA_ADDRESS, sides | array << SPATIAL_METADATA_LSB, address);
}
/* axis 1 and array 0, or axis 0 and an array behind it; elements from one to the next: 1, 2, 4 or 8. */
static inline void spatial_set_metadata_stride(uint32_t sides, uint32_t axis, uint32_t array, uint32_t stride)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_METADATA_STRIDE, sides | array << SPATIAL_METADATA_LSB | axis, stride);
}
static inline void spatial_set_constant(uint32_t constant, uint32_t value)
{
    (void)SPATIAL_COMMAND(SPATIAL_SET_CONSTANT, constant, value);
}
static inline void spatial_issue(void) { (void)SPATIAL_COMMAND(SPATIAL_ISSUE, 0u, 0u); }
static inline void spatial_wait(uint32_t mask) { (void)SPATIAL_COMMAND(SPATIAL_WAIT, mask, 0u); }
/* Wait until no command waits and no request is under way; the error that there is then, 0 for none. */
static inline uint32_t spatial_fence(void)
{
    uint32_t status;
    while ((status = spatial_status()) & SPATIAL_STATUS_BUSY)
        if (status & SPATIAL_STATUS_ERROR)
            break;
    return (status & SPATIAL_STATUS_ERROR) >> SPATIAL_STATUS_ERROR_LSB;
}
#endif
"""


def header(accelerator: Accelerator | OuterProduct) -> str:
    """The text of ``spatial.h``."""
    values = {
        "FINGERPRINT": accelerator.fingerprint, "PORTS": accelerator.dma.ports, "LOOPS": accelerator.dma.loops,
        "QUEUE": accelerator.queue, "RAM_BYTES": accelerator.ram_bytes, "OPCODE": command.OPCODE,
        **{each.name.upper(): each.number for each in command.COMMANDS}, "READ_STATUS": command.READ_STATUS,
        "CLEAR": command.CLEAR, "FOR_SRC": command.SOURCE, "FOR_DST": command.DESTINATION, "FOR_BOTH": command.BOTH,
        "MEMORY": command.region(command.MEMORY),
        **{f"STREAM_{stream.name.upper()}": command.region(command.BUFFER, n) for n, stream in enumerate(accelerator.streams)},
        **{f"WAIT_{stream.name.upper()}": 2 << n for n, stream in enumerate(accelerator.streams)}, "WAIT_ALL": command.ALL,
        "ELEMENT": command.ELEMENT, "PARTS": command.PARTS, "LAUNCHES": command.LAUNCHES, "SHARED": command.SHARED,
        **({"PATIENCE": command.PATIENCE, "READ_GIVEN_UP": command.READ_GIVEN_UP} if accelerator.watchdog else {}),
        **{f"READ_{name.upper()}": command.READ_STALL + nth for nth, name in enumerate(accelerator.stalls)},
        "RESTART": command.RESTART, "METADATA_LSB": command.METADATA_LSB, "DENSE": command.DENSE,
        "COMPRESSED": command.COMPRESSED, "LINKED_LIST": command.LINKED_LIST, "BITVECTOR": command.BITVECTOR}
    # Of registers a name alone is the offset; these are commands as well.
    taken = {"command": "COMMAND_REGISTER", "clear": "CLEAR_REGISTER"}
    for register in command.REGISTERS:
        name = taken.get(register.name, register.name.upper())
        values[name] = register.offset
        for field, low, bits, _ in register.fields:
            values[f"{name}_{field.upper()}"] = (1 << bits) - 1 << low
            values[f"{name}_{field.upper()}_LSB"] = low
    lines = ["/* Commands of a spatial accelerator, generated from its description. */", "#ifndef SPATIAL_H",
             "#define SPATIAL_H", "", "#include <stdint.h>", "",
             *(f"#define SPATIAL_{name} {value:#x}u" for name, value in values.items())]
    return "\n".join(lines) + "\n" + _FUNCTIONS + _reading(accelerator) + "\n#endif\n"


def _reading(accelerator: Accelerator | OuterProduct) -> str:
    """A function for each counter."""
    lanes = isinstance(accelerator, OuterProduct)
    # Commands are taken for all lanes at once.
    parts = [f"""/* Cycles{" of all lanes" if lanes and name != "command_held" else ""} since reset in which {what}. */
#if defined(__riscv)
static inline uint32_t spatial_{name}(void) {{ return SPATIAL_COMMAND(SPATIAL_READ_{name.upper()}, 0u, 0u); }}
#elif defined(SPATIAL_REGISTERS)
static inline uint32_t spatial_{name}(void) {{ return *spatial_register(SPATIAL_{name.upper()}); }}
#endif
""" for name, what in accelerator.stalls.items()]
    return "".join(parts)
