// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.crypto.lane.{LaneConfig, LaneJob}

/** A packet of the self-test on its way into a lane, past the jobs of the traffic. */
class TestEntry(lanes: Int) extends Bundle {

  /** From the next cycle on no packet of the traffic begins to enter a lane. */
  val request = Output(Bool())
  val beat = PacketStream(new LaneJob)

  /** One-hot. */
  val lane = Output(UInt(lanes.W))
}

/** What the self-test of a path tells. */
class SelfTestState(lanes: Int) extends Bundle {

  /** Lanes that are out of service. */
  val failed = UInt(lanes.W)
  val running = Bool()

  /** The first run has ended. */
  val started = Bool()
}

/**
 * The self-test of a path: known answers of every suite through every lane, at reset and on `run`.
 *
 * Lane after lane leaves the traffic, comes to rest, gets a packet of each suite, from black to red
 * a second one with a wrong ICV, and returns if all that it answers is right
 * ([[KnownAnswerList]], [[AnswerCheck]]) and it is empty behind that. After a wrong answer it stays
 * out of service until a later run finds it right. One that hangs ([[LaneGuard]]), in traffic too,
 * one that answers more than it was asked, and one that rests but still owes packets, as a flipped
 * bit may have it, stay out until reset, and are not tested again. Traffic goes on through the
 * other lanes; nothing of a test reaches the merge. A test of a lane during which keys were erased
 * (`blocked`) is repeated, as the lane has rightly answered nothing.
 *
 * Both paths run at once. The packets of a lane all enter it, then their answers are checked, so a
 * lane takes what entering and checking take, and the latency of its slowest suite if that is more.
 * Two lanes of two suites take 1,339 cycles at reset, with the erasure of 16 key rows in front. A
 * `run` while one runs is ignored. No key of an SA comes here.
 */
class SelfTest(config: LaneConfig, lanes: Int, test: SelfTestConfig) extends Module {
  val io = IO(new Bundle {
    val run = Input(Bool())
    val blocked = Input(Bool())
    val view = Input(Vec(lanes, new LaneView))
    val order = Output(Vec(lanes, new LaneOrder))
    val entry = new TestEntry(lanes)
    val state = Output(new SelfTestState(lanes))
  })

  private val layout = new AnswerLayout(config)
  private val rom = Module(new AnswerRom(if (config.encrypt) "EncryptAnswers" else "DecryptAnswers", layout.rows))
  private val loader = Module(new TestLoader(config, layout))
  private val check = Module(new AnswerCheck(config, layout, test.hangCycles))

  private object State extends ChiselEnum { val idle, rest, choose, send, collect, answer, end = Value }
  private val state = RegInit(State.idle)
  private val pending = RegInit(true.B)
  private val started = RegInit(false.B)
  private val lane = RegInit(1.U(lanes.W))
  private val failed = RegInit(0.U(lanes.W))
  private val tested = RegInit(false.B)
  private val wrong = Reg(Bool())
  private val hangs = RegInit(false.B)

  /** Lanes that have hung since reset. */
  private val dead = RegInit(0.U(lanes.W))
  private val disturbed = Reg(Bool())
  private val waited = Reg(UInt((log2Ceil(test.hangCycles) + 1).W))
  private val tooLong = waited(log2Ceil(test.hangCycles))
  private val quiet = Reg(UInt(3.W))

  /** The packets that are sent and that are checked next. */
  private val sent, checked = Reg(new TestItem(layout.indexBits))
  private val allSent, allChecked = Reg(Bool())
  private def advance(item: TestItem, all: Bool): Unit = {
    val again = if (config.encrypt) false.B else !item.forged
    item.forged := again
    when(!again) {
      item.index := item.index + 1.U
      all := item.index === (layout.count - 1).U
    }
  }

  private val view = Mux1H(lane, io.view)
  private val hung = VecInit(io.view.map(_.hung)).asUInt
  private val room = RegNext(Mux(layout.fast(sent.index), view.room(1), view.room(0)), false.B)
  private val outstanding = sent.asUInt =/= checked.asUInt || allSent

