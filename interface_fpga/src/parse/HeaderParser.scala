package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * Reads the headers of one packet: Ethernet type behind up to two VLAN tags, IPv4 with options or IPv6 with extension headers,
 * ports, ICMP type and code or SPI wherever they stand, and of a frame what UDP to port 4500 carries.
 *
 * A pipeline without stalls: one packet a cycle, answered in order [[HeaderParser.latency]] cycles later. It judges and drops
 * nothing. Of IPv6 it reads [[ExtensionStep.maxHeaders]] extension headers and [[ExtensionStep.maxUnits]] times 8 bytes of
 * them; a packet with more is `unfinished`.
 *
 * The packet's words go along the pipeline, and the fields of the fixed header are taken from them at its end, which needs
 * fewer registers than the fields would.
 *
 * @param ethernet the packet starts with an Ethernet header; else with its IP header
 */
class HeaderParser(ethernet: Boolean) extends Module {
  import HeaderParser._
  import PacketStream.lengthBits

  val io = IO(new Bundle {
    val in = Flipped(Valid(new HeaderWindow(windowBytes(ethernet))))
    val out = Valid(new HeaderFields)
  })

  // Time 0 is when the IP header is in place.
  private val start = Wire(new IpWindow(words(ethernet)))
  private val before = if (ethernet) EthernetParser.latency else 0
  if (ethernet) {
    val parser = Module(new EthernetParser(words(ethernet)))
    parser.io.in := io.in.bits
    start := parser.io.out
  } else {
    start.length := io.in.bits.length
    start.macDestination := 0.U
    start.l2Bytes := 0.U
    start.room := io.in.bits.length
    start.words := VecInit.tabulate(words(ethernet))(i =>
      WireOrder.bigEndian(io.in.bits.bytes(32 * i + 31, 32 * i))
    )
    start.etherClass := Mux(start.words(0)(31, 28) === 6.U, EtherClass.ipv6, EtherClass.ipv4)
  }
  private val packet = Seq.iterate(start, walkEnd + 3)(RegNext(_))
  private def isV6(time: Int): Bool = packet(time).etherClass === EtherClass.ipv6

  private val lengths = Module(new IpLengthCheck)
  lengths.io.v6 := isV6(0)
  lengths.io.words := start.words.take(2)
  lengths.io.room := start.room

  private val checksum = Module(new Ipv4ChecksumCheck)
  checksum.io.words := start.words.take(Ipv4Header.maxBytes / 4)

  // Extension headers, one a step; an IPv4 packet passes with its own numbers.
  private val words0 = start.words
  private val walk = Wire(new ExtensionWalk)
  private val v4Offset = words0(1)(12, 0)
  walk.protocol := Mux(isV6(0), words0(1)(15, 8), words0(2)(23, 16))
  walk.at := 0.U
  walk.left := Mux(isV6(0), words0(1)(31, 16), words0(0)(15, 0) - Cat(words0(0)(27, 24), 0.U(2.W)))(lengthBits - 1, 0)
  walk.laterFragment := !isV6(0) && v4Offset =/= 0.U
  walk.fragment := !isV6(0) && (words0(1)(13) || v4Offset =/= 0.U)
  walk.ended := !isV6(0)
  walk.malformed := false.B
  walk.unfinished := false.B
  private val walked = (0 until ExtensionStep.maxHeaders).foldLeft(RegNext(walk)) { (walk, i) =>
    val step = Module(new ExtensionStep(i == 0))
    val words = packet(1 + i * ExtensionStep.latency).words
    step.io.in := walk
    step.io.words := VecInit.tabulate(ExtensionStep.maxUnits)(unit => words(Ipv6Header.bytes / 4 + 2 * unit))
    step.io.out
  }

  // Where the payload is.
  private val last = packet(walkEnd)
  private val ihl = last.words(0)(27, 24)
  private val places = (Ipv4Header.bytes / 4 to Ipv4Header.maxBytes / 4) ++
    (0 to ExtensionStep.maxUnits).map(Ipv6Header.bytes / 4 + 2 * _)
  private val places1 = places.distinct.map { place =>
    val unit = place - Ipv6Header.bytes / 4
    val v4 = if (place <= Ipv4Header.maxBytes / 4) !isV6(walkEnd) && ihl === place.U else false.B
    val v6 = if (unit >= 0 && unit % 2 == 0) isV6(walkEnd) && walked.at === (unit / 2).U else false.B
    place -> RegNext(v4 || v6)
  }
  private val walk1 = RegNext(ExtensionStep.close(walked))

