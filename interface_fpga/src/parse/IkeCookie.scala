// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.UdpHeader

/**
 * Whether a message of IKE shows something that its sender has from the other side: a responder's
 * SPI (RFC 7296 3.1), or as its first payload a notification, as a cookie is (2.6). ISAKMP calls
 * both SPIs cookies (RFC 2408 2.5.3). A message that is shorter than its header shows nothing. No
 * more of the message is judged.
 *
 * A pipeline without stalls: `words` are of a packet at time 0, `at` names the place of its UDP
 * header among them at time `payloadTime`, one bit for each of `places`, `length` comes a cycle
 * later, and both answers another cycle later.
 *
 * @param window      32-bit words of the window, from the IP header on
 * @param places      words at which the UDP header may stand
 * @param payloadTime cycles from `words` to `at`
 */
class IkeCookie(window: Int, places: Seq[Int], payloadTime: Int) extends Module {
  require(places.max + IkeCookie.words <= window, s"a window of $window words ends inside the header of IKE")

  val io = IO(new Bundle {
    val words = Input(Vec(window, UInt(32.W)))
    val at = Input(UInt(places.length.W))

    /** Bytes behind the IP header. */
    val length = Input(UInt(PacketStream.lengthBits.W))

    /** Of a message directly behind the UDP header, and of one behind the non-ESP marker. */
    val plain = Output(Bool())
    val marked = Output(Bool())
  })

  private val used = ShiftRegister(VecInit(io.words.map(_.orR)), payloadTime)
  private val notifies =
    ShiftRegister(VecInit(io.words.map(_(31, 24) === IkeCookie.notification.U)), payloadTime)

  private def answer(before: Int): Bool = {
    val shown = Mux1H(
      io.at,
      places.map { place =>
        val spi = place + before / 4 + IkeCookie.responderSpi
        used(spi) || used(spi + 1) || notifies(spi + 2)
      }
    )
    RegNext(RegNext(shown) && io.length >= (before + IkeCookie.headerBytes).U)
  }
  io.plain := answer(UdpHeader.bytes)
  io.marked := answer(UdpHeader.bytes + UdpEncapParser.markerBytes)
}

object IkeCookie {

  /**
   * Word of the header of IKE at which the responder's SPI begins, of two words; the type of the
   * first payload follows.
   */
  private val responderSpi: Int = 2

  /** Header of IKE (RFC 7296 3.1). */
  private val headerBytes: Int = 28

  /** Payload type Notify (RFC 7296 3.2). */
  private val notification: Int = 41

  /** Words from the UDP header on that are looked at. */
  val words: Int = (UdpHeader.bytes + UdpEncapParser.markerBytes) / 4 + responderSpi + 3
}
