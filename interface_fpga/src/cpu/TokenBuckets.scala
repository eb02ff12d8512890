// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import chisel3.util._

/**
 * What software sets of one bucket of [[TokenBuckets]]: a register `token_bucket` of
 * regs/common.rdl.
 */
class TokenLimit extends Bundle {

  /** Tokens in [[TokenBuckets.interval]] cycles; 0: no limit. */
  val rate = UInt(TokenBuckets.limitBits.W)

  /** The most tokens that the bucket holds. */
  val burst = UInt(TokenBuckets.limitBits.W)
}

/**
 * Token buckets with one adder and one comparator for all: whether one more packet of a kind
 * may pass.
 *
 * `request` asks for a token of one bucket; `granted` answers in the next cycle, a request a cycle.
 * A bucket loses a token with each grant and gains `rate` in each [[TokenBuckets.interval]] cycles,
 * evenly, until it holds `burst`; it is full after reset. A bucket of rate 0 grants all and keeps
 * its tokens.
 *
 * A bucket has its turn every [[TokenBuckets.turns]] cycles. A token that comes finds the bucket as
 * it was two cycles before: if it was full, the token is lost even if a request of those two cycles
 * makes room. If `burst` is lowered, the bucket loses the tokens above it at the next turn; if it
 * is raised, the bucket fills at `rate`.
 *
 * @param buckets 1 to [[TokenBuckets.turns]]
 */
class TokenBuckets(buckets: Int) extends Module {
  require(
    buckets >= 1 && buckets <= TokenBuckets.turns,
    s"$buckets token buckets: there are turns for 1 to ${TokenBuckets.turns}"
  )

  val io = IO(new Bundle {
    val limits = Input(Vec(buckets, new TokenLimit))
    val request = Flipped(Valid(UInt(log2Ceil(buckets max 2).W)))
    val granted = Output(Bool())
  })

  private val bits = TokenBuckets.limitBits
  private val tokens = Seq.fill(buckets)(RegInit(((1 << bits) - 1).U(bits.W)))
  private val fractions = Seq.fill(buckets)(RegInit(0.U(TokenBuckets.fractionBits.W)))

  // Turn: one bucket after the other is read, its rate is added and its tokens are held against the
  // burst, and it is written.
  private val turn = RegInit(1.U(TokenBuckets.turns.W))
  turn := turn.rotateLeft(1)
  private val read = turn(buckets - 1, 0)
  private def chosen[T <: Data](of: Seq[T]): T = RegNext(Mux1H(read, of))
  private val limit1 = chosen(io.limits)
  private val tokens1 = chosen(tokens)
  private val fraction1 = chosen(fractions)
  private val write = ShiftRegister(read, 2, 0.U(buckets.W), true.B)
  private val sum2 = RegNext(fraction1 +& limit1.rate)
  private val gains2 = sum2.head(1).asBool && RegNext(tokens1 < limit1.burst)
  private val spills2 = RegNext(tokens1 > limit1.burst)
  private val burst2 = RegNext(limit1.burst)

  private val grants = for (n <- 0 until buckets) yield {
    val asked = io.request.valid && (if (buckets == 1) true.B else io.request.bits === n.U)
    val free = RegNext(io.limits(n).rate === 0.U, false.B)
    val takes = asked && tokens(n).orR && !free
    val gains = write(n) && gains2
    when(write(n) && spills2) {
      tokens(n) := burst2
    }.elsewhen(takes =/= gains) {
      tokens(n) := Mux(takes, tokens(n) - 1.U, tokens(n) + 1.U)
    }
    when(write(n))(fractions(n) := sum2.tail(1))
    asked && (free || tokens(n).orR)
  }
  io.granted := RegNext(VecInit(grants).asUInt.orR, false.B)
}

object TokenBuckets {

  /** Of `rate` and `burst`. */
  val limitBits: Int = 16

  /** Cycles between two turns of a bucket. */
  val turns: Int = 16

  /** Cycles in which a bucket gains `rate` tokens. */
  val interval: Int = 1 << 26

  /** Bits that hold the part of a token that a bucket has gained. */
  val fractionBits: Int = log2Ceil(interval / turns)
}
