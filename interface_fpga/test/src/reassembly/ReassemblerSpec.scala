// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.common.stream.Pace
import sallyport.iface.headers.Ecn

import scala.util.Random

/**
 * Packets in, packets out, and each frame under its counter, judged by a map of bytes
 * ([[ByteMapReassembly]]) and by packets that scapy cut (tests/vectors/test_reassembly_packets.py).
 *
 * Property `sallyport.reassembly.datagrams`: datagrams of the random campaign (default 240; the
 * long form is 20000).
 */
class ReassemblerSpec extends ReassemblyTests {
  override def brief = false

  val config: ReassemblyConfig = ReassemblyConfig(
    datagrams = 32,
    tableRows = 64,
    cells = 128,
    sources = 1024,
    queueBeats = 256,
    ipOffsets = Seq(0, 14, 18, 22)
  )
  private val campaign = sys.props.getOrElse("sallyport.reassembly.datagrams", "240").toInt

  private def dice(seed: Int) = new FragmentDice(new Random(seed))
  private def arrivals(fragments: Seq[Fragment]): Seq[Arrival] = fragments.map(_.arrival)

  subtest("packets that scapy cut become what they were, whatever their order") { dut =>
    val bench = new ReassemblyBench(dut)
    val random = new Random(2)
    val cases = ScapyCuts.read("reassembly_packets.txt")
    assert(cases.size >= 60 && cases.exists(_.fragments.head.of.ipv6) && cases.exists(!_.fragments.head.of.ipv6))
    bench.run(random.shuffle(cases).flatMap(c => random.shuffle(c.arrivals)), Pace.Half, Pace.Always, 1) match {
      case (whole, rebuilt) =>
        assert(whole.isEmpty)
        val made = rebuilt.map(_.bytes).toSet
        for (c <- cases) assert(made(c.packet), s"what scapy cut is not there: ${c.packet.size} B")
        assert(rebuilt.size == cases.size)
    }
    assert(bench.held == 0)
  }

