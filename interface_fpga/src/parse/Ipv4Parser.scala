package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * Reads the headers of one packet: Ethernet type, IPv4 with options, ports or SPI wherever the options put them, and of a
 * frame what UDP to port 4500 carries.
 *
 * A pipeline without stalls: one packet a cycle, answered in order [[Ipv4Parser.latency]] cycles later. It judges and drops
 * nothing. Header checksum as RFC 1071; lengths as RFC 791 3.1.
 *
 * @param ethernet the packet starts with an Ethernet header; else with its IP header, and `etherClass` is always `ipv4`
 */
class Ipv4Parser(ethernet: Boolean) extends Module {
  private val ip = Ipv4Parser.ipOffset(ethernet)

  val io = IO(new Bundle {
    val in = Flipped(Valid(new HeaderWindow(Ipv4Parser.windowBytes(ethernet))))
    val out = Valid(new HeaderFields)
  })

  /** Bytes `offset` and following of a window as a host-order number. */
  private def field(window: UInt, offset: Int, bytes: Int): UInt =
    WireOrder.bigEndian(window(8 * (offset + bytes) - 1, 8 * offset))

  // Stage 1: words of the header alone (what follows it is masked out of the checksum), Ethernet type.
  private val window = io.in.bits.bytes
  private val ihl = window(8 * ip + 3, 8 * ip)
  private val words = Seq.tabulate(Ipv4Parser.maxHeaderBytes / 2) { i =>
    val word = field(window, ip + 2 * i, 2)
    RegNext(if (2 * i < Ipv4Header.bytes) word else Mux(ihl > (i / 2).U, word, 0.U))
  }
  private val window1 = RegNext(window)
  private val length1 = RegNext(io.in.bits.length)
  private val room1 = RegNext(io.in.bits.length - ip.U)
  private val fits1 = RegNext(io.in.bits.length >= (ip + Ipv4Header.bytes).U)
  private val etherClass1 = RegNext(if (ethernet) Ipv4Parser.classify(field(window, 12, 2)) else EtherClass.ipv4)

  // Stage 2: fields; payload's first words behind `ihl` words of header.
  private def at(offset: Int, bytes: Int): UInt = field(window1, ip + offset, bytes)
  private val ihl1 = window1(8 * ip + 3, 8 * ip)
  private val version1 = window1(8 * ip + 7, 8 * ip + 4)
  private val headerBytes1 = Cat(ihl1, 0.U(2.W))
  private val total1 = at(2, 2)
  private val offset1 = at(6, 2)(12, 0)

  private val fields2 = Reg(new HeaderFields)
  fields2.length := length1
  fields2.macDestination := (if (ethernet) window1(47, 0) else 0.U)
  fields2.etherClass := etherClass1
  fields2.malformed := !fits1 || version1 =/= 4.U || ihl1 < 5.U || total1 < headerBytes1 || total1 > room1
  fields2.checksumBad := DontCare
  fields2.headerBytes := headerBytes1
  fields2.totalLength := total1(PacketStream.lengthBits - 1, 0)
  fields2.payloadLength := (total1 - headerBytes1)(PacketStream.lengthBits - 1, 0)
  fields2.tos := at(1, 1)
  fields2.ttl := at(8, 1)
  fields2.ttlExpired := DontCare
  fields2.checksum := at(10, 2)
  fields2.dontFragment := at(6, 2)(14)
  fields2.fragment := at(6, 2)(13) || offset1 =/= 0.U
  fields2.protocol := at(9, 1)
  fields2.source := at(12, 4)
  fields2.destination := at(16, 4)
  fields2.hasPorts := DontCare
  fields2.sourcePort := DontCare
  fields2.destinationPort := DontCare
  private val payload1 = Seq.tabulate(Ipv4Parser.payloadWords(ethernet)) { word =>
    Mux1H((5 to 15).map(n => (ihl1 === n.U) -> at(4 * (n + word), 4)))
  }
  fields2.udpEncap := UdpEncap.none
  fields2.spi := payload1.head
  private val first2 = RegNext(offset1 === 0.U)

  // Stage 3: what needs two of them.
  private val fields3 = RegNext(fields2)
  private val hasPorts = Ipv4Parser.portProtocols.map(fields2.protocol === _.U).reduce(_ || _) && first2 &&
    fields2.payloadLength >= 4.U
  fields3.hasPorts := hasPorts
  fields3.sourcePort := Mux(hasPorts, fields2.spi(31, 16), 0.U)
  fields3.destinationPort := Mux(hasPorts, fields2.spi(15, 0), 0.U)
  fields3.ttlExpired := fields2.ttl <= 1.U

  // Stage 5: UDP to port 4500, and the SPI behind its header.
  private val fields5 = RegNext(RegNext(fields3))
  if (ethernet) {
    val payload2 = RegNext(VecInit(payload1))
    val natt = Module(new UdpEncapParser)
    natt.io.udp := hasPorts && fields2.protocol === UdpHeader.protocol.U
    natt.io.length := fields2.payloadLength
    natt.io.words := payload2
    fields5.udpEncap := natt.io.encap
    fields5.spi := Mux(
      natt.io.encap === UdpEncap.esp,
      ShiftRegister(payload2(2), UdpEncapParser.latency),
      ShiftRegister(fields2.spi, UdpEncapParser.latency)
    )
  }

  // Beside them: 30 words → 10 → 4 → 2 → 1 sum, folded, compared. All ones is right (RFC 1071 section 1).
  private def sums(values: Seq[UInt]): Seq[UInt] = values.grouped(3).map(group => RegNext(group.reduce(_ +& _))).toSeq
  private val total = Iterator.iterate(words)(sums).drop(Ipv4Parser.sumStages).next().head
  private val folded = RegNext(total(15, 0) +& (total >> 16))
  private val checksumBad = RegNext(folded =/= 0xffff.U)

  io.out.valid := ShiftRegister(io.in.valid, Ipv4Parser.latency, false.B, true.B)
  io.out.bits := ShiftRegister(fields5, Ipv4Parser.latency - 5)
  io.out.bits.checksumBad := checksumBad
}

object Ipv4Parser {
  private[iface] val sumStages: Int = 4

  /** Mask, sums, fold, compare. */
  val latency: Int = 1 + sumStages + 2
  val maxHeaderBytes: Int = 60

  /** TCP, UDP, SCTP: source and destination port are the first 4 bytes of each. */
  val portProtocols: Seq[Int] = Seq(6, UdpHeader.protocol, 132)

  def ipOffset(ethernet: Boolean): Int = if (ethernet) EthernetHeader.bytes else 0

  /** Bytes at a packet's start that the parser needs. */
  def windowBytes(ethernet: Boolean): Int = ipOffset(ethernet) + maxHeaderBytes + 4 * payloadWords(ethernet)

  /** Words behind the IP header that are read: SPI or ports alone, or as far as RFC 3948 needs. */
  private def payloadWords(ethernet: Boolean): Int = if (ethernet) UdpEncapParser.words else 1

  private[iface] def classify(etherType: UInt): EtherClass.Type = {
    def is(values: Int*): Bool = values.map(etherType === _.U).reduce(_ || _)
    MuxCase(
      EtherClass.other,
      Seq(
        is(0x0800) -> EtherClass.ipv4,
        is(0x0806) -> EtherClass.arp,
        is(0x86dd) -> EtherClass.ipv6,
        is(0x8100, 0x88a8, 0x9100) -> EtherClass.vlan
      )
    )
  }
}
