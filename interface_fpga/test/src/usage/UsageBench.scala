// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3.simulator.PeekPokeAPI
import org.scalatest.Assertions

import scala.collection.mutable

/**
 * A packet of `row`, `gap` cycles after the one before; `counts`: nothing but its lifetime may
 * drop it.
 */
case class Charge(row: Int, bytes: Int, counts: Boolean = true, gap: Int = 2)

/**
 * Drives [[UsageTable]] cycle by cycle and compares all that it says with [[Usage]].
 *
 * A packet acts in the cycle of its read. Software acts in the first cycle from that after its
 * request is taken in which no packet is read and no write is under way; it does not see a packet
 * of the cycle before.
 */
class UsageBench(dut: UsageTable, limited: Boolean = true) extends PeekPokeAPI with Assertions {
  val rows: mutable.Map[Int, Usage] = mutable.Map.empty.withDefaultValue(Usage())

  /** Of each event its row, and whether it is hard, of bytes and of packets. */
  val events: mutable.Buffer[(Int, Boolean, Boolean, Boolean)] = mutable.Buffer.empty

  /** Whether each packet found its row expired. */
  val expired: mutable.Buffer[Boolean] = mutable.Buffer.empty
  private var cycle = 0
  private val charges = mutable.Queue.empty[(Int, Charge, Boolean)]
  private val due = mutable.Queue.empty[(Int, (Int, Boolean, Boolean, Boolean))]

  // Software's access: offered, then accepted, then acting, then answered.
  private var offered = Option.empty[(Int, Option[Usage])]
  private var accepted = Option.empty[(Int, Option[Usage])]
  private var settled = 0
  private var expectedRow = Option.empty[BigInt]
  private var before = Option.empty[(Int, Usage)]
  var answers: Int = 0

  private def visible(usage: Usage): BigInt = if (limited) usage.row else usage.row & ((BigInt(1) << 128) - 1)

  def start(): Unit = {
    dut.io.read.valid.poke(false)
    dut.io.table.request.valid.poke(false)
    var cycles = 0
    while (!dut.io.ready.peek().litToBoolean) {
      dut.clock.step()
      cycles += 1
      assert(cycles < 100)
    }
  }

  def step(packet: Option[Charge] = None): Unit = {
    dut.io.read.valid.poke(packet.isDefined)
    packet.foreach(p => dut.io.read.bits.poke(p.row))

    // What packets were charged for and told.
    val now = Option.when(charges.headOption.exists(_._1 == cycle))(charges.dequeue())
    dut.io.charge.counts.poke(now.exists(_._2.counts))
    now.foreach(c => dut.io.charge.bytes.poke(c._2.bytes))
    assert(dut.io.expired.peek().litToBoolean == now.exists(_._3), s"cycle $cycle: expired of ${now.map(_._2)}")
    now.foreach(expired += _._3)
    val event = Option.when(due.headOption.exists(_._1 == cycle))(due.dequeue()._2)
    val bits = dut.io.event.bits
    val seen = Option.when(dut.io.event.valid.peek().litToBoolean)((
      bits.sa.peek().litValue.toInt,
      bits.hard.peek().litToBoolean,
      bits.bytes.peek().litToBoolean,
      bits.packets.peek().litToBoolean
    ))
    assert(seen == event, s"cycle $cycle")
    events ++= seen

    // Software acts, or the packet does.
    if (packet.isEmpty && settled <= cycle) {
      accepted.foreach {
        case (row, Some(usage)) =>
          rows(row) = usage
          settled = cycle + 1 + UsageMemory.writeInterval
          expectedRow = Some(0)
        case (row, None) => expectedRow = Some(visible(before.collect { case (`row`, u) => u }.getOrElse(rows(row))))
      }
      accepted = None
    }
    before = packet.map(p => p.row -> rows(p.row))
    packet.foreach { p =>
      val usage = rows(p.row)
      charges.enqueue((cycle + UsageTable.latency, p, usage.expired))
      if (p.counts) {
        val (after, event) = usage(p.bytes)
        rows(p.row) = after
        event.foreach(e => due.enqueue((cycle + UsageTable.latency + 2, (p.row, e._1, e._2, e._3))))
      }
    }

    val port = dut.io.table
    if (port.response.valid.peek().litToBoolean) {
      assert(!port.response.bits.error.peek().litToBoolean)
      assert(port.response.bits.row.peek().litValue == expectedRow.get, s"cycle $cycle: software's row")
      expectedRow = None
      answers += 1
    }
    val fires = offered.isDefined && port.request.ready.peek().litToBoolean
    dut.clock.step()
    cycle += 1
    if (fires) {
      accepted = offered
      offered = None
      port.request.valid.poke(false)
    }
  }

  def idle(cycles: Int): Unit = for (_ <- 0 until cycles) step()

  def isFree: Boolean = offered.isEmpty && accepted.isEmpty && expectedRow.isEmpty

  /** Offers an access to software's port; it goes on while packets come. */
  def request(row: Int, write: Option[Usage] = None): Unit = {
    assert(isFree)
    offered = Some((row, write))
    val port = dut.io.table
    port.request.valid.poke(true)
    port.request.bits.index.poke(row)
    port.request.bits.write.poke(write.isDefined)
    port.request.bits.row.poke(write.fold(BigInt(0))(visible))
  }

  def access(row: Int, write: Option[Usage] = None): Unit = {
    request(row, write)
    while (!isFree) step()
  }

  /** Packets, with `meanwhile` in front of each cycle. */
  def run(packets: Seq[Charge])(meanwhile: => Unit = ()): Unit = {
    for (packet <- packets; wait <- packet.gap - 1 to 0 by -1) {
      meanwhile
      step(Option.when(wait == 0)(packet))
    }
    while (!isFree) step()
    idle(8)
    assert(charges.isEmpty && due.isEmpty)
  }
}
