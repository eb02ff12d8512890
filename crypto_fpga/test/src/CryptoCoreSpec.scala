package sallyport.crypto

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common._
import sallyport.common.regs._

import scala.util.Random

/** The whole chip, real lanes: what it makes is checked and unmade by the JVM's AES-GCM, and the other way round. */
class CryptoCoreSpec extends AnyFunSuite with ChiselSim {

  private val config = CryptoConfig(saBits = 4)

  /** The chip between two ends of links as its neighbours have them, over channels of four lanes and 41 cycles. */
  private def harness = new DuplexHarness(chip => {
    val core = Module(new CryptoCore(config))
    val inner = Module(new Link(LinkParams(withSequenceRx = true, bufferBeats = config.linkBeats)))
    val outer = Module(new Link(LinkParams(bufferBeats = config.linkBeats)))
    for ((near, far) <- Seq(core.io.linkRed -> inner.io.port, core.io.linkBlack -> outer.io.port)) {
      for ((from, to) <- Seq(near -> far, far -> near)) {
        val channel = Module(new LinkChannel(41, 0))
        channel.io.control := 0.U.asTypeOf(new ChannelControl)
        channel.io.control.rate := 166.U
        channel.io.control.up := true.B
        channel.io.in <> from.tx
        to.rx := channel.io.out
        to.up := true.B
      }
    }
    inner.io.in <> chip.redRx
    outer.io.in <> chip.blackRx
    chip.redTx <> inner.io.out
    chip.blackTx <> outer.io.out
    core.io.axil <> chip.axil
    core.io.tamper := chip.tamper
    chip.ready := core.io.ready
  })

  private val random = new Random(21)

  /** Both ends of the SAs of this spec: suite, ESN and IV mask differ. */
  private case class Sa(index: Int, keys: SaKeys, ivMask: BigInt) {
    def job(sequence: BigInt, nextHeader: Int = 4): EspJob = EspJob(
      keys.key.toArray,
      keys.salt.toArray,
      keys.spi,
      keys.esn,
      sequence.toLong,
      (sequence ^ ivMask).toLong,
      nextHeader,
      index,
      0
    )

    /** The ESP packet that this SA makes of a payload: RFC 4303, RFC 4106, AES-GCM by the JVM. */
    def seal(payload: Seq[Byte], sequence: BigInt): Seq[Byte] = job(sequence).seal(job(sequence).text(payload))
  }
  private val sas =
    Seq((16, false, BigInt(0)), (32, true, BigInt(0)), (32, false, BigInt(64, random)), (16, true, BigInt(64, random)))
      .zipWithIndex.map { case ((size, esn, mask), i) =>
        Sa(i + 1, SaKeys(Bytes.random(random, size).toSeq, Bytes.random(random, 4).toSeq, 0x9000 + i, esn), mask)
      }

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

