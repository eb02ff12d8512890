// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.crypto.lane.{LaneConfig, Verdict}

/** What a lane shows beside the bytes of a beat. */
class AnswerFacts extends Bundle {
  val bytes = UInt(log2Ceil(PacketStream.dataBytes + 1).W)
  val last = Bool()
  val error = Bool()
  val verdict = UInt(Verdict.getWidth.W)
  val length = UInt(PacketStream.lengthBits.W)
  val nextHeader = UInt(8.W)
}

/**
 * Lets one packet out of the lane under test and compares all of it with the known answer: every
 * byte, the length of both beats, the verdict, length and next header. A forged packet must come
 * out as one empty beat with the verdict `badIcv`.
 *
 * The beat stands still at the lane's exit, so its words are compared one after the other: `select`
 * names one, and `word` has it three cycles later. `done`, a register, pulses once the last beat
 * has been taken; `wrong` is valid then. `late` instead, a register, if that takes `hangCycles`.
 */
private[selftest] class AnswerCheck(config: LaneConfig, layout: AnswerLayout, hangCycles: Int) extends Module {
  val io = IO(new Bundle {

    /** Low: the check gives up a packet that it has begun. */
    val active = Input(Bool())
    val start = Flipped(Valid(new TestItem(layout.indexBits)))
    val address = Output(UInt(layout.addressBits.W))
    val data = Input(UInt(64.W))

    /** Of the lane under test, registers. */
    val offer = Input(Vec(2, Bool()))
    val grant = Output(Vec(2, Bool()))
    val valid = Input(Bool())
    val facts = Input(new AnswerFacts)
    val select = Output(UInt(log2Ceil(AnswerLayout.beatWords).W))
    val word = Input(UInt(64.W))

    /** The beat at the lane's exit is taken. */
    val take = Output(Bool())
    val done = Output(Bool())
    val wrong = Output(Bool())
    val late = Output(Bool())
  })

  private object State extends ChiselEnum { val idle, offer, beat, words, judge, taken = Value }
  private val state = RegInit(State.idle)
  private val item = RegEnable(io.start.bits, io.start.valid)
  private val fast = RegEnable(layout.fast(io.start.bits.index), io.start.valid)
  private val address = Reg(UInt(layout.addressBits.W))
  private val step = Reg(UInt(4.W))
  private val second = Reg(Bool())
  private val wrong = Reg(Bool())
  private val waited = Reg(UInt((log2Ceil(hangCycles) + 1).W))

  private val granting = RegInit(false.B)
  private val offered = Mux(fast, io.offer(1), io.offer(0))
  granting := state === State.offer && offered && !granting
  io.grant(0) := granting && !fast
  io.grant(1) := granting && fast

  // The words: selected, three cycles later here, as the memory's is.
  private val comparing = state === State.words && step < AnswerLayout.beatWords.U
  private val expected = Mux(item.forged, 0.U, io.data)
  private val differs = ShiftRegister(comparing, 3, false.B, true.B) && io.word =/= expected
  io.select := step(log2Ceil(AnswerLayout.beatWords) - 1, 0)
  io.address := ShiftRegister(address, 2)

  private val bytes = RegNext(layout.answerBytes(item.index))
  private val rest = (bytes - PacketStream.dataBytes.U)(6, 0)
  private val facts = io.facts
  private val asForged = facts.bytes === 1.U && facts.last && facts.error &&
    facts.verdict === Verdict.badIcv.litValue.U
  private val asGood = facts.bytes === Mux(second, rest, PacketStream.dataBytes.U) && facts.last === second &&
    !facts.error && facts.verdict === Verdict.ok.litValue.U && facts.length === bytes &&
    facts.nextHeader === KnownAnswerList.nextHeader.U
  private val fits = RegNext(Mux(item.forged, asForged, asGood))
  private val last = RegNext(facts.last)
  private val ended = Reg(Bool())

  private val ending = state === State.taken && step === 4.U
  when(differs) { wrong := true.B }
  when(state =/= State.idle) { waited := waited + 1.U }
  switch(state) {
    is(State.offer) { when(granting) { state := State.beat } }
    is(State.beat) {
      step := 0.U
      when(io.valid) { state := State.words }
    }
    is(State.words) {
      step := step + 1.U
      when(comparing) { address := address + 1.U }
      when(step === (AnswerLayout.beatWords + 3).U) { state := State.judge }
    }
    is(State.judge) {
      when(!fits) { wrong := true.B }
      ended := last
      step := 0.U
      state := State.taken
    }
    // What the lane shows behind the beat that is taken is here four cycles after `take`.
    is(State.taken) {
      step := step + 1.U
      when(ending) {
        second := true.B
        state := Mux(ended, State.idle, State.beat)
      }
    }
  }
  io.take := state === State.judge
  io.done := RegNext(ending && ended, false.B)
  io.wrong := wrong
  io.late := RegNext(state =/= State.idle && waited(log2Ceil(hangCycles)), false.B)
  when(io.late || !io.active) { state := State.idle }

  when(io.start.valid) {
    state := State.offer
    address := layout.answer(io.start.bits.index)
    second := false.B
    wrong := false.B
    waited := 0.U
  }
}
