// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util.ShiftRegister
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.memory.{CodedMemory, MemoryPipe}
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

/** The authority against a model in BigInt: RFC 4303 3.3.3 as sentences, not as the pipeline. */
class SequenceAuthoritySpec extends AnyFunSuite with CompiledOnce {

  private val saBits = 4

  private case class Request(
      sa: Int,
      take: Boolean = true,
      esn: Boolean = true,
      soft: BigInt = 0,
      hard: BigInt = 0,
      nodeBits: Int = 0,
      node: Int = 0
  )

  /** @param lost SAs whose counters are beyond repair */
  private class Model(bits: Int, val lost: Int => Boolean) {
    private def ones(n: Int) = (BigInt(1) << n) - 1
    private val last = mutable.Map[Int, BigInt]().withDefaultValue(BigInt(0))
    private val exhausted = mutable.Set[Int]()
    private val soft = mutable.Set[Int]()
    var softEvents = 0

    def restart(sa: Int): Unit = { last(sa) = 0; exhausted -= sa; soft -= sa }

    def raise(sa: Int, number: BigInt): BigInt = {
      val before = last(sa)
      last(sa) = before.max(number)
      if (lost(sa)) ones(bits) else before
    }

    def apply(r: Request): Option[BigInt] = {
      val size = if (r.esn) ones(bits) else ones(bits / 2)
      val limit = if (r.hard == 0) size else r.hard.min(size)
      val nodes = BigInt(1) << r.nodeBits
      val number = (last(r.sa) / nodes + 1) * nodes + r.node % nodes
      if (!r.take || lost(r.sa)) None
      else if (exhausted(r.sa) || number > limit) { exhausted += r.sa; None }
      else {
        last(r.sa) = number
        if (r.soft != 0 && number >= r.soft && soft.add(r.sa)) softEvents += 1
        Some(number)
      }
    }
  }

  private class Bench(dut: SequenceHarness, bits: Int, lost: Int => Boolean = _ => false) {
    dut.reset.poke(true)
    dut.clock.step(2)
    dut.reset.poke(false)
    val model = new Model(bits, lost)
    var softEvents = 0
    var repaired = 0
    var losses = 0
    private val expected = mutable.Queue[(Request, Option[BigInt])]()

    private def step(): Unit = {
      if (dut.io.grant.valid.peek().litToBoolean) {
        val (request, number) = expected.dequeue()
        val granted = dut.io.grant.bits.granted.peek().litToBoolean
        assert(granted == number.isDefined, s"granted for $request")
        val spoiled = dut.io.grant.bits.spoiled.peek().litToBoolean
        assert(spoiled == (request.take && lost(request.sa)), s"spoiled for $request")
        assert(dut.io.grant.bits.sequence.peek().litValue == number.getOrElse(BigInt(0)), s"sequence for $request")
      }
      if (dut.io.softLimit.valid.peek().litToBoolean) softEvents += 1
      if (dut.io.repaired.peek().litToBoolean) repaired += 1
      if (dut.io.lost.peek().litToBoolean) losses += 1
      dut.clock.step()
    }

    def idle(cycles: Int): Unit = {
      dut.io.request.valid.poke(false)
      dut.io.restart.valid.poke(false)
      dut.io.raise.valid.poke(false)
      for (_ <- 0 until cycles) step()
    }

    def send(r: Request): Option[BigInt] = {
      val number = model(r)
      expected.enqueue((r, number))
      val bits = dut.io.request.bits
      bits.sa.poke(r.sa)
      bits.take.poke(r.take)
      bits.esn.poke(r.esn)
      bits.softLimit.poke(r.soft)
      bits.hardLimit.poke(r.hard)
      bits.nodeBits.poke(r.nodeBits)
      bits.node.poke(r.node)
      dut.io.request.valid.poke(true)
      step()
      idle(1)
      number
    }

    def drain(): Unit = {
      idle(SequenceAuthority.ahead + SequenceAuthority.latency)
      assert(expected.isEmpty)
    }

    def restart(sa: Int): Unit = {
      drain()
      dut.io.restart.valid.poke(true)
      dut.io.restart.bits.poke(sa)
      step()
      dut.io.restart.valid.poke(false)
      model.restart(sa)
    }

    /**
     * Raises a counter, `beside` a packet that takes no number or alone, and looks at what
     * it was.
     */
    def raise(sa: Int, number: BigInt, beside: Boolean = false): Unit = {
      drain()
      dut.io.raise.valid.poke(true)
      dut.io.raise.bits.sa.poke(sa)
      dut.io.raise.bits.number.poke(number)
      if (beside) send(Request((sa + 1) % 16, take = false))
      else {
        step()
        idle(1)
      }
      idle(SequenceAuthority.raiseLatency - 2)
      assert(dut.io.last.peek().litValue == model.raise(sa, number), s"SA $sa before it was raised to $number")
      idle(1)
    }
  }

