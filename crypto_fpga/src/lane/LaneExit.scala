// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.crypto.suite.{AuthKind, Suite}

/** A block for GHASH and where it stands in its packet. */
class LaneHashed(config: LaneConfig) extends Bundle {
  val op = new LaneOp(config)
  val block = UInt(128.W)
}

/**
 * Joins a block with the cipher's output for it: makes text, and GHASH's input. One register deep.
 *
 * Steps of packets that are not chained come one packet after the other if their ciphers have one
 * latency ([[StreamSequence]]). So one register holds the rest from one step to the next.
 */
class LaneExit(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new LaneBlock(config)))

    /**
     * Of the packet in `in`: bytes of associated data and of text, and of all that GMAC hashes,
     * for GHASH.
     */
    val aadBytes = Input(UInt(LaneOp.lengthBits.W))
    val textBytes = Input(UInt(LaneOp.lengthBits.W))
    val gmacBytes = Input(UInt(LaneOp.lengthBits.W))

    /**
     * GMAC with 64 bits of number: the last 4 bytes of the IV, which the block of `head` has no
     * room for.
     */
    val headRest = Input(UInt(32.W))

    /** Text, and from red to black CBC's IV. */
    val text = Valid(new LaneText(config))
    val hashed = Valid(new LaneHashed(config))
  })

  private val op = io.in.bits.op
  private val step = op.step
  private val data = io.in.bits.data
  private val mask = Mux(op.last, VecInit(LaneExit.masks.map(_.U(128.W)))(op.bytes), LaneExit.masks.head.U)

  private val cbc = Suite.is(op.suite)(_.cbc)
  private val before = LaneCipher.latencies(config).map { latency =>
    val mine = Suite.is(op.suite)(LaneCipher.latency(_) == latency)
    mine -> RegEnable(data, io.in.valid && mine)
  }
  private val mixed = Mux(cbc, if (config.encrypt) 0.U else Mux1H(before), data)
  private val text = (io.in.bits.result ^ mixed) & mask
  io.text.valid := RegNext(io.in.valid && (step.text || (config.encrypt.B && step.iv)), false.B)
  io.text.bits.op := RegNext(op)
  io.text.bits.block := RegNext(text)

  private val fetched = data & mask
  private val cipherText = if (config.encrypt) text else fetched
  // GMAC does not encrypt: the bytes that it hashes have not been through the cipher.
  private val carry = Reg(UInt(32.W))
  when(io.in.valid && op.lags) { carry := Mux(step.head, io.headRest, fetched(127, 96)) }

  private val gmac = Suite.isAuth(op.suite, AuthKind.Gmac)
  private val block = Mux1H(
    Seq(
      step.head -> data,
      step.text -> Mux(op.lags, fetched(95, 0) ## carry, cipherText),
      step.spill -> carry.pad(128),
      // Two choices and not one of a choice: lengths come late, from memories.
      (step.end && !gmac) -> (LaneExit.bits64(io.textBytes) ## LaneExit.bits64(io.aadBytes)),
      (step.end && gmac) -> LaneExit.bits64(io.gmacBytes).pad(128)
    )
  )
  private val forGhash = Suite.is(op.suite)(_.fast) && !step.iv && !step.icv
  io.hashed.valid := RegNext(io.in.valid && forGhash, false.B)
  io.hashed.bits.op := RegNext(op)
  io.hashed.bits.block := RegNext(block)
}

object LaneExit {

  /** The first n bytes of a block, entry 0 all of them. */
  private val masks = Seq.tabulate(16)(n => (BigInt(1) << (if (n == 0) 128 else 8 * n)) - 1)

  /** A number of bytes as a big-endian 64-bit number of bits. */
  private def bits64(bytes: UInt): UInt = {
    val bits = (bytes << 3).pad(24)
    Cat(bits(7, 0), bits(15, 8), bits(23, 16), 0.U(40.W))
  }
}
