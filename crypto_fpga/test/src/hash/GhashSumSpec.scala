// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3.simulator.PeekPokeAPI
import sallyport.crypto.support.{Bytes, Gcm, SharedModel}

import javax.crypto.Cipher
import javax.crypto.spec.SecretKeySpec
import scala.collection.mutable
import scala.util.Random

/** A packet of whole blocks, the hash key, E(K, J0) and the tag that must come out. */
case class GhashPacket(h: Array[Byte], blocks: Seq[Array[Byte]], seal: Array[Byte], tag: Array[Byte])

object GhashPacket {
  def random(random: Random, blocks: Int): GhashPacket = {
    val (h, seal) = (Bytes.random(random, 16), Bytes.random(random, 16))
    val text = Seq.fill(blocks)(Bytes.random(random, 16))
    GhashPacket(h, text, seal, Ghash.xor(Ghash.hash(h, text), seal))
  }
}

class GhashSumBench(dut: GhashSum) extends PeekPokeAPI {
  private val expected = mutable.Queue.empty[(Int, Int, String)]
  private var cycle = 0
  private val slots = 1 << dut.io.in.bits.slot.getWidth

  quiet()
  dut.io.wipe.poke(false)
  dut.reset.poke(true)
  dut.clock.step()
  dut.reset.poke(false)

  private def quiet(): Unit = {
    dut.io.load.valid.poke(false)
    dut.io.in.valid.poke(false)
    dut.io.seal.valid.poke(false)
  }

  /** Ends a cycle, and checks that a tag comes out exactly when it should and is the right one. */
  private def step(): Unit = {
    dut.clock.step()
    cycle += 1
    quiet()
    val due = expected.headOption.exists(_._1 == cycle)
    assert((dut.io.done.valid.peekValue().asBigInt == 1) == due, s"done in cycle $cycle")
    if (due) {
      val (_, slot, tag) = expected.dequeue()
      dut.io.done.bits.slot.expect(slot)
      assert(Bytes.toHex(Bytes.fromBigInt(dut.io.done.bits.block.peekValue().asBigInt, 16)) == tag, s"cycle $cycle")
    }
  }

  def drain(): Unit = while (expected.nonEmpty) step()

  def load(slot: Int, h: Array[Byte]): Unit = {
    dut.io.load.valid.poke(true)
    dut.io.load.bits.slot.poke(slot)
    dut.io.load.bits.powers.poke(Bytes.toBigInt(Ghash.powers(h)))
  }

  private def seal(slot: Int, block: Array[Byte]): Unit = {
    dut.io.seal.valid.poke(true)
    dut.io.seal.bits.slot.poke(slot)
    dut.io.seal.bits.block.poke(Bytes.toBigInt(block))
  }

  private def put(slot: Int, number: Int, left: Int, block: Array[Byte]): Unit = {
    dut.io.in.valid.poke(true)
    dut.io.in.bits.slot.poke(slot)
    dut.io.in.bits.chain.poke(number % 4)
    dut.io.in.bits.opens.poke(number < 4)
    dut.io.in.bits.left.poke(left.min(5))
    dut.io.in.bits.block.poke(Bytes.toBigInt(block))
  }

  private class Flight(val slot: Int, val packet: GhashPacket) {
    var sent = 0
    var isSealed = false

    /** From when on blocks may come; after the last one, from when on the slot is free. */
    var ready: Int = cycle + 1
    def left: Int = packet.blocks.size - sent
  }

  /**
   * Runs packets, up to `inFlight` at a time in slots that others used before, a block in `rate` of
   * 8 cycles.
   *
   * @return
   *   the cycles from the first to after the last block
   */
  def run(packets: Seq[GhashPacket], inFlight: Int, rate: Int, random: Random): Int = {
    val waiting = mutable.Queue.from(packets)
    val flights = mutable.ArrayBuffer.empty[Flight]
    var start = Option.empty[Int]
    var end = cycle
    while (waiting.nonEmpty || flights.exists(_.left > 0)) {
      flights.filterInPlace(f => f.left > 0 || cycle < f.ready)
      if (waiting.nonEmpty && flights.size < inFlight) {
        val slot = random.shuffle((0 until slots).filterNot(s => flights.exists(_.slot == s)).toList).head
        flights += new Flight(slot, waiting.dequeue())
        load(slot, flights.last.packet.h)
      }
      // E(K, J0) comes with the last block if it did not come before.
      val urgent = flights.filter(f => !f.isSealed && f.left > 0).minByOption(_.left)
      val able = flights.filter(f => f.left > 0 && cycle >= f.ready && (f.left > 1 || f.isSealed || urgent.contains(f)))
      if (able.nonEmpty && random.nextInt(8) < rate) {
        val flight = able(random.nextInt(able.size))
        put(flight.slot, flight.sent, flight.left, flight.packet.blocks(flight.sent))
        flight.sent += 1
        if (flight.left == 0) {
          flight.ready = cycle + GhashSum.latency
          expected += ((flight.ready, flight.slot, Bytes.toHex(flight.packet.tag)))
        }
        start = start.orElse(Some(cycle))
        end = cycle + 1
      }
      for (flight <- urgent if flight.left == 0 || random.nextInt(8) < rate) {
        seal(flight.slot, flight.packet.seal)
        flight.isSealed = true
      }
      step()
    }
    drain()
    end - start.get
  }

