// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.lane

import chisel3._
import chisel3.util._
import sallyport.crypto.lane.{EspJudge, LaneConfig, LaneDone, LaneText, PadCheck, Verdict}
import sallyport.formal.harness.{Bug, Claim, Property}

/**
 * 32 slots, the fewest that a lane has, and texts of up to 10,000 bytes. One slot is watched, and
 * blocks of others come between its own: a slot is but an address to the judge.
 *
 * The judge keeps the run of 1, 2, 3 … that the bytes so far end with. The property marks one byte
 * of the packet, any, and counts from there. If the padding turns out to begin at the mark, it was
 * right exactly if each byte since is its own number. As the mark may be anywhere, this holds for
 * every padding.
 */
class EspJudgeProperty
    extends Property(
      Claim(
        proves =
          "The ICV is judged first, then the pad length against the payload, then the padding 1, 2, 3 …, then whether there is a payload.",
        clause = "RFC 4303 2.4, 2.6 and 3.4.4.1, EspJudge, PadCheck",
        bug = Bug("PadCheck", raw"inRun & value == padLength", "inRun"),
        assumes = Seq(
          "Blocks of a packet come in order and numbered, and only the last is not full: LaneSequence.",
          "A text is 4 bytes at least and whole words: LaneIntake finds others malformed.",
          "`done` comes once, after the last block and the latency of PadCheck; the slot's next text follows: LaneEngine."
        ),
        depth = 4,
        reach = 8
      )
    ) {
  private val config = LaneConfig(encrypt = false, slots = 32)
  private val dut = Module(new EspJudge(config))
  private val text = any(Valid(new LaneText(config)))
  private val done = any(Valid(new LaneDone(config)))
  private val textBytes = any(chiselTypeOf(dut.io.textBytes))
  dut.io.text := text
  dut.io.done := done
  dut.io.textBytes := textBytes

  // The environment, of one slot.
  private val slot = 5.U(config.slotBits.W)
  private val op = text.bits.op
  private val comes = text.valid && op.slot === slot
  private val ends = done.valid && done.bits.slot === slot
  private val blocks = RegInit(0.U(11.W))
  private val bytes = Reg(UInt(14.W))
  private val since = RegInit(0.U(3.W))
  private val complete = since =/= 0.U
  when(comes) {
    assume(!complete && op.index === blocks && blocks < 625.U && op.bytes(1, 0) === 0.U)
    bytes := (blocks(9, 0) << 4) + Mux(op.last && op.bytes =/= 0.U, op.bytes, 16.U)
    blocks := Mux(op.last, 0.U, blocks + 1.U)
  }
  when(comes && op.last) { since := 1.U }
    .elsewhen(ends) { since := 0.U }
    .elsewhen(complete && since <= PadCheck.latency.U) { since := since + 1.U }
  assume(!ends || since === (PadCheck.latency + 1).U && textBytes === bytes)
  assert(blocks <= 625.U && (!complete || blocks === 0.U) && since <= (PadCheck.latency + 1).U)

  // The marked byte, and those from it on, as the judge has them in its third cycle.
  private val block = ShiftRegister(text.bits.block.asTypeOf(Vec(16, UInt(8.W))), 2)
  private val now = ShiftRegister(op, 2)
  private val takes = ShiftRegister(comes, 2, false.B, true.B)
  private val end = Mux(now.last && now.bytes =/= 0.U, now.bytes, 16.U(5.W))
  private val marks = any(Bool())
  private val place = any(UInt(4.W))
  private val marked = Reg(Bool())
  private val right = Reg(Bool())
  private val length = Reg(UInt(9.W))
  private val follows = marked && now.index =/= 0.U
  private val begins = !follows && marks
  // The padding of the last block ends in front of the trailer's two bytes.
  private val stop = Mux(now.last, end - 2.U, end)
  assume(!takes || !begins || place <= stop)
  private val already = Mux(follows, length, 0.U)
  private val first = Mux(follows, 0.U, place)
  private val counted = (already - first)(7, 0)
  private val wrong = VecInit.tabulate(16) { n =>
    first <= n.U && n.U < stop && block(n) =/= counted + (n + 1).U
  }
  when(takes) {
    marked := follows || begins
    right := (!follows || right) && !wrong.asUInt.orR
    length := Mux(already > 255.U, already, already + stop - first)
  }
  private val padLength = RegEnable(block((end - 2.U)(3, 0)), takes && now.last)
  private val nextHeader = RegEnable(block((end - 1.U)(3, 0)), takes && now.last)

  // The verdict, two cycles after `done`.
  private val payload = textBytes - 2.U
  private val mine = ShiftRegister(ends, 2, false.B, true.B)
  private val authentic = ShiftRegister(done.bits.authentic, 2)
  private val beyond = ShiftRegister(padLength > payload, 2)
  private val found = ShiftRegister(marked && length === padLength, 2)
  private val good = right || padLength === 0.U
  private val empty = ShiftRegister(padLength === payload || nextHeader === 59.U, 2)
  private val rest = ShiftRegister(payload - padLength, 2)
  private val header = ShiftRegister(nextHeader, 2)
  private val verdict = dut.io.decided.bits.decision.verdict
  private val delivered = Mux(empty, Verdict.dummy, Verdict.ok)
  assert(dut.io.decided.valid === ShiftRegister(done.valid, 2, false.B, true.B))
  when(mine) {
    assert(dut.io.decided.valid && dut.io.decided.bits.slot === slot)
    assert((verdict === Verdict.badIcv) === !authentic)
    assert(!authentic || (verdict === Verdict.truncated) === beyond)
    when(authentic && !beyond) {
      assert(verdict === delivered || verdict === Verdict.badPadding)
      assert(!found || verdict === Mux(ShiftRegister(good, 2), delivered, Verdict.badPadding))
    }
    when(verdict === Verdict.ok || verdict === Verdict.dummy) {
      assert(dut.io.decided.bits.decision.length === rest)
      assert(dut.io.decided.bits.decision.nextHeader === header)
    }
  }

  // The run and the trailer that the judge keeps of the slot agree with the count.
  private val run = spy(s"dut.check.runs_ext.Memory[${slot.litValue}]", 8)
  private val trailer = spy(s"dut.trailers_ext.Memory[${slot.litValue}]", 17)
  private val open = ShiftRegister(blocks =/= 0.U, 2, false.B, true.B)
  when(open && marked && length =/= 0.U && length < 256.U) { assert(right === (run === length)) }
  assert(!open || !marked || length =/= 0.U || right)
  when(since === (PadCheck.latency + 1).U) {
    assert(trailer(16, 9) === padLength && trailer(8, 1) === nextHeader)
    assert(!(marked && length === padLength || padLength === 0.U) || trailer(0) === good)
  }
  cover(mine && verdict === Verdict.badPadding && found)
  cover(mine && verdict === Verdict.ok && rest === 14.U && header === 4.U && found)
  cover(mine && verdict === Verdict.dummy)
  cover(mine && verdict === Verdict.truncated)
}
