// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{PrefixChildRow, PrefixRow}
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

/** A level of the tree alone, whose rows have flipped bits. */
class PrefixLevelSpec extends AnyFunSuite with CompiledOnce {
  private def write(port: LevelPort, clock: Clock, index: Int, word: BigInt): Unit = {
    port.access.valid.poke(true)
    port.access.bits.write.poke(true)
    port.access.bits.index.poke(index)
    port.access.bits.row.poke(word)
    clock.step()
    port.access.valid.poke(false)
  }
  private def withParity(row: BigInt, bits: Int): BigInt = row | BigInt(row.bitCount % 2) << bits

  test("a flipped bit of a node's row, or of its children's, makes a look-up upset") {
    simulate(new PrefixLevel(8, level = 2)) { dut =>
      val random = new Random(5)
      dut.io.in.live.poke(false)
      dut.io.nodes.access.valid.poke(false)
      dut.io.children.access.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      val ends = PrefixNode.ends.zip(Seq.tabulate(14)(n => BigInt(n + 1) << 60 | BigInt(60, random)))
      val groups = PrefixNode.groups.zip(Seq.tabulate(15)(n => if (n == 3) 0 else n + 1))
      val children = PrefixNode.children.zip(Seq.fill(15)(random.nextInt(4096)))
      val node = (ends.map { case (f, v) => f.put(v) } ++ groups.map { case (f, v) => f.put(v) }).reduce(_ | _) |
        PrefixRow.valid.put(1)
      val child = children.map { case (f, v) => f.put(v) }.reduce(_ | _) | PrefixChildRow.valid.put(1)
      val row = 5
      val word = withParity(node, PrefixRow.bits)
      val childWord = withParity(PrefixLevel.children.pack(child), PrefixLevel.children.bits)

      /** Group and next node of a key, or nothing for an upset. */
      def ask(
          key: BigInt,
          group: Int = 0,
          upset: Boolean = false,
          start: Int = 0,
          at: Int = row
      ): Option[(Int, Int)] = {
        dut.io.in.live.poke(true)
        dut.io.in.key.poke(key)
        dut.io.in.node.poke(at)
        dut.io.in.start.poke(start)
        dut.io.in.group.poke(group)
        dut.io.in.upset.poke(upset)
        dut.clock.step()
        dut.io.in.live.poke(false)
        dut.io.in.node.poke(random.nextInt(8))
        dut.clock.step(PrefixLevel.latency - 1)
        assert(dut.io.out.live.peek().litToBoolean)
        assert(dut.io.out.key.peek().litValue == key)
        assert(dut.io.out.start.peek().litValue == start)
        val out =
          (dut.io.out.group.peek().litValue.toInt, dut.io.out.node.peek().litValue.toInt)
        Option.unless(dut.io.out.upset.peek().litToBoolean)(out)
      }
      write(dut.io.nodes, dut.clock, row, word)
      write(dut.io.children, dut.clock, row, childWord)
      val limits = ends.map(_._2)
      for (end <- limits; key <- Seq(end - 1, end, end + 1, end ^ 0xff, end ^ (BigInt(0xff) << 24))) {
        val place = limits.count(_ <= key)
        val group = if (place == 3) 77 else place + 1
        assert(ask(key, group = 77).contains((group, children(place)._2)), key.toString(16))
        assert(ask(key, upset = true).isEmpty)
        // A tree that starts above this level or at it, and one that starts below.
        for (start <- 1 to 2) assert(ask(key, group = 77, start = start).contains((group, children(place)._2)))
        for (start <- 3 to 7; at <- Seq(row, 0xabc)) {
          assert(ask(key, group = 77, start = start, at = at).contains((77, at)))
          assert(ask(key, upset = true, start = start, at = at).isEmpty)
        }
      }
      for (bit <- 0 to PrefixRow.bits) {
        write(dut.io.nodes, dut.clock, row, word.flipBit(bit))
        assert(ask(limits(bit % 14)).isEmpty, s"bit $bit of the node")
        assert(ask(limits(bit % 14), start = 3).contains((0, row)) && !dut.io.rowUpset.peek().litToBoolean)
      }
      write(dut.io.nodes, dut.clock, row, word)
      for (bit <- 0 until PrefixLevel.childBits) {
        write(dut.io.children, dut.clock, row, childWord.flipBit(bit))
        assert(ask(limits(bit % 14)).isEmpty, s"bit $bit of the children")
        assert(ask(limits(bit % 14), start = 3).contains((0, row)))
      }
      write(dut.io.children, dut.clock, row, childWord)
      assert(ask(limits(6)).isDefined)
    }
  }

  test("children of the last level are those of policies alone") {
    simulate(new PrefixLevel(8, level = 4)) { dut =>
      dut.io.in.live.poke(false)
      dut.io.nodes.access.valid.poke(false)
      dut.io.children.access.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      val ends = PrefixNode.ends.map(_.put((BigInt(1) << 64) - 1)).reduce(_ | _)
      write(
        dut.io.nodes,
        dut.clock,
        3,
        withParity(ends | PrefixNode.groups.head.put(9) | PrefixRow.valid.put(1), PrefixRow.bits)
      )
      val children = PrefixChildRow.valid.put(1) | PrefixNode.children.head.put(0x3abc)
      val good = withParity(PrefixLevel.children.pack(children), PrefixLevel.children.bits)

      /** Group, child, upset. */
      def ask(policies: Boolean, start: Int = 4): (Int, Int, Boolean) = {
        dut.io.in.live.poke(true)
        dut.io.in.policies.poke(policies)
        dut.io.in.start.poke(start)
        dut.io.in.key.poke(7)
        dut.io.in.node.poke(3)
        dut.io.in.group.poke(0)
        dut.io.in.upset.poke(false)
        dut.clock.step()
        dut.io.in.live.poke(false)
        dut.clock.step(PrefixLevel.latency - 1)
        assert(dut.io.out.policies.peek().litToBoolean == policies)
        val numbers = (dut.io.out.group.peek().litValue.toInt, dut.io.out.node.peek().litValue.toInt)
        (numbers._1, numbers._2, dut.io.out.upset.peek().litToBoolean)
      }
      write(dut.io.children, dut.clock, 3, good)
      // All trees have the last level.
      for (start <- 0 to 7) assert(ask(policies = true, start) == (9, 0x3abc, false))
      assert(!ask(policies = false)._3)
      for (bad <- Seq(good.flipBit(2), BigInt(0))) {
        write(dut.io.children, dut.clock, 3, bad)
        assert(ask(policies = true)._3)
        assert(!ask(policies = false)._3 && ask(policies = false)._1 == 9)
      }
    }
  }
}
