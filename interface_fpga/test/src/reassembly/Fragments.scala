// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.common.stream.Packet
import sallyport.iface.headers.Ecn

import scala.util.Random

/**
 * A packet in front of a [[Reassembler]], with what a parser reads in it; `fragment` is empty if
 * it is whole.
 */
case class Arrival(bytes: Seq[Byte], fragment: Option[Fragment]) {
  private val fields: Seq[(BigInt, Int)] = fragment match {
    case None => Seq(BigInt(bytes.length) -> 14, BigInt(0) -> (1 + 1 + 256 + 8 + 5 + 2 + 1 + 1))
    case Some(f) =>
      Seq[(BigInt, Int)](
        BigInt(f.of.identification & 0xffffffffL) -> 32,
        BigInt(f.offset) -> 13,
        BigInt(if (f.more) 1 else 0) -> 1,
        BigInt(f.header.length) -> 7,
        BigInt(f.payload.length) -> 14,
        BigInt(f.of.protocol) -> 8,
        BigInt(if (f.of.ipv6) f.nextHeaderAt else 0) -> 7,
        BigInt(bytes.length) -> 14,
        BigInt(1) -> 1,
        BigInt(if (f.of.ipv6) 1 else 0) -> 1,
        f.of.source -> 128,
        f.of.destination -> 128,
        BigInt(f.of.protocol) -> 8,
        BigInt(f.of.link.length) -> 5,
        BigInt(f.ecn) -> 2,
        BigInt(if (f.headless) 1 else 0) -> 1,
        BigInt(0) -> 1
      )
  }

  /** For a [[StreamBench]], with the metadata in the layout of `FragmentInfo.asUInt`. */
  def packet: Packet =
    Packet(bytes, fields.foldLeft(BigInt(0)) { case (sum, (value, width)) => (sum << width) | value })
}

/**
 * One fragment.
 *
 * @param header       all in front of the IPv4 payload or of the IPv6 fragment header
 * @param nextHeaderAt IPv6: the byte of `header` that says 44
 * @param ecn          ECN field in `header`
 * @param headless     the parser misses headers in it
 */
case class Fragment(
    of: Datagram,
    offset: Int,
    more: Boolean,
    header: Seq[Byte],
    payload: Seq[Byte],
    nextHeaderAt: Int = 0,
    ecn: Int = Ecn.ect0,
    headless: Boolean = false
) {

  /** The same with another ECN field. */
  def marked(ecn: Int): Fragment = of.fragment(8 * offset, payload, more, ecn = ecn)

  def arrival: Arrival = {
    val fields = Seq(of.protocol.toByte, 0.toByte) ++ Bytes.big(offset << 3 | (if (more) 1 else 0), 2) ++
      Bytes.big(of.identification, 4)
    // Ethernet pads short frames.
    val packet = header ++ (if (of.ipv6) fields else Nil) ++ payload
    Arrival(packet.padTo(if (of.link.isEmpty) 1 else 60, 0x5a.toByte), Some(this))
  }
  def end: Int = 8 * offset + payload.length
}

/**
 * An IP datagram, to be cut.
 *
 * @param link     the bytes in front of its IP header
 * @param options  IPv4 options, or IPv6 extension headers in front of the fragment header: each 8
 *                 bytes without the first, its next header
 */
