// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * One word's part of a group of rows, for every chunk of the key alike: what [[RuleWriter]] writes
 * in a cycle.
 */
class RuleColumn(p: TernaryTableParams) extends Bundle {
  val address = UInt(RuleMatch.chunkBits.W)
  val group = UInt(log2Ceil(p.rows / RuleMatch.groupRows).W)

  /** Whether a row of the group matches a chunk that is `address`. */
  val bits = Vec(RuleMatch.chunks(p), UInt(RuleMatch.groupRows.W))

  /** What a row of the group matches is not known: its parity is written wrong. */
  val doubtful = Bool()
}

/** Which rows of a rule table may match. */
class ValidRows(p: TernaryTableParams) extends Bundle {
  val rows = UInt(p.rows.W)

  /** Of each group of rows, a bit of even parity. */
  val parity = UInt((p.rows / RuleMatch.groupRows).W)

  def group(number: Int): UInt = rows((number + 1) * RuleMatch.groupRows - 1, number * RuleMatch.groupRows)

  /** A bit of the group is wrong. 2 LUT levels. */
  def wrong(number: Int): Bool = Cat(parity(number), group(number)).xorR
}

/**
 * Which rules match a key.
 *
 * The key is cut into chunks. A memory for each chunk is read at the chunk's value and says which
 * rows that value does not rule out; the rows that no chunk rules out match. So a rule may want any
 * set of values of a chunk, and the look-up has no comparison at all. Memories in LUTs, of one read
 * and one write port, in which a group of rows is written apart.
 *
 * Each group of a word has a bit of even parity, and so have the group's bits of `valid`. A group
 * with a wrong bit in any of these may match anything: `doubts` marks it.
 *
 * A pipeline without stalls: `matches` belongs to the `key` of [[RuleMatch.latency]] cycles before,
 * and is zero if there was none. A column is written in a cycle in which no chunk is read
 * (`column.ready`).
 */
class RuleMatch(p: TernaryTableParams) extends Module {
  import RuleMatch._

  val io = IO(new Bundle {
    val key = Flipped(Valid(UInt(p.keyBits.W)))
    val column = Flipped(Decoupled(new RuleColumn(p)))

    val valid = Input(new ValidRows(p))
    val matches = Output(UInt(p.rows.W))

    /** With `matches`, for each group of rows: set bits if a word or `valid` has a flipped bit. */
    val doubts = Output(Vec(p.rows / groupRows, UInt(doubtBits(p).W)))
  })

  /** The word of a chunk, group by group, as the memory answers: a test flips bits. */
  protected def answered(chunk: Int, word: Vec[UInt]): Vec[UInt] = word

  // Held while no key is looked up: each bit goes to a LUT of every row.
  private val key = RegEnable(io.key.bits.pad(chunks(p) * chunkBits), io.key.valid)
  protected def asked(chunk: Int): UInt = key((chunk + 1) * chunkBits - 1, chunk * chunkBits)
  private val live = RegNext(io.key.valid, false.B)
  io.column.ready := !live

  private val words = Seq.tabulate(chunks(p)) { i =>
    val memory = SyncReadMem(1 << chunkBits, Vec(p.rows / groupRows, UInt((groupRows + 1).W)))
    when(io.column.fire) {
      val column = io.column.bits
      val groups = UIntToOH(column.group, p.rows / groupRows).asBools
      val bits = Cat(column.bits(i).xorR ^ column.doubtful, column.bits(i))
      memory.write(column.address, VecInit.fill(p.rows / groupRows)(bits), groups)
    }
    val word = answered(i, memory.read(asked(i), live))
    if (p.large) RegNext(word) else word
  }
  private val answers = ShiftRegister(live, latency(p) - 2, false.B, true.B)
  private val rows = words.map(word => VecInit(word.map(_(groupRows - 1, 0))).asUInt)
  io.matches := RegNext(rows.reduce(_ & _) & io.valid.rows & Fill(p.rows, answers))

  // A group without a valid row may never have been written.
  for (group <- 0 until p.rows / groupRows) {
    val wrong = words.map(_(group).xorR).grouped(doubtChunks).map(VecInit(_).asUInt.orR)
    val wrongValid = io.valid.wrong(group)
    val counts = answers && (io.valid.group(group).orR || wrongValid)
    io.doubts(group) :=
      RegNext(VecInit(wrong.toSeq :+ wrongValid).asUInt) & Fill(doubtBits(p), RegNext(counts, false.B))
  }
}

object RuleMatch {

  /** Rows whose bits are written at once: the LUTs of a slice. */
  val groupRows: Int = 8

  /**
   * Address bits of a memory: those of a LUT. Chunks of 9 bits in block RAM would be 510 BRAM36
   * for 1 Ki rules, not 51 LUTs a rule.
   */
  val chunkBits: Int = 6
  def chunks(p: TernaryTableParams): Int = (p.keyBits + chunkBits - 1) / chunkBits

  /** Chunks whose words' parities meet in a bit of `doubts`: 3 LUT levels behind a memory. */
  private val doubtChunks: Int = 6
  def doubtBits(p: TernaryTableParams): Int = (chunks(p) + doubtChunks - 1) / doubtChunks + 1

  /** Key register, memory (with an output register if it is large), match. */
  def latency(p: TernaryTableParams): Int = if (p.large) 4 else 3
}
