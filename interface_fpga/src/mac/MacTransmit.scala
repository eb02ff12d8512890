// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mac

import chisel3._
import chisel3.util._
import sallyport.common.clock.QuietClock
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.registers.CounterBank
import sallyport.common.stream.{MacBeat, NoMeta, PacketStream}
import sallyport.iface.headers.VlanTags

/** What happened on the transmit side in one cycle. */
class MacTransmitEvents extends Bundle {
  val txFrames = Bool()

  /** With `txFrames`: bytes of the frame, padding and FCS included; else 0. */
  val txBytes = UInt(CounterBank.incrementBits.W)
}

/**
 * From a packet stream of whole frames (Ethernet header first), and the frames that the management
 * CPU injects, to the MAC.
 *
 * Frames of `in` get their VLAN tags ([[TagInsert]]). Injected frames go in between two frames of
 * `in`, or when none is there; one at a time, and [[Injector]] limits how many. Each costs `in` its
 * own beats and a cycle; where there is none, `in` waits for nothing.
 *
 * Pads frames below 60 B with zeros (IEEE 802.3 4.2.3.3). A frame starts on `mac` only when all of
 * it is here, so that `valid` stays high from its first to its last beat: the CMAC must not
 * underrun. Counts a frame when it is complete in the buffer. Stalls `in` when the buffer is full.
 * Drops nothing; `error` on `in` must be low.
 *
 * Store and forward, a beat a cycle. Latency: 4 cycles from the last beat in to the first beat out.
 *
 * @param beats transmit buffer in 64-byte beats, a power of two
 */
class MacTransmit(beats: Int) extends Module {
  require(
    beats * PacketStream.dataBytes >= MacTransmit.maxBytes,
    s"a transmit buffer of $beats beats does not hold a frame of ${MacTransmit.maxBytes} B"
  )

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new VlanTags))
    val inject = Flipped(PacketStream(new NoMeta))
    val mac = Decoupled(new MacBeat)
    val events = Output(new MacTransmitEvents)
  })

  // Whose turn it is is a register, and the choice is in front of the registers that are there
  // anyway: `in` takes no cycle more.
  private val merged = Wire(PacketStream(new VlanTags))
  private val tagged = Module(new TagInsert)
  tagged.io.in <> merged
  private val in = tagged.io.out
  private val injecting = RegInit(false.B)
  private val inFrameOfIn = RegInit(false.B)
  merged.valid := Mux(injecting, io.inject.valid, io.in.valid)
  merged.bits.data := Mux(injecting, io.inject.bits.data, io.in.bits.data)
  merged.bits.last := Mux(injecting, io.inject.bits.last, io.in.bits.last)
  merged.bits.bytes := Mux(injecting, io.inject.bits.bytes, io.in.bits.bytes)
  merged.bits.error := Mux(injecting, io.inject.bits.error, io.in.bits.error)
  merged.bits.meta := Mux(injecting, VlanTags.none, io.in.bits.meta)
  io.in.ready := merged.ready && !injecting
  io.inject.ready := merged.ready && injecting
  when(io.in.fire)(inFrameOfIn := !io.in.bits.last)
  private val free = Mux(io.in.fire, io.in.bits.last, !inFrameOfIn && !io.in.valid)
  when(injecting) {
    when(io.inject.fire && io.inject.bits.last)(injecting := false.B)
  }.elsewhen(free && io.inject.valid) {
    injecting := true.B
  }

  private val before = RegInit(0.U(8.W))
  private val short = before === 0.U && in.bits.last && in.bits.bytes < MacReceive.minBytes.U
  private val bytes = Mux(short, MacReceive.minBytes.U, in.bits.bytes)
  when(in.fire)(before := Mux(in.bits.last, 0.U, before + 1.U))

  private val fifo =
    QuietClock.around(new FrameFifo(new NoMeta, FrameFifoParams(beats, WhenFull.Stall)), cycles = 16)(fifo =>
      fifo.io.in.valid || fifo.io.out.valid
    )
  fifo.io.in.valid := in.valid
  fifo.io.in.bits.data := in.bits.data
  fifo.io.in.bits.last := in.bits.last
  fifo.io.in.bits.bytes := bytes
  fifo.io.in.bits.error := in.bits.error
  fifo.io.in.bits.meta := DontCare
  in.ready := fifo.io.in.ready

  io.mac.valid := fifo.io.out.valid
  io.mac.bits.data := fifo.io.out.bits.data
  io.mac.bits.last := fifo.io.out.bits.last
  io.mac.bits.bytes := fifo.io.out.bits.bytes
  io.mac.bits.error := false.B
  fifo.io.out.ready := io.mac.ready

  private val end = in.fire && in.bits.last
  private val length = Cat(before, 0.U(6.W)) +& bytes
  io.events.txFrames := RegNext(end, false.B)
  private val frameBytes = (length + MacReceive.fcsBytes.U)(CounterBank.incrementBits - 1, 0)
  io.events.txBytes := RegNext(Mux(end, frameBytes, 0.U), 0.U)
  assert(
    !fifo.io.droppedError && !fifo.io.droppedOverflow,
    "a frame for the MAC was broken or longer than the transmit buffer"
  )

  // The underrun rule, as the MAC sees it.
  private val inFrame = RegInit(false.B)
  when(io.mac.fire)(inFrame := !io.mac.bits.last)
  assert(!inFrame || io.mac.valid, "the transmit side ran dry inside a frame")
}

object MacTransmit {

  /** The longest frame, with the tags that it may get here. */
  val maxBytes: Int = PacketStream.maxFrameBytes + VlanTags.bytes * VlanTags.most
}
