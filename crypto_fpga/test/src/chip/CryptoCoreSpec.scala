// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import sallyport.common.registers.map.CryptoRegs
import sallyport.common.simulation.LongForm
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.LinkMetaValue
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.lane.EspJob
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.{Bytes, SharedModel}

import scala.util.Random

/**
 * The whole chip, real lanes: Bouncy Castle checks the chip's packets, and the chip checks
 * Bouncy Castle's.
 */
class CryptoCoreSpec extends SharedModel[DuplexHarness, CryptoBench] with LongForm {

  private val config = CryptoConfig(saBits = 4)

  override def brief = true

  def bench(dut: DuplexHarness) = new CryptoBench(dut)

  def model = new DuplexHarness(LinkedChip(config)(_))

  private val random = new Random(21)

  /** Both ends of the SAs of this spec: suite, ESN and IV mask differ. */
  private case class Sa(index: Int, keys: SaKeys, ivMask: BigInt) {
    def job(sequence: BigInt, nextHeader: Int = 4): EspJob = EspJob(
      keys.keys,
      keys.icv,
      keys.spi,
      keys.esn,
      sequence.toLong,
      (sequence ^ ivMask).toLong,
      Bytes.random(random, 16).toSeq,
      nextHeader,
      index,
      0
    ).counterIv

    /** The ESP packet that this SA makes of a payload, by Bouncy Castle. */
    def seal(payload: Seq[Byte], sequence: BigInt): Seq[Byte] = job(sequence).seal(job(sequence).text(payload))
  }
  private val sas = Suite.all.zipWithIndex.map { case (suite, i) =>
    val keys = SaKeys(EspKeys.random(random, suite), 0x9000 + i, esn = i % 2 == 0, icv = random.nextInt(3))
    Sa(i + 1, keys, if (i % 3 == 0) BigInt(0) else BigInt(64, random))
  }

  /** The class of a packet's SA; a bypassed packet is fast. Each class keeps its order. */
  private def isFast(packet: LinkPacket): Boolean =
    packet.meta.bypass || Suite.all(packet.meta.sa - 1).fast
  private def byClass(packets: Seq[LinkPacket]): Seq[LinkPacket] = packets.sortBy(isFast)

  private def red(sa: Int, length: Int, bypass: Boolean = false): LinkPacket =
    LinkPacket(
      Bytes.random(random, length).toSeq,
      LinkMetaValue(length, sa, bypass, df = random.nextBoolean(), tos = random.nextInt(256))
    )
  private def black(sa: Int, bytes: Seq[Byte]): LinkPacket =
    LinkPacket(bytes, LinkMetaValue(bytes.length, sa, tos = 2, nextHeader = 0))

  private def check(got: Seq[LinkPacket], want: Seq[LinkPacket], what: String): Unit = {
    for (((g, w), i) <- got.zip(want).zipWithIndex) if (g != w) fail(
      s"$what, packet $i: ${g.meta} instead of ${w.meta}, " +
        s"${Bytes.toHex(g.bytes.take(80).toArray)} instead of ${Bytes.toHex(w.bytes.take(80).toArray)}"
    )
    val count = got.length
    assert(count == want.length, what)
  }

  /** A chip with the keys of every SA in both tables. */
  private def configure(bench: CryptoBench): Unit = {
    bench.untilReady()
    bench.control(bypassEncrypt = 1)
    for (sa <- sas) {
      bench.outbound(sa.index, sa.keys.outbound(sa.ivMask))
      bench.inbound(sa.index, sa.keys.inbound)
    }
  }

  subtest("the self-test finds all lanes right, with every suite") { bench =>
    import bench._
    untilReady()
    val first = software.read(CryptoRegs.selfTestCycles)
    def status = software.read(CryptoRegs.selfTestStatus)
    assert(CryptoRegs.SelfTestStatus.runs(status) == 1)
    software.write(CryptoRegs.selfTestControl, CryptoRegs.SelfTestControl.run.put(1))
    dut.clock.step(4)
    while (CryptoRegs.SelfTestStatus.running(status) == 1) dut.clock.step(100)
    assert(CryptoRegs.SelfTestStatus.runs(status) == 2 && software.read(CryptoRegs.selfTestFailed) == 0)
    val cycles = software.read(CryptoRegs.selfTestCycles)
    info(
      s"${config.lanes} + ${config.lanes} lanes, ${config.suites.length} suites: $first cycles at reset, then $cycles"
    )
    assert(cycles < 40000)
    assert(counts().isEmpty)
  }

  subtest("encrypt: ESP packets of every suite are those that Bouncy Castle makes, and bypass keeps its place") {
    bench =>
      import bench._
      configure(bench)
      val lengths = random.shuffle((1 to 140) ++ Seq(576, 1400, 1482, 1500, 9522))
      val numbers = Array.fill(16)(BigInt(0))
      val (plain, expected) = lengths.zipWithIndex.map { case (length, i) =>
        val in = red(sas(random.nextInt(sas.length)).index, length, bypass = i % 17 == 5)
        if (in.meta.bypass) (in, in)
        else {
          numbers(in.meta.sa) += 1
          val bytes = sas(in.meta.sa - 1).seal(in.bytes, numbers(in.meta.sa))
          (in, LinkPacket(bytes, in.meta.copy(length = bytes.length, nextHeader = 0)))
        }
      }.unzip
      check(byClass(exchange(encrypt, plain, quiet = 22000)), byClass(expected), "encrypt")
      assert(counts() == Map("red_rx_packets" -> plain.length, "black_tx_packets" -> plain.length))
  }

