// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.lane.LaneJob

import scala.collection.mutable
import scala.util.Random

class SecretQueueSpec extends AnyFunSuite with CompiledOnce {
  private val entries = 4
  private val secrets: LaneJob => Seq[UInt] = job => Seq(job.key, job.auth, job.salt, job.iv)

  /** What a job is known by, and whether its secrets have been wiped. */
  private case class Job(number: Int, wiped: Boolean = false)

  test("jobs leave in order, whole or wiped, and nothing of a secret stays when the queue is empty") {
    simulate(new SecretQueue(entries)) { dut =>
      val random = new Random(1)
      val inside = mutable.Queue[Job]()
      var (entered, left, full, empty) = (0, 0, 0, 0)

      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      dut.io.in.bits.route.poke(Route.lane)

      def cycle(comes: Double, goes: Double, wipe: Boolean): Unit = {
        val valid = dut.io.out.valid.peek().litToBoolean
        assert(valid == inside.nonEmpty, s"$inside")
        val shown = secrets(dut.io.out.bits.lane).map(_.peek().litValue)
        for (job <- inside.headOption) {
          assert(dut.io.out.bits.lane.meta.sa.peek().litValue == job.number % 65536)
          assert(shown == Seq.fill(shown.size)(BigInt(if (job.wiped) 0 else job.number)), s"$job")
          val route = (if (job.wiped) Route.notReady else Route.lane).litValue
          assert(dut.io.route.peek().litValue == route && dut.io.out.bits.route.peek().litValue == route)
        }
        // Every place has been used by then, and is at `out` in its turn.
        if (!valid && left >= entries) {
          assert(shown.forall(_ == 0), "a secret in an empty queue")
          empty += 1
        }

        val offers = random.nextDouble() < comes
        dut.io.in.valid.poke(offers)
        dut.io.in.bits.lane.meta.sa.poke((entered + 1) % 65536)
        for (secret <- secrets(dut.io.in.bits.lane)) secret.poke(entered + 1)
        dut.io.wipe.poke(wipe)
        val room = dut.io.in.ready.peek().litToBoolean
        assert(room == inside.size < entries)
        if (!room) full += 1
        val takes = valid && random.nextDouble() < goes
        dut.io.taken.poke(takes)
        if (takes) {
          inside.dequeue()
          left += 1
        }
        if (offers && room) {
          entered += 1
          inside.enqueue(Job(entered))
        }
        if (wipe) inside.mapInPlace(_.copy(wiped = true))
        dut.clock.step()
      }

      for ((comes, goes) <- Seq((0.5, 0.5), (1.0, 0.3), (0.3, 1.0), (1.0, 1.0), (1.0, 0.9)); _ <- 0 until 4) {
        for (_ <- 0 until 60) cycle(comes, goes, wipe = false)
        for (_ <- 0 until 3) cycle(comes, goes, wipe = true)
        for (_ <- 0 until 10) cycle(0, 0.7, wipe = false)
      }
      assert(left > 400 && full > 100 && empty > 50, s"$left jobs, full $full times, empty $empty times")
    }
  }
}
