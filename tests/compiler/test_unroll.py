"""Copies of a program: what they are made of, and what leads blocks to them."""

import zlib
from collections import Counter
from dataclasses import replace

import pytest
from unrolled import ONYX, PRODUCT, SCALED, SMALL, TOTAL, graph_of, own, placing, sharing

from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir import mapped
from sardonyx.compiler.sparse.copies import Copies
from sardonyx.compiler.sparse.unroll import unroll
from sardonyx.hw.arch.errors import UserError


def primitives(graph):
    return Counter(block.primitive for block in graph.blocks.values())


def test_a_copy_has_the_blocks_nets_and_streams_of_the_program():
    graph = graph_of(PRODUCT)
    found = unroll(graph, own(3))
    mapped.verify(found, ONYX)
    assert len(found.blocks) == 3 * len(graph.blocks) and len(found.nets) == 3 * len(graph.nets)
    assert primitives(found) == {name: 3 * count for name, count in primitives(graph).items()}
    for copy in range(3):
        for each in graph.blocks.values():
            assert each.kind == "io" or found.blocks[f"{each.name}.{copy}"] == replace(each, name=f"{each.name}.{copy}")
        assert {each.name for each in found.streams if each.name.endswith(f".{copy}")} == {
            f"{each.name}.{copy}" for each in graph.streams}


def test_one_copy_is_the_program_itself():
    graph = graph_of(PRODUCT)
    assert unroll(graph, Copies()) == graph
    assert Copies().link("B0", 0) == "B0" and own(2).link("B0", 1) == "B0.1"
    assert compile_einsum(PRODUCT, SMALL).files() == compile_einsum(PRODUCT, SMALL, copies=1).files()


def test_a_bitstream_says_which_copies_share_links():
    program = compile_einsum(SCALED, SMALL, copies=2).program
    found = decode(encode(program, SMALL), SMALL)
    assert found == program and found.source["copies"] == [[0], [1]]
    assert {each.name for each in found.transfers} == {f"{name}.{copy}" for copy in (0, 1)
                                                       for name in ("b0", "b_vals", "c_vals", "x0", "x_vals")}


@pytest.mark.parametrize("copies,dynamic", [(2, False), (3, True), (4, False), (5, True), (7, True), (13, False), (21, True)])
def test_every_copy_of_a_group_is_reached_by_its_number_and_by_it_alone(copies, dynamic):
    """The numbers that lead through the filters of each link, and those that arbiters and dispatchers put in front."""
    arch = sharing(replace(ONYX, columns=256))
    graph = graph_of(PRODUCT)
    found = unroll(graph, Copies((tuple(range(copies)),), dynamic))
    mapped.verify(found, arch)
    drives = {(net.source.block, net.source.port): net.sinks for net in found.nets}
    driven = {(sink.block, sink.port): net.source for net in found.nets for sink in net.sinks}

    def copy_of(number, block, port):
        """Where a block with a number comes to."""
        sink, = (each for each in drives[block, port] if found.blocks[each.block].primitive != "dispatcher")
        node = found.blocks[sink.block]
        if node.primitive != "filter":
            return sink.block
        way = 0 if number < node.config["first1"] else 1 if number < node.config["first2"] else 2
        reached = copy_of(number, node.name, f"res{way}")
        assert (node.config["keep"] >> way & 1) == (found.blocks[drives[node.name, f"res{way}"][0].block].primitive == "filter")
        return reached

    def numbers_of(block, single):
        """The numbers that a tree gives, with what they stand for."""
        node, given = found.blocks[block], {}
        for at in range(4):
            if source := driven.get((block, f"data{at}")):
                if node.config[single] >> at & 1:
                    given[node.config["first"] + at] = source.block
                else:
                    given |= numbers_of(source.block, single)
        return given

    for stream in found.streams:
        if stream.direction == mapped.LOAD:
            level = stream.name.partition(".")[0]
            mine = {f"load {level}": next(sink.block for net in graph.nets for sink in net.sinks
                                          if net.source.block == f"load {level}")}[f"load {level}"]
            assert [copy_of(number, stream.block, "g2f") for number in range(copies)] == [f"{mine}.{n}" for n in range(copies)]
        elif not stream.name.startswith("numbers"):
            root = driven[stream.block, "f2g"].block
            assert {number: block.rpartition(".")[2] for number, block in numbers_of(root, "numbers").items()} == {
                number: str(number) for number in range(copies)}
            assert stream.sections == copies * (3 if stream.name.startswith("X1") else 2)
        else:
            root = driven[stream.block, "f2g"].block
            assert numbers_of(root, "copies") == {number: f"drop_j.{number}" for number in range(copies)}
            heads = {each.block for each in drives[root, "res0"]}
            assert len(heads) == 6 and all(found.blocks[head].config["given"] for head in heads)
    assert any(stream.name.startswith("numbers") for stream in found.streams) == dynamic


@pytest.mark.parametrize("copies,dynamic", [(2, False), (5, True), (13, False)])
def test_every_copy_has_an_output_address_which_the_numbers_of_its_sub_tiles_reach(copies, dynamic):
    """All blocks that it gives pass it, and arbiters leave them as they are."""
    graph = graph_of(PRODUCT)
    found = unroll(graph, Copies((tuple(range(copies)),), dynamic, placed=True))
    mapped.verify(found, placing(replace(ONYX, columns=256)))
    driven = {(sink.block, sink.port): net.source for net in found.nets for sink in net.sinks}
    for copy in range(copies):
        node = found.blocks[f"address X0.{copy}"]
        assert node.config == {"used": 0b111, "values": 0b101}
        outs = [f"write_X_i.{copy}", f"write_X_j.{copy}", f"write_X_vals.{copy}"]
        assert [driven[node.name, f"data{at}"].block for at in (1, 2, 3)] == outs
        assert driven[node.name, "data0"].block == (slack := f"slack address {copy}.number 0")
        assert driven[slack, "data0"].block.startswith("filter order.0")
    trees = [block for block in found.blocks.values() if block.primitive == "arbiter"]
    assert trees and not any("numbers" in block.config for block in trees)
    stores = {each.name: (each.sections, each.blocks, each.order) for each in found.streams if each.name.startswith("X")}
    assert stores == {"X0.0": (1, copies, "order.0"), "X1.0": (2, copies, "order.0"), "X_vals.0": (1, copies, "order.0")}


def test_a_program_with_numbers_is_read_back_and_damaged_ones_are_not():
    """Neither by a machine whose stores place nothing."""
    program = compile_einsum(TOTAL, (machine := placing(ONYX)), copies=8, groups=4).program
    text = encode(program, machine)
    assert decode(text, machine) == program and " blocks 2 order order.0 sections 1" in text
    lines = text.rpartition("\n")[0].rpartition("\n")[0]
    for new in (" blocks -2 order order.0 sections 1", " blocks 0 order order.0 sections 1", " blocks 2 order  sections 1",
                " blocks 2 order order.0 loops 1:1", " blocks two order order.0 sections 1", " blocks 2"):
        body = lines.replace(" blocks 2 order order.0 sections 1", new) + "\n"
        with pytest.raises(UserError):
            decode(f"{body}{zlib.crc32(body.encode()):08x}\n", machine)


def test_trees_of_two_levels_have_as_few_nodes_as_can_be():
    graph = graph_of(TOTAL)
    for copies in range(2, 17):
        count = primitives(unroll(graph, Copies((tuple(range(copies)),), True)))
        assert count["filter"] == 2 * -(-(copies - 1) // 2) or copies > 9
        assert count["arbiter"] == count["dispatcher"] == -(-(copies - 1) // 3)
