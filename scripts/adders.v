// SPDX-License-Identifier: Apache-2.0
// A techmap for synth_check.py: every sum of words as two-operand adders on carry chains, a LUT a
// bit and addition. Left to itself yosys makes one compressor tree of all additions in a row, which
// takes half as many LUTs again.
(* techmap_celltype = "$add" *)
module adder (A, B, Y);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  wire _TECHMAP_FAIL_ = Y_WIDTH < 32;
  wire [Y_WIDTH-1:0] x, co;
  \$alu #(
    .A_SIGNED(A_SIGNED), .B_SIGNED(B_SIGNED),
    .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)
  ) alu (.A(A), .B(B), .BI(1'b0), .CI(1'b0), .X(x), .CO(co), .Y(Y));
endmodule
