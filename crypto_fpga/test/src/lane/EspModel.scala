package sallyport.crypto

import sallyport.common.Packet
import scala.util.Random

/** An SA's part in one packet, and ESP around the JVM's AES-GCM. */
case class EspJob(
    key: Array[Byte],
    salt: Array[Byte],
    spi: Long,
    esn: Boolean,
    sequence: Long,
    iv: Long,
    nextHeader: Int,
    sa: Int,
    tos: Int
) {
  private def number(x: Long, size: Int): Array[Byte] = Array.tabulate(size)(i => (x >> (8 * (size - 1 - i))).toByte)
  private def header: Array[Byte] = number(spi, 4) ++ number(sequence & 0xffffffffL, 4)
  private def aad: Array[Byte] = number(spi, 4) ++ number(sequence, 8).drop(if (esn) 0 else 4)

  /** The text of RFC 4303: payload, `padding`, its length, next header. */
  def text(payload: Seq[Byte], padding: Option[Seq[Byte]] = None, padLength: Option[Int] = None): Seq[Byte] = {
    val pad = padding.getOrElse((1 to (4 - (payload.length + 2) % 4) % 4).map(_.toByte))
    payload ++ pad ++ Seq(padLength.getOrElse(pad.length).toByte, nextHeader.toByte)
  }

  /** The ESP packet of a text. */
  def seal(text: Seq[Byte]): Seq[Byte] =
    (header ++ number(iv, 8) ++ Gcm.encrypt(key, salt ++ number(iv, 8), aad, text.toArray)).toSeq

  /** As the bits of [[LaneJob]], in the order of its fields, and of [[LaneResult]]. */
  def jobBits(length: Int): BigInt = EspModel.pack(
    (BigInt(Gcm.suite(key.length)), 8),
    (Bytes.toBigInt(key), 256),
    (Bytes.toBigInt(salt), 32),
    (Bytes.toBigInt(Gcm.hashKey(key)), 128),
    (Bytes.toBigInt(Gcm.hashKey2(key)), 128),
    (BigInt(if (esn) 1 else 0), 1),
    (BigInt(java.lang.Long.toUnsignedString(sequence)), 64),
    (BigInt(java.lang.Long.toUnsignedString(iv)), 64),
    (BigInt(spi), 32),
    metaBits(length, nextHeader)
  )

  def resultBits(verdict: Verdict.Type, length: Int, nextHeader: Int = this.nextHeader): BigInt =
    EspModel.pack((verdict.litValue, Verdict.getWidth), metaBits(length, nextHeader))

  private def metaBits(length: Int, nextHeader: Int): (BigInt, Int) = {
    val fields = Seq[(BigInt, Int)](
      (BigInt(length), 14),
      (BigInt(sa), 16),
      (BigInt(0), 4), // bypass, transport, natT, df
      (BigInt(tos), 8),
      (BigInt(nextHeader), 8),
      (BigInt(3), 8), // skip
      (BigInt(java.lang.Long.toUnsignedString(sequence)), 64)
    )
    (EspModel.pack(fields: _*), fields.map(_._2).sum)
  }
}

object EspModel {

  /** Fields of a bundle, the first in the highest bits, as Chisel packs them. */
  def pack(fields: (BigInt, Int)*): BigInt = fields.foldLeft(BigInt(0)) { case (bits, (value, width)) =>
    require(value.bitLength <= width, s"$value does not fit $width bits")
    bits << width | value
  }

  def randomJob(random: Random): EspJob = EspJob(
    key = Bytes.random(random, 16 + 8 * random.nextInt(3)),
    salt = Bytes.random(random, 4),
    spi = random.nextInt() & 0xffffffffL,
    esn = random.nextBoolean(),
    sequence = random.nextLong(),
    iv = random.nextLong(),
    nextHeader = 4,
    sa = random.nextInt(1 << 16),
    tos = random.nextInt(256)
  )

  /** What a lane sends in place of a packet it refuses. */
  def refused(meta: BigInt): Packet = Packet(Seq(0.toByte), meta, error = true)
}
