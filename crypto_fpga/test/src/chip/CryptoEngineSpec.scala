// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.{AuditReason, Chip, CommonRegs, CryptoRegs, CryptoTables, RowField}
import sallyport.crypto.noise.NoiseSource

/**
 * The chip's own decisions (keys, numbers, guards, zeroize, counters) around stand-in lanes,
 * driven through AXI4-Lite.
 */
class CryptoEngineSpec extends EngineSpec {

  import EngineModel.config

  subtest("identity, readiness and what is denied before anything is configured") { bench =>
    import bench._
    assert(!ready)
    untilReady()
    assert(software.read(CommonRegs.magic) == 0x534c5950L)
    assert(software.read(CommonRegs.chip) == Chip.crypto)
    assert(software.read(CommonRegs.capabilityLanes) == config.lanes)
    assert(software.read(CommonRegs.capabilitySaBits) == config.saBits)

    // Not enabled.
    assert(exchange(encrypt, Seq(red(1), red(1, bypass = true))).isEmpty)
    assert(exchange(decrypt, Seq(black(1, 7, 1))).isEmpty)
    assert(counts() == Map(
      "red_rx_packets" -> 2,
      "drop_enc_not_ready" -> 2,
      "black_rx_packets" -> 1,
      "drop_dec_not_ready" -> 1
    ))

    // Enabled: no key, bypass denied; each bypass bit opens its own direction alone.
    control()
    assert(exchange(encrypt, Seq(red(1), red(0x4001), red(1, bypass = true))).isEmpty)
    assert(exchange(decrypt, Seq(black(1, 7, 1), black(0xfff1, 7, 1), black(1, 7, 1, bypass = true))).isEmpty)
    assert(counts() == Map(
      "red_rx_packets" -> 3,
      "drop_enc_no_key" -> 2,
      "drop_enc_bypass_denied" -> 1,
      "black_rx_packets" -> 3,
      "drop_dec_no_key" -> 2,
      "drop_dec_bypass_denied" -> 1
    ))
    control(bypassEncrypt = 1)
    val clear = red(300, 1500, bypass = true)
    assert(exchange(encrypt, Seq(clear)) == Seq(clear))
    assert(exchange(decrypt, Seq(black(1, 7, 1, bypass = true))).isEmpty)
    control(bypassDecrypt = 1)
    assert(exchange(encrypt, Seq(clear)).isEmpty)
    val back = black(5, 7, 1, length = 33, bypass = true)
    assert(exchange(decrypt, Seq(back)) == Seq(back))
    counts()

    // Keys go in and never come out.
    outbound(3, keys(0x1003, 0x33).outbound())
    assert(software.readRow(CryptoTables.outboundKey, 3).isEmpty)
    assert(software.readRow(CryptoTables.inboundKey, 3).isEmpty)
    assert((0 until 32).forall(n => software.read(CommonRegs.tableData.offset + 4 * n) == 0))
    assert(!software.writeRow(CryptoTables.outboundKey, 16, 1), "a row beyond the table")
    assert(!software.writeRow(CryptoTables.outboundNumber, 16, 1))
    assert(!software.writeRow(CryptoTables.inboundNumber, 16, 1))
    assert(software.readRow(CryptoTables.inboundNumber, 3).isEmpty)
    assert(!software.writeRow(4, 0, 1), "a table that is not there")
  }

  subtest("a whole frame crosses in clear in a bump in the wire alone") { bench =>
    import bench._
    untilReady()
    def whole(packet: LinkPacket) = packet.copy(meta = packet.meta.copy(transport = true))
    def reds() = Seq(red(1, 60, bypass = true), whole(red(2, 61, bypass = true)))
    def blacks() = Seq(black(1, 7, 1, bypass = true), whole(black(2, 7, 1, bypass = true)))
    control(bypassEncrypt = 1, bypassDecrypt = 1)
    val (out, in) = (reds(), blacks())
    assert(exchange(encrypt, out).map(_.bytes) == Seq(out.head.bytes))
    assert(exchange(decrypt, in).map(_.bytes) == Seq(in.head.bytes))
    val router = counts()
    assert(router("drop_enc_bypass_denied") == 1 && router("drop_dec_bypass_denied") == 1)
    control(bypassEncrypt = 1, bypassDecrypt = 1, bump = 1)
    val (outOfBump, inOfBump) = (reds(), blacks())
    assert(exchange(encrypt, outOfBump).map(_.bytes) == outOfBump.map(_.bytes))
    assert(exchange(decrypt, inOfBump).map(_.bytes) == inOfBump.map(_.bytes))
    // Without the bypass bits a bump lets nothing cross.
    control(bump = 1)
    assert(exchange(encrypt, reds()).isEmpty && exchange(decrypt, blacks()).isEmpty)
    counts()
  }

