// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.scaling

import chisel3.simulator.PeekPokeAPI
import sallyport.common.crossing.SlrStage
import sallyport.common.registers.map.CryptoCounters
import sallyport.crypto.chip.{CryptoSoftware, LinkPacket, LinkedChip}
import sallyport.crypto.dispatch.LinkMetaValue
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.lane.EspJob
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.Bytes

import scala.util.Random

/**
 * Cycles a packet that a chip needs in steady state, and those that the fuller of its two links
 * would need alone.
 */
case class PacketCycles(packet: Double, link: Double)

/**
 * Measures a [[LoopHarness]]: one SA of `suite` each way, both directions at once, as many packets
 * as the chip takes.
 *
 * A trial resets the chip. It fails if any packet is lost.
 */
class ScalingTrial(dut: LoopHarness) extends PeekPokeAPI {
  private val chip = new CryptoSoftware(dut.io.axil, dut.clock)
  private val random = new Random(33)
  private val sa = 1

  /** Paces of (encrypt, decrypt) with inner packets of `length` bytes. */
  def apply(suite: Suite, length: Int): (PacketCycles, PacketCycles) = {
    val keys = SaKeys(EspKeys.random(random, suite), 0x5ca1e)
    val plain = LinkPacket(Bytes.random(random, length).toSeq, LinkMetaValue(length, sa))
    // The chip has no replay window, so the same sealed packets are as good the next time.
    val encrypted = (1 to 4).map { number =>
      val job =
        EspJob(keys.keys, keys.icv, keys.spi, keys.esn, number, number, Bytes.random(random, 16).toSeq, 4, sa, 0)
      val bytes = job.seal(job.text(plain.bytes))
      LinkPacket(bytes, LinkMetaValue(bytes.length, sa, nextHeader = 0))
    }
    start(keys)
    val players = Seq(
      new LoopPlayer(dut.io.encrypt, dut.clock) -> Seq(plain),
      new LoopPlayer(dut.io.decrypt, dut.clock) -> encrypted
    ).map { case (player, packets) =>
      player.idle()
      player.load(packets)
      player
    }
    players.foreach(_.run())
    // Until every slot is taken and the first packets of each lane are gone: a packet of a chained
    // suite is some three cycles a byte.
    dut.clock.step(ScalingTrial.settle(length))
    val before = players.map(_.packets)
    val cycles = ScalingTrial.window(length)
    dut.clock.step(cycles)
    val paces = players.zip(before).map { case (player, count) => cycles.toDouble / (player.packets - count) }
    for (counter <- CryptoCounters.all if counter.kind == "drop" || counter.kind == "lost") {
      val count = chip.software.counter(counter.index)
      assert(count == 0, s"${suite.name}, $length B: $count packets in ${counter.name}")
    }
    val black = ScalingTrial.linkCycles(encrypted.head.bytes.length, withSequence = false)
    val red = (sequence: Boolean) => ScalingTrial.linkCycles(length, sequence)
    (PacketCycles(paces(0), red(false).max(black)), PacketCycles(paces(1), red(true).max(black)))
  }

  private def start(keys: SaKeys): Unit = {
    Seq(dut.io.encrypt, dut.io.decrypt).foreach(new LoopPlayer(_, dut.clock).idle())
    chip.software.idle()
    dut.reset.poke(true)
    dut.clock.step(2 * SlrStage.stages + 2) // the registers of a way to a lane have no reset
    dut.reset.poke(false)
    while (!dut.io.ready.peek().litToBoolean) dut.clock.step(16)
    dut.clock.step(500)
    chip.control()
    chip.outbound(sa, keys.outbound())
    chip.inbound(sa, keys.inbound)
  }
}

object ScalingTrial {
  def settle(length: Int): Int = 3000 + 6 * length
  def window(length: Int): Int = 6000 + 10 * length

  /**
   * Cycles of the link a packet: header, sequence number and payload in units of 8 bytes, and no
   * two headers in a word (docs/reference/link.md).
   */
  def linkCycles(length: Int, withSequence: Boolean): Double = {
    val units = 2 + (if (withSequence) 1 else 0) + (length + 7) / 8
    (units / 8.0).max(1) * 256 / LinkedChip.rate
  }
}
