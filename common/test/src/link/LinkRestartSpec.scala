// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.PacketStream

/**
 * Two ends. The channel from the first to the second may have lost half a word: each word then
 * holds the end of one and the beginning of the next.
 */
class SlippingLink extends Module {
  val io = IO(new Bundle {
    val traffic = Input(Bool())
    val slipped = Input(Bool())
    val up = Input(Bool())
    val delivered = Output(UInt(32.W))
    val wrong = Output(UInt(32.W))
    val restarts = Output(Vec(2, UInt(8.W)))
  })

  private val ends = Seq.fill(2)(Module(new Link(LinkParams())))
  private val control = WireInit(0.U.asTypeOf(new ChannelControl))
  control.rate := 166.U
  control.up := io.up
  private val half = PacketStream.dataBits / 2
  for (((from, to), slipped) <- ends.zip(ends.reverse).zip(Seq(io.slipped, false.B))) {
    val channel = Module(new LinkChannel(41, 0))
    channel.io.control := control
    channel.io.in <> from.io.port.tx
    val word = channel.io.out
    val before = RegEnable(word.bits.head(half), word.valid)
    to.io.port.rx.valid := word.valid
    to.io.port.rx.bits := Mux(slipped, word.bits(half - 1, 0) ## before, word.bits)
    to.io.port.up := io.up
  }

  private val source = Module(new LinkSource(false))
  source.io.enable := io.traffic
  source.io.idle := true.B
  source.io.seed := 1.U
  source.io.abort := false.B
  ends(0).io.in <> source.io.out
  ends(1).io.in.valid := false.B
  ends(1).io.in.bits := DontCare
  ends(0).io.out.ready := true.B
  private val sink = Module(new LinkSink(false))
  sink.io.stall := false.B
  sink.io.seed := 1.U
  sink.io.abort := false.B
  sink.io.in <> ends(1).io.out
  io.delivered := sink.io.delivered
  io.wrong := sink.io.wrong
  for ((end, count) <- ends.zip(io.restarts)) {
    val pulses = RegInit(0.U(8.W))
    pulses := pulses + end.io.port.restart
    count := pulses
  }
}

class LinkRestartSpec extends AnyFunSuite with CompiledOnce {
  for (traffic <- Seq(false, true))
    test(s"a channel that has lost half a word is asked to begin anew, ${if (traffic) "with" else "without"} traffic") {
      simulateShared(())(new SlippingLink) { dut =>
        def restarts: Seq[Int] = dut.io.restarts.map(_.peek().litValue.toInt)
        def delivered: Int = dut.io.delivered.peek().litValue.toInt
        dut.io.up.poke(true.B)
        dut.io.slipped.poke(false.B)
        dut.io.traffic.poke(traffic.B)
        dut.reset.poke(true.B)
        dut.clock.step(5)
        dut.reset.poke(false.B)

        // In step: never, however little is sent.
        dut.clock.step(Link.patience + 1000)
        assert(restarts == Seq(0, 0))
        val whole = delivered
        assert(whole > 0 == traffic)

        // Out of step: nothing comes any more, and the end that hears nothing says so, the other
        // does not.
        dut.io.slipped.poke(true.B)
        dut.clock.step(500)
        val stale = delivered
        dut.clock.step(Link.patience - 1500)
        assert(restarts == Seq(0, 0), "too soon")
        dut.clock.step(2000)
        assert(restarts == Seq(0, 1))
        assert(delivered == stale, "a packet came through halves of words")

        // A link that is down asks for nothing; one that has begun anew carries packets.
        dut.io.up.poke(false.B)
        dut.io.slipped.poke(false.B)
        dut.clock.step(Link.patience + 1000)
        assert(restarts(1) == 1)
        dut.io.up.poke(true.B)
        dut.clock.step(5000)
        assert(restarts(1) == 1)
        assert(delivered > stale == traffic)
        assert(dut.io.wrong.peek().litValue == 0)
      }
    }
}
