// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.OutboundNumberRow
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.TablePort
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.suite.Suite

import scala.util.Random

/** The last of the 2^32-1 numbers that an SA without ESN has, at the full width of the hardware. */
class ExhaustionSpec extends AnyFunSuite with CompiledOnce {

  private val suite = Suite.named("aes128gcm16")
  private val most = (1L << 32) - 1

  test("without ESN the counter stops at 2^32-1 for good, whatever the limit of the row, until a new key is written") {
    simulate(new ExhaustionHarness(suite)) { dut =>
      val random = new Random(9)
      var packets = 0L

      def read(x: UInt): Long = x.peek().litValue.toLong
      def send(count: Long): Unit = {
        packets += count
        dut.io.packets.poke(packets)
        dut.clock.step((2 * count + 40).toInt)
        assert(read(dut.io.granted) + read(dut.io.refused) == packets, "a packet every 2 cycles")
      }
      def writeRow(table: TablePort, row: BigInt): Unit = {
        table.request.bits.write.poke(true)
        table.request.bits.table.poke(0)
        table.request.bits.index.poke(0)
        table.request.bits.row.poke(row)
        table.request.valid.poke(true)
        while (!table.request.ready.peek().litToBoolean) dut.clock.step()
        dut.clock.step()
        table.request.valid.poke(false)
        while (!table.response.valid.peek().litToBoolean) dut.clock.step()
        dut.clock.step()
      }
      def write(): Unit =
        writeRow(dut.io.table, SaKeys(EspKeys.random(random, suite), 0x1000).outbound(hardLimit = BigInt(1) << 40))
      def raise(number: Long): Unit = writeRow(dut.io.numbers, OutboundNumberRow.last.put(number))

      dut.io.packets.poke(0)
      dut.io.table.request.valid.poke(false)
      dut.io.numbers.request.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step(2)
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()

      write()
      send(70000)
      assert(read(dut.io.last) == 70000)
      raise(most - 1000)
      send(999)
      assert(read(dut.io.last) == most - 1 && read(dut.io.refused) == 0)
      send(1)
      assert(read(dut.io.last) == most)
      send(1000)
      raise(most)
      send(1000)
      assert(read(dut.io.last) == most && read(dut.io.refused) == 2000)

      write()
      send(3)
      assert(read(dut.io.last) == 3 && read(dut.io.wrong) == 0)
    }
  }
}
