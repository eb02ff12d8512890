package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * What stands in for a pipe's arithmetic in a simulation that has to be fast: the C++ function `sallyport_<pipe>`
 * (sim/engine/model) makes a result in the cycle in which its operands come in, and a delay line gives it out when the
 * pipe would.
 *
 * Only for Verilator. Valid and latency are the pipe's, and so is `result` beside `out`; in other cycles it is not.
 * A result is called for only when something enters, and an empty line costs a comparison a cycle: there is no clock to
 * stop. `forget` drops what is under way.
 *
 * @param pipe
 *   name of the pipe's module
 * @param operandBits
 *   widths of the operands, in the order of the function's arguments
 * @param latency
 *   cycles from `in` to `out`
 */
private[crypto] class PipeModel(pipe: String, operandBits: Seq[Int], resultBits: Int, latency: Int) extends ExtModule {
  require(latency >= 2 && latency <= 255, s"the delay line counts 2 to 255 cycles, not $latency")
  override def desiredName = s"${pipe}Model"

  val clock = IO(Input(Clock()))
  val reset = IO(Input(Bool()))
  val forget = IO(Input(Bool()))
  val in = IO(Input(Bool()))
  val operands = operandBits.zipWithIndex.map { case (bits, i) => IO(Input(UInt(bits.W))).suggestName(s"operand$i") }
  val out = IO(Output(Bool()))
  val result = IO(Output(UInt(resultBits.W)))

  private val rowBits = log2Ceil(latency + 1)
  private def range(bits: Int) = s"[${bits - 1}:0]"
  private def each(text: (Int, Int) => String) =
    operandBits.zipWithIndex.map { case (bits, i) => text(bits, i) }.mkString(", ")

  setInline(
    s"$desiredName.sv",
    s"""module $desiredName(
       |  input clock, reset, forget, in,
       |  ${each((bits, i) => s"input ${range(bits)} operand$i")},
       |  output reg out,
       |  output reg ${range(resultBits)} result
       |);
       |  import "DPI-C" function void sallyport_$pipe(
       |    ${each((bits, i) => s"input bit ${range(bits)} operand$i")}, output bit ${range(resultBits)} result);
       |  reg ${range(resultBits)} line [0:${(1 << rowBits) - 1}];
       |  reg [7:0] due [0:${(1 << rowBits) - 1}];
       |  reg [7:0] now;
       |  reg ${range(rowBits)} head, tail;
       |  bit ${range(resultBits)} made;
       |  always @(posedge clock) begin
       |    now <= now + 8'd1;
       |    out <= 1'b0;
       |    if (in) begin
       |      sallyport_$pipe(${each((_, i) => s"operand$i")}, made);
       |      line[head] <= made;
       |      due[head] <= now + 8'd${latency - 1};
       |      head <= head + 1'b1;
       |    end
       |    if (head != tail && due[tail] == now) begin
       |      out <= 1'b1;
       |      result <= line[tail];
       |      tail <= tail + 1'b1;
       |    end
       |    if (reset || forget) begin
       |      out <= 1'b0;
       |      head <= '0;
       |      tail <= '0;
       |    end
       |    if (reset) now <= 8'd0;
       |  end
       |endmodule
       |""".stripMargin
  )
}

private[crypto] object PipeModel {

  /** The module `pipe`'s results for the operands that come with `in`, `latency` cycles later. */
  def apply(pipe: String, in: Bool, operands: Seq[UInt], resultBits: Int, latency: Int, forget: Bool): Valid[UInt] = {
    val model = Module(new PipeModel(pipe, operands.map(_.getWidth), resultBits, latency))
    model.clock := Module.clock
    model.reset := Module.reset.asBool
    model.forget := forget
    model.in := in
    model.operands.zip(operands).foreach { case (port, operand) => port := operand }
    val out = Wire(Valid(UInt(resultBits.W)))
    out.valid := model.out
    out.bits := model.result
    out
  }
}
