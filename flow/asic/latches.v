// Words that are written over a shared port become latches, which are three quarters of a flop.
//
// A flop is two latches: one that is open while its clock is low, and one behind it that is open while the clock is high. Words
// with the same data need the first once, and their clock gates open the second: each word takes a latch a bit, and so does the
// port. Data and enables are taken at the same edge as by flops, and words change at the same edge.
//
// Rules for Yosys' techmap, for memories of 3 to 64 words, whose reads are logic, and for the registers that it is given:
// `latches.tcl`, which `sardonyx verilog` writes, has the commands. OPENROAD_CLKGATE is the clock gate of a platform of
// OpenROAD's flow scripts. Where FLOPS is defined, words of memories stay flops with an enable, as `words.tcl` asks for, and
// only what writes and reads them is that of these rules.

(* techmap_celltype = "$mem_v2" *)
module sardonyx_words (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter signed SIZE = 4;
  parameter signed OFFSET = 0;
  parameter signed ABITS = 2;
  parameter signed WIDTH = 8;
  parameter signed INIT = 1'bx;
  parameter signed RD_PORTS = 1;
  parameter RD_CLK_ENABLE = 1'b0;
  parameter RD_CLK_POLARITY = 1'b1;
  parameter RD_TRANSPARENCY_MASK = 1'b0;
  parameter RD_COLLISION_X_MASK = 1'b0;
  parameter RD_WIDE_CONTINUATION = 1'b0;
  parameter RD_CE_OVER_SRST = 1'b0;
  parameter RD_ARST_VALUE = 1'b0;
  parameter RD_SRST_VALUE = 1'b0;
  parameter RD_INIT_VALUE = 1'b0;
  parameter signed WR_PORTS = 1;
  parameter WR_CLK_ENABLE = 1'b1;
  parameter WR_CLK_POLARITY = 1'b1;
  parameter WR_PRIORITY_MASK = 1'b0;
  parameter WR_WIDE_CONTINUATION = 1'b0;
  parameter _TECHMAP_BITS_CONNMAP_ = 0;
  parameter [WR_PORTS*WIDTH*_TECHMAP_BITS_CONNMAP_-1:0] _TECHMAP_CONNMAP_WR_EN_ = 0;
  parameter [WR_PORTS*_TECHMAP_BITS_CONNMAP_-1:0] _TECHMAP_CONNMAP_WR_CLK_ = 0;

  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;

  // Whole words, one clock, at most two ports; two words are cheaper as flops, and SRAMs are not meant.
  function integer different;
    input integer unused;
    integer i;
    begin
      different = 0;
      for (i = 0; i < WR_PORTS * WIDTH; i = i + 1)
        if (_TECHMAP_CONNMAP_WR_EN_[i * _TECHMAP_BITS_CONNMAP_ +: _TECHMAP_BITS_CONNMAP_]
            != _TECHMAP_CONNMAP_WR_EN_[(i / WIDTH) * WIDTH * _TECHMAP_BITS_CONNMAP_ +: _TECHMAP_BITS_CONNMAP_])
          different = 1;
      for (i = 0; i < WR_PORTS; i = i + 1)
        if (_TECHMAP_CONNMAP_WR_CLK_[i * _TECHMAP_BITS_CONNMAP_ +: _TECHMAP_BITS_CONNMAP_]
            != _TECHMAP_CONNMAP_WR_CLK_[0 +: _TECHMAP_BITS_CONNMAP_])
          different = 1;
    end
  endfunction
  wire _TECHMAP_FAIL_ = SIZE < 3 || SIZE > 64 || OFFSET != 0 || WR_PORTS < 1 || WR_PORTS > 2 || RD_CLK_ENABLE != 0
    || WR_CLK_ENABLE != {WR_PORTS{1'b1}} || WR_CLK_POLARITY != {WR_PORTS{1'b1}} || WR_WIDE_CONTINUATION != 0
    || RD_WIDE_CONTINUATION != 0 || INIT !== {SIZE*WIDTH{1'bx}} || different(0);

  wire clk = WR_CLK[0];
  localparam BITS = ABITS < $clog2(SIZE) ? ABITS : $clog2(SIZE);
  wire [WIDTH*SIZE-1:0] words;
  genvar n, p, b;
  generate
`ifndef FLOPS
    wire [WR_PORTS*WIDTH-1:0] held;
    for (b = 0; b < WR_PORTS * WIDTH; b = b + 1) begin : port_bit
      $_DLATCH_N_ first (.D(WR_DATA[b]), .E(clk), .Q(held[b]));
    end
`endif
    for (n = 0; n < SIZE; n = n + 1) begin : word
      wire [WR_PORTS-1:0] write;
      for (p = 0; p < WR_PORTS; p = p + 1) begin : port
        assign write[p] = WR_EN[p * WIDTH] & (WR_ADDR[p * ABITS +: ABITS] == n);
      end
`ifdef FLOPS
      // Of two ports that write a word at once, the last one wins, as in the order of Yosys' ports.
      wire [WIDTH-1:0] data;
      if (WR_PORTS == 2) begin : chosen
        assign data = {WIDTH{write[0] & !write[1]}} & WR_DATA[0 +: WIDTH] | {WIDTH{write[1]}} & WR_DATA[WIDTH +: WIDTH];
      end else begin : only
        assign data = WR_DATA[WIDTH-1:0];
      end
      $dffe #(.WIDTH(WIDTH), .CLK_POLARITY(1'b1), .EN_POLARITY(1'b1))
        register (.CLK(clk), .EN(|write), .D(data), .Q(words[n * WIDTH +: WIDTH]));
`else
      wire gated;
      wire [WR_PORTS-1:0] from;
      OPENROAD_CLKGATE gate (.CK(clk), .E(|write), .GCK(gated));
      // As above, with a latch for each port, because cells that choose by two wires are smaller than those that choose by one
      // and its inverse.
      if (WR_PORTS == 2) begin : chosen
        $_DLATCH_N_ first (.D(write[0] & !write[1]), .E(clk), .Q(from[0]));
        $_DLATCH_N_ last (.D(write[1]), .E(clk), .Q(from[1]));
      end else begin : only
        assign from = 1;
      end
      for (b = 0; b < WIDTH; b = b + 1) begin : word_bit
        wire [WR_PORTS-1:0] bits;
        for (p = 0; p < WR_PORTS; p = p + 1) begin : port
          assign bits[p] = from[p] & held[p * WIDTH + b];
        end
        $_DLATCH_P_ second (.D(|bits), .E(gated), .Q(words[n * WIDTH + b]));
      end
`endif
    end
    for (p = 0; p < RD_PORTS; p = p + 1) begin : read
      // By ANDs and ORs: multiplexers take 32 um2 more of an ALU of 32 words in ASAP7. Words beyond the last are 0.
      wire [SIZE-1:0] here;
      for (n = 0; n < SIZE; n = n + 1) begin : word
        assign here[n] = RD_ADDR[p * ABITS +: BITS] == n;
      end
      for (b = 0; b < WIDTH; b = b + 1) begin : word_bit
        wire [SIZE-1:0] found;
        for (n = 0; n < SIZE; n = n + 1) begin : word
          assign found[n] = here[n] & words[WIDTH * n + b];
        end
        assign RD_DATA[p * WIDTH + b] = |found;
      end
    end
  endgenerate
endmodule

`ifndef FLOPS
(* techmap_celltype = "$dffe" *)
module sardonyx_register (CLK, EN, D, Q);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1'b1;
  parameter EN_POLARITY = 1'b1;

  input CLK, EN;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;

  wire _TECHMAP_FAIL_ = !CLK_POLARITY;
  wire gated;
  OPENROAD_CLKGATE gate (.CK(CLK), .E(EN_POLARITY ? EN : !EN), .GCK(gated));
  genvar b;
  generate
    for (b = 0; b < WIDTH; b = b + 1) begin : word_bit
      wire held;
      $_DLATCH_N_ first (.D(D[b]), .E(CLK), .Q(held));
      $_DLATCH_P_ second (.D(held), .E(gated), .Q(Q[b]));
    end
  endgenerate
endmodule
`endif
