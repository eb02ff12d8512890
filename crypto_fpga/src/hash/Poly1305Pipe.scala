// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._
import sallyport.common.clock.ClockGate

/** Up to four blocks of a message, and what they are added to. */
class PolyBlocks extends Bundle {

  /** The accumulator before these blocks: any representative below 2^130. */
  val acc = UInt(130.W)

  /** The one-time key of RFC 8439 2.5: `r` as it is in the key, not yet clamped, and `s`. */
  val r = UInt(128.W)
  val s = UInt(128.W)

  /** Blocks of 16 bytes, the first one lowest, and how many of them count: 1 to 4. */
  val data = UInt(512.W)
  val blocks = UInt(3.W)
}

class PolyResult extends Bundle {

  /** The accumulator after the blocks, below 2^130. */
  val acc = UInt(130.W)

  /** The tag if these blocks were the message's last ones. */
  val tag = UInt(128.W)
}

/**
 * Poly1305 (RFC 8439 2.5) of one to four whole blocks: acc = (acc + block + 2^128) · r mod 2^130 -
 * 5 for each, and tag = (acc mod 2^130 - 5) + s mod 2^128. A new group at most every 4 cycles,
 * always in the same phase; no stall.
 *
 * A group goes four times round a loop of [[Poly1305.stages]] stages, one block a time, and then
 * through the last reduction: latency [[Poly1305Pipe.latency]] cycles. Because the number of stages
 * is odd, a group that comes round meets no new one, and the loop is full at a group every 4
 * cycles. A round beyond the last block adds 0 and multiplies by 1. What a group needs in later
 * rounds waits in a ring of rows, one a group.
 *
 * The clock stops while the pipe is empty. While `wipe` is high zeros enter, the loop too, and
 * overwrite the ring a row a cycle; after [[Poly1305Pipe.latency]] such cycles nothing of a key or
 * a message is left.
 */
class Poly1305Pipe extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new PolyBlocks))
    val wipe = Input(Bool())
    val out = Valid(new PolyResult)
  })

  /** A group on its way round. */
  private class Group extends Bundle {
    val row = UInt(Poly1305Pipe.rowBits.W)
    val round = UInt(2.W)

    /** Blocks from this round on that count. */
    val left = UInt(3.W)
  }

  private val rounds = Wire(Vec(Poly1305.stages, Valid(new Group)))
  private val endings = Wire(Vec(Poly1305.endStages, Valid(UInt(Poly1305Pipe.rowBits.W))))
  private val busy = rounds.map(_.valid).reduce(_ || _) || endings.map(_.valid).reduce(_ || _)
  private val running = ClockGate(clock, io.in.valid || io.wipe || reset.asBool || busy)

  withClock(running) {
    // The ring. Its rows are more than the groups that can be under way.
    val row = RegInit(0.U(Poly1305Pipe.rowBits.W))
    val rs = Mem(1 << row.getWidth, UInt(128.W))
    val ss = Mem(1 << row.getWidth, UInt(128.W))
    val data = Mem(1 << row.getWidth, Vec(4, UInt(128.W)))
    when(io.in.valid || io.wipe) {
      def clean(x: UInt) = Mux(io.wipe, 0.U, x)
      row := row + 1.U
      rs(row) := clean(Poly1305.clamp(io.in.bits.r))
      ss(row) := clean(io.in.bits.s)
      data(row) := VecInit.tabulate(4)(i => clean(io.in.bits.data(128 * i + 127, 128 * i)))
    }

    // The group that enters or comes round.
    val around = rounds.last
    val again = around.valid && around.bits.round =/= 3.U
    val group = Wire(Valid(new Group))
    group.valid := io.in.valid || again
    group.bits.row := Mux(io.in.valid, row, around.bits.row)
    group.bits.round := Mux(io.in.valid, 0.U, around.bits.round + 1.U)
    group.bits.left := Mux(io.in.valid, io.in.bits.blocks, around.bits.left - around.bits.left.orR)
    rounds.zip(group +: rounds.init).foreach { case (now, before) =>
      now.valid := RegNext(before.valid, false.B)
      now.bits := RegNext(before.bits)
    }
    assert(!(io.in.valid && again), "a group every 4 cycles, in the same phase")
    assert(!io.in.valid || (io.in.bits.blocks >= 1.U && io.in.bits.blocks <= 4.U), "a group has 1 to 4 blocks")

    val returned = Wire(Vec(5, UInt(27.W)))
    val entering = Poly1305.limbs(io.in.bits.acc)
    val acc = RegNext(VecInit(returned.zip(entering).map { case (old, limb) =>
      Mux(io.wipe, 0.U, Mux(io.in.valid, limb, old))
    }))
    val now = rounds.head.bits
    val block = Mux(now.left.orR, Cat(1.U, data(now.row)(now.round)), 0.U)
    val r = Mux(RegNext(now.left.orR), RegNext(rs(now.row)), 1.U)
    returned := Poly1305.multiplyAdd(acc, block, r)

    // The end: the last reduction beside the message of the next group.
    val ends = Wire(Valid(UInt(row.getWidth.W)))
    ends.valid := around.valid && around.bits.round === 3.U
    ends.bits := around.bits.row
    endings.zip(ends +: endings.init).foreach { case (now, before) =>
      now.valid := RegNext(before.valid, false.B)
      now.bits := RegNext(before.bits)
    }
    val (reduced, least) = Poly1305.reduce(returned)
    io.out.valid := endings.last.valid
    io.out.bits.acc := RegNext(reduced)
    io.out.bits.tag := RegNext((least + ss(endings(Poly1305.endStages - 2).bits))(127, 0))
  }
}

object Poly1305Pipe {

  /** Cycles from `in` to `out`; a multiple of 4. */
  val latency: Int = 4 * Poly1305.stages + Poly1305.endStages

  private val rowBits = log2Ceil(latency / 4 + 1)
}
