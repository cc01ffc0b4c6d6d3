// Pins without their buffers, for simulation: one way each, which Verilator wants to know.
module IB (input I, output O);
  assign O = I;
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
