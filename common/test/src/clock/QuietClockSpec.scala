// SPDX-License-Identifier: Apache-2.0
package sallyport.common.clock

import chisel3._
import chisel3.util.random.LFSR
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.NoMeta

class QuietClockSpec extends AnyFunSuite with CompiledOnce {

  private class Edges(cycles: Int) extends Module {
    val io = IO(new Bundle {
      val stirs = Input(Bool())
      val edges = Output(UInt(32.W))
    })
    private val edges = withClock(QuietClock(io.stirs, cycles))(RegInit(0.U(32.W)))
    edges := edges + 1.U
    io.edges := edges
  }

  test("the clock is alive while something stirs and for so many cycles after that") {
    simulate(new Edges(8)) { dut =>
      def edgesIn(cycles: Int): BigInt = {
        val before = dut.io.edges.peek().litValue
        dut.clock.step(cycles)
        dut.io.edges.peek().litValue - before
      }
      dut.io.stirs.poke(false.B)
      dut.clock.step(20)
      assert(edgesIn(20) == 0)
      dut.io.stirs.poke(true.B)
      assert(edgesIn(5) == 5)
      dut.io.stirs.poke(false.B)
      assert(edgesIn(30) == 8)
      dut.io.stirs.poke(true.B)
      assert(edgesIn(1) == 1)
      dut.io.stirs.poke(false.B)
      assert(edgesIn(7) == 7)
      dut.io.stirs.poke(true.B)
      assert(edgesIn(1) == 1)
      dut.io.stirs.poke(false.B)
      assert(edgesIn(30) == 8)
    }
  }

  /**
   * The same packets into a FIFO and into its twin on a quiet clock; bursts of some 100 cycles,
   * and as long pauses.
   */
  private class Twins(whenFull: WhenFull) extends Module {
    val io = IO(new Bundle {
      val differs = Output(Bool())
      val packets = Output(UInt(32.W))
      val dropped = Output(UInt(32.W))
    })
    private def fifo = new FrameFifo(new NoMeta, FrameFifoParams(16, whenFull))
    private val plain = Module(fifo)
    private val quiet = QuietClock.around(fifo, cycles = 16)(f => f.io.in.valid || f.io.out.valid)

    private val random = LFSR(32, true.B, Some(0x5a11))
    private val cycle = RegInit(0.U(32.W))
    cycle := cycle + 1.U
    private val burst = RegInit(false.B)
    private val takes = RegInit(false.B)
    when(cycle(6, 0) === 0.U) {
      burst := random(3)
      takes := random(9) || random(17)
    }
    private val valid = RegInit(false.B)
    private val ends = RegInit(false.B)
    private val bad = RegInit(false.B)
    when(!valid || plain.io.in.ready) {
      valid := burst && random(5)
      ends := random(13, 12) === 0.U
      bad := random(22, 20) === 0.U
    }
    private val number = RegInit(0.U(32.W))
    when(valid && plain.io.in.ready) { number := number + 1.U }
    for (f <- Seq(plain, quiet)) {
      f.io.in.valid := valid
      f.io.in.bits.data := number
      f.io.in.bits.last := ends
      f.io.in.bits.bytes := Mux(ends, 1.U, 64.U)
      f.io.in.bits.error := bad
      f.io.in.bits.meta := DontCare
      f.io.out.ready := takes && random(28)
    }
    io.differs := plain.io.in.ready =/= quiet.io.in.ready || plain.io.out.valid =/= quiet.io.out.valid ||
      plain.io.droppedError =/= quiet.io.droppedError || plain.io.droppedOverflow =/= quiet.io.droppedOverflow ||
      (plain.io.out.valid && plain.io.out.bits.asUInt =/= quiet.io.out.bits.asUInt)

    private def count(event: Bool): UInt = {
      val events = RegInit(0.U(32.W))
      when(event) { events := events + 1.U }
      events
    }
    io.packets := count(plain.io.out.fire && plain.io.out.bits.last)
    io.dropped := count(plain.io.droppedError || plain.io.droppedOverflow)
  }

  for (whenFull <- Seq(WhenFull.Stall, WhenFull.Drop))
    test(s"a FIFO whose clock stops is the same at every port in every cycle ($whenFull)") {
      simulate(new Twins(whenFull)) { dut =>
        for (cycle <- 0 until 20000) {
          assert(!dut.io.differs.peek().litToBoolean, s"cycle $cycle")
          dut.clock.step(1)
        }
        val (packets, dropped) = (dut.io.packets.peek().litValue, dut.io.dropped.peek().litValue)
        info(s"$packets packets, $dropped dropped")
        assert(packets > 200 && dropped > 50)
      }
    }
}
