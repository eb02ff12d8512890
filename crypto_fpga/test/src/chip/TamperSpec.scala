// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import sallyport.common.registers.map.{CommonRegs, CryptoTables, TableCommand}

/** What software began before a tamper pulse or a zeroize has no effect after it. */
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
}
