// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.clock.PipeClock
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.{EthernetHeader, GroupAddress, IpHeader, Ipv4Header, Ipv6Header, UdpHeader}

/**
 * Reads the headers of one packet: Ethernet type behind up to two VLAN tags, IPv4 with options or
 * IPv6 with extension headers, ports, ICMP type and code, mobility header type or SPI wherever they
 * stand, and of a frame what UDP to port 4500 carries and whether IKE has a cookie.
 *
 * A pipeline without stalls: one packet a cycle, answered in order [[HeaderParser.latency]] cycles
 * later. It judges and drops nothing. Of IPv6 it reads [[ExtensionStep.maxHeaders]] extension
 * headers and [[ExtensionStep.maxUnits]] times 8 bytes of them; a packet with more is `unfinished`.
 * A header that `skip` does not name ends them, and is the packet's protocol, without ports: its
 * length field is not read.
 *
 * The packet's words go along the pipeline, and the fields of the fixed header are taken from them
 * at its end, which needs fewer registers than the fields would. Its clock stops while it is empty.
 *
 * @param ethernet  the packet starts with an Ethernet header; else with its IP header
 * @param fragments give the [[FragmentFields]] as well
 * @param errors    give `early`, `returning` and `aligned` as well
 */
class HeaderParser(ethernet: Boolean, fragments: Boolean = false, errors: Boolean = false) extends Module {
  import HeaderParser._
  import PacketStream.lengthBits

  val io = IO(new Bundle {

    /** Set while no traffic flows. */
    val skip = Input(new ExtensionSkip)
    val in = Flipped(Valid(new HeaderWindow(windowBytes(ethernet))))
    val out = Valid(new HeaderFields)

    /**
     * `out` as far as selectors look at it, [[HeaderParser.earlier]] cycles ahead: without
     * `checksumBad` and `udpEncap`, and with the first 4 bytes of the payload as SPI.
     */
    val early = Option.when(errors)(Valid(new HeaderFields))

    /** Of an ICMP error, a cycle ahead of `early` ([[ReturnTraffic]]). */
    val returning = Option.when(errors)(Valid(UInt(PacketKey.bits.W)))

    /** The packet from its IP header on, [[HeaderParser.alignLatency]] cycles behind `in`. */
    val aligned = Option.when(errors)(Valid(new IpWindow(words(ethernet))))

    /** Belongs to `out`. */
    val fragment = Option.when(fragments)(Output(new FragmentFields))
  })

  private val running = Wire(Clock())
  override protected def implicitClock: Clock = running
  private val valids = PipeClock.drive(running, clock, io.in.valid, awake = false.B, latency(ethernet))

  // Time 0 is when the IP header is in place.
  private val start = Wire(new IpWindow(words(ethernet)))
  if (ethernet) {
    val parser = Module(new EthernetParser(words(ethernet)))
    parser.io.in := io.in.bits
    start := parser.io.out
  } else {
    start.length := io.in.bits.length
    start.macDestination := 0.U
    start.macFromGroup := false.B
    start.l2Bytes := 0.U
    start.room := io.in.bits.length
    start.words := VecInit.tabulate(words(ethernet))(i =>
      WireOrder.bigEndian(io.in.bits.bytes(32 * i + 31, 32 * i))
    )
    start.etherClass := Mux(start.words(0)(31, 28) === 6.U, EtherClass.ipv6, EtherClass.ipv4)
  }
  for (aligned <- io.aligned) {
    aligned.valid := (io.in.valid +: valids)(alignLatency(ethernet))
    aligned.bits := start
  }
  private val packet = Seq.iterate(start, readTime + 1)(RegNext(_))
  private def isV6(time: Int): Bool = packet(time).etherClass === EtherClass.ipv6

  private val lengths = Module(new IpLengthCheck)
  lengths.io.v6 := isV6(0)
  lengths.io.words := start.words.take(2)
  lengths.io.room := start.room

  private val checksum = Module(new Ipv4ChecksumCheck)
  checksum.io.words := start.words.take(Ipv4Header.maxBytes / 4)

  // What each place of an extension header holds; then the walk, a header a cycle. An IPv4 packet
  // passes with its own numbers.
  private val words0 = start.words
  private val payload6 = words0(1)(31, 16)
  private val looked = VecInit.tabulate(ExtensionStep.maxUnits + 1) { unit =>
    ExtensionUnit(unit, words0(Ipv6Header.bytes / 4 + 2 * unit), payload6, io.skip)
  }
  private val walk =
    WireDefault(ExtensionStep.start(isV6(0), Mux(isV6(0), words0(1)(15, 8), words0(2)(23, 16)), io.skip))
  private val v4Offset = words0(1)(12, 0)
  walk.laterFragment := !isV6(0) && v4Offset =/= 0.U
  walk.fragment := !isV6(0) && (words0(1)(13) || v4Offset =/= 0.U)
  private val units2 = VecInit(RegNext(looked.head) +: looked.tail)
  private val units = looked +: Seq.iterate(units2, ExtensionStep.maxHeaders)(RegNext(_))
  private val walked = units.init.zipWithIndex.foldLeft(RegNext(walk)) { case (walk, (units, i)) =>
    RegNext(ExtensionStep(walk, units, first = i == 0))
  }

