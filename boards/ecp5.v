// Memories and multiplier of the ECP5 as synthesis uses them here, for simulating a netlist. Yosys has models of the other cells.
// Sources: Lattice FPGA-TN-02204 (memories), FPGA-TN-02205 (multiplier).

// Block RAM: widths 9 and 18 on either port, or 36 with port A writing and port B reading. Contents begin as 0.
module DP16KD (
  input CLKA, CEA, OCEA, WEA, RSTA, CSA0, CSA1, CSA2, CLKB, CEB, OCEB, WEB, RSTB, CSB0, CSB1, CSB2,
  input ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8, ADA9, ADA10, ADA11, ADA12, ADA13,
  input ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9, ADB10, ADB11, ADB12, ADB13,
  input DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8, DIA9, DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16, DIA17,
  input DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
  output DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8, DOA9, DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16, DOA17,
  output DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8, DOB9, DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);
  parameter DATA_WIDTH_A = 18;
  parameter DATA_WIDTH_B = 18;
  parameter WRITEMODE_A = "NORMAL";
  parameter WRITEMODE_B = "NORMAL";
  parameter REGMODE_A = "NOREG";
  parameter REGMODE_B = "NOREG";
  parameter RESETMODE = "SYNC";
  parameter ASYNC_RESET_RELEASE = "SYNC";
  parameter GSR = "DISABLED";
  parameter CLKAMUX = "CLKA";
  parameter CLKBMUX = "CLKB";
  parameter CSDECODE_A = "0b000";
  parameter CSDECODE_B = "0b000";
  parameter [319:0] INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0, INITVAL_04 = 0, INITVAL_05 = 0,
    INITVAL_06 = 0, INITVAL_07 = 0, INITVAL_08 = 0, INITVAL_09 = 0, INITVAL_0A = 0, INITVAL_0B = 0, INITVAL_0C = 0,
    INITVAL_0D = 0, INITVAL_0E = 0, INITVAL_0F = 0, INITVAL_10 = 0, INITVAL_11 = 0, INITVAL_12 = 0, INITVAL_13 = 0,
    INITVAL_14 = 0, INITVAL_15 = 0, INITVAL_16 = 0, INITVAL_17 = 0, INITVAL_18 = 0, INITVAL_19 = 0, INITVAL_1A = 0,
    INITVAL_1B = 0, INITVAL_1C = 0, INITVAL_1D = 0, INITVAL_1E = 0, INITVAL_1F = 0, INITVAL_20 = 0, INITVAL_21 = 0,
    INITVAL_22 = 0, INITVAL_23 = 0, INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0, INITVAL_28 = 0,
    INITVAL_29 = 0, INITVAL_2A = 0, INITVAL_2B = 0, INITVAL_2C = 0, INITVAL_2D = 0, INITVAL_2E = 0, INITVAL_2F = 0,
    INITVAL_30 = 0, INITVAL_31 = 0, INITVAL_32 = 0, INITVAL_33 = 0, INITVAL_34 = 0, INITVAL_35 = 0, INITVAL_36 = 0,
    INITVAL_37 = 0, INITVAL_38 = 0, INITVAL_39 = 0, INITVAL_3A = 0, INITVAL_3B = 0, INITVAL_3C = 0, INITVAL_3D = 0,
    INITVAL_3E = 0, INITVAL_3F = 0;
  wire [13:0] a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2,
                     DIA1, DIA0};
  wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2,
                     DIB1, DIB0};
  reg [17:0] doa = 0, dob = 0;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1,
          DOA0} = doa;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
          DOB0} = dob;
  reg [8:0] bytes [0:2047];
  integer i;
  initial for (i = 0; i < 2048; i = i + 1) bytes[i] = 0;
  // What the machines do not use is not modelled.
  initial if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CLKAMUX != "CLKA" || CLKBMUX != "CLKB"
              || !(DATA_WIDTH_A == 9 || DATA_WIDTH_A == 18 || DATA_WIDTH_A == 36)
              || !(DATA_WIDTH_B == 9 || DATA_WIDTH_B == 18 || DATA_WIDTH_B == 36)
              || WRITEMODE_A == "WRITETHROUGH" || WRITEMODE_B == "WRITETHROUGH") $fatal(1, "DP16KD in a form without a model");
  always @(posedge CLKA) if (RSTA || RSTB) $fatal(1, "DP16KD with a reset of its output");
  // One clock: both ports of every memory of a machine have the same.
  always @(posedge CLKA) begin
    if (CEA) begin
      if (DATA_WIDTH_A == 9) begin
        if (!WEA || WRITEMODE_A == "READBEFOREWRITE") doa[8:0] <= bytes[a[13:3]];
        if (WEA) bytes[a[13:3]] <= dia[8:0];
      end else if (DATA_WIDTH_A == 18) begin
        if (!WEA || WRITEMODE_A == "READBEFOREWRITE") doa <= {bytes[{a[13:4], 1'b1}], bytes[{a[13:4], 1'b0}]};
        if (WEA && a[0]) bytes[{a[13:4], 1'b0}] <= dia[8:0];
        if (WEA && a[1]) bytes[{a[13:4], 1'b1}] <= dia[17:9];
      end else if (WEA) begin
        if (a[0]) bytes[{a[13:5], 2'd0}] <= dia[8:0];
        if (a[1]) bytes[{a[13:5], 2'd1}] <= dia[17:9];
        if (a[2]) bytes[{a[13:5], 2'd2}] <= dib[8:0];
        if (a[3]) bytes[{a[13:5], 2'd3}] <= dib[17:9];
      end
    end
    if (CEB) begin
      if (DATA_WIDTH_B == 9) begin
        if (!WEB || WRITEMODE_B == "READBEFOREWRITE") dob[8:0] <= bytes[b[13:3]];
        if (WEB) bytes[b[13:3]] <= dib[8:0];
      end else if (DATA_WIDTH_B == 18) begin
        if (!WEB || WRITEMODE_B == "READBEFOREWRITE") dob <= {bytes[{b[13:4], 1'b1}], bytes[{b[13:4], 1'b0}]};
        if (WEB && b[0]) bytes[{b[13:4], 1'b0}] <= dib[8:0];
        if (WEB && b[1]) bytes[{b[13:4], 1'b1}] <= dib[17:9];
      end else begin
        {dob, doa} <= {bytes[{b[13:5], 2'd3}], bytes[{b[13:5], 2'd2}], bytes[{b[13:5], 2'd1}], bytes[{b[13:5], 2'd0}]};
      end
    end
  end
endmodule

// 18 x 18 bits without registers.
module MULT18X18D (
  input A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17,
  input B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16, B17,
  input C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17,
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  output P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16, P17,
  output P18, P19, P20, P21, P22, P23, P24, P25, P26, P27, P28, P29, P30, P31, P32, P33, P34, P35
);
  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  wire signed [35:0] wide_a = {{18{SIGNEDA & a[17]}}, a};
  wire signed [35:0] wide_b = {{18{SIGNEDB & b[17]}}, b};
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13,
          P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = wide_a * wide_b;
endmodule

// 16 words of 4 bits of LUTs: written with the clock, read without. Contents begin undefined, here as 0.
module TRELLIS_DPR16X4 (input [3:0] DI, input [3:0] WAD, input WRE, input WCK, input [3:0] RAD, output [3:0] DO);
  parameter WCKMUX = "WCK";
  parameter WREMUX = "WRE";
  parameter [63:0] INITVAL = 0;
  reg [3:0] words [0:15];
  integer i;
  initial if (WCKMUX != "WCK" || WREMUX != "WRE") $fatal(1, "TRELLIS_DPR16X4 in a form without a model");
  initial for (i = 0; i < 16; i = i + 1) words[i] = 0;
  always @(posedge WCK) if (WRE) words[WAD] <= DI;
  assign DO = words[RAD];
endmodule
