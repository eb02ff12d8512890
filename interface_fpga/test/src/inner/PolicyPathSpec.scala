// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Action, InnerTables, PrefixPolicyRow}
import sallyport.iface.prefixes.{PrefixImage, TestPrefix}

import scala.util.Random

/** Packets from red that SPD entries by prefixes decide on (RFC 4301 4.4.1). */
class PolicyPathSpec extends AnyFunSuite with InnerPathsModel {
  private val plain = encrypts.find(_.expected.exists(_.sa == 5)).get.frame
  private def number(address: String): BigInt = InnerSetup.address(address)
  private def octets(address: String): Seq[Int] = address.split('.').toSeq.map(_.toInt)

  /** Of UDP from port 7 to 8. */
  private def frame(from: String, to: String): Seq[Byte] =
    (plain.take(14) ++ Packet4.between(plain.slice(14, 42), octets(from), octets(to))).padTo(60, 0.toByte)

  /** "Port unreachable" about a UDP packet from the error's destination. */
  private def error(from: String, to: String, about: String): Seq[Byte] = {
    val embedded = Packet4.between(plain.slice(14, 42), octets(to), octets(about))
    val message = Seq(3, 3, 0, 0, 0, 0, 0, 0).map(_.toByte) ++ embedded
    val header = Packet4.between(plain.slice(14, 34).updated(9, 1.toByte) ++ message, octets(from), octets(to))
    plain.take(14) ++ header
  }

  private case class Policy(
      to: String,
      bits: Int,
      from: String,
      fromBits: Int,
      sa: Int,
      priority: BigInt,
      next: Int = 0
  ) {
    def place(row: Int): TestPrefix = TestPrefix(v6 = false, number(to) << 32, bits, row)
    def row: BigInt = PrefixPolicyRow.valid.put(1) | PrefixPolicyRow.action.put(Action.protect) |
      PrefixPolicyRow.sa.put(sa) | PrefixPolicyRow.priority.put(priority) | PrefixPolicyRow.next.put(next) |
      PrefixPolicyRow.srcPrefix.put(number(from) << 32) | PrefixPolicyRow.srcLength.put(fromBits)
  }

  private def load(bench: InnerBench, policies: Map[Int, Policy], places: Seq[TestPrefix]): Unit = {
    for ((index, policy) <- policies) assert(bench.bus.writeRow(InnerTables.prefixPolicy, index, policy.row))
    val image = PrefixImage.rows(Nil, fill = 14, policies = places)
    for ((index, row) <- image.nodes) assert(bench.bus.writeRow(InnerTables.prefix, index, row))
    for ((index, row) <- image.children) assert(bench.bus.writeRow(InnerTables.prefixChild, index, row))
    for ((index, row) <- image.roots) assert(bench.bus.writeRow(InnerTables.prefixRoot, index, row))
  }

  test("destination and source choose the entry, and the lowest priority of flow, entry and rule counts") {
    simulatePaths { (_, bench) =>
      bench.start()
      val policies = Map(
        1 -> Policy("10.20.0.0", 16, "10.0.0.0", 24, 900, 5, next = 2),
        2 -> Policy("10.20.0.0", 16, "10.0.0.0", 8, 901, 6),
        // Rules of 10.1.0.0/16 and flows from 10.0.0.1 to 10.1.0.77 have priority 100.
        3 -> Policy("10.1.0.0", 24, "0.0.0.0", 0, 902, 100),
        4 -> Policy("10.1.1.0", 24, "0.0.0.0", 0, 903, 101),
        5 -> Policy("10.1.2.0", 24, "0.0.0.0", 0, 904, 99),
        6 -> Policy("10.1.9.0", 24, "0.0.0.0", 0, 905, 10),
        7 -> Policy("224.0.0.0", 8, "0.0.0.0", 0, 906, 1),
        8 -> Policy("255.255.255.0", 24, "0.0.0.0", 0, 907, 1)
      )
      load(bench, policies, (policies - 2).map { case (row, policy) => policy.place(row) }.toSeq)

      def sent(frame: Seq[Byte]): Option[Int] = {
        bench.toLink.clear()
        bench.receive(frame, gap = 90)
        assert(bench.toLink.forall(!_.bypass))
        bench.toLink.map(_.sa).headOption
      }
      for (
        (from, to, sa) <- Seq(
          ("10.0.0.9", "10.20.0.0", Some(900)),
          ("10.0.0.9", "10.20.255.255", Some(900)),
          ("10.0.1.9", "10.20.3.4", Some(901)),
          ("11.0.1.9", "10.20.3.4", None),
          ("10.0.0.9", "10.21.0.0", None),
          ("10.0.0.9", "10.19.255.255", None),
          ("10.0.0.2", "10.1.0.77", Some(902)),
          ("10.0.0.1", "10.1.0.77", Some(700)),
          ("10.0.0.1", "10.1.1.77", Some(5)),
          ("10.0.0.1", "10.1.2.77", Some(904)),
          ("10.0.0.1", "10.1.3.77", Some(5)),
          // A rule of the same priority discards 10.1.9.0/24, and a flow takes one host of it.
          ("10.0.0.1", "10.1.9.77", Some(905)),
          ("10.0.0.1", "10.1.9.9", Some(701)),
          ("10.0.0.1", "224.0.0.77", None),
          ("10.0.0.1", "255.255.255.255", None),
          ("10.0.0.1", "255.255.255.254", None)
        )
      ) assert(sent(frame(from, to)) == sa, s"$from to $to")

      // An ICMP error goes by the SA of the return traffic of the packet in it.
      assert(sent(frame("192.0.2.9", "10.20.0.7")).isEmpty)
      assert(sent(error("192.0.2.9", "10.20.0.7", about = "10.0.0.44")).contains(900))
      assert(sent(error("192.0.2.9", "10.20.0.7", about = "10.9.0.44")).contains(901))
      assert(sent(error("192.0.2.9", "10.20.0.7", about = "192.0.2.1")).isEmpty)
      assert(sent(error("10.0.1.1", "10.20.0.7", about = "10.0.0.44")).contains(901))
      assert(sent(error("192.0.2.9", "10.21.0.7", about = "10.0.0.44")).isEmpty)
    }
  }