  subtest("encrypt: numbers, limits, sizes, bypass in its place, a key change between packets") { bench =>
    import bench._
    untilReady()
    control(bypassEncrypt = 1)
    outbound(1, keys(0x1001, 0x11).outbound())
    outbound(2, keys(0x1002, 0x22).outbound(softLimit = 3, hardLimit = 5))

    // Order across lanes, one SA alone, with a bypassed packet between.
    val packets =
      Seq.tabulate(60)(i => red(1, 1 + random.nextInt(300), bypass = i % 9 == 4, delay = random.nextInt(64)))
    var number = 0
    val expected = packets.map { p =>
      if (p.meta.bypass) p
      else { number += 1; LinkPacket(xored(p.bytes, 0x11), p.meta.copy(nextHeader = 0, sequence = number)) }
    }
    assert(exchange(encrypt, packets) == expected)
    assert(counts() == Map("red_rx_packets" -> 60, "black_tx_packets" -> 60))

    // The soft limit, then the hard limit; a neighbour is not touched.
    val limited = Seq(red(2), red(2), red(1), red(2), red(2), red(2), red(2), red(1))
    assert(exchange(encrypt, limited).map(p => (p.meta.sa, p.meta.sequence.toInt)) ==
      Seq((2, 1), (2, 2), (1, number + 1), (2, 3), (2, 4), (2, 5), (1, number + 2)))
    assert(counts() == Map("red_rx_packets" -> 8, "black_tx_packets" -> 7, "drop_enc_sequence_exhausted" -> 1))
    val events = software.read(CryptoRegs.sequenceEvents)
    assert(CryptoRegs.SequenceEvents.softLimit(events) == 1 && CryptoRegs.SequenceEvents.exhausted(events) == 1)
    assert(CryptoRegs.SequenceEvents.sa(events) == 2)
    software.write(CryptoRegs.control, CryptoRegs.Control.enable.put(1) | CryptoRegs.Control.clearSequenceEvents.put(1))
    assert(software.read(CryptoRegs.sequenceEvents) == 0)
    assert(exchange(encrypt, Seq(red(2))).isEmpty)
    outbound(2, keys(0x1002, 0x23).outbound())
    assert(exchange(encrypt, Seq(red(2))).map(_.meta.sequence.toInt) == Seq(1))
    counts()

    // 9546 bytes make an ESP packet of 16 + 9548 + 16 = 9580; one more byte makes it 9584.
    val sizes = Seq(9546, 9547, 9550, 9551, 9600)
    assert(exchange(encrypt, sizes.map(red(1, _))).map(_.bytes.length) == Seq(9546))
    assert(counts() == Map("red_rx_packets" -> 5, "black_tx_packets" -> 1, "drop_enc_oversize" -> 4))

    // A key change under traffic: old key up to a packet, new key from number 1 after it.
    val stream = Seq.fill(300)(red(1, 1 + random.nextInt(400)))
    encrypt.send(stream, hold = true)
    encrypt.release()
    outbound(1, keys(0x1001, 0x77).outbound())
    encrypt.settle()
    val got = encrypt.receive()
    val change = got.indexWhere(_.meta.sequence == 1)
    assert(change > 0 && got.length == stream.length, s"the key changed at packet $change")
    for (((in, out), i) <- stream.zip(got).zipWithIndex)
      assert(out.bytes == xored(in.bytes, if (i < change) 0x11 else 0x77), s"packet $i")
    assert(got.drop(change).map(_.meta.sequence.toInt) == (1 to stream.length - change))
  }

  subtest("encrypt: the inner chip neither moves a number nor writes into the black header what ESP does not need") {
    bench =>
      import bench._
      untilReady()
      control(bypassEncrypt = 1)
      outbound(1, keys(0x1001, 0x11).outbound())
      val packets = Seq.tabulate(200) { i =>
        val packet = red(1, 1 + random.nextInt(300), bypass = i % 9 == 4)
        packet.copy(meta =
          packet.meta.copy(
            df = random.nextBoolean(),
            tos = random.nextInt(256),
            nextHeader = random.nextInt(256),
            moved = random.nextBoolean(),
            peerTag = random.nextInt(256)
          )
        )
      }
      val numbers = Iterator.from(1)
      val expected = packets.map { p =>
        val meta = p.meta.copy(moved = false, peerTag = 0)
        if (meta.bypass) LinkPacket(p.bytes, meta)
        else LinkPacket(xored(p.bytes, 0x11), meta.copy(nextHeader = 0, sequence = numbers.next()))
      }
      assert(exchange(encrypt, packets) == expected)
      counts()
  }

