// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import sallyport.common.registers.map.{InboundKeyRow, OutboundKeyRow}
import sallyport.crypto.support.Bytes

/**
 * Keys of one SA, and its rows in both key tables. `icv` is the index into [[Suite.icvBytes]]
 * where the suite leaves it open.
 */
case class SaKeys(keys: EspKeys, spi: Long, esn: Boolean = false, window: Int = 1024, icv: Int = 1) {
  private def number(bytes: Array[Byte]): BigInt = Bytes.toBigInt(bytes)
  private val flag = if (esn) 1 else 0

  def outbound(
      ivMask: BigInt = 0,
      softLimit: BigInt = 0,
      hardLimit: BigInt = 0,
      nodeBits: Int = 0,
      node: Int = 0
  ): BigInt =
    OutboundKeyRow.valid.put(1) | OutboundKeyRow.suite.put(keys.suite.number) | OutboundKeyRow.spi.put(spi) |
      OutboundKeyRow.esn.put(flag) | OutboundKeyRow.icv.put(icv) |
      OutboundKeyRow.key.put(number(keys.rowKey(inbound = false))) |
      OutboundKeyRow.salt.put(number(keys.salt.toArray)) | OutboundKeyRow.auth.put(number(keys.rowAuth)) |
      OutboundKeyRow.ivMask.put(ivMask) |
      OutboundKeyRow.softLimit.put(softLimit) | OutboundKeyRow.hardLimit.put(hardLimit) |
      OutboundKeyRow.nodeBits.put(nodeBits) | OutboundKeyRow.node.put(node)

  def inbound: BigInt =
    InboundKeyRow.valid.put(1) | InboundKeyRow.suite.put(keys.suite.number) | InboundKeyRow.spi.put(spi) |
      InboundKeyRow.esn.put(flag) | InboundKeyRow.icv.put(icv) |
      InboundKeyRow.key.put(number(keys.rowKey(inbound = true))) |
      InboundKeyRow.salt.put(number(keys.salt.toArray)) | InboundKeyRow.auth.put(number(keys.rowAuth)) |
      InboundKeyRow.window.put(window)
}
