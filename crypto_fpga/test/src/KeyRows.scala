package sallyport.crypto

import sallyport.common.regs.{InboundKeyRow, OutboundKeyRow}

import javax.crypto.Cipher
import javax.crypto.spec.SecretKeySpec

/**
 * Keys of one SA, and its rows in both key tables.
 *
 * @param key
 *   16 or 32 bytes
 * @param salt
 *   4 bytes
 */
case class SaKeys(key: Seq[Byte], salt: Seq[Byte], spi: Long, esn: Boolean = false, window: Int = 1024) {
  require((key.length == 16 || key.length == 32) && salt.length == 4, "AES-128 or AES-256, and a salt of 4 bytes")
  val suite: Int = if (key.length == 16) 1 else 2

  private def number(bytes: Seq[Byte]): BigInt = BigInt(1, bytes.reverse.toArray)

  /** H, by the JDK's AES; H squared, by arithmetic on GCM's bit order (SP 800-38D 6.3). */
  private lazy val h: Seq[Byte] = {
    val aes = Cipher.getInstance("AES/ECB/NoPadding")
    aes.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key.toArray, "AES"))
    aes.doFinal(new Array[Byte](16)).toSeq
  }
  private lazy val hSquared: Seq[Byte] = {
    // Big-endian: the first bit of a block is the coefficient of x^0 and the number's highest bit.
    val x = BigInt(1, h.toArray)
    val reduction = BigInt(0xe1) << 120
    var z = BigInt(0)
    var v = x
    for (bit <- 127 to 0 by -1) {
      if (x.testBit(bit)) z ^= v
      v = if (v.testBit(0)) (v >> 1) ^ reduction else v >> 1
    }
    val bytes = z.toByteArray.dropWhile(_ == 0)
    Seq.fill(16 - bytes.length)(0.toByte) ++ bytes
  }

  def outbound(ivMask: BigInt = 0, softLimit: BigInt = 0, hardLimit: BigInt = 0): BigInt =
    OutboundKeyRow.valid.put(1) | OutboundKeyRow.suite.put(suite) | OutboundKeyRow.spi.put(spi) |
      OutboundKeyRow.esn.put(if (esn) 1 else 0) | OutboundKeyRow.key.put(number(key)) |
      OutboundKeyRow.salt.put(number(salt)) | OutboundKeyRow.hashKey.put(number(h)) |
      OutboundKeyRow.hashKey2.put(number(hSquared)) | OutboundKeyRow.ivMask.put(ivMask) |
      OutboundKeyRow.softLimit.put(softLimit) | OutboundKeyRow.hardLimit.put(hardLimit)

  def inbound: BigInt =
    InboundKeyRow.valid.put(1) | InboundKeyRow.suite.put(suite) | InboundKeyRow.spi.put(spi) |
      InboundKeyRow.esn.put(if (esn) 1 else 0) | InboundKeyRow.key.put(number(key)) |
      InboundKeyRow.salt.put(number(salt)) | InboundKeyRow.hashKey.put(number(h)) |
      InboundKeyRow.hashKey2.put(number(hSquared)) | InboundKeyRow.window.put(window)
}