  private def wipe(): Unit = {
    dut.io.wipe.poke(true)
    for (_ <- 0 until slots.max(GhashSum.latency)) step()
    dut.io.wipe.poke(false)
  }

  /**
   * Wipes after traffic, and shows that every chain, sum and E(K, J0), then that every power
   * is gone.
   */
  def wipeAndLook(random: Random): Unit = {
    wipe()
    for (slot <- 0 until slots) {
      load(slot, Bytes.fromBigInt(0x80, 16)) // H = 1
      step()
      var sum = new Array[Byte](16)
      for (chain <- 0 until 4) {
        // Blocks that go on with what the chain and the sum hold.
        val block = Bytes.random(random, 16)
        sum = Ghash.xor(sum, block)
        put(slot, 4 + chain, 1, block)
        expected += ((cycle + GhashSum.latency, slot, Bytes.toHex(sum)))
        step()
      }
      drain()
    }
    wipe()
    for (slot <- 0 until slots; number <- 0 until 4) {
      put(slot, number, 4 - number, Bytes.random(random, 16))
      if (number == 3) expected += ((cycle + GhashSum.latency, slot, "00" * 16))
      step()
    }
    drain()
  }
}

class GhashSumSpec extends SharedModel[GhashSum, GhashSumBench] {
  def model = new GhashSum(16)
  def bench(dut: GhashSum) = new GhashSumBench(dut)

  subtest("packets of 1 to 40 blocks in mixed slots with gaps have the GHASH of the standard") { bench =>
    val random = new Random(1)
    for ((inFlight, rate) <- Seq((1, 4), (3, 6), (8, 3), (16, 7)))
      bench.run(random.shuffle((1 to 40).toList).map(GhashPacket.random(random, _)), inFlight, rate, random)
  }

  subtest("one packet alone brings a block every cycle, and so do many") { bench =>
    val random = new Random(2)
    for (blocks <- Seq(1, 2, 3, 4, 5, 6, 7, 8, 9, 40))
      assert(bench.run(Seq(GhashPacket.random(random, blocks)), 1, 8, random) == blocks)
    val packets = Seq.fill(60)(GhashPacket.random(random, random.between(5, 20)))
    assert(bench.run(packets, 16, 8, random) == packets.map(_.blocks.size).sum)
  }

  private def aes(key: Array[Byte], block: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"))
    cipher.doFinal(block)
  }

  subtest("tags are those of the JVM's AES-GCM") { bench =>
    val random = new Random(3)
    val packets = Seq.tabulate(40) { i =>
      val key = Bytes.random(random, if (i % 2 == 0) 16 else 32)
      val nonce = Bytes.random(random, 12)
      val aad = Bytes.random(random, Seq(0, 8, 12, 20, 32)(i % 5))
      val text = Bytes.random(random, random.nextInt(500))
      val (cipher, tag) = Gcm.encrypt(key, nonce, aad, text).splitAt(text.length)
      def padded(bytes: Array[Byte]) = bytes.grouped(16).map(_.padTo(16, 0.toByte)).toSeq
      val lengths = Seq(aad, text).flatMap(part => Bytes.fromBigInt(8 * part.length, 8).reverse).toArray
      GhashPacket(
        Gcm.hashKey(key),
        padded(aad) ++ padded(cipher) :+ lengths,
        aes(key, nonce ++ Bytes.fromHex("00000001")),
        tag
      )
    }
    bench.run(packets, 12, 6, random)
  }

  subtest("a wipe leaves nothing of keys and packets") { bench =>
    val random = new Random(4)
    bench.run(Seq.fill(64)(GhashPacket.random(random, random.between(1, 12))), 16, 8, random)
    bench.wipeAndLook(random)
    bench.run(Seq.fill(20)(GhashPacket.random(random, random.between(1, 12))), 16, 8, random)
  }
}
