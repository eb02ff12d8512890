// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.stream.{MacBeat, PacketStream}
import sallyport.iface.headers.{EthernetHeader, Ipv4Header, Ipv6Header, UdpHeader, VlanTags}

/**
 * Tells the frames that pass the receive queue first from the others, by the first beat of each as
 * it comes from the MAC.
 *
 * High is control: ARP; IPv6 neighbour discovery (ICMPv6 types 133 to 137, RFC 4861); IKE, which is
 * UDP to port 500, or to port 4500 with the non-ESP marker (RFC 7296 2.23, RFC 3948 2.2). And high
 * is every IPv4 and IPv6 packet whose DSCP is one of `marked` (RFC 2474). All of it behind no, one
 * or two VLAN tags, as [[EthernetParser]] reads them; frames with more are low.
 *
 * Control that the first 64 bytes do not show is low, unless its DSCP is marked: control behind
 * IPv4 options or IPv6 extension headers; later fragments of it; in IPv6, IKE to port 4500, whose
 * marker is in the second beat, and IKE to port 500 behind two tags. Only these fields are checked:
 * a frame that is later dropped as malformed may have been high.
 *
 * A pipeline without stalls: `high` belongs to the beat of [[PriorityClass.latency]] cycles before,
 * and is the same on each beat of a frame. The output is a register.
 */
class PriorityClass extends Module {
  val io = IO(new Bundle {
    val beat = Flipped(Valid(new MacBeat))

    /** Bit n: DSCP n is high. */
    val marked = Input(UInt(PriorityClass.dscps.W))
    val high = Output(Bool())
  })

  // Stage 1: what the beat would be behind each number of tags.
  private val behind =
    EthernetHeader.lengths.map(bytes => RegNext(PriorityClass.look(io.beat.bits.data, bytes)))
  private val tagged =
    behind.init.indices.map(tags => RegNext(PriorityClass.tagged(io.beat.bits.data, EthernetHeader.bytesWith(tags))))
  private val first = RegInit(true.B)
  when(io.beat.valid) { first := io.beat.bits.last }
  private val first1 = RegNext(io.beat.valid && first, false.B)

  // Stage 2: chooses the depth by the tags. A VLAN EtherType is neither IP's nor ARP's, so a match
  // at a too shallow depth cannot occur.
  private val found = behind.map(is => is.control || is.ip && io.marked(is.dscp))
  private val high = RegEnable(found(0) || tagged(0) && (found(1) || tagged(1) && found(2)), first1)
  io.high := high
}

/** What [[PriorityClass]] sees behind one number of tags. */
class PrioritySight extends Bundle {
  val control = Bool()
  val ip = Bool()
  val dscp = UInt(6.W)
}

object PriorityClass {
  val latency: Int = 2
  val dscps: Int = 64

  /** Bytes of the IP headers that are looked at. */
  private val v4Fragment: Int = 6
  private val v4Protocol: Int = 9
  private val v6Next: Int = 6
  private val udpDestination: Int = 2

  private def byte(beat: UInt, at: Int): UInt = beat(8 * at + 7, 8 * at)
  private def word(beat: UInt, at: Int): UInt = Cat(byte(beat, at), byte(beat, at + 1))
  private def kind(beat: UInt, headerBytes: Int): UInt = word(beat, headerBytes - 2)

  private def tagged(beat: UInt, headerBytes: Int): Bool =
    VlanTags.isType(kind(beat, headerBytes))

  private def look(beat: UInt, headerBytes: Int): PrioritySight = {
    def at(offset: Int): UInt = byte(beat, headerBytes + offset)
    def port(udp: Int): UInt = word(beat, headerBytes + udp + udpDestination)
    val type1 = kind(beat, headerBytes)
    val v4 = type1 === EthernetHeader.ipv4.U
    val v6 = type1 === EthernetHeader.ipv6.U

    val udp4 =
      at(0) === 0x45.U && at(v4Protocol) === UdpHeader.protocol.U && word(beat, headerBytes + v4Fragment)(12, 0) === 0.U
    val behindUdp = headerBytes + Ipv4Header.bytes + UdpHeader.bytes
    val marker = beat(8 * (behindUdp + UdpEncapParser.markerBytes) - 1, 8 * behindUdp) === 0.U
    val port4 = port(Ipv4Header.bytes)
    val ike4 = udp4 && (port4 === UdpHeader.portIke.U || port4 === UdpHeader.portNatt.U && marker)

    // Behind two tags the ports of UDP in IPv6 are in the second beat.
    val portSeen = headerBytes + Ipv6Header.bytes + UdpHeader.bytes - 4 <= PacketStream.dataBytes
    val ike6 =
      if (portSeen) at(v6Next) === UdpHeader.protocol.U && port(Ipv6Header.bytes) === UdpHeader.portIke.U else false.B
    val neighbours = at(v6Next) === Ipv6Header.protocolIcmp.U &&
      VecInit(Ipv6Header.neighbourTypes.map(at(Ipv6Header.bytes) === _.U)).asUInt.orR

    val sight = Wire(new PrioritySight)
    sight.control := type1 === EthernetHeader.arp.U || v4 && ike4 || v6 && (ike6 || neighbours)
    sight.ip := v4 || v6
    sight.dscp := Mux(v6, Cat(at(0)(3, 0), at(1)(7, 6)), at(1)(7, 2))
    sight
  }
}