  for (fragment <- io.fragment)
    fragment := ShiftRegister(FragmentFields(packet(walkEnd), walked), fieldsTime(ethernet) + 1 - walkEnd)

  // Where the payload is, and how long: one place of those that an IPv4 header's length or the walk
  // can give.
  private val ihl = words0(0)(27, 24)
  private val afterFirst = walkEnd - 1
  private val ends4 = (Ipv4Header.bytes / 4 to Ipv4Header.maxBytes / 4).map { place =>
    place -> ShiftRegister(!isV6(0) && ihl === place.U, walkEnd)
  }
  private val ends6 = walked.at.asBools.zipWithIndex.map { case (here, unit) =>
    (Ipv6Header.bytes / 4 + 2 * unit) -> here
  }
  private val payload4 = RegNext(words0(0)(15, 0) - Cat(ihl, 0.U(2.W)))
  private val payload = ShiftRegister(Mux(isV6(1), RegNext(payload6), payload4), afterFirst)
  private val four4 = ShiftRegister(!isV6(1) && payload4 >= 4.U, afterFirst)

  // Its first words, and what they are.
  private val four = four4 || Mux1H(walked.at, units.last.map(_.four))
  private val readable = !walked.laterFragment && four
  private def protocolIs(numbers: Int*): Bool = numbers.map(walked.protocol === _.U).reduce(_ || _)
  private val payload2 = VecInit.tabulate(readWords(ethernet))(i =>
    RegNext(Mux1H((ends4 ++ ends6).map { case (place, here) => here -> packet(walkEnd).words(place + i) }))
  )
  private val hasPorts2 = RegNext(readable && protocolIs(portProtocols: _*))
  private val udp2 = RegNext(readable && protocolIs(UdpHeader.protocol))
  private val hasIcmp2 = RegNext(
    readable && Mux(isV6(walkEnd), protocolIs(Ipv6Header.protocolIcmp), protocolIs(Ipv4Header.protocolIcmp))
  )
  private val hasMobility2 = RegNext(readable && isV6(walkEnd) && protocolIs(Ipv6Header.protocolMobility))
  private val extensionBytes = Cat(OHToUInt(walked.at), 0.U(log2Ceil(ExtensionStep.unitBytes).W))
  private val left2 = RegNext((payload - extensionBytes)(lengthBits - 1, 0))
  private val v6Bytes2 = RegNext(Ipv6Header.bytes.U(7.W) + extensionBytes)
  private val walk2 = RegNext(ExtensionStep.close(walked, units.last))

  // All together.
  private val tail = packet(readTime)
  // Registers, for they choose among 400 bits.
  private val v6 = RegNext(isV6(readTime - 1))
  private val arp = RegNext(packet(readTime - 1).etherClass === EtherClass.arp)
  private val head = tail.words
  private val fields = Wire(new HeaderFields)
  fields.length := tail.length
  fields.macDestination := tail.macDestination
  fields.macFromGroup := tail.macFromGroup
  fields.etherClass := tail.etherClass
  fields.l2Bytes := tail.l2Bytes
  fields.malformed := walk2.malformed || ShiftRegister(lengths.io.bad, readTime - IpLengthCheck.latency)
  fields.unfinished := walk2.unfinished
  fields.checksumBad := DontCare // known later
  fields.headerBytes := Mux(v6, v6Bytes2, Cat(head(0)(27, 24), 0.U(2.W)))
  fields.totalLength := Mux(v6, head(1)(31, 16) + Ipv6Header.bytes.U, head(0)(15, 0))(lengthBits - 1, 0)
  fields.payloadLength := left2
  fields.tos := Mux(v6, head(0)(27, 20), head(0)(23, 16))
  fields.ttl := Mux(v6, head(1)(7, 0), head(2)(31, 24))
  fields.ttlExpired := Mux(v6, head(1)(7, 1) === 0.U, head(2)(31, 25) === 0.U)
  fields.checksum := head(2)(15, 0)
  fields.dontFragment := v6 || head(1)(14)
  fields.fragment := walk2.fragment
  fields.notice := false.B
  fields.tracked := false.B
  fields.overTcpFlags := !v6 && head(1)(12, 0) === 1.U && head(2)(23, 16) === IpHeader.tcp.U
  fields.protocol := walk2.protocol
  fields.source := Mux(v6, Cat(head.slice(2, 6)), head(3))
  fields.destination := Mux(v6, Cat(head.slice(6, 10)), Mux(arp, head(6), head(4)))
  fields.network := 0.U
  fields.toGroup := Mux(v6, GroupAddress.ipv6(Cat(head.slice(6, 10))), GroupAddress.ipv4(head(4)))
  fields.hasPorts := hasPorts2
  fields.sourcePort := Mux(hasPorts2, payload2(0)(31, 16), 0.U)
  fields.destinationPort := Mux(hasPorts2, payload2(0)(15, 0), 0.U)
  fields.hasIcmp := hasIcmp2
  fields.hasMobility := hasMobility2
  fields.messageType := Mux(hasIcmp2, payload2(0)(31, 24), Mux(hasMobility2, payload2(0)(15, 8), 0.U))
  fields.messageCode := Mux(hasIcmp2, payload2(0)(23, 16), 0.U)
  fields.udpEncap := UdpEncap.none
  fields.ikeCookie := false.B
  fields.spi := payload2(0)
  fields.content := (if (ethernet) Cat(payload2(1), payload2(2)) else 0.U)

