// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import sallyport.common.stream.{NoMeta, Pace, Packet, StreamEnds, StreamHarness, StreamMatrix}

import scala.util.Random

class InjectorSpec extends StreamMatrix {

  /** Events: frames taken, dropped by length, dropped because the port is off. */
  private def harness(rate: Int, burst: Int, enable: Boolean = true) = new StreamHarness(new NoMeta, new NoMeta)({
    case StreamEnds(in, out, events, _) =>
      val injector = Module(Injector.plain(256))
      injector.io.enable := enable.B
      injector.io.limit.rate := rate.U
      injector.io.limit.burst := burst.U
      injector.io.in <> in
      out <> injector.io.out
      events(0) := injector.io.events.frames
      events(1) := injector.io.events.dropLength
      events(2) := injector.io.events.dropDisabled
  })

  private def legal(packet: Packet): Boolean = packet.bytes.length >= 14 && packet.bytes.length <= 9596

  private val lengths = Seq(1, 13, 14, 15, 60, 63, 64, 65, 128, 1514, 9596, 9597, 9664, 20000)

  test("whole frames pass as they are; those of no legal length, or broken off, do not") {
    val random = new Random(1)
    val sent = lengths.map(Packet.random(_, random)).flatMap(p => Seq(p.copy(error = false), p.copy(error = true)))
    val good = sent.filter(p => legal(p) && !p.error)
    withBench(harness(rate = 0, burst = 0)) { bench =>
      bench.load(sent)
      for (idle <- Pace.all; pressure <- Pace.all) {
        bench.run(idle, pressure, seed = 5)
        comparePackets(bench.received, good, s"idle pace $idle, pressure pace $pressure")
        assert(bench.events(0) == sent.size && bench.events(1) == sent.size - good.size && bench.events(2) == 0)
      }
      bench.load(Seq(Packet.random(60, random)))
      bench.run(Pace.Always, Pace.Always, seed = 1)
      info(s"latency ${bench.latency} cycles")
    }
  }

  test("a frame leaves with a token, and the others wait for theirs") {
    val random = new Random(2)
    val sent = Seq.fill(20)(Packet.random(60, random))
    withBench(harness(rate = 65535, burst = 4)) { bench =>
      bench.load(sent)
      bench.run(Pace.Always, Pace.Always, seed = 1, settle = 3000)
      comparePackets(bench.received, sent, "limited")
      // Four at once, then one every 1024 cycles.
      assert(bench.cycles >= 15 * 1024 && bench.cycles <= 17 * 1024, s"${bench.cycles} cycles")
    }
  }

  test("nothing passes while the port is off") {
    val random = new Random(3)
    val sent = lengths.map(Packet.random(_, random))
    withBench(harness(rate = 0, burst = 0, enable = false)) { bench =>
      bench.load(sent)
      bench.run(Pace.Always, Pace.Always, seed = 1)
      assert(bench.received.isEmpty && bench.events(0) == sent.size)
      assert(bench.events(2) == sent.count(legal) && bench.events(1) == sent.size - sent.count(legal))
    }
  }
}
