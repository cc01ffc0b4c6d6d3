"""cocotb tests of the DMA behind a memory that answers in any order. Run by tests/hw/dma/test_dma.py."""

import random
from typing import Any

import cocotb
import numpy as np
from axi_memory import Memory
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from sardonyx.hw.arch.dma import Dma, Loop, Request
from sardonyx.hw.dma.request import request_bits
from sardonyx.sim.golden.dma import addresses, loaded, stored

DMA = Dma(ports=3, loops=3, beats=4, room=8, lists=True, wide=True)
BYTES = 1 << 14
# Each port stores into bytes of its own, and all load from those that nobody writes.
LOADED = BYTES // 2
LISTS = LOADED + 3 * 2048


def any_request(draw: random.Random, port: int, stores: bool) -> Request:
    """One within the memory, of up to 3 loops and some hundred elements, with runs, single elements and strides back."""
    low, high = (LOADED + port * 2048, LOADED + (port + 1) * 2048) if stores else (0, LOADED)
    while True:
        size = draw.randrange(3)
        loops = []
        for level in range(draw.randrange(1, DMA.loops + 1)):
            span = draw.choice((1, 2, 3, draw.randrange(1, 9), draw.randrange(1, 120) if not level else 4))
            stride = draw.choice((1, draw.randrange(-9, 10), draw.choice((-32, 40, 64)))) << size
            loops.append(Loop(span, span if draw.random() < 0.6 else draw.randrange(span + 1), stride))
        base = draw.choice((draw.randrange(low, high), 4096 - draw.randrange(64), 8192 - draw.randrange(64))) >> size << size
        request = Request(base, size, stores, tuple(loops))
        at = addresses(request)
        at = at[at >= 0]
        if len(at) < 400 and (not len(at) or (at.min() >= low and at.max() + 4 <= high)):
            return request


def any_list(draw: random.Random, memory: np.ndarray) -> Request:
    """A list in bytes that nobody else uses: nodes of up to 20 elements, or none, in any order; some are cut short."""
    size, count = draw.randrange(3), draw.randrange(1, 6)
    nodes = draw.sample(range(LISTS, BYTES - 96, 96), count)
    for node, following in zip(nodes, [*nodes[1:], draw.choice((0, 0, 0, nodes[0], 4))]):
        elements = draw.choice((0, 1, draw.randrange(21)))
        head = following.to_bytes(4, "little") + elements.to_bytes(2, "little") + b"\xff\xff"
        memory[node:node + 8] = [*head]
    return Request(nodes[0], size, False, (Loop(1, 1, 0), Loop(draw.choice((count, 7)), 0, 0)), True)


async def begun(dut: Any) -> None:
    for port in range(DMA.ports):
        for name in ("request", "store"):
            getattr(dut, f"{name}{port}__valid").value = 0
        getattr(dut, f"load{port}__ready").value = getattr(dut, f"whole{port}").value = 0
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0


def whole_words(elements: "list[int]", size: int, bus_bytes: int) -> "list[int]":
    """Elements as words of the bus, the last one filled up."""
    content = b"".join((each % (1 << (8 << size))).to_bytes(1 << size, "little") for each in elements)
    return [int.from_bytes(content[at:at + bus_bytes], "little") for at in range(0, len(content), bus_bytes)]


async def do(dut: Any, port: int, request: Request, elements: "list[int]", draw: random.Random,
             whole: bool = False) -> "tuple[list[int], int]":
    """Have a port do a request: the elements or words that it loads, and whether it failed."""
    ragged = (len(addresses(request)) << request.size) % len(dut.m_axi_wstrb) if whole else 0
    getattr(dut, f"whole{port}").value = int(whole)
    asks, load, store = ({part: getattr(dut, f"{name}{port}__{part}") for part in ("payload", "valid", "ready")}
                         for name in ("request", "load", "store"))
    asks["payload"].value, asks["valid"].value = request_bits(request, DMA.loops), 1
    given: list[int] = []
    sent, offers = 0, False
    while True:
        await RisingEdge(dut.clk)
        if int(asks["valid"].value) and int(asks["ready"].value):
            asks["valid"].value = 0
        if int(load["valid"].value) and int(load["ready"].value):
            given.append(int(load["payload"].value))
        if offers and int(store["ready"].value):
            sent, offers = sent + 1, False
        if int(getattr(dut, f"ended{port}").value):
            assert sent == len(elements) and bool(int(getattr(dut, f"ragged{port}").value)) == bool(ragged)
            load["ready"].value = store["valid"].value = 0
            return given, int(getattr(dut, f"failed{port}").value)
        load["ready"].value = int(draw.random() < 0.7)
        offers = offers or (sent < len(elements) and draw.random() < 0.7)
        store["valid"].value = int(offers)
        if offers:
            store["payload"].value = elements[sent]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def elements_move_as_in_numpy_whatever_the_memory_does(dut: Any) -> None:
    await elements_move(dut)


