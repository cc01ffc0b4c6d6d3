// A choice between two words is an AND-OR of a select and of its inverse, which is one cell a bit.
//
// ASAP7 has no multiplexer. abc knows that one select is the inverse of the other and makes two cells of it, an AND and an
// AO21 of 0.175 um2, where one AO22 takes 0.131. Of an inverse that is a cell of its own, which abc does not look into, it
// knows nothing. It believes then that the inverse is there from the beginning, so this is for selects that are early, as those
// of stages are: with all multiplexers of a PE, those of minimum and maximum, too, its longest path is 37 ps longer.
//
// A rule for Yosys' techmap; SARDONYX_INVERSE becomes an inverter of the library after abc.

(* techmap_celltype = "$mux" *)
module sardonyx_choice (A, B, S, Y);
  parameter WIDTH = 1;

  input [WIDTH-1:0] A, B;
  input S;
  output [WIDTH-1:0] Y;

  // For a few bits the inverter takes more than is saved.
  wire _TECHMAP_FAIL_ = WIDTH < 4;
  wire other;
  SARDONYX_INVERSE inverse (.A(S), .Y(other));
  assign Y = A & {WIDTH{other}} | B & {WIDTH{S}};
endmodule
