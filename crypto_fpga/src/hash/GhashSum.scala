// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._
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
 * stalls, and nothing of a slot's earlier packets counts. While `wipe` is high memories are
 * overwritten one row a cycle, `slots` rows, and zeros replace what the multiplier and the
 * memories' outputs hold: nothing is left after `slots` + 8 cycles. The clock stops while nothing
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
  private val running = ClockGate(clock, called || io.wipe || reset.asBool || valids.asUInt.orR)

  withClock(running) {
    val wipeRow = RegInit(0.U(slotBits.W))
    wipeRow := Mux(io.wipe, wipeRow + 1.U, 0.U)

    /** Address and data of a memory's write port, which a wipe takes over. */
    def row(slot: UInt): UInt = Mux(io.wipe, wipeRow, slot)
    def data(polynomial: UInt): UInt = Mux(io.wipe, 0.U, polynomial)
    def polynomials(blocks: UInt): Vec[UInt] =
      VecInit.tabulate(4)(i => data(Gf128.reflect(blocks(128 * i + 127, 128 * i))))

    val powers = SyncReadMem(slots, Vec(4, UInt(128.W)))
    val chains = Mem(slots, Vec(4, UInt(128.W)))
    val sums = Mem(slots, UInt(128.W))
    val seals = Mem(slots, UInt(128.W))
    when(io.load.valid || io.wipe) { powers.write(row(io.load.bits.slot), polynomials(io.load.bits.powers)) }
    when(io.seal.valid || io.wipe) { seals.write(row(io.seal.bits.slot), data(Gf128.reflect(io.seal.bits.block))) }

    // The powers are read while the block waits a cycle; then it meets its chain, or the product
    // just made for it.
    val in = RegNext(io.in.bits)
    val power = RegNext(Mux(io.in.bits.left(2), 3.U, io.in.bits.left(1, 0) - 1.U))
    // A board's memory keeps its last output, so a wipe reads on: at its end every row is zero.
    val powersRead = powers.read(io.in.bits.slot, io.in.valid || io.wipe)
    val product = multiply.io.out.bits.product
    val made = multiply.io.out.bits.tag
    val follows = multiply.io.out.valid && made.slot === in.slot && made.chain === in.chain
    val y = Mux(follows, product, chains(in.slot)(in.chain))
    multiply.io.in.valid := valids(0)
    multiply.io.in.bits.a := Mux(in.opens, 0.U, y) ^ Gf128.reflect(in.block)
    multiply.io.in.bits.b := powersRead(power)
    multiply.io.in.bits.tag.slot := in.slot
    multiply.io.in.bits.tag.chain := in.chain
    multiply.io.in.bits.tag.counts := in.left <= 4.U
    multiply.io.in.bits.tag.starts := in.left === 4.U || (in.opens && in.chain === 0.U)
    multiply.io.in.bits.tag.ends := in.left === 1.U
    multiply.io.wipe := io.wipe

    when(multiply.io.out.valid || io.wipe) {
      val mask = UIntToOH(made.chain, 4).asBools.map(_ || io.wipe)
      chains.write(row(made.slot), VecInit.fill(4)(data(product)), mask)
    }
    val sum = product ^ Mux(made.starts, 0.U, sums(made.slot))
    when((multiply.io.out.valid && made.counts) || io.wipe) { sums.write(row(made.slot), data(sum)) }

    valids.zip(io.in.valid +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
    io.done.valid := RegNext(multiply.io.out.valid && made.ends, false.B)
    io.done.bits.slot := RegNext(made.slot)
    io.done.bits.block := RegNext(Gf128.reflect(sum ^ seals(made.slot)))

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