  test("numbers of an SA start at 1, strictly increase, respect every limit and never wrap") {
    simulate(new SequenceHarness(new SequenceAuthority(saBits))) { dut =>
      val bench = new Bench(dut, 64)
      import bench._
      for (sa <- 0 until 16) restart(sa)

      // One SA alone at a packet every 2 cycles; then two SAs in turn, then every distance up to
      // 4 packets.
      for (n <- 1 to 10) assert(send(Request(3)).contains(BigInt(n)))
      for (n <- 1 to 10; sa <- Seq(4, 5)) assert(send(Request(sa)).contains(BigInt(n)))
      for (distance <- 1 to 4; n <- 0 until 6; other <- 0 until distance) send(Request(8 + other))

      // Bypassed and keyless packets take nothing.
      assert(send(Request(6)).contains(BigInt(1)))
      assert(send(Request(6, take = false)).isEmpty)
      assert(send(Request(6)).contains(BigInt(2)))

      // A request without `take` leaves no trace, so a restart may come while it is on its way.
      drain()
      send(Request(6, take = false))
      dut.io.restart.valid.poke(true)
      dut.io.restart.bits.poke(6)
      dut.clock.step()
      dut.io.restart.valid.poke(false)
      model.restart(6)
      assert(send(Request(6)).contains(BigInt(1)))

      // Hard limit: the last number is given out, the next is refused, and refused it stays with
      // any limit.
      restart(7)
      for (n <- 1 to 5) assert(send(Request(7, hard = 5)).contains(BigInt(n)))
      assert(send(Request(7, hard = 5)).isEmpty)
      assert(send(Request(7, hard = 0)).isEmpty)
      assert(send(Request(7, hard = (BigInt(1) << 64) - 1)).isEmpty)
      restart(7)
      assert(send(Request(7)).contains(BigInt(1)))

      // Soft limit: one event.
      drain()
      val before = softEvents
      for (_ <- 1 to 6) send(Request(7, soft = 3))
      drain()
      assert(softEvents == before + 1)

      // A raised counter goes on above the number, at once and with the packets before and after
      // close by; a lower number changes nothing.
      restart(9)
      for (n <- 1 to 5) send(Request(9))
      raise(9, 1000)
      for (n <- 1001 to 1004) assert(send(Request(9)).contains(BigInt(n)))
      raise(9, 1003, beside = true)
      raise(9, 0)
      for (n <- 1005 to 1008) {
        assert(send(Request(9)).contains(BigInt(n)))
        send(Request(10))
      }
      raise(9, (BigInt(1) << 40) + 5, beside = true)
      assert(send(Request(9)).contains((BigInt(1) << 40) + 6))

      // Raised to a limit or beyond, a counter gives no more; raised over the soft limit, the next
      // packet is the event.
      restart(9)
      raise(9, 4)
      assert(send(Request(9, hard = 5)).contains(BigInt(5)))
      raise(9, 7)
      for (_ <- 1 to 2) assert(send(Request(9, hard = 5)).isEmpty)
      raise(9, 8)
      assert(send(Request(9)).isEmpty, "exhausted stays")
      restart(9)
      assert(send(Request(9)).contains(BigInt(1)))
      val beforeRaise = model.softEvents
      raise(9, 90)
      for (_ <- 1 to 3) send(Request(9, soft = 50))
      drain()
      assert(model.softEvents == beforeRaise + 1 && softEvents == model.softEvents)

      // Random traffic on few SAs with small limits, raises and restarts between.
      val random = new Random(1)
      val highest = mutable.Map[Int, BigInt]().withDefaultValue(BigInt(0))
      for (_ <- 0 until 1500) {
        val sa = random.nextInt(3)
        if (random.nextInt(40) == 0) { restart(sa); highest(sa) = 0 }
        if (random.nextInt(40) == 0) {
          val number = highest(sa) + random.nextInt(60) - 30
          raise(sa, number.max(0), beside = random.nextBoolean())
          highest(sa) = highest(sa).max(number)
        }
        if (random.nextInt(4) == 0) idle(random.nextInt(4))
        val number = send(
          Request(
            sa,
            take = random.nextInt(8) != 0,
            esn = random.nextBoolean(),
            soft = random.nextInt(60),
            hard = if (random.nextInt(30) == 0) 60 else 0
          )
        )
        number.foreach { n => assert(n > highest(sa)); highest(sa) = n }
      }
      drain()
      assert(softEvents == model.softEvents)
    }
  }

  test("the counter stops at 2^bits - 1 with ESN, at half the bits without, and never starts over") {
    simulate(new SequenceHarness(new SequenceAuthority(saBits, bits = 16))) { dut =>
      val bench = new Bench(dut, 16)
      import bench._
      for (sa <- 0 until 2) restart(sa)
      for (_ <- 1 to 254) send(Request(0, esn = false))
      assert(send(Request(0, esn = false, hard = 60000)).contains(BigInt(255)))
      for (_ <- 1 to 3) assert(send(Request(0, esn = false, hard = 60000)).isEmpty)
      assert(send(Request(0, esn = true)).isEmpty)

      for (n <- 1 to 300) assert(send(Request(1)).contains(BigInt(n)))
      raise(1, 0xfff0)
      for (n <- 0xfff1 to 0xffff) assert(send(Request(1)).contains(BigInt(n)))
      for (_ <- 1 to 300) assert(send(Request(1)).isEmpty)

      // Nor when it is raised to its end.
      for ((esn, end) <- Seq((true, 0xffff), (false, 0xff))) {
        restart(0)
        raise(0, end - 1)
        assert(send(Request(0, esn = esn)).contains(BigInt(end)))
        assert(send(Request(0, esn = esn)).isEmpty)
        restart(0)
        raise(0, end)
        for (_ <- 1 to 3) assert(send(Request(0, esn = esn)).isEmpty)
      }
      drain()
    }
  }

