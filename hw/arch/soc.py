"""The register map that software sees, and the constants of the control sequence.

Register files share one 32-bit AXI4-Lite space: the controller's of each region, `REGION_STRIDE` bytes apart from 0 on, that of
all regions at `GROUP_REGISTERS`, and one per GLB tile from `GLB_REGISTERS` on, `GLB_REGISTER_STRIDE` bytes apart. The hardware,
the host code, the C header and the register document read these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Protocol

from .check import Identifier, OneOf, Whole, check
from .config import EVERY_ROW
from .glb import MOST_CHAINED, Glb

# Widths of the addresses of the register port and of the data port.
REGISTER_ADDRESS_BITS = 16
DATA_ADDRESS_BITS = 32

REGISTER_BITS = 32

# Regions have their controllers' registers from 0 on, so far apart.
REGION_STRIDE = 0x80
MOST_REGIONS = 16
# What is of several regions has a file behind them.
GROUP_REGISTERS = MOST_REGIONS * REGION_STRIDE
# GLB tiles, and columns, that a register has a bit for.
MOST_CLAIMED = REGISTER_BITS
MOST_STALLED = REGISTER_BITS
# Bits of the registers in which the GLB tiles' DMAs have one each: where there are more tiles, those modulo their number.
ENDS_BITS = REGISTER_BITS

GLB_REGISTERS = 0x1000
GLB_REGISTER_STRIDE = 0x100

# Cycles that a start holds flush: a flush is registered once per column, so every tile sees it after one cycle; the
# rest lets the global buffer's own streams settle.
FLUSH_CYCLES = 4

# `moved_columns` has the columns that moved since `cycles` was last a multiple of this, a power of two, so that a run that is
# stopped at a multiple shows all that moved in so many cycles. Its bits stand for the columns modulo their number.
MOVED_WINDOW = 1024
MOVED_BITS = REGISTER_BITS

# Bits of the loop registers of an address generator. Extents count 16-bit words, strides are bytes.
EXTENT_BITS = 24
STRIDE_BITS = 24

# Of GLB tiles, in a register of both loads and stores.
QUEUED_BITS = 16
# With a queue: repetitions of a descriptor, and the count of descriptors that ended.
REPEAT_BITS = 16
ENDED_BITS = 16
# Numbers of blocks, and the 16-bit words that a block may have where it has a number.
NUMBER_BITS = 16
ROOM_BITS = 16
# Cycles in which a word that is saved comes from its memory, at most: there and back over a register for each of 255 tiles.
SAVE_PATIENCE = 512
# Tiles of a chain behind the first one.
HOPS_BITS = (MOST_CHAINED - 1).bit_length()

RO, RW, W1C, PULSE = ACCESSES = ("ro", "rw", "w1c", "pulse")


RegisterField = tuple[Annotated[str, Identifier()], Annotated[int, Whole(0, 31)], Annotated[int, Whole(1, 32)], str]
Row = tuple[str, str, str] | tuple[str, str, str, tuple[RegisterField, ...]]


@dataclass(frozen=True)
class Register:
    """A 32-bit register: byte offset, access (ro, rw, w1c: write one to clear, pulse: acts when written), meaning.

    fields : tuple of (name, lowest bit, bits, meaning)
    """

    name: Annotated[str, Identifier()]
    offset: Annotated[int, Whole(0, GLB_REGISTERS - 4)]
    access: Annotated[str, OneOf(ACCESSES)]
    doc: str
    fields: tuple[RegisterField, ...] = ()

    def __post_init__(self) -> None:
        check(self, "register")

    def bits(self, name: str) -> slice:
        """Where a field is in the word."""
        low, width = next((low, width) for field, low, width, _ in self.fields if field == name)
        return slice(low, low + width)

    def word(self, **fields: int) -> int:
        """The word with these values of its fields; the others are 0."""
        places = {name: self.bits(name) for name in fields}
        assert all(0 <= value < 1 << place.stop - place.start for value, place in zip(fields.values(), places.values())), \
            f"fields of {self.name} hold their values"
        return sum(value << places[name].start for name, value in fields.items())


# Bits of `status`, and of `irq_enable` and `irq_status` from bit 1 on.
BUSY, FINISHED, OVERFLOW, WATCHDOG, STORE_LIMIT, STORE_LOST, CONFIG_BUSY, CYCLE_LIMIT, \
    CONFIGURING, CONFIGURED, ASTRAY, LOAD_ENDED, STORE_ENDED, AT_WALL = range(14)
_EVENTS = (("done", FINISHED, 1, "every enabled load and store has finished, in the last run"),
           ("overflow", OVERFLOW, 1, "a level grew beyond its buffer, or streams do not belong together; the run was stopped"),
           ("watchdog", WATCHDOG, 1, "nothing moved for watchdog_limit cycles; the run was stopped"),
           ("store_limit", STORE_LIMIT, 1, "a store reached its limit; the run was stopped"),
           ("store_lost", STORE_LOST, 1, "a static store found its bank busy and lost a word, or a load or store was for a "
                                         "bank beyond its chain of GLB tiles or was to start inside one, or the hops of a load "
                                         "were not those of its chain; the run was stopped"),
           ("cycle_limit", CYCLE_LIMIT, 1, "the run took more than cycle_limit cycles; it was stopped"),
           ("configured", CONFIGURED, 1, "every word of the enabled configuration DMAs is in its register"),
           ("astray", ASTRAY, 1, "a word of a configuration DMA was for a column that its words do not reach, or of another "
                                 "region; it was dropped"),
           ("walled", AT_WALL, 1, "a tile led a word at a wall, into columns of another region; the run was stopped"))
_ENDS = (("load", LOAD_ENDED, 1, "a load of irq_loads has ended; loads_ended says which"),
         ("store", STORE_ENDED, 1, "a store of irq_stores has ended; stores_ended says which"))


def register_file(*rows: Row) -> tuple[Register, ...]:
    """Registers one behind the other."""
    return tuple(Register(row[0], 4 * i, row[1], row[2], row[3] if len(row) == 4 else ()) for i, row in enumerate(rows))


def named(registers: tuple[Register, ...]) -> dict[str, Register]:
    """Registers by name."""
    return {register.name: register for register in registers}


_CONTROLLER: tuple[Row, ...] = (
    ("fingerprint_high", RO, "bits 63:32 of the fingerprint of the machine's description"),
    ("fingerprint_low", RO, "bits 31:0 of the fingerprint"),
    ("shape", RO, "size of the machine",
     (("columns", 0, 9, "columns"), ("rows", 9, 9, "rows"), ("glb_tiles", 18, 9, "tiles of the global buffer"),
      ("regions", 27, MOST_REGIONS.bit_length(), "regions, each with a file of registers like this one"))),
    ("control", PULSE, "starts and stops runs",
     (("start", 0, 1, "flush, clear status, then run the enabled loads and stores, `runs` times more; after the "
                      "configuration, if one goes on or is started with it"),
      ("stop", 1, 1, "end the run, and the configuration"),
      ("configure", 2, 1, "end the run, then configure: stream what the enabled configuration DMAs hold, the array in flush"))),
    ("status", RO, "state of the run and of configuration; all but busy bits stay until the next of its kind starts",
     (("busy", BUSY, 1, "a run is going on"), *_EVENTS, ("config_busy", CONFIG_BUSY, 1, "a configuration read is under way"),
      ("configuring", CONFIGURING, 1, "configuration DMAs stream"))),
    ("irq_enable", RW, "events that raise the interrupt", _EVENTS + _ENDS),
    ("irq_status", W1C, "events since they were cleared", _EVENTS + _ENDS),
    ("watchdog_limit", RW, "cycles without any movement after which a run is stopped; 0: never"),
    ("cycles", RO, "cycles from the end of the first flush to the end of the last run"),
    ("overflow_column", RO, "column of the overflow, or of the word at a wall; the status registers of its tiles tell which "
                              "and why"),
    ("config_address", RW, "configuration address {x[31:24], y[23:16], register[15:0]}"),
    ("config_write", PULSE, "writes this word to config_address; an error response while DMAs configure, or for a column of "
                            "another region"),
    ("config_read", PULSE, "starts a read of config_address; an error response as of config_write"),
    ("config_data", RO, "word read last; valid when config_busy is 0"),
    ("cycle_limit", RW, "cycles that the runs of a start may take before they are stopped; 0: any number"),
    ("moved_columns", RO, f"bit i: a token moved in a column c with c mod {MOVED_BITS} = i since cycles was last a multiple of "
                          f"{MOVED_WINDOW}; kept when the run ends"),
    ("config_cycles", RO, "cycles that the last configuration by DMAs took"),
    ("runs", RW, "runs that follow the first one of a start by themselves, each behind a flush; may be raised meanwhile"),
    ("runs_done", RO, "runs that have ended since start"),
    ("claim", PULSE, "this region has the GLB tiles of bits that are 1, with their columns, from now on, and no others: what "
                     "it gives up is of no region; an error response while this region or one that has them now runs or "
                     "configures, for tiles that do not exist, and where there is one region"),
    ("tiles", RO, "bit t: GLB tile t is of this region; after reset all are of region 0"),
    ("irq_loads", RW, f"bit i: the end of a load of a GLB tile t with t mod {ENDS_BITS} = i is the event `load`"),
    ("irq_stores", RW, f"bit i: the end of a store of a GLB tile t with t mod {ENDS_BITS} = i is the event `store`"),
    ("loads_ended", W1C, "bit i, as in irq_loads: a load has ended since it was cleared: the array took the last word of its "
                         "part of a run, or of a descriptor with its repetitions where GLB tiles have queues"),
    ("stores_ended", W1C, "bit i, as in irq_stores: a store has ended likewise; its words are there for who reads them"),
)
_STALL: tuple[Row, ...] = (
    ("stall", RW, "bit x: column x is to be frozen, if it is of this region. Where a store is enabled and static, all columns "
                  "of the region are with any of them, as each knows the cycle of every word. Words of memories in such a "
                  "column are neither written nor read: an error response"),
    ("stalled", RO, "bit x: column x is frozen. No column is from a start or a configuration until loads show their first "
                    "words, and what a write to `stall` changes waits until words of config_write are in their registers"),
    ("stalled_cycles", RO, "cycles of the run with a frozen column; they are not among `cycles`, and watchdog_limit and "
                           "cycle_limit do not count them"),
)
# What every machine has, and what one whose columns can be stalled has.
CONTROLLER = register_file(*_CONTROLLER)
# What one of several regions has besides, once. Commands are those of `control`, and in its order.
GROUP = register_file(
    ("group", PULSE, "the commands for each of these regions, in one cycle, as by a write of `control` there: several begin "
                     "their flush, and start, together; an error response, and nothing else, for a region that does not exist",
     (("regions", 0, MOST_REGIONS, "bit r: region r"),
      *((name, MOST_REGIONS + low, bits, f"as `control.{name}`")
        for name, low, bits, _ in named(CONTROLLER)["control"].fields))),
)
_QUEUES: tuple[Row, ...] = (
    ("hold", RW, "holds runs open",
     (("hold", 0, 1, "a run goes on though all of its loads and stores have ended, for descriptors that are queued "
                     "later; it ends when this is 0 again. Where `runs` is raised the next one begins"),)),
    ("queued", RO, "descriptors that wait, as `queued` of the GLB tiles says; one that begins waits no more, as the one before "
                   "it has ended",
     (("loads", 0, QUEUED_BITS, f"bit i: a load of a GLB tile t with t mod {QUEUED_BITS} = i"),
      ("stores", QUEUED_BITS, QUEUED_BITS, f"bit i: a store of a GLB tile t with t mod {QUEUED_BITS} = i"))),
)


def glb_registers(glb: Glb) -> tuple[Register, ...]:
    """The registers of one GLB tile."""
    def loops(name: str, count: int) -> list[tuple[str, str, str]]:
        return [row for level in range(count) for row in (
            (f"{name}_extent{level}", RW, f"iterations of loop {level} (0 innermost), less one"),
            (f"{name}_stride{level}", RW, f"signed byte step when loop {level} advances, inner loops returning to 0 included"))]

    enable = ("enable", 0, 1, "takes part in the run")
    column = ("column", 8, 8, "which of the tile's columns")
    mode = ("affine", 1, 1, "store the words that the loops count; else length-prefixed sections")
    static = ("static", 2, 1, "store, where the loops count, the words in whose cycle the column's 1-bit stream shows 1; valid "
                              "and ready play no part")
    saves: list[RegisterField] = [
        ("saves", 2, 1, "with enable, in place of that: read words of the tile's columns and put them into memory, as "
                        "configuration words that write them again. They are config_words from address config_save on. With "
                        "`astray`, reads were not answered, and as many of the last words are not there"),
    ] if glb.kept_bytes else []
    packed: list[RegisterField] = [
        ("packed", 3, 1, "with enable: the words are packed, bytes from the lowest one on: {row step[7:4], mask[3:0]} and the "
                         "bytes of data in mask, or {0, code}, for the next registers or places"),
    ] if glb.packed else []
    save: list[Row] = [("config_save", RW, "address {x[31:24], y[23:16], register[15:0]} of the first word that is saved; x "
                                           "counts from the tile's first column")] if glb.kept_bytes else []
    configuration: list[Row] = [
        ("config_control", RW, "configuration words, from memory down the tile's columns",
         (enable, ("chained", 1, 1, "take the words that the tile to the west passes on, in place of its own"), *saves,
          *packed)),
        ("config_start", RW, "byte address in the tile of the first word, a multiple of 8"),
        ("config_words", RW, "words of 64 bits: {x[63:56], y[55:48], register[47:32], data[31:0]}; x counts columns from the "
                             f"tile's first one on, y {EVERY_ROW:#x} means all rows but that of IO tiles"),
        *save,
    ] if glb.configuration_dma else []
    sliced = ("sliced", 4, 1, "a run takes one iteration of the outermost loop, and the next one of the same start goes on "
                              "there; else every run takes all; for a store, where the loops count")
    queued = [("queued", 3, 1, "with enable: the registers are the next descriptor. In a run it is taken when the one before "
                               "ends, or at once behind its end; a start takes it, too. That clears this bit; till then leave "
                               "the registers as they are. A stop leaves it set")] if glb.queue else []
    repeat = [("repeat", 16, REPEAT_BITS, "how often the descriptor runs again before the next is taken")] if glb.queue else []
    queue: list[Row] = [
        ("ended", RO, "descriptors that ended, with their repetitions, since start; modulo 65536",
         (("load", 0, ENDED_BITS, "loads of which the array took the last word"),
          ("store", 16, ENDED_BITS, "stores of which the last word was written"))),
        ("store_words_before", RO, "store_words at the end of the descriptor before; 0 for the first since start"),
    ] if glb.queue else []
    ring: list[Row] = [
        ("ring_control", RW, "the chain of GLB tiles whose banks the load and store of the first one reach, one tile behind "
                             "the other in their addresses",
         (("connected", 0, 1, "the tile belongs to the chain of the tile to the west; its own load and store do not start"),
          ("hops", 8, HOPS_BITS, "of the first tile: how many follow it, 0 without a chain; words of its load take 2 cycles "
                             "more for each. A run with a load that has another number ends with `store_lost`"))),
    ] if glb.ring > 1 else []
    numbered = [("numbered", 5, 1,
                 "store blocks, each behind a section of one word, its number, in whatever order they come: block store_number "
                 "+ n to store_start + 2 * n * store_limit. With one of another number, or of more than store_limit words, the "
                 "run ends with `store_limit`")] if glb.numbered else []
    blocks: list[Row] = [
        ("store_blocks", RW, f"blocks that are stored by their numbers, {NUMBER_BITS} bits; what runs ends when all have come"),
        ("store_number", RW, f"the number of the first of them, {NUMBER_BITS} bits"),
    ] if glb.numbered else []
    listed = [("listed", 5, 1,
               "load_start, a multiple of 8, is that of a list of blocks, each a line of 8 bytes: {byte address in the tile of "
               "its first word[63:32], 0[31:17], last of the list[16], length[15:0]}. Its length comes as a word, then the "
               "words that the loops count; `sliced` plays no part")] if glb.listed else []
    limit = "16-bit words that may be stored" + f"; of a block with a number, {ROOM_BITS} bits" * glb.numbered
    sections = "sections, each a length and as many words, that the run stores" + "; of a block with a number" * glb.numbered
    return register_file(
        ("load_control", RW, "load stream, from memory to the array", (enable, *queued, sliced, *listed, column, *repeat)),
        ("load_start", RW, "byte address in the tile of the first word"),
        ("store_control", RW, "store stream, from the array to memory",
         (enable, mode, static, *queued, sliced, *numbered, column, *repeat)),
        ("store_start", RW, "byte address in the tile of the first word"),
        ("store_limit", RW, limit),
        ("store_sections", RW, sections),
        ("store_words", RO, "16-bit words stored so far" + ", by the descriptor taken last, in one repetition" * glb.queue),
        *configuration, *loops("load", glb.load_loops), *loops("store", glb.store_loops), *queue, *ring, *blocks)


def offsets(registers: tuple[Register, ...]) -> dict[str, int]:
    """Byte offset of each register by name."""
    return {register.name: register.offset for register in registers}


class Tiled(Protocol):
    """What has GLB tiles: an `Arch`, which reads this module itself."""

    @property
    def glb(self) -> Glb: ...

    @property
    def glb_tiles(self) -> int: ...

    @property
    def regions(self) -> int: ...

    @property
    def column_stall(self) -> bool: ...


@cache
def _controller(stalls: bool, queues: bool) -> tuple[Register, ...]:
    return register_file(*_CONTROLLER, *_STALL * stalls, *_QUEUES * queues)


def controller_registers(arch: Tiled) -> tuple[Register, ...]:
    """The registers of the controller of a region."""
    return _controller(arch.column_stall, arch.glb.queue)


def controller_name(region: int, regions: int) -> str:
    """How the controller of a region is called: in Verilog, and as a register file."""
    return "controller" if regions == 1 else f"controller{region}"


def address_map(arch: Tiled) -> list[tuple[str, int, tuple[Register, ...]]]:
    """Every register file: name, byte address, registers."""
    glb, controller = glb_registers(arch.glb), controller_registers(arch)
    return [*((controller_name(region, arch.regions), region * REGION_STRIDE, controller) for region in range(arch.regions)),
            *([("regions", GROUP_REGISTERS, GROUP)] if arch.regions > 1 else []),
            *((f"glb{tile}", GLB_REGISTERS + tile * GLB_REGISTER_STRIDE, glb) for tile in range(arch.glb_tiles))]


assert 4 * len(_controller(True, True)) <= REGION_STRIDE, "the files of regions do not overlap"
assert GROUP_REGISTERS + REGION_STRIDE <= GLB_REGISTERS, "nor do they reach those of GLB tiles"
