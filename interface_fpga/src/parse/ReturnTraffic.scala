// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.iface.headers.{GroupAddress, Ipv4Header, Ipv6Header}

/**
 * The key of the return traffic of the packet in an ICMP error (RFC 4301 6.2): that packet's
 * addresses and ports change places, its protocol stays, and so do type and code where it has these
 * instead of ports, as Linux keeps them (`xfrm_decode_session_reverse`).
 *
 * Errors are types 3, 4, 11 and 12 of ICMP, and 1 to 4 of ICMPv6. There is a key if all of these
 * hold; else the error has its own selectors alone:
 *
 *  - the error is whole and stands directly behind the fixed IP header
 *  - it holds the fixed header of a packet of its own IP version and [[ReturnTraffic.leastBytes]]
 *    bytes behind it (RFC 792), and that packet says that it is as long
 *  - that packet is no fragment, has neither IPv4 options nor IPv6 extension headers, and is no
 *    ICMP error, which must cause no other (RFC 1122 3.2.2, RFC 4443 2.4 e)
 *  - that packet comes from the address to which the error goes (RFC 792, RFC 4443 3.1): else
 *    anyone could send any host a packet through an SA that is not for this host
 *
 * Checksums are not checked, for each router on the packet's way changed its TTL.
 */
object ReturnTraffic {

  /** Bytes that must follow the fixed header in the error: ports, or type and code, are in 4. */
  val leastBytes: Int = 8

  /** Cycles from the packet to its key. */
  val latency: Int = 3

  private val icmpBytes: Int = 8
  private val errorsV4: Seq[Int] = Seq(3, 4, 11, 12)
  private val errorsV6: Seq[Int] = Seq(1, 2, 3, 4)

  /** In the packet of an error, too: a redirect (RFC 1122 3.2.2). */
  private val redirect: Int = 5
  private def isOne(number: UInt, of: Seq[Int]): Bool = of.map(number === _.U).reduce(_ || _)

  /**
   * The key at `time`, which is [[latency]] or later; `valid` whatever else the bytes are.
   *
   * @param packet a packet with its IP header in place, by time
   */
  def apply(packet: Seq[IpWindow], time: Int): Valid[UInt] = {
    require(time >= latency, s"a key takes $latency cycles, so it is not known at time $time")
    val start = packet(time - latency)
    val holds4 = ShiftRegister(start.etherClass === EtherClass.ipv4, 1) && all(conditions4(start.words))
    val holds6 = ShiftRegister(start.etherClass === EtherClass.ipv6, 1) && all(conditions6(start.words))
    val result = Wire(Valid(UInt(PacketKey.bits.W)))
    result.valid := ShiftRegister(holds4 || holds6, 2)
    result.bits := RegNext(PacketKey(turned(packet(time - 1))))
    result
  }

  /** Whether all conditions hold, a cycle later. */
  private def all(conditions: Seq[Bool]): Bool = RegNext(VecInit(conditions)).asUInt.andR

  // Words of IP headers: that of the error, and behind 8 bytes of ICMP that of the packet in it.
  private val at4: Int = (Ipv4Header.bytes + icmpBytes) / 4
  private val at6: Int = (Ipv6Header.bytes + icmpBytes) / 4
  private val upper4: Int = at4 + Ipv4Header.bytes / 4
  private val upper6: Int = at6 + Ipv6Header.bytes / 4
  private val addressWords: Int = 4

  private def conditions4(words: Seq[UInt]): Seq[Bool] = {
    def wholeAt(word: Int): Bool = !words(word + 1)(13) && words(word + 1)(12, 0) === 0.U
    def protocolAt(word: Int): UInt = words(word + 2)(23, 16)
    Seq(
      words(0)(27, 24) === (Ipv4Header.bytes / 4).U,
      words(0)(15, 0) >= (4 * upper4 + leastBytes).U,
      wholeAt(0),
      protocolAt(0) === Ipv4Header.protocolIcmp.U,
      isOne(words(Ipv4Header.bytes / 4)(31, 24), errorsV4),
      words(at4)(31, 24) === (0x40 + Ipv4Header.bytes / 4).U,
      words(at4)(15, 0) >= (Ipv4Header.bytes + leastBytes).U,
      wholeAt(at4),
      protocolAt(at4) =/= Ipv4Header.protocolIcmp.U || !isOne(words(upper4)(31, 24), errorsV4 :+ redirect),
      words(at4 + 3) === words(4)
    )
  }

  private def conditions6(words: Seq[UInt]): Seq[Bool] = Seq(
    words(1)(15, 8) === Ipv6Header.protocolIcmp.U,
    words(1)(31, 16) >= (4 * upper6 + leastBytes - Ipv6Header.bytes).U,
    isOne(words(Ipv6Header.bytes / 4)(31, 24), errorsV6),
    words(at6)(31, 28) === 6.U,
    words(at6 + 1)(31, 16) >= leastBytes.U,
    !HeaderKind(words(at6 + 1)(15, 8)).any,
    // Types of ICMPv6 errors have a clear bit 7 (RFC 4443 2.1).
    words(at6 + 1)(15, 8) =/= Ipv6Header.protocolIcmp.U || words(upper6)(31)
  ) ++ (0 until addressWords).map(i => words(at6 + 2 + i) === words(6 + i))

  /** As far as a key needs it: the packet that would come back. */
  private def turned(packet: IpWindow): HeaderFields = {
    val words = packet.words
    val v6 = packet.etherClass === EtherClass.ipv6
    val protocol = Mux(v6, words(at6 + 1)(15, 8), words(at4 + 2)(23, 16))
    val upper = Mux(v6, words(upper6), words(upper4))
    val fields = Wire(new HeaderFields)
    fields := DontCare
    fields.etherClass := packet.etherClass
    fields.toGroup := Mux(v6, GroupAddress.ipv6(Cat(words.slice(6, 10))), GroupAddress.ipv4(words(4)))
    fields.protocol := protocol
    fields.source := Mux(v6, Cat(words.slice(at6 + 6, at6 + 10)), words(at4 + 4))
    fields.destination := Mux(v6, Cat(words.slice(6, 10)), words(4))
    fields.hasPorts := isOne(protocol, HeaderParser.portProtocols)
    fields.sourcePort := Mux(fields.hasPorts, upper(15, 0), 0.U)
    fields.destinationPort := Mux(fields.hasPorts, upper(31, 16), 0.U)
    fields.hasIcmp := protocol === Mux(v6, Ipv6Header.protocolIcmp.U, Ipv4Header.protocolIcmp.U)
    fields.hasMobility := v6 && protocol === Ipv6Header.protocolMobility.U
    fields.messageType := Mux(fields.hasIcmp, upper(31, 24), Mux(fields.hasMobility, upper(15, 8), 0.U))
    fields.messageCode := Mux(fields.hasIcmp, upper(23, 16), 0.U)
    fields
  }
}
