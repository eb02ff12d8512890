// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._

/**
 * Says which lane gets the next packet: of the lanes that can take one, the one with the least work
 * left, by an estimate.
 *
 * The estimate of a lane rises by a packet's blocks of 16 bytes when it is sent there and falls by
 * one a cycle, which is what a lane does. Fair shares for packets of any mix of sizes follow;
 * counting packets in turn would give one lane all the long ones of a periodic mix. Equal lanes
 * take turns. For each class of packets (index 0 slow, 1 fast) `pick` is one-hot and a register;
 * after `taken` it is not valid for one cycle, and then not the same lane again at once.
 */
class LanePicker(lanes: Int) extends Module {
  require(lanes >= 1 && lanes <= 16, s"$lanes lanes a direction: choose 1 to 16")

  val io = IO(new Bundle {
    val laneReady = Input(Vec(2, UInt(lanes.W)))
    val valid = Output(Vec(2, Bool()))
    val pick = Output(Vec(2, UInt(lanes.W)))

    /** A packet of `blocks` goes to this lane, one of those picked. */
    val taken = Input(Bool())
    val lane = Input(UInt(lanes.W))

    /** At least 1. */
    val blocks = Input(UInt(LanePicker.workBits.W))
  })

  private val work = RegInit(VecInit.fill(lanes)(0.U(LanePicker.workBits.W)))

  // A taken packet counts a cycle later; until then its lane is not asked.
  private val recent = RegNext(Mux(io.taken, io.lane, 0.U), 0.U)
  private val recentBlocks = RegNext(io.blocks -% 1.U)

  for (lane <- 0 until lanes) {
    val change = Mux(recent(lane), recentBlocks, ~0.U(LanePicker.workBits.W))
    val sum = work(lane) +& change
    val overflow = recent(lane) && sum(LanePicker.workBits)
    val underflow = !recent(lane) && !sum(LanePicker.workBits)
    work(lane) := Mux(overflow, LanePicker.mostWork.U, Mux(underflow, 0.U, sum(LanePicker.workBits - 1, 0)))
  }

  // Among equals it is the turn of the lane behind the last one taken: slow packets stay long after
  // their work seems done.
  private val turn = RegInit(0.U(log2Ceil(lanes).max(1).W))
  when(io.taken) { turn := OHToUInt(Seq.tabulate(lanes)(i => io.lane((i + lanes - 1) % lanes))) }
  private def comesFirst(i: Int, j: Int): Bool =
    if (i < j) !(turn > i.U && turn <= j.U) else turn > j.U && turn <= i.U

  for (kind <- 0 to 1) {
    val ready = io.laneReady(kind) & ~recent
    val least = VecInit.tabulate(lanes) { i =>
      (0 until lanes)
        .filter(_ != i)
        .map { j =>
          !ready(j) || work(i) < work(j) || (work(i) === work(j) && comesFirst(i, j))
        }
        .foldLeft(ready(i))(_ && _)
    }
    io.pick(kind) := RegNext(least.asUInt, 0.U)
    io.valid(kind) := RegNext(ready.orR && !io.taken, false.B)
  }
}

object LanePicker {
  val workBits: Int = 11
  val mostWork: Int = (1 << workBits) - 1
}
