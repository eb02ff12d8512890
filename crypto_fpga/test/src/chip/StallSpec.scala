// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import sallyport.common.registers.map.{CommonRegs, CryptoTables, TableCommand}
import sallyport.common.table.TableMux

/** A link that its neighbour holds up does not hold up software. */
class StallSpec extends EngineSpec {

  subtest("a stalled red link: a write of an inbound key fails in the end and leaves the old row") { bench =>
    import bench._
    untilReady()
    control()
    inbound(1, keys(0x1001, 0x11).inbound)
    dut.io.decrypt.stall.poke(true)
    val packets = Seq.tabulate(8)(n => black(1, 0x1001, n + 1, length = 2000))
    decrypt.send(packets)
    dut.clock.step(400)

    // The packets inside are of the row before: one row more may be written, and a second waits
    // for them.
    inbound(2, keys(0x1002, 0x22).inbound)
    software.writeWords(keys(0x1001, 0x33).inbound, 0 until CommonRegs.tableData.count)
    software.startCommand(CryptoTables.inboundKey, 1, TableCommand.write)
    dut.clock.step(TableMux.patience)
    val status = software.read(CommonRegs.tableStatus)
    assert(CommonRegs.TableStatus.busy(status) == 0 && CommonRegs.TableStatus.error(status) == 1)
    assert(software.read(CommonRegs.tableData) == 0, "the window keeps no key")

    // The window serves the other path, and traffic that waits.
    val plain = red(3)
    outbound(3, keys(0x1003, 0x44).outbound())
    assert(exchange(encrypt, Seq(plain)).map(_.bytes) == Seq(xored(plain.bytes, 0x44)))
    dut.io.decrypt.stall.poke(false)
    val after = black(1, 0x1001, 9)
    assert(exchange(decrypt, Seq(after)).map(_.bytes) == (packets :+ after).map(p => xored(p.bytes, 0x11)))
    inbound(1, keys(0x1001, 0x33).inbound)
    assert(exchange(decrypt, Seq(after)).map(_.bytes) == Seq(xored(after.bytes, 0x33)))
    counts()
  }
}