  subtest("decrypt: what Bouncy Castle sealed comes out, and damage is counted by name beside it") { bench =>
    import bench._
    configure(bench)
    val numbers = Array.fill(16)(BigInt(0))
    val good = random.shuffle((1 to 130) ++ Seq(576, 1400, 9522)).map { length =>
      val sa = sas(random.nextInt(sas.length))
      numbers(sa.index) += 1
      val payload = Bytes.random(random, length).toSeq
      val esp = black(sa.index, sa.seal(payload, numbers(sa.index)))
      // What the outer chip says of where the packet came from passes by, for the inner chip.
      val sent = esp.copy(meta = esp.meta.copy(moved = random.nextBoolean(), peerTag = random.nextInt(256)))
      val meta = sent.meta.copy(length = length, nextHeader = 4, sequence = numbers(sa.index))
      (sent, Option(LinkPacket(payload, meta)))
    }

    val one = sas(1)
    def esp(text: EspJob => Seq[Byte], nextHeader: Int = 4): Seq[Byte] = {
      val job = one.job(500, nextHeader)
      job.seal(text(job))
    }
    val payload = Bytes.random(random, 50).toSeq
    val whole = esp(_.text(payload))
    def flip(bytes: Seq[Byte], at: Int): Seq[Byte] = bytes.updated(at, (bytes(at) ^ 1).toByte)
    val damaged = Seq(
      "drop_dec_icv" -> flip(whole, whole.length - 1),
      "drop_dec_icv" -> flip(whole, whole.length - 16),
      "drop_dec_icv" -> flip(whole, 20),
      "drop_dec_icv" -> flip(whole, 12),
      "drop_dec_icv" -> flip(whole, 7),
      "drop_dec_icv" -> whole.take(whole.length - 4),
      "drop_dec_no_key" -> flip(whole, 3),
      "drop_dec_truncated" -> whole.take(whole.length - 1),
      "drop_dec_truncated" -> whole.take(32),
      "drop_dec_truncated" -> whole.take(5),
      "drop_dec_truncated" -> esp(_.text(payload.take(6), padLength = Some(200))),
      "drop_dec_padding" -> esp(_.text(payload.take(47), padding = Some(Seq[Byte](1, 2, 4)))),
      "drop_dec_dummy" -> esp(_.text(payload), nextHeader = 59)
    )
    val mixed = interleave(good, damaged.map { case (_, bytes) => (black(one.index, bytes), None) })
    check(byClass(exchange(decrypt, mixed.map(_._1), quiet = 22000)), byClass(mixed.flatMap(_._2)), "decrypt")
    val names = damaged.groupBy(_._1).map { case (name, all) => name -> all.length }
    assert(counts() == names ++ Map("black_rx_packets" -> mixed.length, "red_tx_packets" -> good.length))

    // A next header that is not tunnel IPv4 goes on: the inner chip judges it.
    val other = exchange(decrypt, Seq(black(one.index, esp(_.text(payload), nextHeader = 41))))
    assert(other.map(p => (p.bytes, p.meta.nextHeader)) == Seq((payload, 41)))
  }

  subtest("decrypt: the high half of the sequence number, which only the ICV sees") { bench =>
    import bench._
    configure(bench)
    val sa = sas(0)
    val subspace = BigInt(1) << 32
    val payload = Bytes.random(random, 40).toSeq
    def opened(numbers: BigInt*): Seq[BigInt] =
      numbers.flatMap(n => exchange(decrypt, Seq(black(sa.index, sa.seal(payload, n)))).map(_.meta.sequence))

    val walk = Seq[BigInt](subspace / 2, subspace - 2, subspace + 1, subspace - 1, subspace * 3 / 2, subspace * 2 + 5)
    assert(opened(walk: _*) == walk)
    // A number too far ahead is not authentic, and a packet that is not authentic does not move
    // the inference.
    assert(opened(subspace * 9, subspace * 2 + 6) == Seq(subspace * 2 + 6))
    assert(counts().filter(_._1.startsWith("drop")) == Map("drop_dec_icv" -> 1))
  }

  subtest("rate and latency at 64 and 1400 B are those of 100 Gb/s") { bench =>
    import bench._
    configure(bench)
    val sa = sas(1)
    var number = 0
    for (length <- Seq(46, 1382); (name, player) <- Seq("encrypt" -> encrypt, "decrypt" -> decrypt)) {
      def packet(): LinkPacket =
        if (name == "encrypt") red(sa.index, length)
        else { number += 1; black(sa.index, sa.seal(Bytes.random(random, length).toSeq, number)) }
      val many = Seq.fill(if (length < 100) 400 else 80)(packet())
      player.send(many, hold = true)
      player.release()
      player.settle(600)
      val times = player.receiveTimed().map(_._2)
      val count = times.length
      assert(count == many.length)
      val window = times.drop(count / 4)
      val cycles = (window.last - window.head).toDouble / (window.length - 1)
      player.send(Seq(packet()))
      player.settle(600)
      val alone = player.receiveTimed().head._2 - player.offeredAt(player.sentPackets - 1)
      info(f"$name, $length B: $cycles%.2f cycles a packet; $alone cycles through chip and two links of 41 cycles")
      assert(cycles <= (if (length < 100) 3.31 else 35.4), s"$name of $length bytes: too slow for 100 Gb/s at 300 MHz")
    }
  }

  private def interleave[T](many: Seq[T], few: Seq[T]): Seq[T] = {
    val every = many.length / (few.length + 1)
    many.grouped(every).toSeq.zipAll(few.map(Seq(_)), Nil, Nil).flatMap { case (a, b) => a ++ b }
  }
}
