// A LUT as the cell that Yosys writes as a shift of its table.
module LUT4 (input A, input B, input C, input D, output Z);
  parameter [15:0] INIT = 0;
  \$lut #(.WIDTH(4), .LUT(INIT)) table_ (.A({D, C, B, A}), .Y(Z));
endmodule