  test("ESP as the JVM makes it, both ways; damage is counted by name beside traffic that passes; rates") {
    simulate(harness) { dut =>
      val bench = new CryptoBench(dut)
      import bench._
      untilReady()
      control(bypassEncrypt = 1)
      for (sa <- sas) {
        outbound(sa.index, sa.keys.outbound(sa.ivMask))
        inbound(sa.index, sa.keys.inbound)
      }

      // Encrypt.
      val lengths = random.shuffle((1 to 140) ++ Seq(576, 1400, 1482, 1500, 9546))
      val plain = lengths.zipWithIndex.map { case (length, i) =>
        red(sas(random.nextInt(4)).index, length, bypass = i % 17 == 5)
      }
      val numbers = Array.fill(16)(BigInt(0))
      val sealedPackets = plain.map { p =>
        if (p.meta.bypass) p
        else {
          numbers(p.meta.sa) += 1
          val bytes = sas(p.meta.sa - 1).seal(p.bytes, numbers(p.meta.sa))
          LinkPacket(bytes, p.meta.copy(length = bytes.length))
        }
      }
      check(exchange(encrypt, plain), sealedPackets, "encrypt")

      // Decrypt what the other end would get, with damage in between.
      val numbersIn = Array.fill(16)(BigInt(0))
      val good = plain.zip(sealedPackets).filterNot(_._1.meta.bypass).map { case (p, s) =>
        numbersIn(p.meta.sa) += 1
        val opened = LinkMetaValue(p.bytes.length, p.meta.sa, tos = 2, nextHeader = 4, sequence = numbersIn(p.meta.sa))
        (black(p.meta.sa, s.bytes), LinkPacket(p.bytes, opened))
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
        "drop_dec_no_key" -> flip(whole, 3),
        "drop_dec_truncated" -> whole.take(whole.length - 1),
        "drop_dec_truncated" -> whole.take(32),
        "drop_dec_truncated" -> whole.take(5),
        "drop_dec_icv" -> whole.take(whole.length - 4),
        "drop_dec_padding" -> esp(_.text(payload.take(47), padding = Some(Seq[Byte](1, 2, 4)))),
        "drop_dec_truncated" -> esp(_.text(payload.take(6), padLength = Some(200))),
        "drop_dec_dummy" -> esp(_.text(payload), nextHeader = 59)
      )
      val mixed = good.flatMap { case (in, out) => Seq((in, Some(out), "")) } ++
        damaged.map { case (name, bytes) => (black(one.index, bytes), None, name) }
      val shuffled = interleave(mixed.filter(_._2.isDefined), mixed.filter(_._2.isEmpty))
      counts()
      check(exchange(decrypt, shuffled.map(_._1)), shuffled.flatMap(_._2), "decrypt")
      val expected = damaged.groupBy(_._1).map { case (name, all) => name -> all.length }
      assert(counts() == expected ++ Map("black_rx_packets" -> shuffled.length, "red_tx_packets" -> good.length))

      // A next header that is not tunnel IPv4 goes on with its number: the inner chip judges it.
      val other = exchange(decrypt, Seq(black(one.index, esp(_.text(payload), nextHeader = 41))))
      assert(other.map(p => (p.bytes, p.meta.nextHeader)) == Seq((payload, 41)))

      // The high half of the number, which only the ICV sees.
      val subspace = BigInt(1) << 32
      val late = Seq[BigInt](
        subspace / 2,
        subspace - 2,
        subspace + 1,
        subspace - 1,
        subspace + 2,
        subspace * 3 / 2,
        subspace * 2 + 5
      )
      val around = late.flatMap(n => exchange(decrypt, Seq(black(one.index, one.seal(payload, n)))))
      assert(around.map(_.meta.sequence) == late)

      // A packet from a higher subspace than the inference allows is not authentic, and does not move the inference.
      assert(exchange(decrypt, Seq(black(one.index, one.seal(payload, subspace * 9)))).isEmpty)
      assert(exchange(decrypt, Seq(black(one.index, one.seal(payload, subspace * 2 + 6)))).length == 1)
      counts()

      for (length <- Seq(46, 1382)) for ((name, player) <- Seq("encrypt" -> encrypt, "decrypt" -> decrypt)) {
        val sa = sas(1)
        def packet(i: Int) =
          if (name == "encrypt") red(sa.index, length)
          else black(sa.index, sa.seal(Bytes.random(random, length).toSeq, subspace * 2 + 100 + i))
        val many = Seq.tabulate(if (length < 100) 400 else 80)(packet)
        player.receive()
        player.send(many, hold = true)
        player.release()
        player.settle()
        val times = player.receiveTimed().map(_._2)
        assert(times.length == many.length)
        val window = times.drop(times.length / 4)
        val cycles = (window.last - window.head).toDouble / (window.length - 1)
        player.send(Seq(packet(1000)))
        player.settle()
        val alone = player.receiveTimed().head._2 - player.offeredAt(player.sentPackets - 1)
        info(
          f"$name, $length B inside: $cycles%.2f cycles a packet, $alone cycles through an idle chip and two links (41 cycles each)"
        )
        assert(
          cycles <= (if (length < 100) 3.31 else 35.4),
          s"$name of $length bytes: too slow for 100 Gb/s at 300 MHz"
        )
      }
    }
  }

  private def interleave[T](many: Seq[T], few: Seq[T]): Seq[T] = {
    val every = many.length / (few.length + 1)
    many.grouped(every).toSeq.zipAll(few.map(Seq(_)), Nil, Nil).flatMap { case (a, b) => a ++ b }
  }
}
