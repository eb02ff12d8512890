// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

/**
 * RFC 4303 appendix A2.2, clause by clause, in unbounded integers cut to 32 bits where the
 * RFC's are.
 */
object Rfc4303A2 {
  private val mask = 0xffffffffL

  def high(highest: BigInt, window: Int, low: Long): Long = {
    val w = window.max(64).toLong
    val th = (highest >> 32).toLong
    val tl = (highest & mask).toLong
    if (tl >= w - 1) {
      // Case A: the window lies in one sequence number subspace.
      if (low >= tl - w + 1) th
      else (th + 1) & mask
    } else {
      // Case B: the window spans two.
      if (low >= ((tl - w + 1) & mask)) (th - 1) & mask
      else th
    }
  }
}

class EsnInferenceSpec extends AnyFunSuite with CompiledOnce {

  private val two32 = BigInt(1) << 32

  private class Bench(dut: EsnHarness) {
    private val expected = mutable.Queue[(String, BigInt)]()

    def step(): Unit = {
      if (dut.io.sequence.valid.peek().litToBoolean) {
        val (what, value) = expected.dequeue()
        assert(dut.io.sequence.bits.peek().litValue == value, what)
      }
      dut.clock.step()
    }

    def idle(cycles: Int): Unit = {
      dut.io.request.valid.poke(false)
      dut.io.update.valid.poke(false)
      dut.io.restart.valid.poke(false)
      for (_ <- 0 until cycles) step()
    }

    def restart(sa: Int): Unit = {
      idle(20)
      dut.io.restart.valid.poke(true)
      dut.io.restart.bits.poke(sa)
      step()
      dut.io.restart.valid.poke(false)
    }

    /** Offers an update until it is taken into the queue. */
    def update(sa: Int, sequence: BigInt): Unit = {
      dut.io.update.bits.sa.poke(sa)
      dut.io.update.bits.sequence.poke(sequence)
      dut.io.update.valid.poke(true)
      while (!dut.io.update.ready.peek().litToBoolean) step()
      step()
      dut.io.update.valid.poke(false)
    }

    def request(sa: Int, esn: Boolean, window: Int, low: Long, value: BigInt): Unit = {
      expected.enqueue((s"sa $sa esn $esn window $window low ${low.toHexString}", value))
      dut.io.sa.poke(sa)
      dut.io.request.bits.esn.poke(esn)
      dut.io.request.bits.window.poke(window)
      dut.io.request.bits.low.poke(low)
      dut.io.request.valid.poke(true)
      step()
      dut.io.request.valid.poke(false)
      dut.io.update.valid.poke(false)
      step()
    }
  }

  private def value(high: Long, low: Long): BigInt = BigInt(high) * two32 + low

