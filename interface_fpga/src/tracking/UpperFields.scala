// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3._
import chisel3.util._
import sallyport.iface.headers.{IpHeader, UdpHeader}
import sallyport.iface.parse.{HeaderFields, UdpEncap}

/**
 * What selectors ask of a packet's upper layer (RFC 4301 4.4.1.1), as the first fragment of a
 * datagram says it for all of them.
 */
class UpperFields extends Bundle {
  val protocol = UInt(8.W)

  /** Which of the fields of the same names there are; none: `word` is the payload's first one. */
  val hasPorts = Bool()
  val hasIcmp = Bool()
  val hasMobility = Bool()

  /** Both ports, or type and code in bits 15:0, or the first 4 bytes of the payload. */
  val word = UInt(32.W)

  def isEsp: Bool = protocol === IpHeader.esp.U
  def isUdpTo(port: Int): Bool = protocol === UdpHeader.protocol.U && hasPorts && word(15, 0) === port.U

  /** The fields of a fragment, with these in place of those that it may lack. */
  def over(fragment: HeaderFields): HeaderFields = {
    val fields = WireDefault(fragment)
    val isMessage = hasIcmp || hasMobility
    fields.tracked := true.B
    fields.protocol := protocol
    fields.hasPorts := hasPorts
    fields.sourcePort := Mux(hasPorts, word(31, 16), 0.U)
    fields.destinationPort := Mux(hasPorts, word(15, 0), 0.U)
    fields.hasIcmp := hasIcmp
    fields.hasMobility := hasMobility
    fields.messageType := Mux(isMessage, word(15, 8), 0.U)
    fields.messageCode := Mux(isMessage, word(7, 0), 0.U)
    fields.spi := word
    // A fragment has neither all of what UDP carries nor its length.
    fields.udpEncap := UdpEncap.none
    fields.ikeCookie := false.B
    fields
  }
}

object UpperFields {

  /** Those of a first fragment. */
  def apply(fields: HeaderFields): UpperFields = {
    val upper = Wire(new UpperFields)
    upper.protocol := fields.protocol
    upper.hasPorts := fields.hasPorts
    upper.hasIcmp := fields.hasIcmp
    upper.hasMobility := fields.hasMobility
    // Its payload has whole units of 8 bytes (RFC 8200 4.5, RFC 791 3.1), so the word is there or,
    // behind extension headers alone, nothing is.
    upper.word := MuxCase(
      Mux(fields.payloadLength === 0.U, 0.U, fields.spi),
      Seq(
        fields.hasPorts -> Cat(fields.sourcePort, fields.destinationPort),
        (fields.hasIcmp || fields.hasMobility) -> Cat(0.U(16.W), fields.messageType, fields.messageCode)
      )
    )
    upper
  }
}
