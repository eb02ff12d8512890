// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import sallyport.common.stream.Packet

import java.util.zip.CRC32

/**
 * The link frame as docs/reference/link.md describes it, in plain Scala, with the JVM's CRC-32:
 * what the words on the wire are compared with.
 */
object LinkWire {

  /**
   * A frame: header fields by their place in the document, sequence prefix if the link has
   * it, payload.
   */
  case class Frame(header: BigInt, sequence: Option[BigInt], payload: Seq[Byte]) {
    def field(high: Int, low: Int): BigInt = (header >> low) & ((BigInt(1) << (high - low + 1)) - 1)
    def kind: Int = field(3, 0).toInt
  }

  /** CRC-4-ITU (G.704: x^4 + x + 1, bits as they come) over bits 3:0 and 63:8 of the first unit. */
  def check(firstUnit: BigInt): Int = {
    val bits = ((0 to 3) ++ (8 to 63)).map(i => if (firstUnit.testBit(i)) 1 else 0)
    val register = bits.foldLeft(0) { (r, bit) =>
      val shifted = (r << 1) & 15
      if (((r >> 3) ^ bit) == 1) shifted ^ 3 else shifted
    }
    // Sent lowest coefficient last: bit 4 of the unit is the highest one.
    Integer.reverse(register) >>> 28
  }

  def crc(header: BigInt, sequence: Option[BigInt], payload: Seq[Byte]): BigInt = {
    val crc = new CRC32
    crc.update(payload.toArray.padTo((payload.length + 63) / 64 * 64, 0.toByte))
    sequence.foreach(s => crc.update(Packet.bytesOf(s, 8).toArray))
    crc.update(Packet.bytesOf(header, 12).toArray)
    BigInt(crc.getValue)
  }

  /** A frame from header bits 3:0 and 95:8; check and CRC are put in. */
  def frame(fields: BigInt, sequence: Option[BigInt] = None, payload: Seq[Byte] = Nil): Frame = {
    val header = fields | (BigInt(check(fields)) << 4)
    Frame(header | (crc(header, sequence, payload) << 96), sequence, payload)
  }

  def packet(
      p: Packet,
      sent: Int,
      freed: Int,
      withSequence: Boolean,
      length: Option[Int] = None,
      flags: Int = 1
  ): Frame = {
    // LinkMeta.asUInt: length 121:108, sa 107:92, bypass 91, transport 90, moved 89, df 88, tos,
    // next header, peer tag, sequence.
    def meta(high: Int, low: Int) = (p.meta >> low) & ((BigInt(1) << (high - low + 1)) - 1)
    frame(
      BigInt(1) | (meta(91, 91) << 8) | (meta(90, 90) << 9) | (meta(89, 89) << 10) | (meta(
        88,
        88
      ) << 11) | (BigInt(flags) << 12) |
        (BigInt(length.getOrElse(p.bytes.length)) << 14) | (meta(107, 92) << 28) | (meta(
          87,
          80
        ) << 44) | (BigInt(sent % 4096) << 52) |
        (meta(79, 72) << 64) | (meta(71, 64) << 72) | (BigInt(freed % 4096) << 80),
      if (withSequence) Some(meta(63, 0)) else None,
      p.bytes
    )
  }

  def credit(sent: Int, freed: Int, flags: Int = 1): Frame =
    frame(BigInt(2) | (BigInt(flags) << 12) | (BigInt(sent % 4096) << 52) | (BigInt(freed % 4096) << 80))

  def request(nonce: BigInt): Frame = frame(BigInt(3) | (nonce << 32))

  def resync(nonce: BigInt, packets: Int, sent: Int, epoch: BigInt): Frame =
    frame(BigInt(4) | (BigInt(sent % 4096) << 8) | (epoch << 20) | (nonce << 32) | (BigInt(packets) << 64))

  private def units(f: Frame): Seq[BigInt] =
    Seq(f.field(63, 0), f.field(127, 64)) ++ f.sequence ++ f.payload.grouped(8).map(Packet.littleEndian)

  /** Words that hold the frames, packed as tightly as the rules allow. */
  def encode(frames: Seq[Frame]): Seq[BigInt] = {
    var all = Vector.empty[BigInt]
    var lastStart = -1
    for (f <- frames) {
      if (lastStart >= 0 && all.length / 8 == lastStart / 8) while (all.length % 8 != 0) all :+= BigInt(0)
      lastStart = all.length
      all ++= units(f)
    }
    while (all.length % 8 != 0) all :+= BigInt(0)
    all.grouped(8).map(_.reverse.foldLeft(BigInt(0))((w, u) => (w << 64) | u)).toSeq
  }

  /**
   * Frames in words; fails on anything that the rules forbid. An unfinished frame at the end is
   * left out.
   */
  def decode(words: Seq[BigInt], withSequence: Boolean): Seq[Frame] = {
    val all = words.flatMap(w => (0 until 8).map(i => (w >> (64 * i)) & ((BigInt(1) << 64) - 1))).toIndexedSeq
    val frames = Seq.newBuilder[Frame]
    var at = 0
    while (at < all.length) {
      val first = all(at)
      val kind = (first & 15).toInt
      if (kind == 0) {
        // Idle to the end of the word.
        val end = (at / 8 + 1) * 8
        assert(all.slice(at, end).forall(_ == 0), s"a unit behind idle unit $at is not idle")
        at = end
      } else {
        assert(kind <= 4, s"type $kind")
        assert(check(first) == ((first >> 4) & 15).toInt, s"check of unit $at")
        val length = if (kind == 1) ((first >> 14) & 0x3fff).toInt else 0
        val prefix = if (withSequence && kind == 1) 1 else 0
        val count = 2 + prefix + (length + 7) / 8
        if (at + count <= all.length) {
          val header = first | (all(at + 1) << 64)
          val sequence = if (prefix == 1) Some(all(at + 2)) else None
          val body = (0 until (length + 7) / 8).flatMap(i => Packet.bytesOf(all(at + 2 + prefix + i), 8))
          assert(body.drop(length).forall(_ == 0), "padding of a payload")
          val f = Frame(header, sequence, body.take(length))
          assert(f.field(127, 96) == crc(header, sequence, f.payload), s"CRC of a frame of type $kind")
          assert(kind != 1 || length >= 1 && length <= 9600, s"length $length")
          frames += f
        }
        val start = at
        at += count
        if (at / 8 == start / 8)
          while (at % 8 != 0) {
            assert(all(at) == 0, s"unit $at: a second header in a word")
            at += 1
          }
      }
    }
    frames.result()
  }
}
