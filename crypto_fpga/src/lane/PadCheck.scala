// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._

/** The ESP trailer of a decrypted packet. */
class EspTrailer extends Bundle {
  val padLength = UInt(8.W)
  val nextHeader = UInt(8.W)

  /** The bytes before the pad length are 1, 2, 3 … up to it (RFC 4303 section 2.4). */
  val padded = Bool()
}

/**
 * Reads the trailer of each decrypted packet and checks the padding, which may reach over up to
 * 17 blocks.
 *
 * A block of text a cycle, of any slot, blocks of one slot in order. `out` follows a
 * packet's last block by [[PadCheck.latency]] cycles.
 *
 * The pad length comes last, when the pad has gone by. So for each packet the check keeps
 * the *run*: n if the bytes so far end with 1, 2 … n, else 0. Padding of length n is right if the
 * run before the pad length is n.
 */
class PadCheck(config: LaneConfig) extends Module {
  private val slotBits = config.slotBits
  val io = IO(new Bundle {
    val in = Flipped(Valid(new LaneText(config)))
    val out = Valid(new Bundle { val slot = UInt(slotBits.W); val trailer = new EspTrailer })
  })

  // Cycle 1: which bytes are 1, and which follow on the byte before.
  private val op = RegEnable(io.in.bits.op, io.in.valid)
  private val bytes = io.in.bits.block.asTypeOf(Vec(16, UInt(8.W)))
  private val block = RegEnable(bytes, io.in.valid)
  private val one = RegEnable(VecInit(bytes.map(_ === 1.U)), io.in.valid)
  private val follows = RegEnable(
    VecInit(false.B +: bytes.zip(bytes.tail).map { case (a, b) => b === a + 1.U && b =/= 0.U }),
    io.in.valid
  )
  private val valid = RegNext(io.in.valid, false.B)

  // Cycle 2: the run at the byte that matters: the block's last, or the one before the pad length.
  // Text ends on a word.
  private def starts(end: Int): Bool =
    (0 to end).map(from => one(from) && (from + 1 to end).map(follows(_)).foldLeft(true.B)(_ && _)).reduce(_ || _)
  private def through(end: Int): Bool = (1 to end).map(follows(_)).reduce(_ && _)
  private val ends = 15 +: Seq(13, 1, 5, 9)
  private val which = Mux(op.last, op.bytes(3, 2) +& 1.U, 0.U)
  private def at[T <: Data](values: Seq[T]): T = VecInit(values ++ Seq.fill(8 - values.size)(values.head))(which)

  private val start = RegEnable(at(ends.map(starts)), valid)
  private val goesOn = RegEnable(at(ends.map(through)) && op.index =/= 0.U && block(0) > 1.U, valid)
  private val value = RegEnable(at(ends.map(block(_))), valid)
  private val padLength = RegEnable(at(ends.map(end => block((end + 1) % 16))), valid)
  private val nextHeader = RegEnable(at(ends.map(end => block((end + 2) % 16))), valid)
  private val initialLess = RegEnable(block(0) - 1.U, valid)
  private val opNow = RegEnable(op, valid)
  private val validNow = RegNext(valid, false.B)

  // Cycle 3: together with the run before this block.
  private val runs = Mem(config.slots, UInt(8.W))
  private val inRun = start || (goesOn && runs(opNow.slot) === initialLess)
  private val run = Mux(inRun, value, 0.U)
  when(validNow) { runs(opNow.slot) := run }

  io.out.valid := RegNext(validNow && opNow.last, false.B)
  io.out.bits.slot := RegNext(opNow.slot)
  private val trailer = Reg(new EspTrailer)
  trailer.padLength := padLength
  trailer.nextHeader := nextHeader
  trailer.padded := (inRun && value === padLength) || padLength === 0.U
  io.out.bits.trailer := trailer
}

object PadCheck {
  val latency = 3
}
