"""Programs for a spatial accelerator: commands one by one, requests, and moves of tensors.

    program = Program(accelerator)
    program.move("A_values", 0x1000, strides=(64, 1), there=(4, 3), size=0)
    program.wait()

Input:   Accelerator; addresses in bytes, strides in elements.
Output:  `Program.words`: the commands, as registers or instructions take them.
Errors:  UserError for streams that there are not, numbers that a command cannot hold, and errors that a status tells.
Source:  Stellar V and Listing 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import SupportsIndex

from ..hw.arch import command
from ..hw.arch.accelerator import Accelerator
from ..hw.arch.command import BOTH, BUFFER, DESTINATION, MEMORY, PATIENCE_BITS, SOURCE, Word, region
from ..hw.arch.dma import MOST_SIZE, MOST_SPAN, NODES_AXIS
from ..hw.arch.errors import UserError
from ..hw.arch.soc import named


class Program:
    """Commands for an accelerator, in order."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.words: list[Word] = []
        self._index = {stream.name: n for n, stream in enumerate(accelerator.streams)}
        self._launches = accelerator.launches

    def command(self, name: str, rs1: int = 0, rs2: int = 0) -> None:
        """Any command, by its name; rs2 may be a number with a sign."""
        if name not in command.BY_NAME:
            raise UserError(f"there is no command '{name}'", "program", f"choose one of {', '.join(command.BY_NAME)}")
        for what, word in (("rs1", rs1), ("rs2", rs2)):
            if not isinstance(word, SupportsIndex) or not -1 << 31 <= word < 1 << 32:
                raise UserError(f"{what} of {name} is {word}", "program", "give a whole number of 32 bits")
        self.words.append((command.BY_NAME[name].number, int(rs1) % (1 << 32), int(rs2) % (1 << 32)))

    def index(self, stream: str) -> int:
        """Of a stream, by its name."""
        if stream not in self._index:
            raise UserError(f"there is no stream '{stream}'", "program", f"choose one of {', '.join(self._index)}")
        return self._index[stream]

    def parts(self, count: int) -> None:
        """Results are sums of so many operations from now on."""
        self.command("set_constant", command.PARTS, count)

    def launches(self, count: int) -> None:
        """Operations have so many launches from now on, where they may end early: so many rows are moved."""
        least, most = self.accelerator.least_launches, self.accelerator.launches
        if not most or not least <= count <= most:
            raise UserError(f"operations of {count} launches", f"accelerator '{self.accelerator.name}'",
                            f"give {least}..{most}" if most else "make its array short")
        self._launches = count
        self.command("set_constant", command.LAUNCHES, count)

    def shared(self, count: int) -> None:
        """So many operations share a tensor, and are one result, from now on; of buffers of rows that have several."""
        most = self.accelerator.shared
        if not 1 <= count <= most or most == 1:
            raise UserError(f"{count} operations share a tensor", f"accelerator '{self.accelerator.name}'",
                            f"give 1..{most}" if most > 1 else "give its wide buffers operations")
        self.command("set_constant", command.SHARED, count)

    def patience(self, cycles: int) -> None:
        """All is given up when nothing has moved for so many cycles, with something under way and nothing on the bus; 0: never.

        An operation takes fewer: from its last operand to its first result nothing moves.
        """
        if not self.accelerator.watchdog:
            raise UserError("it has no watchdog", f"accelerator '{self.accelerator.name}'", "give it one, or set no patience")
        if not 0 <= cycles < 1 << PATIENCE_BITS:
            raise UserError(f"a patience of {cycles} cycles", "program", f"give 0..2^{PATIENCE_BITS} - 1")
        self.command("set_constant", command.PATIENCE, cycles)

    def wait(self, *streams: str) -> None:
        """Wait until the requests of streams have ended, or all of them."""
        mask = sum(2 << n for n in {self.index(stream) for stream in streams}) if streams else command.ALL
        self.command("wait", mask)

    def request(self, stream: str, address: int, loops: Sequence[tuple[int, int, int]], size: int) -> None:
        """A request between memory and a stream.

        loops: innermost first, each its iterations, how many of them are in memory, and the elements from one to the next.
        size: the logarithm of the bytes of an element.
        """
        most = self.accelerator.dma.loops
        loops = [loop for loop in loops if loop[:2] != (1, 1)]
        if len(loops) > most:
            raise UserError(f"a request has {len(loops)} loops", f"stream {stream}", f"use {most} or fewer, or a DMA with more")
        index = self.index(stream)
        is_result = self.accelerator.streams[index].is_result
        inner, outer = region(BUFFER, index), region(MEMORY)
        memory, other = (DESTINATION, SOURCE) if is_result else (SOURCE, DESTINATION)
        self.command("set_src_and_dst", *((inner, outer) if is_result else (outer, inner)))
        if not 0 <= size <= MOST_SIZE:
            raise UserError(f"elements are of 2^{size} bytes", f"stream {stream}", f"give 0..{MOST_SIZE}")
        if size:
            self.command("set_constant", command.ELEMENT, size)
        self.command("set_address", memory, address)
        for axis, (span, there, stride) in enumerate(loops):
            if not 1 <= span <= MOST_SPAN or not 0 <= there <= span:
                raise UserError(f"a loop has {span} iterations, {there} of them in memory", f"stream {stream}",
                                f"give 1..{MOST_SPAN}, and of them 0 or more")
            if span == there:
                if span > 1:
                    self.command("set_span", BOTH | axis, span)
            else:
                self.command("set_span", memory | axis, there)
                self.command("set_span", other | axis, span)
            if stride and span > 1:
                self.command("set_data_stride", memory | axis, stride)
        self.command("issue")

    def gather(self, stream: str, address: int, nodes: int, size: int) -> None:
        """Bring the elements of a linked list to the stream of an operand.

        address: of its first node, a multiple of 8.  nodes: how many there are at most.
        """
        if not self.accelerator.dma.lists:
            raise UserError("its DMA follows no lists", f"accelerator '{self.accelerator.name}'", "give it lists")
        index = self.index(stream)
        self.command("set_src_and_dst", region(MEMORY), region(BUFFER, index))
        self.command("set_constant", command.ELEMENT, size)
        self.command("set_address", SOURCE, address)
        self.command("set_axis_type", SOURCE | NODES_AXIS, command.LINKED_LIST)
        self.command("set_span", BOTH | NODES_AXIS, nodes)
        self.command("issue")

    def arrays(self, stream: str, addresses: Sequence[int], size: int, strides: Sequence[int] = ()) -> None:
        """Move a tensor without zeros, all its arrays: an operand from memory, or a result to memory.

        stream: of its values.  addresses: where its arrays are from the first tensor on, in the order of their streams, the
        values last; but that of segments, bits or heads is of this tensor.  size: the logarithm of the bytes of a value.
        strides: of each array, elements from one to the next, 1, 2, 4 or 8; none: 1 of all.
        """
        index = self.index(stream)
        found = self.accelerator.streams[index]
        if len(addresses) != found.before + 1 or not found.before:
            raise UserError(f"{len(addresses)} addresses", f"stream {stream}",
                            f"give {found.before + 1}" if found.before else "name the values of a tensor without zeros")
        if strides and (len(strides) != len(addresses) or not set(strides) <= set(command.PITCHES)):
            raise UserError(f"the strides are {', '.join(map(str, strides))}", f"stream {stream}",
                            f"give {len(addresses)}, each one of {', '.join(map(str, command.PITCHES))}")
        inner, outer = region(BUFFER, index), region(MEMORY)
        memory = DESTINATION if found.is_result else SOURCE
        self.command("set_src_and_dst", *((inner, outer) if found.is_result else (outer, inner)))
        if size:
            self.command("set_constant", command.ELEMENT, size)
        self.command("set_axis_type", BOTH, command.AXIS_TYPES[found.kind])
        for nth, address in enumerate(addresses[:-1]):
            self.command("set_metadata_address", memory | nth << command.METADATA_LSB, address)
        for nth, stride in enumerate(strides[:-1]):
            self.command("set_metadata_stride", memory | nth << command.METADATA_LSB | (nth == 0), stride)
        if strides:
            self.command("set_data_stride", memory, strides[-1])
        self.command("set_address", memory, addresses[-1])
        self.command("issue")

    def restart(self, elements: int = 0) -> None:
        """What is counted goes on behind so many elements; of levels behind each other from 0 on alone."""
        if elements and self.accelerator.chained:
            names = ", ".join(self.accelerator.chained)
            raise UserError(f"it would go on behind {elements} elements of every level of {names}",
                            f"accelerator '{self.accelerator.name}'", "restart from 0, and give addresses where arrays go on")
        self.command("set_constant", command.RESTART, elements)

    def move(self, tensor: str, address: int, strides: Sequence[int], there: Sequence[int], size: int,
             around: Sequence[tuple[int, int]] = ()) -> None:
        """Bring a dense tensor into its buffer, bank by bank, or take a result to memory.

        address: of its first element.  strides: of each dimension, in elements.  there: how many of each dimension are in
        memory; the others are 0, or dropped.  around: loops over tensors, innermost first, each how many there are and elements
        from one to the next.
        """
        for stream, first, loops in self._loops(tensor, strides, there):
            self.request(stream, address + (first << size), [*loops, *((span, span, stride) for span, stride in around)], size)

    def _loops(self, tensor: str, strides: Sequence[int],
               there: Sequence[int]) -> Iterator[tuple[str, int, list[tuple[int, int, int]]]]:
        """The streams of a tensor, where each begins, and its loops."""
        for result in self.accelerator.results:
            if result.tensor.name == tensor:
                shape = [*result.tensor.shape]
                if self.accelerator.launches:
                    shape[result.order[0]] = self._launches
                yield tensor, 0, [(shape[at], there[at], strides[at]) for at in reversed(result.order)]
                return
        found = [buffer for buffer in self.accelerator.buffers if buffer.tensor == tensor]
        if not found or found[0].banks[0].is_scanned:
            raise UserError(f"there is no dense tensor '{tensor}'", "program",
                            "name an operand whose levels are dense, or a result; request arrays of other levels one by one")
        buffer, = found
        count = len(buffer.banks)
        for nth, bank in enumerate(buffer.banks):
            loops, first = [], 0
            for level, at in enumerate(buffer.order):
                banked = level == buffer.axis and count > 1
                inside = -(-(there[at] - nth) // count) if banked else there[at]
                first += nth * strides[at] if banked else 0
                extent = self._launches if bank.short and level == 0 else bank.levels[level].extent
                loops.append((extent, max(0, inside), strides[at] * (count if banked else 1)))
            yield buffer.name(nth, "values"), first, loops[::-1]


def check(status: int, where: str) -> None:
    """UserError for what a register `status` tells."""
    register = named(command.REGISTERS)["status"]
    error, refused = (status >> register.bits(name).start & (1 << register.bits(name).stop - register.bits(name).start) - 1
                      for name in ("error", "refused"))
    if error:
        names = {each.number: each.name for each in command.COMMANDS}
        met = error in (command.TENSORS, command.BUS, command.HANG)
        told = "" if met else f"command {refused} ({names.get(refused, 'unknown')}): "
        raise UserError(f"{told}{command.ERRORS[error]}", where, "correct the program; docs/spatial.md says what commands take")
