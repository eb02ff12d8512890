// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import chisel3.util._
import sallyport.common.queue.{LutQueue, MemoryQueue}
import sallyport.common.stream.{PacketStream, RegisterSlice}

/** What a look-up pipeline starts from: the first bytes of a packet and its metadata. */
class LookupLaunch[M <: Data](metaType: M, windowBytes: Int) extends Bundle {

  /** Byte 0 in bits 7:0; bytes past the packet's end are zero. */
  val bytes = UInt((8 * windowBytes).W)
  val meta = metaType.cloneType
}

/**
 * Joins a packet stream with the answers of a look-up pipeline, one for each packet.
 *
 * The packet's first bytes and metadata leave at `launch` for a pipeline of the user's, which
 * cannot stall and answers each launch with one `result`, in order, after any latency. Meanwhile
 * the packet waits in a FIFO; at `out` each beat carries the packet's result as metadata.
 *
 * A packet is let in only if there is room for its result (credits), so results never overflow. At
 * most one launch in `interval` cycles; one-beat packets pass at that rate as long as the
 * pipeline's latency is below `results × interval` and, at a beat a cycle, below `beats`. Stalls
 * `in` when a FIFO is full or while `hold` is high at a packet's start. Drops nothing. `error` must
 * be low: broken packets end at the frame FIFO before this stage.
 *
 * Latency: the pipeline's plus 3 cycles (window, result FIFO, output register).
 *
 * @param meta        metadata of the packets that come in; ends at `launch`
 * @param resultType  what the pipeline answers, metadata of the packets that go out
 * @param windowBytes bytes at a packet's start that `launch` shows, up to four beats
 * @param interval    cycles between launches, 1 or more
 * @param results     packets under way, from `in` to the last beat at `out`
 * @param beats       beats that may wait
 */
class LookupStage[M <: Data, R <: Data](
    meta: M,
    resultType: R,
    windowBytes: Int,
    interval: Int = 2,
    results: Int = 32,
    beats: Int = 64
) extends Module {
  require(
    windowBytes >= 1 && windowBytes <= 4 * PacketStream.dataBytes,
    s"a window of $windowBytes B is not 1 to 4 beats long"
  )
  require(interval >= 1, "launches are at least one cycle apart")
  require(results >= 2 && beats >= 4, "a look-up stage needs room for 2 results and 4 beats")

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))

    /** No packet starts while this is high; those under way go on. */
    val hold = Input(Bool())
    val launch = Valid(new LookupLaunch(meta, windowBytes))
    val result = Flipped(Valid(resultType))
    val out = PacketStream(resultType)

    /** No packet is between `in` and `result`. */
    val idle = Output(Bool())
  })

  private class Beat extends Bundle {
    val data = UInt(PacketStream.dataBits.W)
    val last = Bool()
    val bytes = UInt(7.W)
  }

  private val waiting = Module(new MemoryQueue(new Beat, beats))
  private val verdicts = Module(new LutQueue(resultType.cloneType, 1 << log2Ceil(results)))
  private val output = Module(new RegisterSlice(chiselTypeOf(io.out.bits)))

  // Where the next beat of `in` stands in its packet: 0, 1 …, or `windowBeats` for all that are not
  // in the window.
  private val windowBeats = (windowBytes + PacketStream.dataBytes - 1) / PacketStream.dataBytes
  private val position = RegInit(0.U(log2Ceil(windowBeats + 1).W))
  // The same in registers of their own, for long paths begin with them.
  private val start = RegInit(true.B)
  private val inWindow = RegInit(true.B)
  private val credits = RegInit(results.U(log2Ceil(results + 1).W))
  private val room = RegInit(true.B)

  // The window: complete after its last beat or the packet's, and then held until the interval
  // has passed.
  private val window = Reg(Vec(windowBeats, UInt(PacketStream.dataBits.W)))
  private val windowMeta = Reg(meta.cloneType)
  private val complete = RegInit(false.B)
  private val cooldown = RegInit(0.U(log2Ceil(interval + 1).W))
  private val cold = RegInit(true.B)
  private val launching = complete && cold

  private val windowFree = !complete || cold
  io.in.ready := waiting.io.in.ready && (!inWindow || windowFree) && (!start || (room && !io.hold))

  private val fire = io.in.fire
  private val lastOfWindow = position === (windowBeats - 1).U
  when(fire) {
    position := Mux(io.in.bits.last, 0.U, Mux(inWindow, position + 1.U, position))
    start := io.in.bits.last
    inWindow := io.in.bits.last || (inWindow && !lastOfWindow)
  }
  // A beat that has to wait is written again, so that the many registers need not know of it.
  when(io.in.valid && inWindow && windowFree) {
    for ((beat, i) <- window.zipWithIndex)
      when(position === i.U)(beat := io.in.bits.data).elsewhen(start)(beat := 0.U)
    windowMeta := io.in.bits.meta
  }
  when(launching)(complete := false.B)
  when(fire && inWindow)(complete := io.in.bits.last || lastOfWindow)
  when(launching) {
    cooldown := (interval - 1).U
    cold := (interval == 1).B
  }.elsewhen(!cold) {
    cooldown := cooldown - 1.U
    cold := cooldown === 1.U
  }

  io.launch.valid := launching
  io.launch.bits.bytes := window.asUInt(8 * windowBytes - 1, 0)
  io.launch.bits.meta := windowMeta

  waiting.io.in.valid := fire
  waiting.io.in.bits.data := io.in.bits.data
  waiting.io.in.bits.last := io.in.bits.last
  waiting.io.in.bits.bytes := io.in.bits.bytes

  verdicts.io.in.valid := io.result.valid
  verdicts.io.in.bits := io.result.bits

  private val beat = waiting.io.out
  output.io.in.valid := beat.valid && verdicts.io.out.valid
  output.io.in.bits.data := beat.bits.data
  output.io.in.bits.last := beat.bits.last
  output.io.in.bits.bytes := beat.bits.bytes
  output.io.in.bits.error := false.B
  output.io.in.bits.meta := verdicts.io.out.bits
  beat.ready := output.io.in.ready && verdicts.io.out.valid
  verdicts.io.out.ready := output.io.in.fire && beat.bits.last
  io.out <> output.io.out

  private val taken = fire && start
  private val freed = verdicts.io.out.fire
  when(taken =/= freed) {
    credits := credits + Mux(freed, 1.U, Fill(credits.getWidth, 1.U))
    room := freed || credits =/= 1.U
  }

  private val pending = RegInit(0.U(log2Ceil(results + 1).W))
  when(taken =/= io.result.valid) {
    pending := pending + Mux(taken, 1.U, Fill(pending.getWidth, 1.U))
  }
  io.idle := pending === 0.U

  assert(!io.result.valid || verdicts.io.in.ready, "a result without room: more results than launches")
  assert(!io.result.valid || pending =/= 0.U, "a result without a launch")
  assert(!fire || !io.in.bits.last || !io.in.bits.error, "a broken packet got past its frame FIFO")
}
