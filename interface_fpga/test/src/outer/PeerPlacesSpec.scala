// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.link.PeerTag
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class PeerPlacesSpec extends AnyFunSuite with CompiledOnce {
  import PeerTag.places

  private case class Candidate(sa: Int, address: Long, port: Int)

  test("each packet that takes a place has its own, which keeps what it came from until all are cleared") {
    simulate(new PeerPlaces) { dut =>
      val random = new Random(2948)
      // Few enough that runs of one and the same are frequent.
      val candidates = Seq.tabulate(6)(n => Candidate(n / 2, 0xc0000200L + n, 65535 - n))
      def offer(candidate: Candidate): Unit = {
        dut.io.candidate.sa.poke(candidate.sa)
        dut.io.candidate.peer.address.poke(candidate.address)
        dut.io.candidate.peer.port.poke(candidate.port)
      }
      for (round <- 0 until 6) {
        val held = mutable.Buffer.empty[Candidate]
        var moved: Option[Candidate] = None
        var before: Option[Candidate] = None
        for (_ <- 0 until 500) {
          val next = Option.when(random.nextInt(3) != 0)(candidates(random.nextInt(6)))
          offer(next.getOrElse(candidates(0)))
          dut.io.moved.poke(moved.nonEmpty)
          val tag = dut.io.tag.place.peek().litValue.toInt
          val takes = dut.io.takes.peek().litToBoolean
          assert(dut.io.tag.round.peek().litValue == round % 4 && dut.io.round.peek().litValue == round % 4)
          moved match {
            case None => assert(!takes)
            case Some(_) if held.size == places => assert(!takes)
            case Some(candidate) =>
              // One that follows at once may be compared with the last but one.
              if (!held.lastOption.contains(candidate) && before.isEmpty) assert(takes)
              if (held.lastOption.contains(candidate) && before.isEmpty) assert(!takes)
              if (!takes) assert(held.contains(candidate), "only what has a place may go without")
          }
          if (takes) {
            assert(tag == held.size)
            held += moved.get
          }
          before = Option.when(takes)(moved.get)
          moved = next
          dut.clock.step()
        }
        assert(held.size == places && dut.io.taken.peek().litValue == places)
        dut.io.moved.poke(false)
        for ((candidate, place) <- held.zipWithIndex) {
          dut.io.place.poke(place)
          dut.clock.step()
          val shown = dut.io.shown
          assert(
            Candidate(
              shown.sa.peek().litValue.toInt,
              shown.peer.address.peek().litValue.toLong,
              shown.peer.port.peek().litValue.toInt
            ) == candidate
          )
        }
        dut.io.clear.poke(true)
        dut.clock.step()
        dut.io.clear.poke(false)
        assert(dut.io.taken.peek().litValue == 0)
      }
    }
  }

  test("a packet every second cycle takes one place for each run of packets from one place") {
    simulate(new PeerPlaces) { dut =>
      def packet(sa: Int, address: Long): Boolean = {
        dut.io.candidate.sa.poke(sa)
        dut.io.candidate.peer.address.poke(address)
        dut.io.candidate.peer.port.poke(1024)
        dut.clock.step()
        dut.io.moved.poke(true)
        val takes = dut.io.takes.peek().litToBoolean
        dut.clock.step()
        dut.io.moved.poke(false)
        takes
      }
      assert(Seq.fill(100)(packet(7, 1)) == true +: Seq.fill(99)(false))
      assert(packet(7, 2) && packet(8, 2) && !packet(8, 2) && packet(7, 1))
      dut.io.clear.poke(true)
      dut.clock.step()
      dut.io.clear.poke(false)
      assert(packet(7, 1) && !packet(7, 1))
      assert(dut.io.taken.peek().litValue == 1)
    }
  }
}
