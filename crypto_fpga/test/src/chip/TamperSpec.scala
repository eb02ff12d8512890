// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import sallyport.common.registers.map.{CommonRegs, CryptoRegs, CryptoTables, TableCommand}

/** What software began or enabled before a tamper pulse or a zeroize has no effect after it. */
class TamperSpec extends EngineSpec {

  private val words = 0 until CommonRegs.tableData.count

  private def erasures(bench: EngineBench): Seq[(String, () => Unit)] =
    Seq("tamper" -> (() => bench.pulse()), "zeroize" -> (() => bench.control(zeroize = 1)))

  subtest("a key row that an erasure cuts in two is refused, until it is begun anew") { bench =>
    import bench._
    untilReady()
    val row = keys(0x1001, 0x11).outbound()
    for ((name, erase) <- erasures(bench); cut <- Seq(1, 8, 31)) {
      val clue = s"$name before word $cut"
      software.writeWords(row, words.take(cut))
      erase()
      untilReady()
      software.writeWords(row, words.drop(cut))
      assert(!software.command(CryptoTables.outboundKey, 1, TableCommand.write), clue)
      assert(!software.command(CryptoTables.outboundKey, 1, TableCommand.write), s"$clue: again")
      control()
      assert(exchange(encrypt, Seq(red(1))).isEmpty, clue)
      assert(counts() == Map("red_rx_packets" -> 1, "drop_enc_no_key" -> 1), clue)

      val plain = red(1)
      outbound(1, row)
      assert(exchange(encrypt, Seq(plain)).map(_.bytes) == Seq(xored(plain.bytes, 0x11)), clue)
      counts()
    }
  }

  subtest("a write during an erasure fails, or has no effect") { bench =>
    import bench._
    untilReady()
    for (delay <- 0 until 40) {
      software.writeWords(keys(0x1001, 0x11).outbound(), words)
      software.startCommand(CryptoTables.outboundKey, 1, TableCommand.write)
      dut.clock.step(delay)
      pulse()
      val good = software.endCommand()
      assert(!good || delay > 0, "the pulse came before the row was written")
      untilReady()
      control()
      assert(exchange(encrypt, Seq(red(1)), quiet = 100).isEmpty, s"a pulse $delay cycles behind the command")
    }
  }

  private def enables(bench: EngineBench): BigInt = bench.software.read(CryptoRegs.control)

  subtest("CONTROL's enables end with the keys") { bench =>
    import bench._
    untilReady()
    def ordered(): Unit = control(bypassEncrypt = 1, bypassDecrypt = 1, bump = 1, zeroize = 1)
    for ((name, erase) <- erasures(bench) :+ ("zeroize with enables in the same write" -> (() => ordered()))) {
      control(bypassEncrypt = 1, bypassDecrypt = 1, bump = 1)
      assert(enables(bench) == 15, name)
      erase()
      assert(enables(bench) == 0, name)
      untilReady()
      assert(enables(bench) == 0, s"$name, when the keys are erased")
      assert(exchange(encrypt, Seq(red(1, bypass = true))).isEmpty, name)
      assert(exchange(decrypt, Seq(black(1, 0, 1, bypass = true))).isEmpty, name)
      val names = Seq("red_rx_packets", "drop_enc_not_ready", "black_rx_packets", "drop_dec_not_ready")
      assert(counts() == names.map(_ -> 1).toMap, name)
    }
  }

  subtest("while tamper is high no key goes in and nothing is enabled") { bench =>
    import bench._
    untilReady()
    val (out, in) = (keys(0x1001, 0x11).outbound(), keys(0x1001, 0x22).inbound)
    dut.io.tamper.poke(true)
    for (_ <- 0 until 3) {
      dut.clock.step(400)
      assert(!software.writeRow(CryptoTables.outboundKey, 1, out))
      assert(!software.writeRow(CryptoTables.inboundKey, 1, in))
      control(bypassEncrypt = 1, bypassDecrypt = 1, bump = 1)
      assert(enables(bench) == 0)
      assert(!ready && status(CommonRegs.Status.ready) == 0)
    }
    dut.io.tamper.poke(false)
    dut.clock.step(8)
    untilReady()
    assert(enables(bench) == 0)
    control()
    assert(exchange(encrypt, Seq(red(1))).isEmpty && exchange(decrypt, Seq(black(1, 0x1001, 1))).isEmpty)
    val noKey = Map("red_rx_packets" -> 1, "drop_enc_no_key" -> 1, "black_rx_packets" -> 1, "drop_dec_no_key" -> 1)
    assert(counts() == noKey)

    val plain = red(1)
    outbound(1, out)
    assert(exchange(encrypt, Seq(plain)).map(_.bytes) == Seq(xored(plain.bytes, 0x11)))
    counts()
  }
}
