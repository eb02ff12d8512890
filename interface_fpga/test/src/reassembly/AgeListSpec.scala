// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

/** [[AgeList]] beside a Scala buffer, at random and filled to its ends. */
class AgeListSpec extends AnyFunSuite with CompiledOnce {
  private val places = 8

  test("the oldest place is that of a queue from whose middle places leave") {
    simulate(new AgeList(places)) { dut =>
      val random = new Random(1)
      val order = mutable.Buffer.empty[Int]
      def pulse(signal: Bool, cycles: Int): Unit = {
        signal.poke(true.B)
        dut.clock.step()
        signal.poke(false.B)
        dut.clock.step(cycles)
      }
      def take(place: Int): Unit = {
        dut.io.place.poke(place)
        pulse(dut.io.take, 2)
        order += place
      }
      def leave(place: Int): Unit = {
        dut.io.place.poke(place)
        pulse(dut.io.read, 1)
        pulse(dut.io.leave, 2)
        order -= place
      }
      def check(): Unit = for (oldest <- order.headOption) assert(dut.io.oldest.peek().litValue == oldest)
      Seq(dut.io.read, dut.io.take, dut.io.leave).foreach(_.poke(false.B))
      dut.reset.poke(true.B)
      dut.clock.step()
      dut.reset.poke(false.B)

      // All of them, in both orders.
      for (next <- Seq((ages: Seq[Int]) => ages.head, (ages: Seq[Int]) => ages.last)) {
        for (place <- random.shuffle((0 until places).toList)) { take(place); check() }
        while (order.nonEmpty) { leave(next(order.toSeq)); check() }
      }
      for (_ <- 0 until 4000) {
        val free = (0 until places).diff(order)
        if (order.isEmpty || free.nonEmpty && random.nextBoolean()) take(free(random.nextInt(free.size)))
        else leave(order(random.nextInt(order.size)))
        check()
      }
    }
  }
}
