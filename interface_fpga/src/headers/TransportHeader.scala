// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.stream.{PacketBeat, PacketStream}

/**
 * What the IP header of a frame in transport mode becomes (RFC 4303 3.1.1); no change without
 * `enable`.
 */
class TransportPatch extends Bundle {
  val enable = Bool()

  /** VLAN tags in front of it. */
  val tags = UInt(2.W)
  val v6 = Bool()

  /** IPv4: total length; IPv6: payload length. */
  val length = UInt(16.W)

  /** Protocol or next header. */
  val protocol = UInt(8.W)

  /** Of IPv4. */
  val checksum = UInt(16.W)
}

/**
 * Computes the IP header of a frame whose payload has become ESP, or was ESP: length, protocol and
 * IPv4's checksum. The checksum is updated and not computed anew (RFC 1624 equation 3), so that a
 * broken header stays broken.
 *
 * A pipeline without stalls; latency [[TransportHeader.latency]] cycles.
 */
class TransportHeader extends Module {
  val io = IO(new Bundle {

    /** The frame's first bytes, byte 0 lowest. */
    val bytes = Input(UInt((8 * ClearPrefix.lengths.max).W))

    /** Of the whole frame; `hasPrefix` says whether there is anything to do. */
    val meta = Input(new LinkMeta)
    val protocol = Input(UInt(8.W))
    val patch = Output(new TransportPatch)
  })

  // Stage 1: the IP header's first words, wherever it is.
  private val tags = ClearPrefix.tags(io.meta.tos)
  private val starts = (0 to VlanTags.most).map(n => (tags === n.U) -> EthernetHeader.bytesWith(n))
  private def at(offset: Int, bytes: Int): UInt = WireOrder.bigEndian(Mux1H(starts.map { case (here, start) =>
    here -> io.bytes(8 * (start + offset + bytes) - 1, 8 * (start + offset))
  }))
  private val v6 = RegNext(at(0, 1)(7, 4) === 6.U)
  private val ipBytes = RegNext(io.meta.length - ClearPrefix.linkBytes(io.meta.tos))
  private val oldLength = RegNext(at(2, 2))
  private val oldProtocol = RegNext(at(9, 1))
  private val oldChecksum = RegNext(at(10, 2))
  private val protocol = RegNext(io.protocol)

  // Stages 2 and 3: ~HC + ~m + m' of the words of length and protocol; TTL stays. Stages 4 and 5:
  // carries in, and HC'.
  private val lengthTerm = RegNext((~oldLength).asUInt +& ipBytes)
  private val protocolTerm = RegNext(Cat(0xff.U(8.W), (~oldProtocol).asUInt) +& protocol)
  private val checksumTerm = RegNext((~oldChecksum).asUInt)
  private val sum3 = RegNext(lengthTerm +& protocolTerm)
  private val checksum3 = RegNext(checksumTerm)
  private val sum4 = RegNext(sum3 +& checksum3)
  private val folded = RegNext(sum4(15, 0) +& sum4(18, 16))

  private val rest = TransportHeader.latency - 1
  private val length6 = RegNext(ipBytes - Ipv6Header.bytes.U)
  private val length4 = RegNext(ipBytes)
  private val length = RegNext(Mux(RegNext(v6), length6, length4))
  io.patch.enable := ShiftRegister(io.meta.hasPrefix, TransportHeader.latency)
  io.patch.tags := ShiftRegister(tags, TransportHeader.latency)
  io.patch.v6 := ShiftRegister(v6, rest)
  io.patch.protocol := ShiftRegister(protocol, rest)
  io.patch.length := ShiftRegister(length, rest - 2)
  io.patch.checksum := RegNext(ChecksumUpdate.fold(folded))
}

object TransportHeader {
  val latency: Int = 6

  /**
   * Connects two packet streams and puts the new values into the headers on the way.
   * No latency.
   */
  def rewrite[M <: Data](to: DecoupledIO[PacketBeat[M]], from: DecoupledIO[PacketBeat[M]])(
      patch: M => TransportPatch
  ): Unit = {
    val first = RegInit(true.B)
    when(from.fire)(first := from.bits.last)
    val values = patch(from.bits.meta)
    val bytes = VecInit.tabulate(PacketStream.dataBytes)(i => from.bits.data(8 * i + 7, 8 * i))
    def put(offset: Int, value: UInt, v6: Boolean): Unit =
      for (tags <- 0 to VlanTags.most; i <- 0 until value.getWidth / 8)
        when(first && values.enable && values.v6 === v6.B && values.tags === tags.U) {
          bytes(EthernetHeader.bytesWith(tags) + offset + i) := value(8 * i + 7, 8 * i)
        }
    put(2, WireOrder.bigEndian(values.length), v6 = false)
    put(9, values.protocol, v6 = false)
    put(10, WireOrder.bigEndian(values.checksum), v6 = false)
    put(4, WireOrder.bigEndian(values.length), v6 = true)
    put(6, values.protocol, v6 = true)
    to <> from
    to.bits.data := bytes.asUInt
  }
}
