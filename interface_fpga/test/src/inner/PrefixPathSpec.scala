// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{HopGroupRow, InnerTables, NextHopRow}
import sallyport.iface.prefixes.{PrefixImage, PrefixNode, TestPrefix}

import scala.util.Random

/** Packets to networks behind the red port, at line rate (RFC 1812 5.2.4.3). */
class PrefixPathSpec extends AnyFunSuite with InnerPathsModel {
  private val hops = 40
  private def mac(hop: Int): String = f"02dd000000$hop%02x"

  /** IPv4's key of an address in the tree. */
  private def key(address: Int): BigInt = (BigInt(address) & 0xffffffffL) << (PrefixNode.keyBits - 32)

  test("a full tree sends each packet by its longest prefix, as fast as an empty one") {
    simulatePaths { (_, bench) =>
      bench.start()
      val random = new Random(28)
      val good = decrypts.find(row => row.counter == "tx_frames" && row.packet.sa == 6).get.packet
      val short = good.copy(bytes = good.bytes.take(48))
      def packet(address: Int): LinkPacket = {
        val to = Seq(24, 16, 8, 0).map(at => address >> at & 0xff)
        short.copy(bytes = Packet4.to(short.bytes, to))
      }
      // Inside 100.64.0.0/10, nested and side by side; all else by a default route.
      val inside = Seq
        .fill(1700)(TestPrefix(v6 = false, key(0x64400000 | random.nextInt(1 << 22)), 12 + random.nextInt(21), 0))
        .distinctBy(p => (p.first, p.length))
      val prefixes = (TestPrefix(v6 = false, 0, 0, 0) +: inside).map(_.copy(group = 1 + random.nextInt(hops)))
      val image = PrefixImage.rows(prefixes)
      val leaves = image.nodes.count(_._1 >> PrefixNode.rowBits == PrefixNode.levels - 1)
      assert(leaves > (1 << config.prefixBits) * 3 / 4, "the tree is as good as full")

      def paced(addresses: Seq[Int]): Double = {
        bench.frames.clear()
        bench.frameStarts.clear()
        addresses.foreach(address => bench.fromLink(packet(address)))
        bench.idle(200)
        assert(bench.frames.length == addresses.length)
        pace(bench.frameStarts.toSeq, addresses.length)
      }
      val addresses = Seq.fill(600) {
        val prefix = prefixes(random.nextInt(prefixes.length))
        val near = Seq(prefix.first, prefix.end - 1, prefix.first + BigInt(PrefixNode.keyBits - prefix.length, random))
        ((near(random.nextInt(3)) >> 32).toInt & 0x3fffff) | 0x64400000
      }
      val empty = paced(addresses)
      for (hop <- 1 to hops) {
        val row = NextHopRow.valid.put(1) | NextHopRow.mac.put(InnerSetup.mac(mac(hop)))
        assert(bench.bus.writeRow(InnerTables.nextHop, 20 + hop, row))
        val group = HopGroupRow.valid.put(1) | HopGroupRow.hop0.put(20 + hop)
        assert(bench.bus.writeRow(InnerTables.hopGroup, hop, group))
      }
      for ((index, row) <- image.nodes) assert(bench.bus.writeRow(InnerTables.prefix, index, row))
      for ((index, row) <- image.children) assert(bench.bus.writeRow(InnerTables.prefixChild, index, row))
      for ((index, row) <- image.roots) assert(bench.bus.writeRow(InnerTables.prefixRoot, index, row))
      val before = bench.counters()
      val full = paced(addresses)
      for ((frame, address) <- bench.frames.toSeq.zip(addresses))
        assert(hex(frame.take(6)) == mac(PrefixImage.lookup(prefixes, v6 = false, key(address))), address.toHexString)
      assert(bench.balanced(before).get("tx_frames").contains(addresses.length))
      info(f"$empty%.3f cycles a packet with an empty tree, $full%.3f with ${prefixes.length} prefixes")
      assert(full <= empty * 1.005)
    }
  }
}
