// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.InnerRegs

/**
 * Frames of the management CPU on the encrypt path. They are those that scapy made for the red port
 * (tests/vectors/test_inner_frames.py), and so is what must become of them.
 */
class EncryptInjectSpec extends AnyFunSuite with InnerPathsModel {

  /** The IP packet of a frame whose outcome is known, as it is in the frame. */
  private def asSent(row: Encrypt): LinkPacket = {
    val packet = row.expected.head
    val l2 = row.frame.indexOfSlice(packet.bytes.slice(12, packet.bytes.length)) - 12
    packet.copy(bytes = row.frame.slice(l2, l2 + packet.bytes.length))
  }

  private def unlimited(bench: InnerBench): Unit = {
    bench.bus.write(InnerRegs.limitInjectEncrypt, 0)
    bench.idle(120)
  }

  test("they go by the policies with the TTL that they have; none leaves at the port, and few go back") {
    simulatePaths { (_, bench) =>
      bench.start()
      unlimited(bench)
      // Of those that the box itself may not get from red, the policies decide.
      val exempt = Set("drop_own_source", "punt_ttl", "punt_nd", "punt_link_local", "punt_resolution")
      val rows = encrypts.filter(row => row.expected.size < 2 && !exempt.contains(row.counter))
      val sent = rows.filter(_.expected.nonEmpty)
      // For want of an SA, or for their length: marked, so that Linux does not get them again.
      val (back, refused) = rows
        .filter(row => row.counter.startsWith("punt_") || row.counter.startsWith("drop_reasm_"))
        .partition(row => Seq("punt_policy", "punt_mtu").contains(row.counter))
      assert(sent.size > 100 && back.map(_.counter).toSet.size == 2 && refused.map(_.counter).toSet.size >= 6)
      val before = bench.counters()
      for (row <- rows) bench.inject(row.frame, encrypt = true)
      bench.idle(1000)
      expect(bench.toLink.toSeq, sent.map(asSent), "packet")(show)
      assert(bench.frames.isEmpty)
      assert(bench.punts.toSeq == back.map(row => (reasons(row.counter), row.frame)))
      assert(bench.puntInjected.forall(identity))
      // A fragment is not for the path where those from red are put together.
      val outcomes = rows.map(row => if (refused.contains(row)) "drop_inject_punt" else row.counter)
      assert(bench.balanced(before) == count(outcomes) + ("inject_packets" -> BigInt(rows.size)))
    }
  }

  test("they pass the MAC filter and come from the box's own address, as no frame of the port does") {
    simulatePaths { (_, bench) =>
      bench.start()
      unlimited(bench)
      val ours = encrypts.filter(row => row.counter == "drop_own_source" && row.frame(20) != 0x20)
      assert(ours.size == 2, "one of each IP version, and no fragment")
      bench.bus.write(InnerRegs.control, InnerRegs.Control.rxEnable.put(1) | InnerRegs.Control.macFilter.put(1))
      val foreign = bytes("020000000077")
      var before = bench.counters()
      for (row <- ours) bench.inject(foreign ++ row.frame.drop(6), encrypt = true)
      bench.idle(200)
      assert(bench.balanced(before) == Map("inject_packets" -> ours.size, "tx_protect" -> ours.size))
      before = bench.counters()
      for (row <- ours; head <- Seq(foreign, row.frame.take(6))) bench.receive(head ++ row.frame.drop(6), gap = 2)
      bench.idle(200)
      val red = Map[String, BigInt](
        "rx_frames" -> 2 * ours.size,
        "drop_mac_filter" -> ours.size,
        "drop_own_source" -> ours.size
      )
      assert(bench.balanced(before) - "rx_bytes" == red)
    }
  }

