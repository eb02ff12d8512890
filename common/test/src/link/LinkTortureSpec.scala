// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.{CompiledOnce, LongForm}

import scala.util.Random

/**
 * The link under faults: no wrong packet is delivered, nothing stalls, every loss is counted.
 *
 * Property `sallyport.link.packets`: packets an episode and direction (default 700; the long form
 * is 20000).
 */
class LinkTortureSpec extends AnyFunSuite with CompiledOnce {

  private case class Episode(
      name: String,
      bitErrorRate: Double,
      mixed: Boolean = false,
      rate: Int = 166,
      idle: Boolean = false,
      stall: Boolean = false,
      downs: Int = 0
  )

  private val episodes = Seq(
    Episode("no errors", 0),
    Episode("no errors, pauses and stalls", 0, idle = true, stall = true),
    Episode("1e-7", 1e-7, rate = 256),
    Episode("1e-6", 1e-6),
    Episode("1e-5", 1e-5),
    Episode("1e-5, pauses and stalls", 1e-5, idle = true, stall = true),
    Episode("3e-5, bursts, lost and inserted words", 3e-5, mixed = true),
    Episode("3e-6, bursts, lost and inserted words, full rate", 3e-6, mixed = true, rate = 256, stall = true),
    Episode("1e-4", 1e-4),
    Episode("1e-6, link down and up", 1e-6, mixed = true, downs = 12),
    Episode("1e-4, everything", 1e-4, mixed = true, idle = true, stall = true, downs = 6)
  )

  private val packets = sys.props.getOrElse("sallyport.link.packets", "700").toInt

  private def peek(x: UInt): Long = x.peek().litValue.toLong

  private def start(dut: LinkTorture, random: Random): Unit = {
    dut.io.resets.foreach(_.poke(false.B))
    dut.io.enable.poke(false.B)
    dut.io.idle.poke(false.B)
    dut.io.stall.poke(false.B)
    dut.io.clear.poke(false.B)
    for (c <- dut.io.channels) {
      c.up.poke(true.B)
      c.rate.poke(166.U)
      c.faults.poke(0.U)
      c.mixed.poke(false.B)
      c.seed.poke(random.nextInt(Int.MaxValue).U)
    }
    dut.clock.step(1000)
    assert(dut.io.up.forall(_.peek().litToBoolean), "the link does not come up")
  }

  test("no wrong packet, no stall, every loss counted; either end may be reset alone") {
    LongForm.only() // the short form has the same beside messages
    simulate(new LinkTorture) { dut =>
      val random = new Random(1)
      start(dut, random)
      episodes.foreach(play(dut, _, random))
      for (_ <- 1 to 20) resetOne(dut, random)
    }
  }

  test("messages beside the packets: none wrong, none lost without faults, and the packets as without them") {
    simulate(new LinkTorture(messages = true)) { dut =>
      val random = new Random(2)
      start(dut, random)
      def seen = dut.io.messages.get.map(r => (peek(r.taken), peek(r.arrived)))
      for (e <- episodes) {
        val before = seen
        play(dut, e, random)
        for ((((taken, arrived), (taken0, arrived0)), i) <- seen.zip(before).zipWithIndex) {
          val clue = s"${e.name}, direction $i: ${taken - taken0} messages taken, ${arrived - arrived0} arrived"
          info(clue)
          assert(arrived - arrived0 > 50, clue)
          if (e.bitErrorRate == 0) assert(arrived - arrived0 == taken - taken0, clue)
        }
        assert(dut.io.messages.get.forall(r => peek(r.wrong) == 0), e.name)
      }
      for (_ <- 1 to 20) resetOne(dut, random)
      assert(dut.io.messages.get.forall(r => peek(r.wrong) == 0), "after resets")
    }
  }

  private def play(dut: LinkTorture, e: Episode, random: Random): Unit = {
    val threshold = (512 * e.bitErrorRate * 4294967296.0).toLong
    for (c <- dut.io.channels) {
      c.rate.poke(e.rate.U)
      c.faults.poke(threshold.U)
      c.mixed.poke(e.mixed.B)
      c.seed.poke(random.nextInt(Int.MaxValue).U)
    }
    dut.io.idle.poke(e.idle.B)
    dut.io.stall.poke(e.stall.B)
    dut.io.clear.poke(true.B)
    dut.clock.step(1)
    dut.io.clear.poke(false.B)
    dut.io.enable.poke(true.B)
    val before = dut.io.report.map(r => peek(r.sent))
    var cycles = 0
    var downs = e.downs
    def sent = dut.io.report.zip(before).map { case (r, b) => peek(r.sent) - b }
    while (sent.exists(_ < packets)) {
      dut.clock.step(500)
      cycles += 500
      if (downs > 0 && random.nextBoolean()) {
        // One direction or both, for a moment or for long.
        val which = dut.io.channels.filter(_ => random.nextInt(3) > 0)
        which.foreach(_.up.poke(false.B))
        dut.clock.step(1 + random.nextInt(if (random.nextBoolean()) 20 else 600))
        which.foreach(_.up.poke(true.B))
        downs -= 1
      }
      assert(cycles < 400 * packets + 100000, s"${e.name}: only $sent packets sent in $cycles cycles")
    }
    // Let everything arrive without faults: then the number of lost packets is known.
    dut.io.enable.poke(false.B)
    dut.io.stall.poke(false.B)
    dut.io.channels.foreach(_.faults.poke(0.U))
    dut.clock.step(6000)
    for ((r, i) <- dut.io.report.zipWithIndex) {
      val (s, d, l) = (peek(r.sent), peek(r.delivered), peek(r.lost))
      val clue = s"${e.name}, direction $i: $s sent, $d delivered, $l lost, ${peek(r.resyncs)} resyncs, " +
        s"${peek(r.faults)} faults, longest wait ${peek(r.longestWait)}, $cycles cycles"
      info(clue)
      assert(peek(r.wrong) == 0, clue)
      assert(peek(r.received) == d, clue)
      assert(s == d + l, clue)
      assert(peek(r.longestWait) < 5000, clue)
    }
  }

  /**
   * Resets one end under traffic: the link comes up again by itself, delivers nothing wrong, and
   * counts rightly from then on.
   */
  private def resetOne(dut: LinkTorture, random: Random): Unit = {
    dut.io.enable.poke(true.B)
    dut.clock.step(300 + random.nextInt(1500))
    val which = random.nextInt(2)
    dut.io.resets(which).poke(true.B)
    dut.clock.step(1 + random.nextInt(100))
    dut.io.resets(which).poke(false.B)
    dut.clock.step(1000)
    assert(dut.io.up.forall(_.peek().litToBoolean), s"the link does not come up after a reset of end $which")
    dut.io.enable.poke(false.B)
    dut.clock.step(4000)
    val before = dut.io.report.map(r => (peek(r.sent), peek(r.delivered), peek(r.lost)))
    dut.io.enable.poke(true.B)
    dut.clock.step(1000)
    dut.io.enable.poke(false.B)
    dut.clock.step(4000)
    for ((r, (sent, delivered, lost)) <- dut.io.report.zip(before)) {
      assert(peek(r.wrong) == 0)
      assert(
        peek(r.sent) - sent == peek(r.delivered) - delivered && peek(r.lost) == lost,
        s"after a reset of end $which"
      )
      assert(peek(r.delivered) - delivered > 20)
    }
  }
}
