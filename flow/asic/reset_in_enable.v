// Flops whose reset wins over their enable become flops with an enable alone, which a clock gate can serve: reset enables
// them, and their data is then the value of reset.

(* techmap_celltype = "$_SDFFE_PP0P_" *)
module reset_0_enable_1 (input D, C, R, E, output Q);
  $_DFFE_PP_ flop (.D(D & ~R), .C(C), .E(E | R), .Q(Q));
endmodule

(* techmap_celltype = "$_SDFFE_PP1P_" *)
module reset_1_enable_1 (input D, C, R, E, output Q);
  $_DFFE_PP_ flop (.D(D | R), .C(C), .E(E | R), .Q(Q));
endmodule

(* techmap_celltype = "$_SDFFE_PP0N_" *)
module reset_0_enable_0 (input D, C, R, E, output Q);
  $_DFFE_PP_ flop (.D(D & ~R), .C(C), .E(~E | R), .Q(Q));
endmodule

(* techmap_celltype = "$_SDFFE_PP1N_" *)
module reset_1_enable_0 (input D, C, R, E, output Q);
  $_DFFE_PP_ flop (.D(D | R), .C(C), .E(~E | R), .Q(Q));
endmodule
