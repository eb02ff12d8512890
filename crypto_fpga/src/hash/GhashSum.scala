// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.MuxTree
import sallyport.common.clock.ClockGate

/** H, H^2, H^3, H^4 of a packet as blocks, H lowest. */
class GhashPowers(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val powers = UInt(512.W)
}

/** A block of a packet on its way into GHASH. */
class GhashBlock(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)

  /** Number of the block modulo 4. */
  val chain = UInt(2.W)

  /** First block of its chain: one of the packet's first four. */
  val opens = Bool()

  /** Blocks from this one on: 1 is the packet's last, 5 means five or more. */
  val left = UInt(3.W)
  val block = UInt(128.W)
}

/** E(K, J0) on its way in, or the tag on its way out. */
class GhashTag(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val block = UInt(128.W)
}

/**
 * GHASH of every packet in flight and its end, the tag (NIST SP 800-38D 6.4, 7.1), in four chains
 * a packet.
 *
 * Block i of n counts with H^(n-i). Block i goes to chain i mod 4. While five or more are left its
 * chain steps y' = (y ^ x) · H^4. The chain's last block is multiplied by H to the number of blocks
 * left. The sum of the up to four last products is GHASH. The multiplier's 4 cycles are then those
 * between two blocks of a chain, so one packet alone may bring a block every cycle, and any mixture
 * of packets may too.
 *
 * `load` comes a cycle or more before the packet's first block, `seal` at any time up to its last
 * one. `done` follows the last block by [[GhashSum.latency]] cycles; then the slot is free. Nothing
 * stalls, and nothing of a slot's earlier packets counts. While `wipe` is high, and a cycle behind
 * it, memories are overwritten one row a cycle, `slots` rows, and zeros replace what registers and
 * the multiplier hold: nothing is left after `slots` + 8 cycles. The clock stops while nothing
 * comes and nothing is on its way.
 */
class GhashSum(slots: Int) extends Module {
  require(slots >= 2 && slots <= 256, s"GHASH keeps 2 to 256 packets in flight, not $slots")
  private val slotBits = log2Ceil(slots)

  val io = IO(new Bundle {
    val load = Flipped(Valid(new GhashPowers(slots)))
    val in = Flipped(Valid(new GhashBlock(slots)))
    val seal = Flipped(Valid(new GhashTag(slots)))
    val wipe = Input(Bool())
    val done = Valid(new GhashTag(slots))
  })

  /** The use of a product. */
  private class Step extends Bundle {
    val slot = UInt(slotBits.W)
    val chain = UInt(2.W)

    /** It is one of those that are summed, the first of them, the last of them. */
    val counts = Bool()
    val starts = Bool()
    val ends = Bool()
  }

  private val multiply = Module(new GhashMultiply(new Step))
  private val valids = Wire(Vec(GhashSum.latency, Bool()))
  private val called = io.load.valid || io.in.valid || io.seal.valid
  private val calledBefore = RegNext(called || io.wipe, false.B)
  private val running = ClockGate(clock, called || io.wipe || calledBefore || reset.asBool || valids.asUInt.orR)

  withClock(running) {
    // Memories are written out of registers, which a wipe clears: in the cycle behind, zeros are
    // there for every row, without a LUT of theirs.
    val wipes = RegNext(io.wipe, false.B)
    val wipeRow = RegInit(0.U(slotBits.W))
    wipeRow := Mux(wipes, wipeRow + 1.U, 0.U)
    def row(slot: UInt): UInt = Mux(wipes, wipeRow, slot)
    def polynomials(blocks: UInt): Vec[UInt] =
      RegNext(Mux(io.wipe, 0.U, Gf128.reflect(blocks))).asTypeOf(Vec(blocks.getWidth / 128, UInt(128.W)))

    val powers = Mem(slots, Vec(4, UInt(128.W)))
    val chains = Mem(slots, Vec(4, UInt(128.W)))
    val sums = Mem(slots, UInt(128.W))
    val seals = Mem(slots, UInt(128.W))
    val load = RegNext(io.load.valid, false.B)
    val seal = RegNext(io.seal.valid, false.B)
    when(load || wipes) { powers.write(row(RegNext(io.load.bits.slot)), polynomials(io.load.bits.powers)) }
    when(seal || wipes) { seals.write(row(RegNext(io.seal.bits.slot)), polynomials(io.seal.bits.block).head) }

    // A cycle later a block meets its power, and its chain or the product just made for it.
    val in = RegNext(io.in.bits)
    val power = RegNext(Mux(io.in.bits.left(2), 3.U, io.in.bits.left(1, 0) - 1.U))
    val product = multiply.io.out.bits.product
    val made = multiply.io.out.bits.tag
    val soon = multiply.io.ahead
    val follows = RegNext(
      soon.valid && soon.bits.slot === io.in.bits.slot && soon.bits.chain === io.in.bits.chain,
      false.B
    )
    val y = Mux(follows, product, MuxTree(in.chain, chains(in.slot)))
    multiply.io.in.valid := valids(0)
    multiply.io.in.bits.a := Mux(in.opens, 0.U, y) ^ Gf128.reflect(in.block)
    multiply.io.in.bits.b := MuxTree(power, powers(in.slot))
    multiply.io.in.bits.tag.slot := in.slot
    multiply.io.in.bits.tag.chain := in.chain
    multiply.io.in.bits.tag.counts := in.left <= 4.U
    multiply.io.in.bits.tag.starts := in.left === 4.U || (in.opens && in.chain === 0.U)
    multiply.io.in.bits.tag.ends := in.left === 1.U
    multiply.io.wipe := io.wipe

    // While rows are wiped the product is zero.
    when(multiply.io.out.valid || wipes) {
      val mask = UIntToOH(made.chain, 4).asBools.map(_ || wipes)
      chains.write(row(made.slot), VecInit.fill(4)(product), mask)
    }
    val sum = product ^ Mux(made.starts || wipes, 0.U, sums(made.slot))
    when((multiply.io.out.valid && made.counts) || wipes) { sums.write(row(made.slot), sum) }

    valids.zip(io.in.valid +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
    io.done.valid := RegNext(multiply.io.out.valid && made.ends, false.B)
    io.done.bits.slot := RegNext(made.slot)
    io.done.bits.block := RegNext(Mux(wipes, 0.U, Gf128.reflect(sum ^ seals(made.slot))))

    assert(!io.in.valid || (io.in.bits.left >= 1.U && io.in.bits.left <= 5.U), "left counts from 5 down to 1")
    val apart = Iterator.iterate(io.in)(RegNext(_)).slice(1, GhashMultiply.latency).map { before =>
      !before.valid || before.bits.slot =/= io.in.bits.slot || before.bits.chain =/= io.in.bits.chain
    }
    assert(!io.in.valid || apart.reduce(_ && _), "a chain takes a block every 4 cycles")
  }
}

object GhashSum {

  /** Cycles from a packet's last block to `done`. */
  val latency: Int = GhashMultiply.latency + 2
}
