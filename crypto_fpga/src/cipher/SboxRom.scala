// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.util.log2Ceil

/**
 * Two lookups a cycle in tables of 256 rows of up to 18 bits: the S-boxes of a pipe's data. Four
 * tables fit half a block RAM. Row `address` is in `data` a cycle later.
 *
 * As LUTs a box of 8 bits takes 32 of them, and two thirds of a cipher pipe are boxes. The table of
 * synthesis and that of simulation are the same rows; the second form is one that Verilator shares
 * between all instances.
 *
 * @param name
 *   of the module, one for each table
 * @param rows
 *   those of one table, or of two behind each other
 */
class SboxRom(name: String, rows: Seq[Int], bits: Int) extends ExtModule {
  require((rows.length == 256 || rows.length == 512) && bits <= 18 && rows.forall(_ < (1 << bits)))
  override def desiredName = name

  val clock = IO(Input(Clock()))
  private val addressBits = log2Ceil(rows.length)
  val address0 = IO(Input(UInt(addressBits.W)))
  val address1 = IO(Input(UInt(addressBits.W)))
  val data0 = IO(Output(UInt(bits.W)))
  val data1 = IO(Output(UInt(bits.W)))

  private def literal(row: Int) = f"$bits'h$row%x"
  setInline(
    s"$name.sv",
    s"""module $name(
       |  input clock,
       |  input [${addressBits - 1}:0] address0, address1,
       |  output reg [${bits - 1}:0] data0, data1
       |);
       |`ifdef SYNTHESIS
       |  (* rom_style = "block" *) reg [${bits - 1}:0] rows [0:${rows.length - 1}];
       |  initial begin
       |${rows.zipWithIndex.map { case (row, i) => s"    rows[$i] = ${literal(row)};" }.mkString("\n")}
       |  end
       |`else
       |  localparam reg [${bits - 1}:0] rows [0:${rows.length - 1}] = '{
       |${rows.map(literal).grouped(16).map(_.mkString("    ", ", ", "")).mkString(",\n")}
       |  };
       |`endif
       |  always @(posedge clock) begin
       |    data0 <= rows[address0];
       |    data1 <= rows[address1];
       |  end
       |endmodule
       |""".stripMargin
  )
}

object SboxRom {

  /**
   * The rows of the `bytes` bytes of `x`, byte 0 first, a cycle later; of two tables in the second
   * if `second`.
   */
  def lookUp(rom: => SboxRom, x: UInt, bytes: Int, second: Option[Bool] = None): Seq[UInt] =
    (0 until bytes).grouped(2).toSeq.flatMap { pair =>
      val box = Module(rom)
      box.clock := Module.clock
      val byte = pair.map(i => second.fold(x(8 * i + 7, 8 * i))(_ ## x(8 * i + 7, 8 * i)))
      box.address0 := byte.head
      box.address1 := byte.last
      Seq(box.data0, box.data1)
    }
}