  subtest("encrypt: software reads a sequence counter and raises it under traffic, of which nothing is lost") { bench =>
    import bench._
    untilReady()
    control()
    outbound(1, keys(0x1001, 0x11).outbound())
    outbound(2, keys(0x1002, 0x22).outbound(softLimit = 1000, hardLimit = 2002))
    assert(number(1) == 0)
    def numbers(packets: LinkPacket*) = exchange(encrypt, packets).map(_.meta.sequence.toInt)
    assert(numbers(red(1), red(1), red(2)) == Seq(1, 2, 1) && number(1) == 2 && number(2) == 1)
    raise(1, 500)
    assert(number(1) == 500 && number(2) == 1)
    assert(numbers(red(1), red(2), red(1)) == Seq(501, 2, 502))
    raise(1, 501)
    assert(numbers(red(1)) == Seq(503))

    // A raise over the soft limit is told with the next packet, one over the hard limit ends
    // the SA.
    raise(2, 2000)
    assert(software.read(CryptoRegs.sequenceEvents) == 0)
    assert(numbers(red(2), red(2), red(2)) == Seq(2001, 2002))
    assert(CryptoRegs.SequenceEvents.softLimit(software.read(CryptoRegs.sequenceEvents)) == 1)
    outbound(2, keys(0x1002, 0x23).outbound())
    assert(number(2) == 0, "a new key starts anew")
    counts()

    // Under traffic: the number that is read was given out before; later packets have numbers above
    // the one that is written.
    val stream = Seq.fill(300)(red(1, 1 + random.nextInt(400)))
    encrypt.send(stream, hold = true)
    encrypt.release()
    val seen = number(1)
    raise(1, 1000000)
    encrypt.settle()
    val got = encrypt.receive().map(_.meta.sequence.toInt)
    assert(got.length == stream.length && got == got.sorted && got.distinct == got)
    val jump = got.indexWhere(_ > 1000000)
    assert(jump > 0 && got.take(jump) == (504 until 504 + jump) && got.drop(jump) == (1000001 to 1000000 + 300 - jump))
    assert(seen >= 504 && seen <= got(jump - 1))
    assert(number(1) == got.last)
    assert(counts() == Map("red_rx_packets" -> 300, "black_tx_packets" -> 300))
  }

  subtest("decrypt: SPI, lengths, verdicts and the high half of the sequence number") { bench =>
    import bench._
    untilReady()
    control()
    inbound(1, keys(0x1001, 0x11).inbound)
    // SPIs whose first byte makes the stand-in lane judge.
    for (verdict <- 1 to 4) inbound(4 + verdict, keys(0xe0000000L + (verdict.toLong << 24), 0x50 + verdict).inbound)

    val packets = Seq(
      black(1, 0x1001, 1),
      black(1, 0x1002, 2),
      black(5, 0xe1000000L, 1),
      black(6, 0xe2000000L, 1),
      black(7, 0xe3000000L, 1),
      black(8, 0xe4000000L, 1),
      black(1, 0x1001, 3, length = 35),
      black(1, 0x1001, 3, length = 38),
      black(1, 0x1001, 3, length = 3),
      black(1, 0x1001, 4, length = 36),
      black(1, 0x1001, 5)
    )
    assert(exchange(decrypt, packets) == Seq(packets(0), packets(9), packets(10)).zip(Seq(1, 4, 5)).map { case (p, n) =>
      LinkPacket(xored(p.bytes, 0x11), p.meta.copy(sequence = n))
    })
    assert(counts() == Map(
      "black_rx_packets" -> 11,
      "red_tx_packets" -> 3,
      "drop_dec_no_key" -> 1,
      "drop_dec_icv" -> 1,
      "drop_dec_padding" -> 1,
      "drop_dec_truncated" -> 4,
      "drop_dec_dummy" -> 1
    ))

    // The low half wraps; late packets of the old subspace still find their high half; bad packets
    // do not move it.
    def lows(numbers: Long*) =
      exchange(decrypt, numbers.map(black(1, 0x1001, _)), gap = 60).map(p =>
        (p.meta.sequence >> 32, p.meta.sequence & 0xffffffffL)
      )
    assert(lows(0x7fffff00L, 0xfffffff0L, 0xffffffffL) ==
      Seq((BigInt(0), BigInt(0x7fffff00L)), (BigInt(0), BigInt(0xfffffff0L)), (BigInt(0), BigInt(0xffffffffL))))
    assert(lows(2, 0xfffffff1L, 3).map(_._1) == Seq(1, 0, 1).map(BigInt(_)))
    inbound(1, keys(0x1001, 0x12).inbound)
    assert(lows(2, 3).map(_._1) == Seq(0, 0).map(BigInt(_)), "a new key row starts at 0")

    // Packets of the old key that are verified after the new row was written must not count for the
    // new key.
    val slow = Seq.fill(8)(black(1, 0x1001, 6, length = 2000))
    inbound(1, keys(0x1001, 0x13).inbound)
    dut.io.decrypt.stall.poke(true.B)
    decrypt.send(slow :+ black(1, 0x1001, 0x7fffff00L))
    dut.clock.step(400)
    inbound(1, keys(0x1001, 0x14).inbound)
    dut.io.decrypt.stall.poke(false.B)
    decrypt.settle()
    assert(decrypt.receive().last.meta.sequence == 0x7fffff00L)
    assert(lows(7) == Seq((BigInt(0), BigInt(7))))
    counts()

    // An SA that another box had: numbers go on where they were there, and those of the window
    // below are found. A lower number moves nothing.
    raiseInbound(1, (BigInt(5) << 32) + 9)
    assert(lows(10, 0xfffffff0L, 11).map(_._1) == Seq(5, 4, 5).map(BigInt(_)))
    raiseInbound(1, 3)
    assert(lows(12) == Seq((BigInt(5), BigInt(12))))
    counts()
  }