case class Datagram(
    ipv6: Boolean,
    link: Seq[Byte],
    source: BigInt,
    destination: BigInt,
    identification: Long,
    protocol: Int,
    options: Seq[Byte],
    payload: Seq[Byte]
) {
  private def address(value: BigInt): Seq[Byte] = Bytes.big(value, if (ipv6) 16 else 4)

  private def ipv4Header(length: Int, flags: Int, ttl: Int, options: Seq[Byte], ecn: Int): Seq[Byte] = {
    val start = Seq((0x45 + options.length / 4).toByte, (0x2c | ecn).toByte) ++ Bytes.big(length, 2) ++
      Bytes.big(identification, 2) ++ Bytes.big(flags, 2) ++ Seq(ttl.toByte, protocol.toByte)
    val blank = start ++ Bytes.big(0, 2) ++ address(source) ++ address(destination) ++ options
    blank.patch(10, Bytes.big(Bytes.checksum(blank), 2), 2)
  }

  /** The IPv6 header and its extension headers up to the one that says `next`. */
  private def ipv6Header(length: Int, hops: Int, next: Int, ecn: Int): Seq[Byte] = {
    val kinds = options.grouped(7).toSeq.indices.map(i => if (i == 0) 0 else 60)
    val chain = (kinds :+ next).map(_.toByte)
    Bytes.big(0x62c12345 | ecn << 20, 4) ++ Bytes.big(length, 2) ++ Seq(chain.head, hops.toByte) ++ address(source) ++
      address(destination) ++ options.grouped(7).zip(chain.tail).flatMap { case (body, next) => next +: body }
  }
  private def extensions: Int = options.length / 7 * 8

  /**
   * The packet that its fragments make; RFC 791 3.2, RFC 8200 4.5. The header is that of the first
   * fragment.
   */
  def whole(payload: Seq[Byte], ttl: Int = 64, ecn: Int = Ecn.ect0): Seq[Byte] = link ++ (
    if (ipv6) ipv6Header(extensions + payload.length, ttl, protocol, ecn)
    else ipv4Header(20 + options.length + payload.length, 0, ttl, options, ecn)
  ) ++ payload

  /**
   * Bytes from `from` on as a fragment; later IPv4 fragments have no options (RFC 791 3.1,
   * "copied") and another TTL.
   */
  def fragment(from: Int, bytes: Seq[Byte], more: Boolean, flags: Int = 0, ecn: Int = Ecn.ect0): Fragment = {
    require(from % 8 == 0)
    val ttl = if (from == 0) 64 else 63
    val kept = if (from == 0) options else Nil
    val header = link ++ (
      if (ipv6) ipv6Header(extensions + 8 + bytes.length, ttl, 44, ecn)
      else {
        val field = flags << 13 | (if (more) 0x2000 else 0) | from / 8
        ipv4Header(20 + kept.length + bytes.length, field, ttl, kept, ecn)
      }
    )
    val at = link.length + (if (extensions == 0) 6 else 40 + extensions - 8)
    Fragment(this, from / 8, more, header, bytes, at, ecn)
  }

  /** Cut in front of each of `cuts`, bytes in ascending order. */
  def cut(cuts: Int*): Seq[Fragment] = (0 +: cuts).zip(cuts :+ payload.length).map { case (from, to) =>
    fragment(from, payload.slice(from, to), to < payload.length)
  }

  def headerBytes: Int = link.length + (if (ipv6) 40 + extensions else 20 + options.length)
}

object Bytes {
  def big(value: BigInt, count: Int): Seq[Byte] = (count - 1 to 0 by -1).map(i => (value >> (8 * i)).toByte)

  /** RFC 1071, over 16-bit words. */
  def checksum(bytes: Seq[Byte]): Int = {
    val sum = bytes.grouped(2).map(pair => (pair.head & 0xff) << 8 | (pair(1) & 0xff)).sum
    ~((sum & 0xffff) + (sum >> 16)) & 0xffff
  }

  def random(count: Int, random: Random): Seq[Byte] = Seq.fill(count)(random.nextInt().toByte)
}

/** Datagrams and packets of every kind, at random. */
class FragmentDice(val random: Random) {
  private var next = 0

  def datagram(bytes: Int, ipv6: Boolean = random.nextBoolean(), plain: Boolean = false, source: Int = -1): Datagram = {
    next += 1
    val link = Bytes.random(if (plain) 14 else Seq(14, 14, 18, 22)(random.nextInt(4)), random)
    val options = if (plain) Nil else Bytes.random(if (ipv6) 7 * random.nextInt(4) else 4 * random.nextInt(11), random)
    val from = BigInt(if (source < 0) random.nextInt(1 << 24) else source)
    val base = if (ipv6) BigInt("20010db8000000000000000000000000", 16) else BigInt(10 << 24)
    Datagram(
      ipv6,
      link,
      source = base + (if (ipv6) from << 64 else from), // each has a /64 of its own
      destination = base + random.nextInt(1 << 24),
      identification = if (ipv6) random.nextInt() & 0xffffffffL else next & 0xffffL,
      protocol = Seq(6, 17, 50)(random.nextInt(3)),
      options,
      payload = Bytes.random(bytes, random)
    )
  }

  def whole(bytes: Int): Arrival = Arrival(Bytes.random(bytes, random), None)

  /** `count` fragments of random lengths. */
  def cut(datagram: Datagram, count: Int): Seq[Fragment] = {
    val places = (datagram.payload.length - 1) / 8
    datagram.cut(random.shuffle((1 to places).toList).take(count - 1).sorted.map(8 * _): _*)
  }

  def shuffle[T](items: Seq[T]): Seq[T] = random.shuffle(items)
}
