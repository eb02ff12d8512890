// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Action, FlowRow, SelectorRow}
import sallyport.common.simulation.{CompiledOnce, LongForm}
import sallyport.common.table.TernaryTable

import scala.util.Random

class InboundSelectorsSpec extends AnyFunSuite with CompiledOnce {

  /** IPv4 to a prefix of 10.0.0.0/24, of a protocol or of any, 0. */
  private case class Set(destination: Int, bits: Int, protocol: Int) {
    def has(to: Int, by: Int): Boolean =
      to >> (8 - bits) == destination >> (8 - bits) && (protocol == 0 || protocol == by)
    private val address = s"10.0.0.${destination >> (8 - bits) << (8 - bits)}"
    def rule(action: Int, group: Int): BigInt =
      InnerSetup.Rule(address, 24 + bits, action, group, 0, protocol).row
    def row: BigInt = SelectorRow.valid.put(1) | SelectorRow.dstAddr.put(InnerSetup.address(address)) |
      SelectorRow.dstPrefix.put(InnerSetup.prefix(address, 24 + bits)) | SelectorRow.protocol.put(protocol) |
      SelectorRow.protocolMask.put(if (protocol == 0) 0 else 255) | SelectorRow.srcPortLast.put(65535) |
      SelectorRow.dstPortLast.put(65535)
  }
  private val protocols = Seq(6, 17, 47)
  private def set(random: Random): Set =
    Set(random.nextInt(256), random.nextInt(9), if (random.nextBoolean()) 0 else protocols(random.nextInt(3)))

  for (rules <- Seq(32, 128))
    test(s"packets of one set, of several by $rules rules, and in clear are allowed as the ordered SPD says") {
      if (rules > 32) LongForm.only()
      simulate(new InboundSelectors(rules)) { dut =>
        val random = new Random(rules)
        val packet = dut.io.packet
        packet.valid.poke(false)
        dut.io.table.request.valid.poke(false)
        while (!dut.io.ready.peek().litToBoolean) dut.clock.step()

        // Groups 0 to 2 and, of the same numbers, discards and rules for clear packets. The rows
        // above are full of narrow sets, the last has every packet.
        val table = Seq.tabulate(rules) { i =>
          val wanted = set(random)
          val narrow = if (i == rules - 1) Set(0, 0, 0) else wanted.copy(bits = wanted.bits max 4)
          val action = Seq(Action.discard, Action.bypass, Action.protect, Action.protect)(random.nextInt(4))
          (narrow, action, random.nextInt(3))
        }
        for (((set, action, group), index) <- table.zipWithIndex) {
          val request = dut.io.table.request
          request.bits.write.poke(true)
          request.bits.index.poke(index)
          request.bits.row.poke(set.rule(action, group))
          request.valid.poke(true)
          while (!request.ready.peek().litToBoolean) dut.clock.step()
          dut.clock.step()
          request.valid.poke(false)
        }
        dut.clock.step(200)

        val latency = TernaryTable.latency(rules) max SelectorMatch.latency
        val expected = scala.collection.mutable.Queue.fill[Option[Boolean]](latency)(None)
        var seen = Map.empty[(String, Boolean), Int].withDefaultValue(0)
        def key(to: Int, by: Int): BigInt = FlowRow.dstAddr.put(InnerSetup.address(s"10.0.0.$to")) |
          FlowRow.protocol.put(by) | FlowRow.version.put(4)
        def some(): (Int, Int) = (random.nextInt(256), protocols(random.nextInt(3)))
        def check(): Unit =
          expected.dequeue().foreach(want => assert(dut.io.allowed.peek().litToBoolean == want))
        for (n <- 0 until 7500) {
          val arrives = random.nextInt(4) != 0
          val isError = random.nextBoolean()
          val (sent, back) = (some(), some())
          val (byRules, group, clear) = (random.nextBoolean(), random.nextInt(3), n % 3 == 0)
          val own = set(random)
          packet.bits.clear.poke(clear)
          packet.bits.row.poke(
            own.row | SelectorRow.byRules.put(if (byRules) 1 else 0) | SelectorRow.group.put(group)
          )
          def allows(packet: (Int, Int)): Boolean = {
            val first = table.find(_._1.has(packet._1, packet._2)).get
            if (clear) first._2 == Action.bypass
            else if (byRules) first._2 == Action.protect && first._3 == group
            else own.has(packet._1, packet._2)
          }
          val kind = if (clear) "clear" else if (byRules) "by rules" else "one set"
          val allowed = allows(sent) || !clear && isError && allows(back)
          if (arrives) seen += (s"$kind, error: $isError", allowed) -> (seen((s"$kind, error: $isError", allowed)) + 1)

          // The return traffic of the packet in an error, and then the error or packet itself.
          packet.valid.poke(false)
          dut.io.returning.valid.poke(arrives && isError)
          dut.io.returning.bits.poke(key(back._1, back._2))
          expected.enqueue(None)
          check()
          dut.clock.step()
          packet.valid.poke(arrives)
          packet.bits.key.poke(key(sent._1, sent._2))
          dut.io.returning.valid.poke(false)
          expected.enqueue(Option.when(arrives)(allowed))
          check()
          dut.clock.step()
        }
        info(s"kind and allowed: $seen")
        assert(seen.size == 12 && seen.values.forall(_ > 80), "the test needs both answers of each kind")
      }
    }
}