  subtest("decrypt: an audit event for each packet with a bad ICV, with its cycle, and for no other") { bench =>
    import bench._
    untilReady()
    control(bypassDecrypt = 1)
    for (verdict <- 1 to 4) inbound(verdict, keys(0xe0000000L + (verdict.toLong << 24), 0x50 + verdict).inbound)
    inbound(9, keys(0x1009, 0x19).inbound)
    inbound(10, keys(0xe1000010L, 0x1a).inbound)
    val badIcv = 0xe1000000L
    val fields = CryptoRegs.AuditEvent
    def oldest: BigInt = software.read(CryptoRegs.auditEvent)
    def now: BigInt = software.read(CommonRegs.cyclesHi) << 32 | software.read(CommonRegs.cyclesLo)
    def take(): Seq[(Int, BigInt)] = {
      val end = now
      val events = Iterator.continually(oldest).takeWhile(fields.valid(_) == 1).map { value =>
        assert(fields.reason(value) == AuditReason.decIcv)
        val time = software.read(CryptoRegs.auditTimeHi) << 32 | software.read(CryptoRegs.auditTimeLo)
        assert(time < end)
        val event = (fields.sa(value).toInt, software.read(CryptoRegs.auditSequence), time)
        software.write(CryptoRegs.auditControl, CryptoRegs.AuditControl.pop.put(1))
        event
      }.toSeq
      val times = events.map(_._3)
      assert(times == times.sorted.distinct)
      events.map(event => event._1 -> event._2)
    }
    assert(take().isEmpty)

    // Every verdict of a lane, packets that are dropped without one, a bypassed packet.
    val forged = 0xfffffff1L
    val all = Seq(
      black(9, 0x1009, 7),
      black(1, badIcv, forged),
      black(2, 0xe2000000L, 8),
      black(3, 0xe3000000L, 9),
      black(4, 0xe4000000L, 10),
      black(9, badIcv, 11),
      black(1, badIcv, 12, length = 35),
      black(1, badIcv, 13, bypass = true)
    )
    val before = now
    exchange(decrypt, all)
    assert(fields.valid(oldest) == 1 && software.read(CryptoRegs.auditTimeLo) > before)
    assert(take() == Seq(1 -> forged))

    // A flood of one SA is one event, until that is taken.
    exchange(decrypt, Seq.tabulate(40)(n => black(1, badIcv, 100 + n)))
    assert(fields.lost(oldest) == 0)
    assert(take() == Seq(1 -> 100))
    exchange(decrypt, Seq(black(1, badIcv, 200)))
    assert(take() == Seq(1 -> 200))

    // One of two SAs by turns takes all places. The others are lost, which is said; good packets
    // pass beside them.
    val flood = Seq.tabulate(20)(n => if (n % 2 == 0) black(1, badIcv, 300 + n) else black(10, 0xe1000010L, 300 + n))
    val good = Seq.tabulate(20)(n => black(9, 0x1009, 50 + n))
    val out = exchange(decrypt, flood.zip(good).flatMap { case (bad, fine) => Seq(bad, fine) })
    assert(out.map(_.meta.sequence.toInt) == (50 until 70))
    assert(fields.lost(oldest) == 1)
    assert(take() == Seq.tabulate(EventQueue.entries)(n => (if (n % 2 == 0) 1 else 10) -> BigInt(300 + n)))
    assert(fields.lost(oldest) == 1)
    software.write(CryptoRegs.auditControl, CryptoRegs.AuditControl.clearLost.put(1))
    assert(oldest == 0 || fields.lost(oldest) == 0)
    assert(counts()("drop_dec_icv") == 1 + 40 + 1 + 20)
  }

