// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.ShellRegs.{InjectControl, InjectLength, PuntControl}
import sallyport.common.stream.{InjectMeta, NoMeta, PacketStream}

/**
 * The registers from PUNT_STATE to INJECT_STATE (regs/shell.rdl): software takes punted frames of
 * an interface chip and puts its own in, four bytes at a time.
 *
 * It stores one beat to inject, and no beat of a punted frame. Punted frames wait in the core's
 * punt queue, which counts the frames that it drops; injected ones become whole in the core's
 * [[sallyport.iface.cpu.Injector]]. So a frame may be as long as these two allow, and the mailbox
 * costs no memory. Neither direction waits for the other.
 *
 * Software writes no register more often than every 5 cycles ([[RegisterFile]]); each word of a
 * beat is valid 2 cycles after the read before. A frame that is broken off leaves with `error`.
 */
class FrameMailbox extends Module {
  val io = IO(new Bundle {
    val punt = Flipped(PacketStream(new NoMeta))
    val inject = PacketStream(new InjectMeta)

    val puntState = Output(UInt(32.W))
    val puntData = Output(UInt(32.W))

    /** PUNT_DATA was read. */
    val puntTaken = Input(Bool())
    val puntControl = Input(UInt(32.W))

    val injectLength = Flipped(Valid(UInt(32.W)))
    val injectData = Flipped(Valid(UInt(32.W)))
    val injectControl = Input(UInt(32.W))
    val injectState = Output(UInt(32.W))
  })
  private val words = PacketStream.dataBytes / 4

  // Punted: the words of the beat at `punt` one after the other.
  private val word = RegInit(0.U(log2Ceil(words).W))
  private val drops = RegInit(false.B)
  private val takes = RegInit(false.B)
  private val inFrame = RegInit(false.B)
  private val waiting = io.punt.valid && !takes && !drops
  private val lastWord = RegNext(((io.punt.bits.bytes - 1.U) >> 2)(log2Ceil(words) - 1, 0))
  // A beat that has come since the register was sampled has not been read.
  private val taken = io.puntTaken && ShiftRegister(waiting, 2, false.B, true.B)
  takes := taken && word === lastWord
  when(taken) { word := word + 1.U }
  when(io.punt.fire) {
    word := 0.U
    inFrame := !io.punt.bits.last
  }
  when(io.punt.fire && io.punt.bits.last) { drops := false.B }
    .elsewhen(PuntControl.drop(io.puntControl).asBool && (io.punt.valid || inFrame)) { drops := true.B }
  io.punt.ready := takes || drops
  io.puntData := RegNext(Mux(
    waiting,
    VecInit(io.punt.bits.data.asBools.grouped(32).map(VecInit(_).asUInt).toSeq)(word),
    0.U
  ))
  io.puntState := RegNext(waiting ## 0.U(22.W) ## io.punt.bits.last ## 0.U(1.W) ## io.punt.bits.bytes)

  // Injected: a beat fills word by word and leaves when it is full or the frame ends.
  private val beat = Reg(Vec(words, UInt(32.W)))
  private val place = RegInit(0.U(log2Ceil(words).W))
  private val left = RegInit(0.U(PacketStream.lengthBits.W))
  private val bytes = RegInit(0.U(log2Ceil(PacketStream.dataBytes + 1).W))
  private val full = RegInit(false.B)
  private val last = Reg(Bool())
  private val broken = RegInit(false.B)
  private val refused = RegInit(false.B)
  private val underWay = left =/= 0.U
  private val length = InjectLength.length(io.injectLength.bits)
  private val encrypt = Reg(Bool())
  private val ends = left <= 4.U
  private val aborts = RegInit(false.B)

  when(io.injectLength.valid) {
    when(!underWay && !full && !aborts && length >= FrameMailbox.minBytes.U && length <= FrameMailbox.maxBytes.U) {
      left := length
      encrypt := InjectLength.encrypt(io.injectLength.bits)
    }.otherwise { refused := true.B }
  }
  when(io.injectData.valid) {
    when(underWay && !full) {
      for ((of, n) <- beat.zipWithIndex) {
        val kept = FillInterleaved(8, VecInit.tabulate(4)(left > _.U).asUInt)
        when(place === n.U) { of := io.injectData.bits & kept }.elsewhen(place === 0.U) { of := 0.U }
      }
      left := Mux(ends, 0.U, left - 4.U)
      bytes := (place ## 0.U(2.W)) +& Mux(ends, left(2, 0), 4.U)
      place := place + 1.U
      full := ends || place.andR
      last := ends
    }.otherwise { refused := true.B }
  }
  when(InjectControl.abort(io.injectControl).asBool && underWay) {
    aborts := true.B
    left := 0.U
  }
  when(io.inject.fire) {
    full := false.B
    place := 0.U
  }
  // The core drops the frame, with any bytes in its last beat.
  when(aborts && !full) {
    aborts := false.B
    full := true.B
    last := true.B
    bytes := PacketStream.dataBytes.U
  }
  broken := Mux(aborts && !full, true.B, broken && !io.inject.fire)
  when(InjectControl.clear(io.injectControl).asBool) { refused := false.B }
  io.inject.valid := full
  io.inject.bits.data := beat.asUInt
  io.inject.bits.last := last
  io.inject.bits.bytes := bytes
  io.inject.bits.error := broken
  io.inject.bits.meta.encrypt := encrypt
  io.injectState := refused ## 0.U(14.W) ## !full ## 0.U(2.W) ## left
}

object FrameMailbox {

  /** Bounds of an injected frame without FCS, those of the core's injector. */
  val minBytes: Int = 14
  val maxBytes: Int = 9596
}
