// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import sallyport.common.registers.map.{
  CommonRegs,
  CryptoCounters,
  CryptoRegs,
  CryptoTables,
  InboundNumberRow,
  OutboundNumberRow,
  RowField
}
import sallyport.common.registers.{AxiLite, AxiLiteDriver}

/** The crypto chip as software sees it, in a test. */
class CryptoSoftware(axil: AxiLite, clock: Clock) {
  val software = new AxiLiteDriver(axil, clock, limit = 4000)

  def status(field: RowField): BigInt = field(software.read(CommonRegs.status))
  def control(
      enable: Int = 1,
      bypassEncrypt: Int = 0,
      bypassDecrypt: Int = 0,
      bump: Int = 0,
      zeroize: Int = 0
  ): Unit =
    software.write(
      CryptoRegs.control,
      CryptoRegs.Control.enable.put(enable) | CryptoRegs.Control.bypassEncrypt.put(bypassEncrypt) |
        CryptoRegs.Control.bypassDecrypt.put(bypassDecrypt) | CryptoRegs.Control.bump.put(bump) |
        CryptoRegs.Control.zeroize.put(zeroize)
    )

  private var before = Map.empty[String, BigInt].withDefaultValue(BigInt(0))

  /** Counters that have changed since the last call; checks conservation of each path. */
  def counts(): Map[String, Int] = {
    val now = CryptoCounters.all.map(c => c.name -> software.counter(c.index)).toMap
    for (path <- Seq("encrypt", "decrypt")) {
      def sum(kind: String) =
        CryptoCounters.all.filter(c => c.path == path && c.kind == kind).map(c => now(c.name)).sum
      assert(sum("received") == sum("sent") + sum("punted") + sum("drop"), s"$path: $now")
    }
    val changed = now.collect { case (name, value) if value != before(name) => name -> (value - before(name)).toInt }
    before = now.withDefaultValue(BigInt(0))
    changed
  }

  def outbound(sa: Int, row: BigInt): Unit = assert(software.writeRow(CryptoTables.outboundKey, sa, row))

  /** The last number of an outbound SA, and raises it. */
  def number(sa: Int): BigInt = OutboundNumberRow.last(software.readRow(CryptoTables.outboundNumber, sa).get)
  def raise(sa: Int, number: BigInt): Unit =
    assert(software.writeRow(CryptoTables.outboundNumber, sa, OutboundNumberRow.last.put(number)))

  /** Raises what the high halves of an inbound SA are inferred from. */
  def raiseInbound(sa: Int, number: BigInt): Unit =
    assert(software.writeRow(CryptoTables.inboundNumber, sa, InboundNumberRow.highest.put(number)))
  def inbound(sa: Int, row: BigInt): Unit = assert(software.writeRow(CryptoTables.inboundKey, sa, row))
}