  test("boxes that share an SA never give out one number twice, though they take over counters and count anew") {
    simulate(new SequenceHarness(new SequenceAuthority(saBits, bits = 16))) { dut =>
      val bench = new Bench(dut, 16)
      import bench._
      // Each SA of this chip is the same SA of another box: of 1, 2, 6 and 128 at most.
      val random = new Random(32)
      for ((nodeBits, nodes) <- Seq(0 -> Seq(0), 1 -> Seq(0, 1), 3 -> (0 until 6), 7 -> Seq(0, 1, 126, 127))) {
        def request(node: Int) = Request(node % 16, nodeBits = nodeBits, node = node)
        val used = mutable.Map.empty[BigInt, Int]
        def number(node: Int): Unit = for (number <- send(request(node)))
          for (other <- used.put(number, node)) fail(s"number $number of node $node was one of node $other")
        for (node <- nodes) restart(node % 16)
        assert(
          nodeBits == 0 || send(request(nodes.last)).contains(BigInt((1 << nodeBits) + nodes.last)),
          "the first one"
        )
        for (_ <- 1 to 400) {
          val node = nodes(random.nextInt(nodes.length))
          // Another box's number, as a take-over has it, or one of this box's own.
          if (random.nextInt(10) == 0 && used.nonEmpty) raise(node % 16, used.keys.max.min(0x8000))
          number(node)
        }
        // At the end there may be room for a node's number and for none of another's.
        val end = 0xffff >> nodeBits << nodeBits
        for (node <- nodes) {
          raise(node % 16, end - 1)
          number(node)
          for (_ <- 1 to 2) assert(send(request(node)).isEmpty || nodeBits == 0, s"node $node of 2^$nodeBits")
        }
      }
      drain()
    }
  }

  test("one flipped bit of a counter changes no number, at every place; two take it out of use until a restart") {
    simulate(new SequenceHarness(new SequenceAuthority(WornMemory.indexBits, memory = new WornMemory(_, _)))) { dut =>
      def spoils(sa: Int): Boolean = WornMemory.flips(sa).size == 2
      val bench = new Bench(dut, 64, spoils)
      import bench._
      for (sa <- 0 until WornMemory.rows) {
        restart(sa)
        // The counter comes from the memory, then from the results of two, four and six cycles ago.
        for (n <- 1 to 5) assert(send(Request(sa)).forall(_ == n))
        drain()
        val number = BigInt(1) << (sa % 60)
        raise(sa, number)
        assert(send(Request(sa)).forall(_ == number.max(5) + 1))
        assert(send(Request(sa, take = false)).isEmpty)
        for (_ <- 1 to 2) send(Request(sa, hard = number.max(5) + 2))
        drain()
        // The first of five packets, the raise, and those that did not follow closely on a number.
        if (spoils(sa)) assert(losses > 0 && repaired == 0) else assert(repaired > 0 && losses == 0)
        repaired = 0
        losses = 0
      }
    }
  }
}

/** Announces each request as it comes, and makes it [[SequenceAuthority.ahead]] cycles later. */
private class SequenceHarness(authority: => SequenceAuthority) extends Module {
  private val inner = Module(authority)
  val io = IO(chiselTypeOf(inner.io))
  io <> inner.io
  inner.io.next.valid := io.request.valid
  inner.io.next.bits := io.request.bits.sa
  inner.io.request := ShiftRegister(io.request, SequenceAuthority.ahead, 0.U.asTypeOf(io.request), true.B)
}

/**
 * A memory in which row n, below 74, has bit n of its code word flipped, and each row above bits
 * n - 74 and n - 74 + 20.
 */
private class WornMemory(rows: Int, dataBits: Int) extends CodedMemory(rows, dataBits) {
  require(rows == WornMemory.rows && code.bits == WornMemory.bits)
  override protected def answered(word: UInt): UInt =
    word ^ ShiftRegister(VecInit(WornMemory.masks.map(_.U(code.bits.W)))(io.read.bits), MemoryPipe.banks.latency)
}

private object WornMemory {
  val indexBits = 7
  val rows: Int = 1 << indexBits

  /** A counter's 66 bits and their check bits. */
  val bits = 74

  def flips(row: Int): Seq[Int] = if (row < bits) Seq(row) else Seq(row - bits, row - bits + 20)
  def masks: Seq[BigInt] = Seq.tabulate(rows)(row => flips(row).map(BigInt(1) << _).sum)
}
