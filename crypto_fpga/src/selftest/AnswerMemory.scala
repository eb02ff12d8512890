// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.util._
import sallyport.crypto.lane.LaneConfig

/**
 * Where known answers stand in the memory of one direction, in words of 8 bytes, and their facts.
 * An entry of a sequence belongs to a suite, in the order of `config.suites`.
 */
private[selftest] class AnswerLayout(config: LaneConfig) {
  private val answers = config.suites.map(KnownAnswer.of)
  val count: Int = answers.length
  val indexBits: Int = log2Ceil(count).max(1)

  private def words(bytes: Array[Byte], count: Int): Seq[BigInt] =
    bytes.toSeq.padTo(8 * count, 0.toByte).grouped(8).map(word => BigInt(1, word.reverse.toArray)).toSeq

  private val payload = words(KnownAnswer.payload, AnswerLayout.packetWords)
  private val packets = answers.map(answer => words(answer.bytes, AnswerLayout.packetWords))
  private val auths = answers.map(answer => words(answer.auth, AnswerLayout.authWords))
  private val keys = answers.map(answer => words(answer.key(config.encrypt), AnswerLayout.keyWords))

  /** Equal parts stand there once. */
  private val parts = (payload +: (packets ++ auths ++ keys)).distinct
  val rows: Seq[BigInt] = parts.flatten
  val addressBits: Int = log2Ceil(rows.length)
  private def place(part: Seq[BigInt]): Int = parts.takeWhile(_ != part).map(_.length).sum

  private def choose(index: UInt, values: Seq[Int], bits: Int): UInt =
    VecInit(values.padTo(1 << indexBits, 0).map(_.U(bits.W)))(index)

  def key(index: UInt): UInt = choose(index, keys.map(place), addressBits)
  def auth(index: UInt): UInt = choose(index, auths.map(place), addressBits)

  /** Where the bytes stand that go into a lane, and those that must come out. */
  def question(index: UInt): UInt =
    choose(index, if (config.encrypt) keys.map(_ => 0) else packets.map(place), addressBits)
  def answer(index: UInt): UInt =
    choose(index, if (config.encrypt) packets.map(place) else keys.map(_ => 0), addressBits)

  private val packetBytes = answers.map(_.bytes.length)
  private val payloadBytes = answers.map(_ => KnownAnswer.payload.length)
  require((packetBytes ++ payloadBytes).forall(bytes => bytes > 64 && bytes < 128), "a known answer is two beats long")
  def questionBytes(index: UInt): UInt = choose(index, if (config.encrypt) payloadBytes else packetBytes, 8)
  def answerBytes(index: UInt): UInt = choose(index, if (config.encrypt) packetBytes else payloadBytes, 8)

  def number(index: UInt): UInt = choose(index, answers.map(_.number), log2Ceil(answers.map(_.number).max + 1))
  def fast(index: UInt): Bool = choose(index, answers.map(answer => if (answer.suite.fast) 1 else 0), 1).asBool
}

private[selftest] object AnswerLayout {
  val keyWords: Int = 4
  val authWords: Int = 8
  val packetWords: Int = 16
  val beatWords: Int = 8
}

/** The memory: row `address` is in `data` a cycle later. A block RAM with constant contents. */
private[selftest] class AnswerRom(name: String, rows: Seq[BigInt]) extends ExtModule {
  override def desiredName = name

  val clock = IO(Input(Clock()))
  private val addressBits = log2Ceil(rows.length)
  val address = IO(Input(UInt(addressBits.W)))
  val data = IO(Output(UInt(64.W)))

  private def literal(row: BigInt) = f"64'h${row.toString(16)}"
  private val all = rows.padTo(1 << addressBits, BigInt(0))
  setInline(
    s"$name.sv",
    s"""module $name(
       |  input clock,
       |  input [${addressBits - 1}:0] address,
       |  output reg [63:0] data
       |);
       |`ifdef SYNTHESIS
       |  (* rom_style = "block" *) reg [63:0] rows [0:${all.length - 1}];
       |  initial begin
       |${all.zipWithIndex.map { case (row, i) => s"    rows[$i] = ${literal(row)};" }.mkString("\n")}
       |  end
       |`else
       |  localparam reg [63:0] rows [0:${all.length - 1}] = '{
       |${all.map(literal).grouped(4).map(_.mkString("    ", ", ", "")).mkString(",\n")}
       |  };
       |`endif
       |  always @(posedge clock) data <= rows[address];
       |endmodule
       |""".stripMargin
  )
}
