// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.dispatch

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Dispatch => Mode}
import sallyport.common.simulation.CompiledOnce
import sallyport.iface.parse.UdpEncap

import scala.util.Random

/** What a frame's bucket depends on, judged by a hash bit by bit. */
class DispatchSpec extends AnyFunSuite with CompiledOnce {
  private val random = new Random(4301)
  private val key = BigInt(Dispatch.keyBits, random)

  private case class Frame(
      source: BigInt = BigInt(128, random),
      destination: BigInt = BigInt(128, random),
      protocol: Int = 17,
      sourcePort: Int = random.nextInt(1 << 16),
      destinationPort: Int = random.nextInt(1 << 16),
      checksum: Int = random.nextInt(1 << 16),
      content: BigInt = BigInt(64, random),
      spi: BigInt = BigInt(32, random),
      encap: UdpEncap.Type = UdpEncap.none,
      fragment: Boolean = false
  ) {

    /** Its bucket, by the rules of the docs (docs/explanation/clusters.md). */
    def bucket(perPacket: Boolean): Int = {
      val alone = perPacket && !fragment
      val esp = !fragment && (protocol == 50 || encap == UdpEncap.esp)
      val ports = if (fragment) BigInt(0) else (BigInt(sourcePort) << 16) | destinationPort
      val flow = (source << 168) | (destination << 40) | (BigInt(protocol) << 32) | ports
      val behind = if (alone) (BigInt(checksum) << 64) | content else BigInt(0)
      val number = if (alone) content >> 32 else BigInt(0)
      val input = if (esp) (spi << 32) | number else (flow << 80) | behind
      ToeplitzModel(input, Dispatch.inputBits, key, Dispatch.keyBits, 8).toInt
    }
  }

  private def frames: Seq[Frame] = Seq.fill(40)(
    Seq(
      Frame(),
      Frame(protocol = 6),
      Frame(fragment = true),
      Frame(protocol = 50),
      Frame(protocol = 50, fragment = true),
      Frame(encap = UdpEncap.esp, content = BigInt(32, random) << 32),
      Frame(encap = UdpEncap.ike)
    )
  ).flatten

  private def ask(dut: Dispatch, frame: Frame, owned: BigInt): Boolean = {
    val fields = dut.io.fields
    fields.source.poke(frame.source)
    fields.destination.poke(frame.destination)
    fields.protocol.poke(frame.protocol)
    fields.sourcePort.poke(frame.sourcePort)
    fields.destinationPort.poke(frame.destinationPort)
    fields.checksum.poke(frame.checksum)
    fields.content.poke(frame.content)
    fields.spi.poke(frame.spi)
    fields.udpEncap.poke(frame.encap)
    fields.fragment.poke(frame.fragment)
    dut.io.control.owned.poke(owned)
    dut.clock.step(Dispatch.latency)
    dut.io.out.mine.peek().litToBoolean
  }

  private def simulateDispatch(mode: Int)(body: Dispatch => Unit): Unit = simulate(new Dispatch) { dut =>
    dut.io.control.mode.poke(mode)
    dut.io.control.key.poke(key)
    dut.io.control.speaker.poke(false)
    body(dut)
  }

  private val everyBucket = (BigInt(1) << Dispatch.buckets) - 1

  for ((name, mode) <- Seq("session" -> Mode.session, "packet" -> Mode.packet))
    test(s"by $name: a frame is of its bucket, and of no other") {
      simulateDispatch(mode) { dut =>
        for (frame <- frames) {
          val bucket = BigInt(1) << frame.bucket(mode == Mode.packet)
          assert(ask(dut, frame, bucket), frame)
          assert(!ask(dut, frame, everyBucket ^ bucket), frame)
          assert(!dut.io.out.speaks.peek().litToBoolean)
        }
      }
    }

  test("ESP that comes again in other headers has the same owner") {
    simulateDispatch(Mode.packet) { dut =>
      for (_ <- 0 until 40) {
        val first = Frame(protocol = 50)
        val bucket = BigInt(1) << first.bucket(perPacket = true)
        val number = first.content >> 32 << 32
        val again = Frame(encap = UdpEncap.esp, spi = first.spi, content = number)
        val elsewhere = Frame(protocol = 50, spi = first.spi, content = number | BigInt(32, random))
        for (frame <- Seq(first, again, elsewhere)) assert(ask(dut, frame, bucket), frame)
      }
    }
  }

  test("alone, a node takes all frames and speaks") {
    simulateDispatch(Mode.off) { dut =>
      for (frame <- frames) assert(ask(dut, frame, 0) && dut.io.out.speaks.peek().litToBoolean)
    }
  }

  test("a speaker speaks") {
    simulateDispatch(Mode.session) { dut =>
      dut.io.control.speaker.poke(true)
      assert(!ask(dut, Frame(), 0) && dut.io.out.speaks.peek().litToBoolean)
    }
  }
}
