package sallyport.common

import chisel3._
import chisel3.util._

/** One word's part of a group of rows, for every chunk of the key alike: what [[RuleWriter]] writes in a cycle. */
class RuleColumn(p: TernaryTableParams) extends Bundle {
  val address = UInt(RuleMatch.chunkBits(p).W)
  val group = UInt(log2Ceil(p.rows / RuleMatch.groupRows).W)

  /** Whether a row of the group matches a chunk that is `address`. */
  val bits = Vec(RuleMatch.chunks(p), UInt(RuleMatch.groupRows.W))
}

/**
 * Which rules match a key.
 *
 * The key is cut into chunks. A memory for each chunk is read at the chunk's value and says which rows that value does not
 * rule out; the rows that no chunk rules out match. So a rule may want any set of values of a chunk, and the look-up has no
 * comparison at all. Memories of one read and one write port, whose bytes are written apart.
 *
 * A pipeline without stalls: `matches` belongs to the `key` of [[RuleMatch.latency]] cycles before, and is zero if there was
 * none. A column is written in a cycle in which no chunk is read (`column.ready`).
 */
class RuleMatch(p: TernaryTableParams) extends Module {
  import RuleMatch._

  val io = IO(new Bundle {
    val key = Flipped(Valid(UInt(p.keyBits.W)))
    val column = Flipped(Decoupled(new RuleColumn(p)))

    /** Rows that may match. */
    val valid = Input(UInt(p.rows.W))
    val matches = Output(UInt(p.rows.W))
  })

  private val key = RegNext(io.key.bits.pad(chunks(p) * chunkBits(p)))
  private val live = RegNext(io.key.valid, false.B)
  io.column.ready := !live

  private val words = Seq.tabulate(chunks(p)) { i =>
    val memory = SyncReadMem(1 << chunkBits(p), Vec(p.rows / groupRows, UInt(groupRows.W)))
    when(io.column.fire) {
      val column = io.column.bits
      val groups = UIntToOH(column.group, p.rows / groupRows).asBools
      memory.write(column.address, VecInit.fill(p.rows / groupRows)(column.bits(i)), groups)
    }
    val word = memory.read(key((i + 1) * chunkBits(p) - 1, i * chunkBits(p)), live).asUInt
    if (p.large) RegNext(word) else word
  }
  private val answers = ShiftRegister(live, latency(p) - 2, false.B, true.B)
  io.matches := RegNext(words.reduce(_ & _) & io.valid & Fill(p.rows, answers))
}

object RuleMatch {

  /** Rows whose bits are written at once: a byte of block RAM. */
  val groupRows: Int = 8

  /** Address bits of a memory: those of block RAM at its widest, and of a LUT. */
  def chunkBits(p: TernaryTableParams): Int = if (p.large) 9 else 6
  def chunks(p: TernaryTableParams): Int = (p.keyBits + chunkBits(p) - 1) / chunkBits(p)

  /** Key register, memory (with an output register if it is block RAM), match. */
  def latency(p: TernaryTableParams): Int = if (p.large) 4 else 3
}
