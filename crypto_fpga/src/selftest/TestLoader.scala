// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.crypto.lane.{LaneConfig, LaneJob}

/** Which packet of a self-test: the suite's index, and whether its ICV is to be wrong. */
class TestItem(indexBits: Int) extends Bundle {
  val index = UInt(indexBits.W)
  val forged = Bool()
}

/**
 * Reads a packet and its keys from the memory of known answers and offers both beats on `out`. A
 * forged one has one bit of its ICV flipped.
 *
 * `request`, a register, is high from the first beat's offer until both have left, as the taker
 * must let nothing come between them. `done` pulses a cycle after the second. From `start` to the
 * first offer 22 cycles, between the offers 10.
 */
private[selftest] class TestLoader(config: LaneConfig, layout: AnswerLayout) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Valid(new TestItem(layout.indexBits)))
    val address = Output(UInt(layout.addressBits.W))
    val data = Input(UInt(64.W))
    val request = Output(Bool())
    val out = PacketStream(new LaneJob)
    val done = Output(Bool())
  })
  import AnswerLayout._
  private val headWords = keyWords + authWords
  private val firstWords = headWords + beatWords
  private val allWords = headWords + packetWords

  private val item = RegEnable(io.start.bits, io.start.valid)
  private val step = RegInit(allWords.U(log2Ceil(allWords + 1).W))
  private val offered = RegInit(false.B)
  private val second = Reg(Bool())
  private val address = Reg(UInt(layout.addressBits.W))
  private val reading = step =/= allWords.U && !(step === firstWords.U && !second)

  when(io.start.valid) {
    step := 0.U
    second := false.B
    address := layout.key(io.start.bits.index)
  }.elsewhen(reading) {
    step := step + 1.U
    address := address + 1.U
    when(step === (keyWords - 1).U) { address := layout.auth(item.index) }
    when(step === (headWords - 1).U) { address := layout.question(item.index) }
  }
  io.address := address

  // A word arrives.
  private val arrives = RegNext(reading, false.B)
  private val arrived = RegNext(step)
  private val key = Reg(UInt((64 * keyWords).W))
  private val auth = Reg(UInt((64 * authWords).W))
  private val data = Reg(UInt(PacketStream.dataBits.W))
  private val bytes = RegNext(layout.questionBytes(item.index))
  private val lastWord = RegNext((bytes - 1.U)(6, 3) +& headWords.U)
  private val flip = item.forged && arrived === lastWord
  private def shift(into: UInt, word: UInt): UInt = word ## into(into.getWidth - 1, 64)
  when(arrives) {
    when(arrived < keyWords.U) { key := shift(key, io.data) }
    when(arrived >= keyWords.U && arrived < headWords.U) { auth := shift(auth, io.data) }
    when(arrived >= headWords.U) { data := shift(data, io.data ^ (flip << TestLoader.flippedBit)) }
  }
  when(arrives && (arrived === (firstWords - 1).U || arrived === (allWords - 1).U)) { offered := true.B }
  when(io.out.fire) {
    offered := false.B
    second := true.B
  }
  private val ends = io.out.fire && second
  io.done := RegNext(ends, false.B)

  private val requested = RegInit(false.B)
  when(offered) { requested := true.B }
  when(ends) { requested := false.B }
  io.request := requested

  private def number(hex: String): UInt = BigInt(hex, 16).U
  private def string(hex: String): UInt = BigInt(1, KnownAnswer.fromHex(hex).reverse).U
  private val job = io.out.bits.meta
  job.suite := layout.number(item.index)
  job.icv := KnownAnswer.icv.U
  job.key := key
  job.auth := auth
  job.salt := string(KnownAnswerList.salt)
  job.esn := true.B
  job.sequence := number(KnownAnswerList.sequence)
  job.iv := number(KnownAnswerList.iv)
  job.spi := number(KnownAnswerList.spi)
  job.meta := 0.U.asTypeOf(job.meta)
  job.meta.length := bytes
  job.meta.nextHeader := KnownAnswerList.nextHeader.U
  io.out.valid := offered && requested
  io.out.bits.data := data
  io.out.bits.bytes := Mux(second, bytes(5, 0), PacketStream.dataBytes.U)
  io.out.bits.last := second
  io.out.bits.error := false.B
}

private[selftest] object TestLoader {

  /** A bit of the fourth byte of the packet's last word, which belongs to the ICV of each suite. */
  private val flippedBit = 24
}