async def elements_move(dut: Any) -> None:
    """Requests of all ports at once, of elements and of whole words."""
    await begun(dut)
    bus_bytes = len(dut.m_axi_wstrb)
    golden = np.random.default_rng(1).integers(0, 256, BYTES, np.uint8)
    memory = Memory(dut, golden.copy(), 2)
    cocotb.start_soon(memory.run())

    async def one(port: int) -> None:
        draw = random.Random(port)
        for number in range(40):
            request = any_request(draw, port, draw.random() < 0.5)
            count = len(addresses(request))
            elements = [draw.getrandbits(32) for _ in range(count)] if request.stores else []
            whole = draw.random() < 0.5
            words = whole_words(elements, request.size, bus_bytes) if whole else elements
            given, failed = await do(dut, port, request, words, draw, whole)
            assert not failed
            if request.stores:
                stored(golden, request, elements)
                continue
            wanted = loaded(golden, request)
            if whole:
                wanted = whole_words(wanted, request.size, bus_bytes)[:(count << request.size) // bus_bytes]
            assert given == wanted, (number, request)

    for task in [cocotb.start_soon(one(port)) for port in range(DMA.ports)]:
        await task
    assert np.array_equal(memory.content, golden)
    assert memory.most["ar"] > DMA.ports and memory.most["aw"] > DMA.ports, "a port has several bursts under way"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_request_that_meets_an_error_ends_and_the_next_one_is_whole(dut: Any) -> None:
    await begun(dut)
    memory = Memory(dut, np.arange(64, dtype=np.uint8), 3)
    cocotb.start_soon(memory.run())
    draw = random.Random(0)
    for stores in (False, True):
        beyond = Request(56, 2, stores, (Loop(6, 6, 4),))
        assert (await do(dut, 0, beyond, [7] * 6 if stores else [], draw))[1]
        assert await do(dut, 0, Request(8, 0, False, (Loop(3, 3, 1),)), [], draw) == ([8, 9, 10], 0)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def lists_give_the_elements_of_their_nodes(dut: Any) -> None:
    await begun(dut)
    memory = Memory(dut, np.random.default_rng(5).integers(0, 256, BYTES, np.uint8), 6)
    cocotb.start_soon(memory.run())
    draw = random.Random(7)
    for number in range(40):
        request = any_list(draw, memory.content) if number % 4 else any_request(draw, 0, number % 8 == 0)
        elements = [7] * len(addresses(request)) if request.stores else []
        given, failed = await do(dut, 0, request, elements, draw)
        if not request.stores:
            assert given == loaded(memory.content, request), (number, request)
        # A list that has no end within its nodes has been cut.
        node, left = request.base, request.loops[-1].span if request.linked else 0
        for _ in range(left):
            node = int.from_bytes(memory.content[node:node + 4].tobytes(), "little") if node % 8 == 0 and node else node
        assert failed == (request.linked and node != 0), (number, request)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_next_head_is_asked_for_before_the_elements(dut: Any) -> None:
    await begun(dut)
    memory = Memory(dut, np.zeros(BYTES, np.uint8), 8, rate=0)
    cocotb.start_soon(memory.run())
    memory.content[64:72], memory.content[128:136] = [128, 0, 0, 0, 3, 0, 0, 0], [0, 0, 0, 0, 5, 0, 0, 0]
    given, failed = await do(dut, 2, Request(64, 1, False, (Loop(1, 1, 0), Loop(9, 9, 0)), True), [], random.Random(0))
    assert (given, failed) == ([0] * 8, 0)
    assert [(each.addr, each.len + 1) for each in memory.taken["ar"]] == [(64, 1), (128, 1), (72, 1), (136, 2)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bursts_are_as_long_as_they_may_be_and_single_words_overlap(dut: Any) -> None:
    await begun(dut)
    memory = Memory(dut, np.zeros(BYTES, np.uint8), 4, rate=0)
    cocotb.start_soon(memory.run())
    draw = random.Random(0)
    await do(dut, 0, Request(4080, 0, False, (Loop(64, 64, 1),)), [], draw)
    assert [(each.addr, each.len + 1) for each in memory.taken["ar"]] == [(4080, 2), (4096, 4), (4128, 2)]
    await do(dut, 1, Request(0, 2, False, (Loop(30, 30, 64),)), [], draw)
    assert memory.most["ar"] > 2
    # What is not there is neither read nor written.
    memory.taken["ar"].clear()
    assert await do(dut, 1, Request(0, 2, False, (Loop(3, 0, 4), Loop(2, 2, 64))), [], draw) == ([0] * 6, 0)
    assert not memory.taken["ar"]