  subtest("every order of 2, 3 and 4 fragments of both families, with every header") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(1)
    val sets = for (count <- 2 to 4; order <- (0 until count).permutations; ipv6 <- Seq(false, true)) yield {
      val fragments = d.cut(d.datagram(40 + d.random.nextInt(2000), ipv6), count)
      order.map(fragments)
    }
    val made = bench.play(sets.flatMap(arrivals))
    assert(made.size == sets.size && bench.counts("merged") == sets.map(_.size - 1).sum)
  }

  subtest("one fragment, as many fragments as there can be, and fragments of several datagrams in turn") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(3)
    // RFC 6946: an atomic fragment has nothing to do with others of the same identification.
    val cut = d.cut(d.datagram(3000, ipv6 = true), 2)
    val atomic = cut.head.of.copy(payload = Bytes.random(777, d.random)).cut()
    assert(bench.play(arrivals(Seq(cut.head) ++ atomic ++ cut.tail)).size == 2)
    val many = d.datagram(9600 - 34, ipv6 = false, plain = true)
    val units = d.shuffle(many.cut(8 until many.payload.length by 8: _*))
    assert(units.size == 1196)
    val made = bench.play(units.flatMap(f => Seq(f.arrival, d.whole(60))), idle = Pace.Seldom)
    assert(made.size == 1 && made.head.bytes.size == 9600)
    val several = Seq.fill(20)(d.cut(d.datagram(1200), 4))
    assert(bench.play(arrivals((0 until 4).flatMap(i => several.map(_(i))))).size == 20)
  }

  subtest("overlaps, duplicates, two ends and odd lengths are discarded by name, whatever comes first") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(4)
    var sets = Seq.empty[Seq[Fragment]]
    for (ipv6 <- Seq(false, true); _ <- 0 until 3) {
      def datagram = d.datagram(1600, ipv6)
      def parts(o: Datagram, ranges: (Int, Int)*) = ranges.map { case (from, to) =>
        o.fragment(from, o.payload.slice(from, to), to < o.payload.length)
      }
      sets ++= Seq(
        parts(datagram, (0, 808), (800, 1600)),
        parts(datagram, (0, 800), (792, 1600)),
        parts(datagram, (0, 800), (800, 1600 - 8), (400, 408)),
        parts(datagram, (0, 800), (0, 800), (800, 1600)),
        parts(datagram, (0, 800), (800, 1200), (800, 1200), (1200, 1600)),
        parts(datagram, (896, 904), (888, 912), (0, 888))
      )
      // A byte behind the end, and two ends.
      for (more <- Seq((800, 808), (1200, 1600))) {
        val two = datagram
        val last = two.fragment(400, two.payload.slice(400, 800), more = false)
        sets = sets :+ (parts(two, (0, 392)) ++ Seq(last) ++ parts(two, more))
      }
      // A fragment whose length is not a multiple of 8 is dropped alone: the datagram can still
      // become whole.
      val odd = datagram
      val part = odd.payload.slice(800, 1599)
      val broken = Seq(odd.fragment(800, part, more = true), odd.fragment(800, Nil, more = false))
      sets = sets :+ (parts(odd, (0, 800)) ++ broken ++ parts(odd, (800, 1600)))
    }
    val half = config.datagrams / 2
    for (group <- sets.grouped(half)) {
      bench.play(arrivals(group.flatten))
      bench.tick(10)
      bench.play(arrivals(group.flatMap(_.reverse)))
      bench.tick(10)
    }
    // Fragments behind a fault, or behind a whole datagram, begin a datagram that stays incomplete.
    assert(Seq("overlap", "end", "length", "duplicate", "timeout").forall(bench.counts(_) > 0), bench.counts)
    assert(bench.held == 0)
  }

  subtest("exact duplicates are dropped alone, in one cell or in more, and near duplicates are not") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(13)
    for (ipv6 <- Seq(false, true); size <- Seq(1600, 1603, 5000); at <- 0 until 3) {
      val fragments = d.cut(d.datagram(size, ipv6), 3)
      val again = fragments(at)
      // Bytes and ECN field are not compared.
      val bytes = again.payload.map(b => (b ^ 1).toByte)
      val other = again.of.fragment(8 * again.offset, bytes, again.more, ecn = Ecn.notEct)
      val rest = fragments.patch(at, Nil, 1)
      val made = bench.play(arrivals(Seq(again, rest.head, again, other, rest.last)))
      assert(made.map(_.bytes) == Seq(again.of.whole(again.of.payload)))
    }
    assert(bench.counts("duplicate") == 2 * 18 && bench.held == 0)
    // A unit less or more at either end, two fragments as one, one as two, and another end.
    val base = Seq((80, 160), (160, 1040))
    val starts = Seq((88, 160), (72, 160), (600, 1040), (904, 1040))
    val near = starts ++ Seq((80, 152), (80, 168), (80, 1040), (160, 600), (160, 1032))
    for (ipv6 <- Seq(false, true); (from, to) <- near) {
      val o = d.datagram(1600, ipv6)
      def part(from: Int, to: Int, more: Boolean = true) = o.fragment(from, o.payload.slice(from, to), more)
      bench.play(arrivals(base.map { case (a, b) => part(a, b) } :+ part(from, to)))
      bench.play(arrivals(Seq(part(160, 1040), part(160, 1040, more = false))))
      bench.play(arrivals(Seq(part(160, 1040, more = false), part(160, 1040))))
    }
    bench.tick(10)
    assert(bench.counts("duplicate") == 2 * 18 && bench.counts("overlap") > 0 && bench.held == 0)
  }

  subtest("the oldest datagram gives way to one more than there is room for") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(14)
    for (newer <- Seq(config.datagrams - 2, config.datagrams - 1, config.datagrams)) {
      val own = d.cut(d.datagram(600), 2)
      val lost = Seq.fill(newer)(d.cut(d.datagram(600), 2).head)
      val made = bench.play(arrivals(own.head +: lost :+ own.last))
      assert(made.size == (if (newer < config.datagrams) 1 else 0), s"$newer newer ones")
      bench.tick(10)
      assert(bench.held == 0)
    }
    // Those that leave in between make room again.
    val old = d.cut(d.datagram(600), 2)
    val pairs = Seq.fill(4 * config.datagrams)(d.cut(d.datagram(600), 2))
    assert(bench.play(arrivals(old.head +: pairs.flatten :+ old.last)).size == pairs.size + 1)
  }

  subtest("a /64 is one source of IPv6, an address one of IPv4") { dut =>
    val bench = new ReassemblyBench(dut, perSource = 3)
    val d = dice(15)
    for ((ipv6, refused) <- Seq(true -> 5, false -> 0)) {
      val before = bench.counts("source")
      val base = d.datagram(400, ipv6, source = 4000)
      val flood = (0 until 8).map(n => d.cut(base.copy(source = base.source + n, identification = n), 2).head)
      bench.play(arrivals(flood))
      assert(bench.counts("source") - before == refused)
    }
    bench.tick(10)
  }

  /**
   * Linux's ip_frag_ecn_table (RFC 3168 5.3): of the codepoints that fragments have, that of the
   * datagram, if it is kept.
   */
  private def combined(first: Int, seen: Set[Int]): Option[Int] = {
    import Ecn._
    seen match {
      case one if one.size == 1 => Some(first)
      case both if both == Set(ect0, ect1) => Some(first)
      case mixed if mixed(notEct) => None
      case _ => Some(ce)
    }
  }

  subtest("the ECN fields of two and three fragments, every combination and order, make that of the datagram") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(11)
    val fields = for (count <- 2 to 3; n <- 0 until 1 << (2 * count)) yield Seq.tabulate(count)(i => n >> (2 * i) & 3)
    val kept = for (ipv6 <- Seq(false, true); marks <- d.shuffle(fields)) yield {
      val datagram = d.datagram(24 + d.random.nextInt(1500), ipv6)
      val fragments = d.cut(datagram, marks.size).zip(marks).map { case (f, ecn) => f.marked(ecn) }
      val made = bench.play(arrivals(d.shuffle(fragments)))
      val want = combined(marks.head, marks.toSet).map(ecn => datagram.whole(datagram.payload, ecn = ecn))
      assert(made.map(_.bytes) == want.toSeq, s"of $marks")
      if (want.isEmpty) bench.tick(10)
      want.size
    }
    assert(kept.sum == 2 * (1 + 9 + 1 + 27) && bench.counts("ecn") > 0 && bench.held == 0)
  }

  subtest("a first fragment without its headers is dropped alone: the datagram takes another one") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(12)
    for (order <- 0 until 3) {
      val fragments = d.cut(d.datagram(900, ipv6 = true), 3)
      val cutShort = fragments.head.copy(headless = true)
      val sent = fragments.patch(order, Seq(cutShort), 0)
      assert(bench.play(arrivals(sent)).size == 1)
    }
    assert(bench.counts("headers") == 3 && bench.held == 0)
    // A length that is wrong has its own name, and comes first.
    val odd = d.datagram(100, ipv6 = true)
    bench.play(arrivals(Seq(odd.fragment(0, odd.payload.take(9), more = true).copy(headless = true))))
    assert(bench.counts("length") == 1)
  }

  subtest("sizes at 9600 bytes, and one above, in any order") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(5)
    for (bytes <- Seq(9599, 9600, 9601, 9608); ipv6 <- Seq(false, true); reverse <- Seq(false, true)) {
      val plain = d.datagram(100, ipv6)
      val datagram = plain.copy(payload = Bytes.random(bytes - plain.headerBytes, d.random))
      val fragments = d.cut(datagram, 8)
      val made = bench.play(arrivals(if (reverse) fragments.reverse else fragments))
      assert(made.map(_.bytes.size) == (if (bytes <= 9600) Seq(bytes) else Nil))
      if (bytes > 9600) bench.tick(10)
    }
    // The ends of the offset's range.
    val far = d.datagram(16, ipv6 = true)
    val ends = Seq(9600, 9568, 32768, 65528)
    bench.play(arrivals(ends.map(at => far.copy(identification = at).fragment(at, far.payload, more = true))))
    assert(bench.counts("oversize") >= 4 * 8 + 3)
  }

  subtest("a datagram's time is over with the tick, whether a fragment finds it or the sweep") { dut =>
    val d = dice(6)
    for (timeout <- Seq(1, 5)) {
      val bench = new ReassemblyBench(dut, timeout)
      def late(ticks: Int, settle: Int): Boolean = {
        val fragments = d.cut(d.datagram(600), 3)
        bench.play(arrivals(fragments.take(2)))
        bench.tick(ticks, settle)
        val made = bench.play(arrivals(fragments.drop(2)))
        bench.tick(timeout + 1)
        assert(bench.held == 0)
        made.isEmpty
      }
      for (settle <- Seq(1, 2000)) {
        assert(!late(timeout - 1, settle))
        assert(late(timeout, settle))
        assert(late(timeout + 1, settle))
      }
      assert(bench.counts("timeout") == 4 * 3)
    }
  }

  subtest("a source at its limit is refused, in a full table the oldest give way, and both end") { dut =>
    val bench = new ReassemblyBench(dut, perSource = 5)
    val d = dice(7)
    val same = Seq.fill(8)(d.cut(d.datagram(400, ipv6 = false, source = 77), 2))
    bench.play(arrivals(same.map(_.head)))
    assert(bench.counts("source") == 3)
    // One becomes whole, one more may come.
    assert(bench.play(arrivals(Seq(same.head(1), same(5).head, same(6).head))).size == 1)
    assert(bench.counts("source") == 4)
    val others = (0 until 40).map(n => d.cut(d.datagram(400, source = 1000 + n), 2))
    bench.play(arrivals(others.map(_.head)))
    assert(bench.reference.live == config.datagrams)
    assert(bench.counts("full") == 5 + 40 - config.datagrams)
    bench.tick(10)
    assert(bench.held == 0)
    assert(bench.play(arrivals(others.take(30).flatten)).size == 30)
  }

  subtest("without memory the oldest datagrams give way, and their memory is free at once") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(8)
    val large = Seq.fill(16)(d.cut(d.datagram(9400, ipv6 = false), 8))
    bench.play(arrivals(large.flatMap(_.init)))
    assert(bench.counts("full") > 0 && bench.counts("memory") == 0)
    // One by one: cells of a whole datagram are free once it is read.
    for (cut <- large) bench.play(arrivals(Seq(cut.last)))
    assert(bench.counts("reassembled") >= 10)
    bench.tick(10)
    // Every cell is there again: the datagrams of this play need 110 of 128, and 10 stay free.
    assert(bench.play(arrivals(large.take(11).transpose.flatten)).size == 11)
  }

  subtest("a flood of first fragments stops no whole packet, and reassembly only for a time") { dut =>
    val bench = new ReassemblyBench(dut)
    val d = dice(9)
    val flood = Seq.fill(1000)(d.datagram(24, plain = true).cut(8).head.arrival)
    val packets = flood.flatMap(f => Seq(f, d.whole(60 + d.random.nextInt(60))))
    val (whole, rebuilt) = bench.run(packets, Pace.Always, Pace.Always, 1)
    assert(whole.map(_.bytes) == packets.filter(_.fragment.isEmpty).map(_.bytes) && rebuilt.isEmpty)
    val beats = packets.map(_.packet.beats).sum
    info(s"$beats beats in ${bench.cycles} cycles, ${bench.stalls} stalls; ${bench.counts}")
    assert(bench.stalls == 0 && bench.cycles <= beats + 8)
    // What still waits in the queue is judged.
    bench.tick(0, 10000)
    assert(bench.counts("overflow") > 0 && bench.counts("full") > 0 && bench.held == config.datagrams)
    bench.tick(10)
    assert(bench.held == 0)
    val cut = Seq.fill(20)(d.cut(d.datagram(1500), 2))
    assert(bench.run(cut.flatten.map(_.arrival), Pace.Half, Pace.Always, 1)._2.size == 20)
  }

  subtest("datagrams of 1500 bytes in two fragments, one behind the other, a beat a cycle") { dut =>
    val d = dice(10)
    for (ipv6 <- Seq(false, true); at <- Seq(744, 1456)) {
      val bench = new ReassemblyBench(dut)
      val header = if (ipv6) 40 else 20
      val datagrams = Seq.fill(120)(d.datagram(1500 - header, ipv6, plain = true))
      val packets = arrivals(datagrams.flatMap(_.cut(at)))
      val made = bench.play(packets, idle = Pace.Always)
      val beats = packets.map(_.packet.beats).sum
      val family = if (ipv6) "IPv6" else "IPv4"
      info(s"$family cut at $at: $beats beats in ${bench.cycles} cycles, ${bench.stalls} stalls")
      assert(made.size == datagrams.size)
      assert(bench.stalls == 0 && bench.cycles <= beats + 100)
    }
  }

  subtest("after every few fragments and ticks the gauge is what the model holds") { dut =>
    val bench = new ReassemblyBench(dut, timeout = 3, perSource = 4)
    val random = new Random(0x815)
    val run = new ReassemblyCampaign(random)
    val seen = for (part <- run.chunk(campaign).grouped(3).toSeq) yield {
      bench.play(part)
      if (random.nextInt(20) == 0) {
        bench.tick(1 + random.nextInt(3))
        bench.same()
      }
      bench.held
    }
    bench.tick(3)
    assert(bench.held == 0)
    info(s"${seen.size} times, ${seen.distinct.size} levels up to ${seen.max}")
    assert(seen.distinct.size > 10)
    for (name <- Seq("reassembled", "overlap", "duplicate", "end", "ecn", "timeout"))
      assert(bench.counts(name) > 0, name)
  }

  subtest("a campaign of random datagrams, faults, orders and ticks, at every pace") { dut =>
    val bench = new ReassemblyBench(dut, timeout = 3, perSource = 3)
    val random = new Random(0x5722)
    val run = new ReassemblyCampaign(random)
    var left = campaign
    while (left > 0) {
      val chunk = run.chunk(left min 60)
      left -= 60
      val idle = Seq(Pace.Half, Pace.Seldom)(random.nextInt(2))
      val pressure = Seq(Pace.Always, Pace.Alternate, Pace.Half, Pace.Bursts)(random.nextInt(4))
      bench.play(chunk, idle, pressure, random.nextInt())
      bench.tick(random.nextInt(3), random.nextInt(400))
    }
    bench.tick(3)
    assert(bench.held == 0)
    info(bench.counts.toSeq.sorted.map { case (name, count) => s"$name $count" }.mkString(", "))
    for (
      name <-
        Seq("reassembled", "overlap", "duplicate", "end", "ecn", "length", "headers", "oversize", "timeout", "source")
    )
      assert(bench.counts(name) > 0, name)
  }
}
