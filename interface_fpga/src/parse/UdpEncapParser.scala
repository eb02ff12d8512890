// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.UdpHeader

/** What a UDP datagram to port 4500 carries. */
object UdpEncap extends ChiselEnum {

  /**
   * `none`: this is no such datagram. `malformed`: its length is below 8 or not that of the IP
   * packet's payload (RFC 768).
   * `keepalive`: the one byte 0xFF (RFC 3948 2.3). `ike`: 4 bytes of zero, the non-ESP marker, come
   * first (2.2). `esp`: all else, however short (2.1).
   */
  val none, malformed, keepalive, ike, esp = Value
}

/**
 * Tells what a UDP datagram to port 4500 carries. Its checksum is not looked at: RFC 3948 2.1 lets
 * no receiver depend on it, and ESP has an ICV.
 *
 * A pipeline without stalls: `encap` belongs to the inputs of [[UdpEncapParser.latency]]
 * cycles before.
 */
class UdpEncapParser extends Module {
  val io = IO(new Bundle {

    /** This is a UDP packet, no later fragment, and its ports are there. */
    val udp = Input(Bool())

    /** Bytes behind the IP header. */
    val length = Input(UInt(PacketStream.lengthBits.W))

    /**
     * The first 12 bytes behind the IP header, each word in host order: ports; length and
     * checksum; the datagram's first.
     */
    val words = Input(Vec(UdpEncapParser.words, UInt(32.W)))
    val encap = Output(UdpEncap())
  })

  private val first = io.words(2)
  private val named = RegNext(io.udp && io.words(0)(15, 0) === UdpHeader.portNatt.U)
  private val wrong = RegNext(io.length < UdpHeader.bytes.U || io.words(1)(31, 16) =/= io.length)
  private val keepalive = RegNext(io.length === (UdpHeader.bytes + 1).U && first(31, 24) === 0xff.U)
  private val marked = RegNext(io.length >= (UdpHeader.bytes + UdpEncapParser.markerBytes).U && first === 0.U)

  io.encap := RegNext(
    MuxCase(
      UdpEncap.esp,
      Seq(
        !named -> UdpEncap.none,
        wrong -> UdpEncap.malformed,
        keepalive -> UdpEncap.keepalive,
        marked -> UdpEncap.ike
      )
    )
  )
}

object UdpEncapParser {
  val latency: Int = 2

  /** 32-bit words behind the IP header that are looked at. */
  val words: Int = 3
  val markerBytes: Int = 4
}
