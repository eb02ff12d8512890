// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import sallyport.common.registers.map.{CommonRegs, CryptoTables, InboundNumberRow, TableCommand}

/** What raises an SA's highest number: packets that lanes verify, and software. */
class EpochSpec extends EngineSpec {

  /**
   * As far from 0 as a first packet's number can be, so that a small low half behind it has the
   * next high half.
   */
  private val far = 0xff000000L
  private val next = BigInt(1) << 32

  subtest("a number that software writes costs none that a packet brings, in whatever cycle the two meet") { bench =>
    import bench._
    untilReady()
    control()
    for (delay <- 0 until 48) {
      for (sa <- 1 to 2) inbound(sa, keys(0x1000 + sa, 0x10 + sa).inbound)
      software.writeWords(InboundNumberRow.highest.put(far), 0 until CommonRegs.tableData.count)
      software.write(CommonRegs.tableSelect, CryptoTables.inboundNumber)
      software.write(CommonRegs.tableIndex, 2)
      decrypt.send(Seq(black(1, 0x1001, far)))
      dut.clock.step(delay)
      software.write(CommonRegs.tableCommand, TableCommand.write)
      decrypt.settle(100)
      decrypt.receive()
      val probes = exchange(decrypt, Seq(black(1, 0x1001, 1), black(2, 0x1002, 1)), quiet = 100)
      assert(probes.map(_.meta.sequence) == Seq(next + 1, next + 1), s"a write $delay cycles behind a packet")
    }
    counts()
  }

  subtest("numbers that software writes cost none under packets of the highest rate") { bench =>
    import bench._
    untilReady()
    control()
    for (sa <- 1 to 3) inbound(sa, keys(0x1000 + sa, 0x10 + sa).inbound)
    decrypt.send(Seq.tabulate(2000)(n => black(1 + n % 2, 0x1001 + n % 2, far + n, length = 36)), hold = true)
    decrypt.release()
    for (n <- 1 to 12) raiseInbound(3, far + n)
    decrypt.settle()
    assert(decrypt.receive().length == 2000)
    val probes = exchange(decrypt, Seq.tabulate(3)(n => black(1 + n, 0x1001 + n, 1)))
    assert(probes.map(_.meta.sequence) == Seq.fill(3)(next + 1))
    counts()
  }
}