  test("a flipped bit or a missing row drops the packet by name") {
    simulatePaths { (_, bench) =>
      bench.start()
      val policy = Policy("10.20.0.0", 16, "10.0.0.0", 8, 900, 5)
      load(bench, Map(1 -> policy), Seq(policy.place(1), policy.copy(to = "10.30.0.0").place(9)))
      def sent(to: String): Int = {
        bench.toLink.clear()
        bench.receive(frame("10.0.0.9", to), gap = 90)
        bench.toLink.size
      }
      val before = bench.counters()
      assert(sent("10.20.0.1") == 1)
      assert(sent("10.30.0.1") == 0 && sent("10.30.0.2") == 0)
      val moved = bench.balanced(before) - "rx_bytes"
      assert(
        moved == Map[String, BigInt](
          "rx_frames" -> 3,
          "tx_protect" -> 1,
          "drop_policy_upset" -> 2,
          "policy_row_upset" -> 2
        )
      )
    }
  }

  test("a full table decides as fast as an empty one, with errors among the packets") {
    simulatePaths { (_, bench) =>
      bench.start()
      val random = new Random(282)
      val rows = 1 << config.policyBits
      // Networks of 16 addresses in 10.64.0.0/10, each with a second entry for another source.
      val firsts = rows / 2 - 1
      val policies = (1 to firsts).flatMap { n =>
        val to = s"10.64.${n / 16}.${n % 16 * 16}"
        Seq(
          n -> Policy(to, 28, "10.0.0.0", 16, 1000 + n, 5, next = firsts + n),
          firsts + n -> Policy(to, 28, "0.0.0.0", 0, 3000 + n, 6)
        )
      }.toMap
      val stock = Iterator.continually {
        val n = 1 + random.nextInt(firsts)
        val (second, to) = (random.nextBoolean(), s"10.64.${n / 16}.${n % 16 * 16 + random.nextInt(16)}")
        frame(if (second) "172.16.0.1" else "10.0.7.1", to) -> ((if (second) 3000 else 1000) + n)
      }.take(700).toSeq
      def paced(frames: Seq[Seq[Byte]]): (Double, Map[String, BigInt]) = {
        val before = bench.counters()
        bench.linkStarts.clear()
        bench.toLink.clear()
        for (frame <- frames) bench.receive(frame, gap = if (frame.length > 64) 0 else 1)
        bench.idle(200)
        (pace(bench.linkStarts.toSeq, frames.length), bench.balanced(before))
      }
      val (empty, _) = paced(stock.map(_ => plain))
      load(bench, policies, (1 to firsts).map(n => policies(n).place(n)))
      val (full, moved) = paced(stock.map(_._1))
      assert(bench.toLink.map(_.sa) == stock.map(_._2))
      assert(moved("tx_protect") == stock.length && !moved.contains("drop_rx_overflow"))
      info(f"$empty%.3f cycles a packet without entries, $full%.3f with ${policies.size}")
      assert(full <= empty * 1.005)

      // Each error asks for two sources.
      val errors = Seq.fill(700)(1 + random.nextInt(firsts)).map { n =>
        error("192.0.2.9", s"10.64.${n / 16}.${n % 16 * 16}", about = "10.0.3.3") -> (3000 + n)
      }
      val (ofErrors, _) = paced(errors.map(_._1))
      assert(bench.toLink.map(_.sa) == errors.map(_._2) && ofErrors <= 2.001)
    }
  }
}
