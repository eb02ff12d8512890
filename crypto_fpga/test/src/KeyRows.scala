package sallyport.crypto

import sallyport.common.regs.{InboundKeyRow, OutboundKeyRow}

/**
 * Keys of one SA, and its rows in both key tables.
 *
 * @param key
 *   16, 24 or 32 bytes
 * @param salt
 *   4 bytes
 */
case class SaKeys(key: Seq[Byte], salt: Seq[Byte], spi: Long, esn: Boolean = false, window: Int = 1024) {
  require(salt.length == 4, "a salt has 4 bytes")
  val suite: Int = Gcm.suite(key.length)

  private def number(bytes: Seq[Byte]): BigInt = Bytes.toBigInt(bytes.toArray)
  private lazy val auth = Gcm.hashPowers(key.toArray).toSeq

  def outbound(ivMask: BigInt = 0, softLimit: BigInt = 0, hardLimit: BigInt = 0): BigInt =
    OutboundKeyRow.valid.put(1) | OutboundKeyRow.suite.put(suite) | OutboundKeyRow.spi.put(spi) |
      OutboundKeyRow.esn.put(if (esn) 1 else 0) | OutboundKeyRow.key.put(number(key)) |
      OutboundKeyRow.salt.put(number(salt)) | OutboundKeyRow.auth.put(number(auth)) |
      OutboundKeyRow.ivMask.put(ivMask) |
      OutboundKeyRow.softLimit.put(softLimit) | OutboundKeyRow.hardLimit.put(hardLimit)

  def inbound: BigInt =
    InboundKeyRow.valid.put(1) | InboundKeyRow.suite.put(suite) | InboundKeyRow.spi.put(spi) |
      InboundKeyRow.esn.put(if (esn) 1 else 0) | InboundKeyRow.key.put(number(key)) |
      InboundKeyRow.salt.put(number(salt)) | InboundKeyRow.auth.put(number(auth)) |
      InboundKeyRow.window.put(window)
}