  test("the high half is RFC 4303 A2.2's, at its boundaries and at random, and T is the maximum of what was verified") {
    simulate(new EsnHarness(3)) { dut =>
      dut.reset.poke(true)
      dut.clock.step(2)
      dut.reset.poke(false)
      val bench = new Bench(dut)
      import bench._

      // By hand: (T, window, low, expected high).
      val written = Seq(
        (BigInt(0), 64, 1L, 0L), // first packet of an SA
        // one below the window that spans subspaces: Tl-W+1 = 0xffffffc1
        (BigInt(0), 64, 0xffffffc0L, 0L),
        // the subspace before the first: its ICV cannot be good
        (BigInt(0), 64, 0xffffffc1L, 0xffffffffL),
        (BigInt(62), 64, 0xffffffffL, 0xffffffffL), // last T of case B
        (BigInt(63), 64, 0xffffffffL, 0L), // first T of case A: window 0 .. 63
        (BigInt(63), 64, 0L, 0L),
        (BigInt(64), 64, 0L, 1L), // below the window in case A: the next subspace
        (BigInt(64), 64, 1L, 0L),
        (value(0, 0xffffffffL), 64, 0L, 1L), // the wrap of the low half
        (value(0, 0xffffffffL), 64, 0xffffffc0L, 0L), // bottom of the window
        (value(0, 0xffffffffL), 64, 0xffffffbfL, 1L), // below it
        (value(1, 5), 64, 0xffffffc6L, 0L), // late packet from before the wrap
        (value(1, 5), 64, 0xffffffc5L, 1L), // too old for the window: the far end of this subspace
        (value(1, 5), 1024, 0xfffffc06L, 0L),
        (value(1, 5), 1024, 0xfffffc05L, 1L),
        (value(7, 1023), 1024, 0L, 7L),
        (value(7, 1022), 1024, 0xffffffffL, 6L),
        (value(7, 1024), 1024, 0L, 8L),
        (value(7, 62), 0, 0xffffffffL, 6L), // window 0 counts as 64
        // the end of the 64-bit space: refused by the ICV
        (value(0xffffffffL, 1L << 31), 64, 0L, 0L)
      )
      for ((highest, window, low, high) <- written) {
        assert(Rfc4303A2.high(highest, window, low) == high, s"transcription at $highest, $window, $low")
        restart(1)
        update(1, highest)
        idle(20)
        request(1, esn = true, window, low, value(high, low))
        request(1, esn = false, window, low, value(0, low))
      }

      // The maximum: lower numbers change nothing; two updates of one SA back to back count in
      // either order.
      restart(2)
      for (n <- Seq(value(3, 100), value(2, 500), value(3, 99), value(3, 5000), value(3, 4999))) update(2, n)
      idle(20)
      request(2, esn = true, 64, 5000 - 63, value(3, 5000 - 63))
      request(2, esn = true, 64, 5000 - 64, value(4, 5000 - 64))
      // Requests every other cycle leave room for an update every other cycle.
      for (n <- 5001L to 5060L) {
        dut.io.update.bits.sa.poke(2)
        dut.io.update.bits.sequence.poke(value(3, n))
        dut.io.update.valid.poke(true)
        assert(dut.io.update.ready.peek().litToBoolean, "an update every 2 cycles never waits")
        request(3, esn = false, 64, n, n)
      }
      idle(20)
      request(2, esn = true, 64, 5060 - 63, value(3, 5060 - 63))
      request(2, esn = true, 64, 5060 - 64, value(4, 5060 - 64))

      // Random: settled T against the transcription.
      val random = new Random(2)
      for (_ <- 0 until 150) {
        val sa = random.nextInt(8)
        val window = Seq(64, 128, 1000, 1024)(random.nextInt(4))
        val high = if (random.nextBoolean()) random.nextInt(3).toLong else random.nextLong() & 0xffffffffL
        def edge = (if (random.nextBoolean()) 0L else 0x100000000L) + random.nextInt(3000) - 1500
        val highest = value(high, edge & 0xffffffffL)
        restart(sa)
        update(sa, highest)
        idle(20)
        for (_ <- 0 until 8) {
          val low = (if (random.nextBoolean()) edge else random.nextLong()) & 0xffffffffL
          request(sa, esn = true, window, low, value(Rfc4303A2.high(highest, window, low), low))
        }
      }
      idle(20)
    }
  }
}

/** Announces each request as it comes, and makes it [[EsnInference.ahead]] cycles later. */
private class EsnHarness(saBits: Int) extends Module {
  private val inner = Module(new EsnInference(saBits))
  val io = IO(new Bundle {
    val sa = Input(UInt(saBits.W))
    val request = Flipped(Valid(new EsnRequest))
    val sequence = Valid(UInt(64.W))
    val update = Flipped(Decoupled(new EsnUpdate(saBits)))
    val restart = Flipped(Valid(UInt(saBits.W)))
  })
  inner.io.next.valid := io.request.valid
  inner.io.next.bits := io.sa
  inner.io.request := ShiftRegister(io.request, EsnInference.ahead, 0.U.asTypeOf(io.request), true.B)
  io.sequence := inner.io.sequence
  inner.io.update <> io.update
  inner.io.restart := io.restart
}