  // Meanwhile the checksum, and of a frame UDP to port 4500 and the SPI behind its header.
  private val rest = fieldsTime(ethernet) - readTime
  private val read1 = RegNext(fields)
  private val read = ShiftRegister(read1, rest - 1)
  private val complete = WireDefault(read)
  require(ethernet || rest == 1, "the fields of a packet without Ethernet wait a cycle for its checksum")
  private def validAt(time: Int): Bool = valids(time + latency(ethernet) - fieldsTime(ethernet) - 2)
  for (early <- io.early) {
    early.valid := validAt(readTime + 1)
    early.bits := read1
  }
  for (returning <- io.returning) {
    val key = ReturnTraffic(packet, readTime)
    returning.valid := key.valid && validAt(readTime)
    returning.bits := key.bits
  }
  complete.checksumBad := ShiftRegister(
    checksum.io.bad,
    fieldsTime(ethernet) - Ipv4ChecksumCheck.latency
  ) && complete.etherClass === EtherClass.ipv4
  if (ethernet) {
    val natt = Module(new UdpEncapParser)
    natt.io.udp := udp2
    natt.io.length := left2
    natt.io.words := payload2.take(UdpEncapParser.words)
    complete.udpEncap := ShiftRegister(natt.io.encap, rest - UdpEncapParser.latency)
    val cookie = Module(new IkeCookie(words(ethernet), (ends4 ++ ends6).map(_._1), walkEnd))
    cookie.io.words := words0
    cookie.io.length := left2
    cookie.io.at := VecInit((ends4 ++ ends6).map(_._2)).asUInt
    complete.ikeCookie := Mux(
      complete.udpEncap === UdpEncap.ike,
      ShiftRegister(cookie.io.marked, rest - 1),
      ShiftRegister(cookie.io.plain, rest - 1)
    )
    when(complete.udpEncap === UdpEncap.esp) {
      complete.spi := ShiftRegister(payload2(2), rest)
      complete.content := Cat(ShiftRegister(payload2(3), rest), 0.U(32.W))
    }
  }
  io.out.bits := RegNext(complete)
  io.out.valid := valids.last
}

object HeaderParser {

  /**
   * Cycles from time 0 to the end of the walk over extension headers, and to the payload's
   * first words.
   */
  private val walkEnd: Int = 1 + ExtensionStep.maxHeaders
  private val readTime: Int = walkEnd + 1

  /** Cycles from time 0 to the last of all fields. */
  private def fieldsTime(ethernet: Boolean): Int =
    Ipv4ChecksumCheck.latency max (readTime + (if (ethernet) UdpEncapParser.latency else 0))

  /** Cycles until the IP header is in place. */
  def alignLatency(ethernet: Boolean): Int = if (ethernet) EthernetParser.latency else 0

  /** Cycles from a packet to its fields. */
  def latency(ethernet: Boolean): Int = alignLatency(ethernet) + fieldsTime(ethernet) + 1

  /** Cycles from the fields that selectors look at to all of them. */
  def earlier(ethernet: Boolean): Int = fieldsTime(ethernet) - readTime

  /** TCP, UDP, SCTP: source and destination port are the first 4 bytes of each. */
  val portProtocols: Seq[Int] = Seq(6, UdpHeader.protocol, 132)

  /**
   * Words behind the IP header that are read: SPI or ports alone, or as far as RFC 3948 and the ESP
   * number behind its header need.
   */
  private def readWords(ethernet: Boolean): Int = if (ethernet) UdpEncapParser.words + 1 else 1

  /** Words behind the IP header that are in the window: those, or as far as a cookie of IKE. */
  private def payloadWords(ethernet: Boolean): Int = if (ethernet) IkeCookie.words else readWords(ethernet)

  /** 32-bit words from the IP header on that the parser needs. */
  def words(ethernet: Boolean): Int = {
    val v6 = Ipv6Header.bytes + ExtensionStep.unitBytes * ExtensionStep.maxUnits
    require(v6 >= Ipv4Header.maxBytes, "the window is drawn to IPv6")
    v6 / 4 + payloadWords(ethernet)
  }

  /** Bytes at a packet's start that the parser needs. */
  def windowBytes(ethernet: Boolean): Int =
    (if (ethernet) EthernetHeader.maxBytes else 0) + 4 * words(ethernet)
}
