// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.registers.map.DfMode
import sallyport.common.stream.PacketStream
import sallyport.iface.fragmentation.FragmentCut
import sallyport.iface.headers.{EthernetHeader, InternetChecksum, IpHeader, Ipv4Header, Ipv6Header, UdpHeader}
import sallyport.iface.identifiers.Identifiers

/** Everything the outer header of one packet is made of. */
class HeaderRequest extends Bundle {
  val meta = new LinkMeta
  val tunnel = new TunnelTemplate

  /** The next hop's row is valid, and its address (first wire byte in bits 7:0). */
  val nextHopValid = Bool()
  val nextHopMac = UInt(48.W)
}

/** Why a packet gets no header; at most one is set. */
class HeaderFault extends Bundle {
  val txDisabled = Bool()
  val noIdentifier = Bool()
  val noTunnel = Bool()
  val noNextHop = Bool()
  val mtu = Bool()

  def any: Bool = txDisabled || noIdentifier || noTunnel || noNextHop || mtu
}

/** A finished header for [[HeaderPrepend]]. */
class BuiltHeader extends Bundle {

  /**
   * Ethernet, outer IP and UDP header, byte 0 lowest; as many bytes count as `select` says, of a
   * frame none.
   */
  val bytes = UInt((8 * HeaderBuilder.lengths.max).W)

  /** Index into [[HeaderBuilder.lengths]]. */
  val select = UInt(log2Ceil(HeaderBuilder.lengths.length).W)

  /** How the packet with its headers is cut, if it is longer than its MTU. */
  val cut = new FragmentCut
  val fault = new HeaderFault
}

/**
 * Builds the headers in front of a packet to the black network.
 *
 * ESP packets get Ethernet and outer IPv4 headers as RFC 4301 5.1.2.1 says: DSCP copied or set, ECN
 * by RFC 6040 section 4.1, DF copied, set or cleared, TTL from the template, protocol 50, total
 * length, checksum. Each ESP packet takes an identification of `identifiers`, over IPv6 for the
 * case that it is cut (RFC 8200 4.5). With `encap` in the template the protocol is 17 and a UDP
 * header follows: the template's ports, length, checksum 0 (RFC 3948 2.1). With `v6` the outer
 * header is IPv6 with the template's flow label and hop limit (5.1.2.2). The checksum of its UDP
 * header is that of the datagram (RFC 8200 8.1); the link's receiver has already summed the ESP
 * bytes. Bypassed packets are IP packets already and get the Ethernet header alone. Whole frames,
 * with `transport`, get none, and need neither template nor next hop. None of both takes an
 * identification.
 *
 * An IP packet is too long if it is longer than the template's `mtu`, than `portMtu` or than fits a
 * frame. An ESP packet that is too long is cut behind its headers if its DF bit is clear (RFC
 * 4301 8.1, RFC 4303 3.3.4). IPv6 has no DF: the value that DF would have decides. `cut` says how.
 * In transport mode the IP header is the host's, and ESP is cut behind it if that is IPv4 without
 * DF, options and VLAN tags. Below the IP version's minimum MTU, packets are not cut.
 *
 * `fault` names the first reason for which the packet cannot go, in this order: `enable` is low; no
 * identification waits; no valid template; no valid next hop; too long, and not cut.
 *
 * A pipeline without stalls: one request a cycle, answered [[HeaderBuilder.latency]] cycles later.
 * The port's address and MTU are registers that software sets while no traffic flows.
 */
