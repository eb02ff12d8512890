// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import chisel3._
import chisel3.simulator.PeekPokeAPI
import sallyport.common.stream.Packet
import sallyport.crypto.chip.{CryptoSoftware, LinkPacket}
import sallyport.crypto.dispatch.LinkMetaValue
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.suite.Suite

import scala.util.Random

/**
 * Software around a [[NonceHarness]]: writes rows under traffic, each with a new key, reads and
 * raises counters, switches bypass and the chip on and off, erases all keys at times, and has every
 * packet that leaves judged.
 */
class NonceRun(dut: NonceHarness, suites: Seq[Suite], saBits: Int, random: Random) extends PeekPokeAPI {
  val chip = new CryptoSoftware(dut.io.axil, dut.clock)
  val judge = new NonceJudge
  var bypassed = 0

  private val rows = 1 << saBits
  private var read = 0L
  private var beats = Vector.empty[BigInt]

  chip.software.idle()
  dut.io.enable.poke(false)
  dut.io.read.poke(0)
  dut.io.address.poke(0)
  // One word in 500 or so.
  dut.io.faults.poke((1L << 32) / 500)
  dut.io.seed.poke(random.nextInt(Int.MaxValue))
  dut.reset.poke(true)
  dut.clock.step(2)
  dut.reset.poke(false)
  untilReady()
  dut.clock.step(1000)
  writeAll()
  chip.control(bypassEncrypt = 1)
  dut.io.enable.poke(true)

  def sent: Long = dut.io.sent.peek().litValue.toLong
  def forged: Long = dut.io.forged.peek().litValue.toLong
  def damaged: Long = dut.io.damaged.peek().litValue.toLong

  /** Some traffic, and something that software does meanwhile. */
  def round(): Unit = {
    dut.clock.step(1 + random.nextInt(600))
    random.nextInt(16) match {
      case 0 => chip.control(bypassEncrypt = 0)
      case 1 | 2 => chip.control(bypassEncrypt = 1, bypassDecrypt = random.nextInt(2))
      case 3 =>
        chip.control(enable = 0)
        dut.clock.step(random.nextInt(100))
        chip.control()
      case 4 => chip.outbound(random.nextInt(rows), 0)
      case 5 if random.nextInt(2) == 0 =>
        chip.control(bypassEncrypt = 1, zeroize = 1)
        untilReady()
        writeAll()
      case 6 | 7 => raise(random.nextInt(rows - 2))
      case _ => write(random.nextInt(rows - 2))
    }
    drain()
  }

  /** No more traffic; everything that is inside comes out. */
  def end(): Unit = {
    dut.io.enable.poke(false)
    var before = -1L
    while (read != before) {
      before = read
      dut.clock.step(3000)
      drain()
    }
    assert(beats.isEmpty, "half a packet")
  }

  private def untilReady(): Unit = while (!dut.io.ready.peek().litToBoolean) dut.clock.step(16)
  private def suite(): Suite = suites(random.nextInt(suites.length))

  /** Rows of both tables, but for a few; inbound ones are for junk to be tried against. */
  private def writeAll(): Unit = {
    (0 until rows - 2).foreach(write)
    for (sa <- 0 until rows / 2)
      chip.inbound(sa, SaKeys(EspKeys.random(random, suite()), NonceHarness.inboundSpi + sa).inbound)
  }

  /** Half of an SA's rows keep its SPI, so that only the ICV tells old from new. */
  private def write(sa: Int): Unit = {
    val spi = if (random.nextBoolean()) 0x1000L + sa else random.nextInt() & 0xffffffffL
    // Often so low that it is met exactly, before a raise can pass it.
    val hard = if (random.nextBoolean()) 1 + random.nextInt(1 << random.nextInt(12)) else 0
    val nodeBits = if (random.nextBoolean()) random.nextInt(8) else 0
    val generation = Generation(
      SaKeys(EspKeys.random(random, suite()), spi, esn = random.nextBoolean()),
      if (random.nextBoolean()) BigInt(64, random) else 0,
      softLimit = random.nextInt(200),
      hardLimit = hard,
      nodeBits,
      node = random.nextInt(1 << nodeBits)
    )
    judge.writes(sa, generation)
    chip.outbound(sa, generation.row)
  }

  /** Raises a counter, or tries to lower it: no packet may have a number again. */
  private def raise(sa: Int): Unit = {
    val before = chip.number(sa)
    val number = (before + random.nextInt(600) - 100).max(0)
    chip.raise(sa, number)
    assert(chip.number(sa) >= before.max(number), s"SA $sa, at $before, was raised to $number")
  }

  private def drain(): Unit = {
    val until = dut.io.recorded.peek().litValue.toLong
    for (i <- read until until) {
      dut.io.address.poke(i)
      beats :+= dut.io.beat.peek().litValue
      // The bit above the byte count and `error` is `last`.
      if ((beats.last >> LinkMetaValue.width).testBit(8)) {
        for (p <- Packet.fromBeats(beats, LinkMetaValue.width)) {
          val packet = LinkPacket(p.bytes, LinkMetaValue(p.meta))
          if (packet.meta.bypass) bypassed += 1 else judge.judge(packet)
        }
        beats = Vector.empty
      }
    }
    read = until
    dut.io.read.poke(until)
  }
}
