// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.queue.{MemoryQueue, RingQueue, ShiftQueue}
import sallyport.common.stream.RegisterSlice
import sallyport.crypto.lane.LanePorts

/**
 * Which way a packet took, so that [[Merge]] can take them back in order. One-hot: bit n is lane
 * n, the highest bit the bypass.
 */
class OrderEntry(lanes: Int) extends Bundle {
  val target = UInt((lanes + 1).W)

  /** Its class ([[Suite.fast]]); a bypassed packet is fast. */
  val fast = Bool()
  val epoch = Bool()
}

/**
 * Decides which packet leaves next: of each class the one that came first, as soon as its lane has
 * finished it.
 *
 * So the order of arrival is kept within a class, and with it that of every SA, whose suite is of
 * one class; and a slow packet of thousands of cycles holds up none but slow ones. A packet is
 * granted when it is finished, never before, so a granted packet leaves without waiting for
 * anything but its way and the merge.
 *
 * `out` is the order for the merge, a register. Two classes take turns; a packet a cycle.
 *
 * @param packets
 *   slow (`false`) and fast (`true`) ones that may be on their way at most: those in the lanes, and
 *   in the bypass queue. There is room for so many, and `in` need not wait
 */
class OrderArbiter(lanes: Int, packets: Boolean => Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new OrderEntry(lanes)))
    val offer = Input(Vec(lanes, Vec(2, Bool())))

    /** Lanes that have failed: nothing waits for what they offer. */
    val failed = Input(UInt(lanes.W))
    val grant = Output(Vec(lanes, Vec(2, Bool())))
    val out = Decoupled(new OrderEntry(lanes))
  })

  private val merging = Module(new ShiftQueue(new OrderEntry(lanes), LanePorts.grants))
  io.out <> merging.io.out

  private val heads = Seq(false, true).map { fast =>
    val comes = io.in.valid && io.in.bits.fast === fast.B
    val places = 1 << log2Ceil(packets(fast).max(2))
    if (places <= OrderArbiter.mostInLuts) RegisterSlice(RingQueue(comes, io.in.bits, places, clear = false.B))
    else {
      val queue = Module(new MemoryQueue(new OrderEntry(lanes), places))
      queue.io.in.valid := RegNext(comes, false.B)
      queue.io.in.bits := RegNext(io.in.bits)
      assert(!queue.io.in.valid || queue.io.in.ready, "more packets than places")
      queue.io.out
    }
  }

  private val finished = heads.zipWithIndex.map { case (head, kind) =>
    val offers = true.B ## (VecInit(io.offer.map(_(kind))).asUInt | io.failed)
    head.valid && (head.bits.target & offers).orR
  }
  private val fastNext = RegInit(false.B)
  private val takes = {
    val slow = finished(0) && (!finished(1) || !fastNext)
    Seq(slow, finished(1) && !slow).map(_ && merging.io.in.ready)
  }
  for ((head, kind) <- heads.zipWithIndex) {
    head.ready := takes(kind)
    for (lane <- 0 until lanes) io.grant(lane)(kind) := takes(kind) && head.bits.target(lane)
  }
  when(takes(0)) { fastNext := true.B }
  when(takes(1)) { fastNext := false.B }
  merging.io.in.valid := finished.reduce(_ || _)
  merging.io.in.bits := Mux(takes(0), heads(0).bits, heads(1).bits)
}

private object OrderArbiter {

  /** A queue of more places is in block RAM. */
  val mostInLuts = 1024
}