  private val isFailed = (failed & lane).orR
  private val hungHere = tested && (hung & lane).orR
  loader.io.start.valid := state === State.choose && waited(3) && !allSent && room && !hungHere
  loader.io.start.bits := sent
  check.io.active := state === State.answer
  check.io.start.valid := state === State.collect && outstanding && !allChecked
  check.io.start.bits := checked
  rom.clock := clock
  rom.address := Mux(state === State.answer, check.io.address, loader.io.address)
  loader.io.data := rom.data
  check.io.data := rom.data
  check.io.offer := RegNext(view.offer)
  check.io.valid := RegNext(view.valid, false.B)
  check.io.facts := RegNext(view.facts)
  check.io.word := RegNext(view.word)

  // `room` is that of `sent` some cycles later.
  waited := waited + 1.U
  private val judged = WireDefault(failed)
  switch(state) {
    is(State.idle) {
      lane := 1.U
      waited := 0.U
      quiet := 0.U
      when(pending || io.run) { state := State.rest }
      pending := false.B
    }
    is(State.rest) {
      quiet := Mux(view.empty && !io.blocked, quiet + 1.U, 0.U)
      sent := 0.U.asTypeOf(sent)
      checked := 0.U.asTypeOf(checked)
      allSent := false.B
      allChecked := false.B
      wrong := false.B
      disturbed := false.B
      when((dead & lane).orR) {
        hangs := true.B
        state := State.end
      }.elsewhen(quiet.andR) {
        tested := true.B
        waited := 0.U
        quiet := 0.U
        state := State.choose
      }.elsewhen(!isFailed && !view.still || io.blocked) { waited := 0.U }
        .elsewhen(tooLong) {
          hangs := true.B
          state := State.end
        }
    }
    is(State.choose) {
      when(loader.io.start.valid) { state := State.send }
        .elsewhen(waited(4)) { state := State.collect }
    }
    is(State.send) {
      when(loader.io.done) {
        advance(sent, allSent)
        waited := 0.U
        state := Mux(hangs, State.end, State.choose)
      }
    }
    is(State.collect) {
      // A lane that gives more than was asked of it would give the rest to the traffic.
      quiet := Mux(allChecked && view.empty, quiet + 1.U, 0.U)
      when(check.io.start.valid) {
        waited := 0.U
        state := State.answer
      }
        .elsewhen(quiet.andR) { state := State.end }
        .elsewhen(room && !allChecked) {
          waited := 0.U
          state := State.choose
        }
        .elsewhen(tooLong) {
          hangs := true.B
          state := State.end
        }
    }
    is(State.answer) {
      when(check.io.done) {
        wrong := wrong || check.io.wrong
        advance(checked, allChecked)
        waited := 0.U
        state := State.collect
      }
      when(check.io.late || tooLong) {
        hangs := true.B
        state := State.end
      }
    }
    is(State.end) {
      waited := 0.U
      quiet := 0.U
      tested := false.B
      hangs := false.B
      state := State.rest
      when(hangs || !disturbed) {
        judged := Mux(hangs || wrong, failed | lane, failed & (~lane).asUInt)
        lane := lane << 1
        when(lane(lanes - 1) || !lane.orR) {
          started := true.B
          state := State.idle
        }
      }
    }
  }
  when(tested && io.blocked) { disturbed := true.B }
  when(hungHere) {
    hangs := true.B
    when(state =/= State.send && state =/= State.end) { state := State.end }
  }
  private val hungInTraffic = Mux(tested, hung & (~lane).asUInt, hung)
  failed := judged | hungInTraffic
  dead := dead | hungInTraffic | Mux(state === State.end && hangs, lane, 0.U)
  // A flipped bit of the state: nothing is known of the lane.
  when(!state.isValid) {
    hangs := true.B
    state := State.end
  }

  io.entry.request := loader.io.request
  io.entry.beat <> loader.io.out
  io.entry.lane := lane
  for ((order, i) <- io.order.zipWithIndex) {
    val mine = lane(i) && state =/= State.idle
    order.away := RegNext(failed(i) || mine, true.B)
    order.tested := RegNext(tested && lane(i), false.B)
    order.failed := RegNext(Mux(tested && lane(i), hangs, failed(i)), false.B)
    order.grant := RegNext(Mux(lane(i), check.io.grant.asUInt, 0.U), 0.U).asTypeOf(order.grant)
    order.take := RegNext(check.io.take && lane(i), false.B)
    order.select := RegNext(check.io.select)
  }
  io.state.failed := failed
  io.state.running := state =/= State.idle || pending
  io.state.started := started
}
