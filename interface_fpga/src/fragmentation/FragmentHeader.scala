// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.fragmentation

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.{Ipv4Header, Ipv6Header}

/** What distinguishes one fragment of a packet. */
class FragmentPiece extends Bundle {

  /** No more follow of the packet. */
  val last = Bool()

  /** More follow of its datagram. */
  val more = Bool()

  /** Payload bytes. */
  val bytes = UInt(PacketStream.lengthBits.W)

  /** Bytes of the packet on the stream, with all its headers. */
  val packetBytes = UInt(PacketStream.lengthBits.W)

  /** Total length of IPv4, payload length of IPv6. */
  val length = UInt(16.W)

  /** It is the first of the packet. */
  val first = Bool()

  /** Units of the datagram's payload before it. */
  val offset = UInt(13.W)

  /** Of IPv4. */
  val checksum = UInt(16.W)
}

/**
 * Works out the next fragment of a packet.
 *
 * Of packets whose IP header starts at byte `ipAt`. `piece` is right [[FragmentHeader.latency]]
 * cycles after the last change of an input, and stays so. The IPv4 checksum is updated from the
 * whole packet's (RFC 1624), so an error in that one survives.
 *
 * A packet that is a fragment itself begins at its own offset, and more follow its last piece if
 * more followed it (RFC 791 3.2).
 */
class FragmentHeader(ipAt: Int) extends Module {
  import FragmentHeader.headerBytes

  val io = IO(new Bundle {
    val v6 = Input(Bool())
    val units = Input(UInt(FragmentCut.unitsBits.W))

    /** Bytes of payload that are left, and the units of the packet before them. */
    val left = Input(UInt(PacketStream.lengthBits.W))
    val offset = Input(UInt(13.W))

    /** Of the packet, if it is a fragment of IPv4; else 0 and low. */
    val begins = Input(UInt(13.W))
    val more = Input(Bool())

    /** Of the whole packet, IPv4. */
    val checksum = Input(UInt(16.W))
    val totalLength = Input(UInt(16.W))
    val piece = Output(new FragmentPiece)
  })

  private def fold(sum: UInt): UInt = sum(15, 0) + sum(16)

  // Each line is a cycle behind the one before it.
  private val most = Cat(io.units, 0.U(3.W))
  private val last = RegNext(io.left <= most)
  private val base = RegNext((~io.checksum).asUInt +& (~io.totalLength).asUInt)

  private val bytes = RegNext(Mux(last, io.left, most))
  private val base2 = RegNext(fold(base))
  // By which the field of flags and offset grows: it had `more` and `begins`.
  private val flags = Cat(0.U(2.W), !last && !io.more, io.offset)

  private val length = RegNext(bytes + Mux(io.v6, FragmentCut.v6HeaderBytes.U(6.W), Ipv4Header.bytes.U))
  private val packetBytes = RegNext(bytes + Mux(io.v6, headerBytes(ipAt, v6 = true).U, headerBytes(ipAt, v6 = false).U))
  private val sum3 = RegNext(base2 +& flags)
  private val sum4 = RegNext(fold(sum3))
  private val sum5 = RegNext(sum4 +& length.pad(16))
  private val checksum = RegNext((~fold(sum5)).asUInt)

  io.piece.last := last
  io.piece.more := !last || io.more
  io.piece.first := RegNext(io.offset === 0.U)
  io.piece.bytes := bytes
  io.piece.packetBytes := packetBytes
  io.piece.length := length
  io.piece.offset := RegNext(io.begins + io.offset)
  io.piece.checksum := checksum
}

object FragmentHeader {
  val latency: Int = 6

  /**
   * The first bytes of a fragment: those of the whole packet, with the changed fields. The IP
   * header starts at byte `ipAt`. The first [[headerBytes]] of them are valid.
   */
  def apply(whole: UInt, ipAt: Int, v6: Bool, identification: UInt, piece: FragmentPiece): UInt = {
    def keep(from: Int, until: Int): UInt = whole(8 * (ipAt + until) - 1, 8 * (ipAt + from))
    val reserved = keep(6, 7)(7) // stays, and with it its part of the checksum
    val ethernet = if (ipAt == 0) 0.U(0.W) else whole(8 * ipAt - 1, 0)
    val v4Header = WireOrder.pack(
      keep(0, 2),
      WireOrder.bigEndian(piece.length),
      keep(4, 6),
      WireOrder.bigEndian(Cat(reserved, 0.U(1.W), piece.more, piece.offset)),
      keep(8, 10),
      WireOrder.bigEndian(piece.checksum),
      keep(12, Ipv4Header.bytes)
    )
    val v6Header = WireOrder.pack(
      keep(0, 4),
      WireOrder.bigEndian(piece.length),
      Ipv6Header.fragment.U(8.W),
      keep(7, Ipv6Header.bytes),
      keep(6, 7),
      0.U(8.W),
      WireOrder.bigEndian(Cat(piece.offset, 0.U(2.W), piece.more)),
      WireOrder.bigEndian(identification)
    )
    Cat(Mux(v6, v6Header, v4Header.pad(v6Header.getWidth)), ethernet)
  }

  /** Bytes in front of a fragment's payload. */
  def headerBytes(ipAt: Int, v6: Boolean): Int =
    ipAt + (if (v6) Ipv6Header.bytes + FragmentCut.v6HeaderBytes else Ipv4Header.bytes)
}
