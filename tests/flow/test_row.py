"""The row of tiles: what is between two tiles is joined, all else are ports."""

import re

from sardonyx.flow.asic.row import TILES, row

TILE = """module tile_pe_odd (
  input  wire flush,
  input  wire [84:0] e_data_i_payload,
  input  wire [4:0] e_data_o_ready,
  output wire [84:0] w_data_o_payload,
  output wire [4:0] w_data_i_ready,
  input  wire [7:0] tile_y,
  input  wire clk
);
endmodule
"""


def test_tracks_join_neighbours_and_the_rest_are_ports() -> None:
    text = row(dict.fromkeys(TILES, TILE))
    for x, instance in enumerate(text.split(";\n")[-len(TILES) - 1:-1]):
        pins = dict(re.findall(r"\.(\w+)\((\w+)\)", instance))
        last = x == len(TILES) - 1
        assert pins["e_data_i_payload"] == (f"t{x}_e_data_i_payload" if last else f"between{x}_data_west_payload")
        assert pins["e_data_o_ready"] == (f"t{x}_e_data_o_ready" if last else f"between{x}_data_east_ready")
        assert pins["w_data_o_payload"] == (f"between{x - 1}_data_west_payload" if x else "t0_w_data_o_payload")
        assert pins["w_data_i_ready"] == (f"between{x - 1}_data_east_ready" if x else "t0_w_data_i_ready")
        assert (pins["tile_y"], pins["clk"], pins["flush"]) == (f"t{x}_tile_y", "clk", "flush")
    assert text.count("input [0:0] clk") == 1 and "wire [84:0] between0_data_west_payload;" in text
