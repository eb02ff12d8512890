// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.{Ipv4Header, Ipv6Header}

/**
 * Whether version or lengths of an IP header's fixed part are impossible: IPv4 (RFC 791 3.1)
 * version, IHL, total length against header and packet; IPv6 (RFC 8200 3) version, payload length
 * against the packet. Lengths of 0 that announce a jumbogram (RFC 2675) are nothing else than 0
 * here: no frame is that long.
 *
 * A pipeline without stalls: `bad` belongs to the inputs of [[IpLengthCheck.latency]]
 * cycles before.
 */
class IpLengthCheck extends Module {
  val io = IO(new Bundle {
    val v6 = Input(Bool())

    /** The header's first two words, in host order. */
    val words = Input(Vec(2, UInt(32.W)))

    /** Bytes from the header to the packet's end. */
    val room = Input(UInt(PacketStream.lengthBits.W))
    val bad = Output(Bool())
  })

  // Stage 1: compares the fixed header with the packet, and counts the bytes behind an IPv6 header.
  private val version = io.words(0)(31, 28)
  private val ihl = io.words(0)(27, 24)
  private val total = io.words(0)(15, 0)
  private def stage(value: Bool): Bool = RegNext(value)
  private val v6 = stage(io.v6)
  private val wrong4 = stage(version =/= 4.U || ihl < 5.U || io.room < Ipv4Header.bytes.U)
  private val below4 = stage(total < Cat(ihl, 0.U(2.W)))
  private val beyond4 = stage(total > io.room)
  private val wrong6 = stage(version =/= 6.U || io.room < Ipv6Header.bytes.U)
  private val payload6 = RegNext(io.words(1)(31, 16))
  private val room6 = RegNext(io.room - Ipv6Header.bytes.U)

  // Stage 2.
  io.bad := RegNext(Mux(v6, wrong6 || payload6 > room6, wrong4 || below4 || beyond4))
}

object IpLengthCheck {
  val latency: Int = 2
}
