// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.{EthernetHeader, GroupAddress, VlanTags}

/** A packet from the first byte of its IP header on, and the fields in front of it. */
class IpWindow(count: Int) extends Bundle {
  val length = UInt(PacketStream.lengthBits.W)
  val macDestination = UInt(48.W)
  val macFromGroup = Bool()
  val etherClass = EtherClass()
  val l2Bytes = UInt(5.W)

  /** Bytes from the IP header to the packet's end. */
  val room = UInt(PacketStream.lengthBits.W)

  /** The IP packet's first 32-bit words, in host order. */
  val words = Vec(count, UInt(32.W))

  /** Of IPv4 and IPv6, and so is the rest. */
  def isIp: Bool = etherClass === EtherClass.ipv4 || isV6
  def isV6: Bool = etherClass === EtherClass.ipv6
  private def destinationV6: UInt = Cat(words.slice(6, 10))

  /** As a number; of IPv4 with zeros above. */
  def destination: UInt = Mux(isV6, destinationV6, words(4))
  def toGroup: Bool = Mux(isV6, GroupAddress.ipv6(destinationV6), GroupAddress.ipv4(words(4)))
}

/**
 * Finds the Ethernet type behind no, one or two VLAN tags (IEEE 802.1Q: TPID 0x8100, 0x88A8 or the
 * older 0x9100, in any order) and puts what follows it in place. With more tags the class is
 * `vlan`, and the rest means nothing.
 *
 * A pipeline without stalls: `out` belongs to the `in` of [[EthernetParser.latency]] cycles before.
 * Frames are 60 bytes or longer, so a tag is always there to read.
 *
 * @param words 32-bit words from the IP header on that `out` shows
 */
class EthernetParser(words: Int) extends Module {
  val io = IO(new Bundle {
    val in = Input(new HeaderWindow(EthernetHeader.maxBytes + 4 * words))
    val out = Output(new IpWindow(words))
  })
  import EthernetParser._

  private def at(offset: Int, bytes: Int): UInt =
    WireOrder.bigEndian(io.in.bytes(8 * (offset + bytes) - 1, 8 * offset))

  // Stage 1: what each of the three places of a type holds, and what each number of tags leaves
  // for IP.
  private val types = (0 to VlanTags.most).map(tags => at(2 * 6 + VlanTags.bytes * tags, 2))
  private val tagged = types.map(kind => RegNext(VlanTags.isType(kind)))
  private val classes = types.map(kind => RegNext(classify(kind)))
  private val rooms = (0 to VlanTags.most).map(tags => RegNext(io.in.length - EthernetHeader.bytesWith(tags).U))
  private val in1 = RegNext(io.in)

  // Stage 2: the one that counts.
  private val chosen =
    Seq(!tagged(0), tagged(0) && !tagged(1), tagged(0) && tagged(1) && !tagged(2))
  private def choose(values: Seq[UInt]): UInt = Mux1H(chosen, values)
  private val kind = MuxCase(EtherClass.vlan, chosen.zip(classes))
  io.out.length := RegNext(in1.length)
  io.out.macDestination := RegNext(in1.bytes(47, 0))
  io.out.macFromGroup := RegNext(in1.bytes(48))
  io.out.etherClass := RegNext(kind)
  io.out.l2Bytes := RegNext(choose((0 to VlanTags.most).map(EthernetHeader.bytesWith(_).U)))
  io.out.room := RegNext(choose(rooms))
  for ((word, i) <- io.out.words.zipWithIndex) {
    val places = (0 to VlanTags.most).map { tags =>
      val byte = EthernetHeader.bytesWith(tags) + 4 * i
      in1.bytes(8 * byte + 31, 8 * byte)
    }
    word := RegNext(WireOrder.bigEndian(choose(places)))
  }
}

object EthernetParser {
  val latency: Int = 2

  /** The class of a type that is no tag. */
  def classify(etherType: UInt): EtherClass.Type = MuxCase(
    EtherClass.other,
    Seq(
      (etherType === EthernetHeader.ipv4.U) -> EtherClass.ipv4,
      (etherType === EthernetHeader.arp.U) -> EtherClass.arp,
      (etherType === EthernetHeader.ipv6.U) -> EtherClass.ipv6
    )
  )
}
