// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import chisel3.util._
import sallyport.common.queue.MemoryQueue
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
  private val verdicts = Module(new Queue(resultType.cloneType, results))
  private val output = Module(new RegisterSlice(chiselTypeOf(io.out.bits)))

  // Where the next beat of `in` stands in its packet: 0, 1 …, or `windowBeats` for all that are not
  // in the window.
  private val windowBeats = (windowBytes + PacketStream.dataBytes - 1) / PacketStream.dataBytes
  private val position = RegInit(0.U(log2Ceil(windowBeats + 1).W))
  private val credits = RegInit(results.U(log2Ceil(results + 1).W))
  private val room = RegInit(true.B)

  // The window: complete after its last beat or the packet's, and then held until the interval
  // has passed.
  private val window = Reg(Vec(windowBeats, UInt(PacketStream.dataBits.W)))
  private val windowMeta = Reg(meta.cloneType)
  private val complete = RegInit(false.B)
  private val cooldown = RegInit(0.U(log2Ceil(interval + 1).W))
  private val launching = complete && cooldown === 0.U

  private val start = position === 0.U
  private val inWindow = position < windowBeats.U
  private val windowFree = !complete || cooldown === 0.U
  io.in.ready := waiting.io.in.ready && (!inWindow || windowFree) && (!start || (room && !io.hold))

  private val fire = io.in.fire
  when(fire)(position := Mux(io.in.bits.last, 0.U, Mux(inWindow, position + 1.U, position)))
  when(launching)(complete := false.B)
  when(fire && inWindow) {
    for ((beat, i) <- window.zipWithIndex)
      when(position === i.U)(beat := io.in.bits.data).elsewhen(start)(beat := 0.U)
    windowMeta := io.in.bits.meta
    complete := io.in.bits.last || position === (windowBeats - 1).U
  }
  cooldown := Mux(launching, (interval - 1).U, Mux(cooldown === 0.U, 0.U, cooldown - 1.U))

  io.launch.valid := launching
  io.launch.bits.bytes := window.asUInt(8 * windowBytes - 1, 0)
  io.launch.bits.meta := windowMeta

  waiting.io.in.valid := fire
  waiting.io.in.bits.data := io.in.bits.data
  waiting.io.in.bits.last := io.in.bits.last
  waiting.io.in.bits.bytes := io.in.bits.bytes

  verdicts.io.enq.valid := io.result.valid
  verdicts.io.enq.bits := io.result.bits

  private val beat = waiting.io.out
  output.io.in.valid := beat.valid && verdicts.io.deq.valid
  output.io.in.bits.data := beat.bits.data
  output.io.in.bits.last := beat.bits.last
  output.io.in.bits.bytes := beat.bits.bytes
  output.io.in.bits.error := false.B
  output.io.in.bits.meta := verdicts.io.deq.bits
  beat.ready := output.io.in.ready && verdicts.io.deq.valid
  verdicts.io.deq.ready := output.io.in.fire && beat.bits.last
  io.out <> output.io.out

  private val taken = fire && start
  private val freed = verdicts.io.deq.fire
  private val creditsNext = credits - taken + freed
  credits := creditsNext
  room := creditsNext =/= 0.U

  private val pending = RegInit(0.U(log2Ceil(results + 1).W))
  pending := pending + taken - io.result.valid
  io.idle := pending === 0.U

  assert(!io.result.valid || verdicts.io.enq.ready, "a result without room: more results than launches")
  assert(!io.result.valid || pending =/= 0.U, "a result without a launch")
  assert(!fire || !io.in.bits.last || !io.in.bits.error, "a broken packet got past its frame FIFO")
}