  // Its first words.
  private val next = packet(walkEnd + 1)
  private val payload2 = VecInit.tabulate(payloadWords(ethernet))(i =>
    RegNext(Mux1H(places1.map { case (place, here) => here -> next.words(place + i) }))
  )
  private def protocolIs(numbers: Int*): Bool = numbers.map(walk1.protocol === _.U).reduce(_ || _)
  private val readable1 = !walk1.laterFragment && walk1.left >= 4.U
  private val hasPorts2 = RegNext(readable1 && protocolIs(portProtocols: _*))
  private val udp2 = RegNext(readable1 && protocolIs(UdpHeader.protocol))
  private val hasIcmp2 = RegNext(
    readable1 && Mux(isV6(walkEnd + 1), protocolIs(Ipv6Header.protocolIcmp), protocolIs(Ipv4Header.protocolIcmp))
  )
  private val v6Bytes2 = RegNext(Ipv6Header.bytes.U(7.W) + Cat(walk1.at, 0.U(3.W)))
  private val walk2 = RegNext(walk1)

  // All together.
  private val tail = packet(walkEnd + 2)
  private val v6 = isV6(walkEnd + 2)
  private val head = tail.words
  private val fields = Wire(new HeaderFields)
  fields.length := tail.length
  fields.macDestination := tail.macDestination
  fields.etherClass := tail.etherClass
  fields.l2Bytes := tail.l2Bytes
  fields.malformed := walk2.malformed || ShiftRegister(lengths.io.bad, walkEnd + 2 - IpLengthCheck.latency)
  fields.unfinished := walk2.unfinished
  fields.checksumBad := ShiftRegister(checksum.io.bad, walkEnd + 2 - Ipv4ChecksumCheck.latency) && !v6
  fields.headerBytes := Mux(v6, v6Bytes2, Cat(head(0)(27, 24), 0.U(2.W)))
  fields.totalLength := Mux(v6, head(1)(31, 16) + Ipv6Header.bytes.U, head(0)(15, 0))(lengthBits - 1, 0)
  fields.payloadLength := walk2.left
  fields.tos := Mux(v6, head(0)(27, 20), head(0)(23, 16))
  fields.ttl := Mux(v6, head(1)(7, 0), head(2)(31, 24))
  fields.ttlExpired := Mux(v6, head(1)(7, 1) === 0.U, head(2)(31, 25) === 0.U)
  fields.checksum := head(2)(15, 0)
  fields.dontFragment := v6 || head(1)(14)
  fields.fragment := walk2.fragment
  fields.protocol := walk2.protocol
  fields.source := Mux(v6, Cat(head.slice(2, 6)), head(3))
  fields.destination := Mux(v6, Cat(head.slice(6, 10)), head(4))
  fields.hasPorts := hasPorts2
  fields.sourcePort := Mux(hasPorts2, payload2(0)(31, 16), 0.U)
  fields.destinationPort := Mux(hasPorts2, payload2(0)(15, 0), 0.U)
  fields.hasIcmp := hasIcmp2
  fields.icmpType := Mux(hasIcmp2, payload2(0)(31, 24), 0.U)
  fields.icmpCode := Mux(hasIcmp2, payload2(0)(23, 16), 0.U)
  fields.udpEncap := UdpEncap.none
  fields.spi := payload2(0)

  // UDP to port 4500, and the SPI behind its header.
  private val complete = Wire(new HeaderFields)
  if (ethernet) {
    val natt = Module(new UdpEncapParser)
    natt.io.udp := udp2
    natt.io.length := walk2.left
    natt.io.words := payload2
    complete := ShiftRegister(fields, UdpEncapParser.latency)
    complete.udpEncap := natt.io.encap
    when(natt.io.encap === UdpEncap.esp)(complete.spi := ShiftRegister(payload2(2), UdpEncapParser.latency))
  } else complete := fields
  io.out.bits := RegNext(complete)
  io.out.valid := ShiftRegister(io.in.valid, latency(ethernet), false.B, true.B)
}

object HeaderParser {

  /** Cycles from time 0 to the end of the walk over extension headers. */
  private val walkEnd: Int = 1 + ExtensionStep.maxHeaders * ExtensionStep.latency

  /** Cycles from a packet to its fields: Ethernet header, walk, payload's place and words, port 4500. */
  def latency(ethernet: Boolean): Int =
    walkEnd + 3 + (if (ethernet) EthernetParser.latency + UdpEncapParser.latency else 0)

  /** TCP, UDP, SCTP: source and destination port are the first 4 bytes of each. */
  val portProtocols: Seq[Int] = Seq(6, UdpHeader.protocol, 132)

  /** Words behind the IP header that are read: SPI or ports alone, or as far as RFC 3948 needs. */
  private def payloadWords(ethernet: Boolean): Int = if (ethernet) UdpEncapParser.words else 1

  private def words(ethernet: Boolean): Int = {
    val v6 = Ipv6Header.bytes + ExtensionStep.unitBytes * ExtensionStep.maxUnits
    require(v6 >= Ipv4Header.maxBytes, "the window is drawn to IPv6")
    v6 / 4 + payloadWords(ethernet)
  }

  /** Bytes at a packet's start that the parser needs. */
  def windowBytes(ethernet: Boolean): Int =
    (if (ethernet) EthernetParser.maxHeaderBytes else 0) + 4 * words(ethernet)
}
