// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.{NoMeta, PacketStream}

/** What key fetch needs of a packet. */
class PacketHead extends Bundle {
  val meta = new LinkMeta

  /** The first eight bytes; byte n in bits 8n+7:8n. */
  val bytes = UInt(64.W)
}

/**
 * Lets packets start one at a time and shows the head of each.
 *
 * `head` pulses with the first beat of a packet, at most every second cycle and at most `jobs`
 * times ahead of `jobTaken`. `hold` (a register) keeps packets from starting; one that has started
 * goes on. Beats pass in the cycle they come; `in.ready` depends on `beats.ready` and registers.
 */
class PacketHeads(jobs: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val beats = PacketStream(new NoMeta)
    val head = Valid(new PacketHead)
    val jobTaken = Input(Bool())
    val hold = Input(Bool())
  })

  private val first = RegInit(true.B)
  private val begun = RegInit(false.B)
  private val credit = RegInit(jobs.U(log2Ceil(jobs + 1).W))
  private val may = !first || (!io.hold && !begun && credit =/= 0.U)

  io.in.ready := io.beats.ready && may
  io.beats.valid := io.in.valid && may
  io.beats.bits.data := io.in.bits.data
  io.beats.bits.bytes := io.in.bits.bytes
  io.beats.bits.last := io.in.bits.last
  io.beats.bits.error := io.in.bits.error

  io.head.valid := io.in.fire && first
  io.head.bits.meta := io.in.bits.meta
  io.head.bits.bytes := io.in.bits.data(63, 0)

  when(io.in.fire) { first := io.in.bits.last }
  begun := io.head.valid
  credit := credit + io.jobTaken - io.head.valid
  assert(credit =/= jobs.U || !io.jobTaken || io.head.valid, "a job left that never came")
}

object PacketHeads {

  /** Cycles from a packet's job until its credit can be used: the queue, dispatch, a register. */
  private val back = 3

  /** Refuses a key fetch of `latency` cycles with too few `jobs` for a packet every 2 cycles. */
  def requireRate(jobs: Int, latency: Int): Unit = require(
    2 * jobs >= latency + back,
    s"$jobs jobs are a packet every 2 cycles up to a latency of ${2 * jobs - back} cycles, not $latency"
  )
}