  subtest("noise: words for software when the tests have passed, none twice, none that was erased") { bench =>
    import bench._
    def noise(field: RowField) = field(software.read(CryptoRegs.noiseStatus))
    val fields = CryptoRegs.NoiseStatus
    untilReady()
    assert(software.read(CryptoRegs.noiseEntropy) == 12)
    assert(noise(fields.good) == 0 && software.read(CryptoRegs.noiseWord) == 0)
    dut.clock.step(4 * (1024 + 32 * NoiseSource.words))
    assert(noise(fields.good) == 1 && noise(fields.words) == NoiseSource.words)
    val word = software.read(CryptoRegs.noiseWord)
    assert(word != 0 && software.read(CryptoRegs.noiseWord) == word)
    software.write(CryptoRegs.noiseControl, CryptoRegs.NoiseControl.pop.put(1))
    assert(noise(fields.words) == NoiseSource.words - 1 && software.read(CryptoRegs.noiseWord) != word)
    dut.io.tamper.poke(true)
    dut.clock.step(10)
    assert(noise(fields.words) == 0 && software.read(CryptoRegs.noiseWord) == 0)
    dut.io.tamper.poke(false)
    software.write(CryptoRegs.noiseControl, CryptoRegs.NoiseControl.restart.put(1))
    assert(noise(fields.good) == 0)
    untilReady()
  }

  subtest("zeroize, by register and by tamper, empties the tables under traffic and accounts for every packet") {
    bench =>
      import bench._
      untilReady()
      var sent = 0
      for (round <- 0 until 4) {
        control()
        for (sa <- 0 until 4) {
          outbound(sa, keys(0x1000 + sa, 0x60 + sa).outbound())
          inbound(sa, keys(0x1000 + sa, 0x70 + sa).inbound)
        }
        val reds = Seq.tabulate(160)(i => red(i % 4, 1 + random.nextInt(800), delay = random.nextInt(64)))
        val blacks = Seq.tabulate(160)(i => black(i % 4, 0x1000 + i % 4, i, 36 + 4 * random.nextInt(200)))
        encrypt.send(reds, hold = true)
        decrypt.send(blacks, hold = true)
        encrypt.release()
        decrypt.release()
        dut.clock.step(150 + 40 * round)
        if (round % 2 == 0)
          software.write(CryptoRegs.control, CryptoRegs.Control.zeroize.put(1) | CryptoRegs.Control.enable.put(1))
        else { dut.io.tamper.poke(true); dut.clock.step(250) }
        assert(!ready)
        if (round % 2 == 1) { dut.io.tamper.poke(false); dut.clock.step(10); assert(!ready) }
        untilReady()
        assert(status(CommonRegs.Status.tamper) == (if (round == 0) 0 else 1))
        control()
        encrypt.settle()
        decrypt.settle()
        for ((player, in, key) <- Seq((encrypt, reds, 0x60), (decrypt, blacks, 0x70))) {
          val candidates = in.map(p => xored(p.bytes, key + p.meta.sa)).iterator
          val got = player.receive()
          assert(got.nonEmpty && got.length < in.length)
          for ((p, i) <- got.zipWithIndex) if (!candidates.contains(p.bytes)) fail(s"packet $i was sent by nobody")
        }
        val changed = counts()
        assert(changed("drop_enc_not_ready") > 0 && changed("drop_dec_not_ready") > 0)
        sent += changed("black_tx_packets")

        // Every key is gone.
        assert(exchange(encrypt, (0 until 4).map(red(_))).isEmpty)
        assert(exchange(decrypt, (0 until 4).map(sa => black(sa, 0x1000 + sa, 1))).isEmpty)
        val after = counts()
        assert(after("drop_enc_no_key") == 4 && after("drop_dec_no_key") == 4)
      }
      assert(sent > 0)
  }
}