class HeaderBuilder extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val portMac = Input(UInt(48.W))
    val portMtu = Input(UInt(14.W))
    val identifiers = Flipped(Decoupled(new Identifiers))
    val request = Flipped(Valid(new HeaderRequest))
    val built = Valid(new BuiltHeader)
  })

  private val meta = io.request.bits.meta
  private val tunnel = io.request.bits.tunnel

  // A packet that needs no outer IP header: it is an IP packet already, or a frame.
  private val ownHeaders = meta.bypass || meta.transport

  io.identifiers.ready := io.request.valid && !ownHeaders

  // Stage 1: every field but the checksum.
  private val inUdp = tunnel.encap
  private val udpBytes = Mux(inUdp, UdpHeader.bytes.U(16.W), 0.U)
  private val tos = Cat(
    Mux(tunnel.dscpCopy, meta.tos(7, 2), tunnel.dscp),
    Mux(tunnel.ecnCopy, meta.tos(1, 0), 0.U(2.W))
  )
  private val ip = Wire(new Ipv4Header)
  ip.tos := tos
  ip.totalLength := meta.length + Mux(inUdp, (Ipv4Header.bytes + UdpHeader.bytes).U(16.W), Ipv4Header.bytes.U)
  ip.identification := io.identifiers.bits.v4
  ip.dontFragment := Mux(tunnel.dfMode === DfMode.copy.U, meta.df, tunnel.dfMode(0))
  ip.ttl := tunnel.ttl
  ip.protocol := Mux(inUdp, UdpHeader.protocol.U, IpHeader.esp.U)
  ip.checksum := 0.U
  ip.source := tunnel.source(31, 0)
  ip.destination := tunnel.destination(31, 0)

  private val ipv6 = Wire(new Ipv6Header)
  ipv6.trafficClass := tos
  ipv6.flowLabel := tunnel.flowLabel
  ipv6.payloadLength := meta.length + udpBytes
  ipv6.nextHeader := Mux(inUdp, UdpHeader.protocol.U, IpHeader.esp.U)
  ipv6.hopLimit := tunnel.ttl
  ipv6.source := tunnel.source
  ipv6.destination := tunnel.destination

  private val udp = Wire(new UdpHeader)
  udp.sourcePort := tunnel.sourcePort
  udp.destinationPort := tunnel.destinationPort
  udp.length := meta.length + UdpHeader.bytes.U(16.W)
  udp.checksum := 0.U

  private val valid = ShiftRegister(io.request.valid, HeaderBuilder.latency, false.B, true.B)
  private val ip1 = RegNext(ip)
  private val udp1 = RegNext(udp)
  private val ipv61 = RegNext(ipv6)
  private val isV61 = RegNext(tunnel.v6 && !ownHeaders)
  private val select1 = RegNext(
    MuxCase(
      1.U,
      Seq(
        meta.transport -> 5.U,
        meta.bypass -> 0.U,
        (tunnel.v6 && tunnel.encap) -> 4.U,
        tunnel.v6 -> 3.U,
        tunnel.encap -> 2.U
      )
    )
  )
  private val ethernet1 = RegNext(EthernetHeader(
    io.request.bits.nextHopMac,
    io.portMac,
    EthernetHeader.ofIp(Mux(meta.bypass, meta.nextHeader === IpHeader.v6InIp.U, tunnel.v6))
  ))
  private val disabled1 = RegNext(!io.enable)
  private val noIdentifier1 = RegNext(!ownHeaders && !io.identifiers.valid)
  private val templateMissing1 = RegNext(!ownHeaders && !tunnel.valid)
  private val nextHopMissing1 = RegNext(!meta.transport && !io.request.bits.nextHopValid)
  private val portMtu =
    RegNext(Mux(io.portMtu > HeaderBuilder.maxPacketBytes.U, HeaderBuilder.maxPacketBytes.U, io.portMtu))
  private val mtu1 = RegNext(Mux(ownHeaders || tunnel.mtu === 0.U || tunnel.mtu > portMtu, portMtu, tunnel.mtu))
  private val plain = ClearPrefix.tags(meta.tos) === 0.U && ClearPrefix.ipWords(meta.tos) === (Ipv4Header.bytes / 4).U
  private val mayCut1 = RegNext(!meta.bypass && Mux(meta.transport, plain && !meta.df, !ip.dontFragment))
  private val identification1 = RegNext(io.identifiers.bits.v6)
  private val length1 =
    RegNext(
      MuxCase(
        ip.totalLength,
        Seq(
          meta.transport -> (meta.length - ClearPrefix.linkBytes(meta.tos)),
          meta.bypass -> meta.length,
          tunnel.v6 -> (meta.length + Mux(inUdp, (Ipv6Header.bytes + UdpHeader.bytes).U(16.W), Ipv6Header.bytes.U))
        )
      )
    )

  // Stage 2: the fault is known, and whether the packet is cut.
  private val tooLong = length1 > mtu1
  private val cuts =
    mayCut1 && mtu1 >= Mux(isV61, FragmentCut.minMtuV6.U(14.W), FragmentCut.minMtuV4.U)
  private val cut = Wire(new FragmentCut)
  cut.units := Mux(tooLong && cuts, FragmentCut.units(mtu1, isV61), 0.U)
  cut.v6 := isV61
  cut.identification := identification1
  private val fault = Wire(new HeaderFault)
  private val reasons = VecInit(disabled1, noIdentifier1, templateMissing1, nextHopMissing1, tooLong && !cuts)
  Seq(fault.txDisabled, fault.noIdentifier, fault.noTunnel, fault.noNextHop, fault.mtu)
    .zip(PriorityEncoderOH(reasons)).foreach { case (to, from) => to := from }

  private val checksum = Module(new InternetChecksum(HeaderBuilder.ipWords))
  checksum.io.words := InternetChecksum.words(ip1.wire)

  // UDP over IPv6: pseudo header, header, and the bytes behind it.
  private val ofEsp: Seq[UInt] = RegNext(meta.payloadSum).pad(48).asTypeOf(Vec(3, UInt(16.W)))
  private val addresses = Cat(ipv61.source, ipv61.destination).asTypeOf(Vec(16, UInt(16.W)))
  private val datagram = Seq(UdpHeader.protocol.U, udp1.length, udp1.length, udp1.sourcePort, udp1.destinationPort) ++
    ofEsp.map(WireOrder.bigEndian(_))
  private val udpChecksum = Module(new InternetChecksum(addresses.length + datagram.length))
  udpChecksum.io.words := addresses ++ datagram
  require(
    InternetChecksum.latency(addresses.length + datagram.length) == InternetChecksum.latency(HeaderBuilder.ipWords),
    "both checksums are ready in one cycle"
  )

  private val rest = HeaderBuilder.latency - 1
  private val isV6 = ShiftRegister(isV61, rest)
  private val ipOut = WireDefault(ShiftRegister(ip1, rest))
  ipOut.checksum := checksum.io.checksum
  private val udpOut = WireDefault(ShiftRegister(udp1, rest))
  udpOut.checksum := Mux(isV6, udpChecksum.io.checksum | Fill(16, udpChecksum.io.isZero), 0.U)

  io.built.valid := valid
  private val network = Mux(isV6, Cat(udpOut.wire, ShiftRegister(ipv61, rest).wire), Cat(udpOut.wire, ipOut.wire))
  io.built.bits.bytes := Cat(network, ShiftRegister(ethernet1, rest).wire)
  io.built.bits.select := ShiftRegister(select1, rest)
  io.built.bits.cut := ShiftRegister(RegNext(cut), rest - 1)
  io.built.bits.fault := ShiftRegister(RegNext(fault), rest - 1)
}

object HeaderBuilder {
  private val ipWords: Int = Ipv4Header.bytes / 2
  val latency: Int = 1 + InternetChecksum.latency(ipWords)

  /**
   * Bytes of the headers of a bypassed packet, of ESP and ESP in UDP over IPv4, of both over IPv6,
   * and of a whole frame.
   */
  val lengths: Seq[Int] = {
    val ips = Seq(Ipv4Header.bytes, Ipv6Header.bytes)
    (0 +: ips.flatMap(ip => Seq(ip, ip + UdpHeader.bytes))).map(EthernetHeader.bytes + _) :+ 0
  }

  /** Longest IP packet that a frame holds. */
  val maxPacketBytes: Int = PacketStream.maxFrameBytes - EthernetHeader.bytes - EthernetHeader.fcsBytes
}