  test("what has no TTL left and what is of one link leave by their policies") {
    simulatePaths { (_, bench) =>
      bench.start()
      unlimited(bench)
      // Those that are not too long besides.
      val last = encrypts.filter(row => row.counter == "punt_ttl" && row.frame.length < 200)
      // To groups, for which there is no policy.
      val link = encrypts.filter(row =>
        row.counter == "punt_link_local" && (hex(row.frame.slice(12, 14)) match {
          case "0800" => hex(row.frame.slice(30, 33)) == "e00000"
          case "86dd" => hex(row.frame.slice(38, 40)) == "ff02"
          case _ => false
        })
      )
      assert(last.size == 8 && link.size >= 5)
      val before = bench.counters()
      for (row <- last ++ link) bench.inject(row.frame, encrypt = true)
      bench.idle(200)
      val moved = bench.balanced(before)
      assert(!moved.contains("drop_inject_punt") && bench.punts.isEmpty)
      assert(moved.getOrElse("tx_protect", BigInt(0)) + moved.getOrElse("tx_bypass", BigInt(0)) == last.size)
      assert(moved("drop_policy") == link.size)
      // Each is as it was, with a TTL of 0 or 1.
      def ttl(packet: Seq[Byte]): Int = if (packet.head >> 4 == 6) packet(7) else packet(8)
      assert(bench.toLink.size == last.size && bench.toLink.forall(p => ttl(p.bytes) <= 1))
      assert(bench.toLink.forall(p => last.exists(_.frame.containsSlice(p.bytes))))
    }
  }

  test("frames of no legal size, into a closed chip or a bump in the wire are dropped by name") {
    simulatePaths { (_, bench) =>
      bench.start()
      unlimited(bench)
      val good = encrypts.find(_.counter == "tx_protect").get
      def moved(body: => Unit): Map[String, BigInt] = {
        val before = bench.counters()
        bench.toLink.clear()
        body
        bench.idle(300)
        bench.balanced(before)
      }
      val sizes = moved {
        bench.inject(good.frame.take(13), encrypt = true)
        bench.inject(Seq.fill(9597)(1.toByte), encrypt = true)
        bench.inject(good.frame, encrypt = true, error = true)
        bench.inject(good.frame, encrypt = true)
      }
      assert(sizes == Map("inject_packets" -> 4, "drop_inject_size" -> 3, "tx_protect" -> 1))
      val on = InnerRegs.Control.rxEnable.put(1) | InnerRegs.Control.txEnable.put(1)
      for (control <- Seq(InnerRegs.Control.txEnable.put(1), on | InnerRegs.Control.bump.put(1))) {
        bench.bus.write(InnerRegs.control, control)
        val closed = moved(bench.inject(good.frame, encrypt = true))
        assert(closed == Map("inject_packets" -> 1, "drop_inject_closed" -> 1) && bench.toLink.isEmpty)
      }
      // The port's own frames are no affair of these.
      bench.bus.write(InnerRegs.control, InnerRegs.Control.txEnable.put(1))
      val port = moved(bench.inject(good.frame, encrypt = false))
      assert(port - "tx_bytes" == Map("inject_frames" -> 1, "tx_frames" -> 1))
      assert(bench.frames.toSeq == Seq(good.frame) && bench.toLink.isEmpty)
    }
  }

  test("a limit of their own holds them back, beside traffic at the rate of the port") {
    simulatePaths { (_, bench) =>
      bench.start()
      val limit = InnerRegs.LimitInjectEncrypt.rate.put(1) | InnerRegs.LimitInjectEncrypt.burst.put(4)
      bench.bus.write(InnerRegs.limitInjectEncrypt, limit)
      bench.idle(120)
      val (good, ours) = (encrypts.find(_.counter == "tx_protect").get, encrypts.find(_.counter == "tx_bypass").get)
      val before = bench.counters()
      for (_ <- 0 until 10) bench.inject(ours.frame, encrypt = true)
      for (_ <- 0 until 500) bench.receive(good.frame, gap = 1)
      bench.idle(500)
      val moved = bench.counters().map { case (name, value) => name -> (value - before(name)) }
      assert(moved("inject_packets") == 10 && moved("tx_bypass") == 4)
      assert(moved("tx_protect") == 500 && moved("drop_rx_overflow") == 0)
    }
  }
}
