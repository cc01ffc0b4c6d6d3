// Pins without their buffers, for simulation: one way each, which Verilator wants to know. And the clock as it comes.
module IB (input I, output O);
  assign O = I;
endmodule

module EHXPLLL (input CLKI, input CLKFB, input RST, input STDBY, input ENCLKOP, output CLKOP, output LOCK);
  parameter CLKI_DIV = 1;
  parameter CLKFB_DIV = 1;
  parameter CLKOP_DIV = 8;
  parameter CLKOP_CPHASE = 0;
  parameter FEEDBK_PATH = "CLKOP";
  assign CLKOP = CLKI;
  assign LOCK = 1'b1;
endmodule

module OBZ (input I, input T, output O);
  assign O = I;
endmodule

module TRELLIS_IO (inout B, input I, input T, output O);
  parameter DIR = "INPUT";
  generate
    if (DIR == "INPUT") assign O = B;
    else assign B = I;
  endgenerate
endmodule
