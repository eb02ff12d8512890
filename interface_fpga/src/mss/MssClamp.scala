// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mss

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketBeat, PacketStream}
import sallyport.iface.headers.{Ipv4Header, Ipv6Header}

/** What a TCP header becomes; no change without `enable`. */
class MssPatch extends Bundle {
  val enable = Bool()

  /** As of [[MssOption]]. */
  val v6 = Bool()
  val at = UInt(MssOption.atBits.W)
  val value = UInt(16.W)
  val checksum = UInt(16.W)
}

/**
 * Lowers the maximum segment size of a connection to that of a path (RFC 9293 3.7.1, RFC 6691):
 * its MTU less the fixed headers of IP and TCP, as Linux's TCPMSS target does. A lower value stays.
 * The TCP checksum is updated (RFC 1624 equation 3), so that a wrong one stays wrong.
 *
 * A pipeline without stalls; latency [[MssClamp.latency]] cycles.
 */
class MssClamp extends Module {
  val io = IO(new Bundle {
    val option = Flipped(Valid(new MssOption))

    /** Of the path, in bytes; 0: the value stays whatever it is. */
    val mtu = Input(UInt(PacketStream.lengthBits.W))
    val patch = Output(new MssPatch)
  })

  private val option = io.option.bits
  private val headers = Mux(option.v6, MssOption.optionsV6.U, MssOption.optionsV4.U)

  // Stage 1: the path's.
  private val most = RegNext(Mux(io.mtu > headers, io.mtu - headers, 0.U).pad(16))
  private val some = RegNext(io.option.valid && io.mtu =/= 0.U)
  private val option1 = RegNext(option)

  // Stage 2: ~HC + ~m + m'. Where the value begins at an odd byte, its bytes change places.
  private val lowers = RegNext(some && option1.value > most)
  private def inWords(value: UInt): UInt = Mux(option1.at(0), Cat(value(7, 0), value(15, 8)), value)
  private val change = RegNext((~inWords(option1.value)).asUInt +& inWords(most))
  private val checksum2 = RegNext((~option1.checksum).asUInt)
  private val most2 = RegNext(most)
  private val option2 = RegNext(option1)

  // Stages 3 and 4: carries in.
  private val sum = RegNext(change +& checksum2)
  private val folded = RegNext(sum(15, 0) +& sum(17, 16))

  io.patch.enable := ShiftRegister(lowers, 2)
  io.patch.v6 := ShiftRegister(option2.v6, 2)
  io.patch.at := ShiftRegister(option2.at, 2)
  io.patch.value := ShiftRegister(most2, 2)
  io.patch.checksum := (~(folded(15, 0) + folded(16))).asUInt
}

object MssClamp {
  val latency: Int = 4
  private val checksumAt: Int = 16 // of a TCP header

  /**
   * Connects two streams of IP packets with the same metadata and puts the new values in on the
   * way. They stand in the first two beats. No latency.
   */
  def rewrite[M <: Data](
      to: DecoupledIO[PacketBeat[M]],
      from: DecoupledIO[PacketBeat[M]]
  )(patch: M => MssPatch): Unit = {
    val first = RegInit(true.B)
    val second = RegInit(false.B)
    when(from.fire) {
      first := from.bits.last
      second := first && !from.bits.last
    }
    val values = patch(from.bits.meta)
    val bytes = VecInit.tabulate(PacketStream.dataBytes)(i => from.bits.data(8 * i + 7, 8 * i))
    for (v6 <- Seq(false, true)) {
      val at = (if (v6) Ipv6Header.bytes else Ipv4Header.bytes) + checksumAt
      when(first && values.enable && values.v6 === v6.B) {
        bytes(at) := values.checksum(15, 8)
        bytes(at + 1) := values.checksum(7, 0)
      }
    }
    val (from4, until6) = (MssOption.optionsV4 + 2, MssOption.optionsV6 + OptionWalk.maxBytes)
    for (beat <- 0 to 1; i <- 0 until PacketStream.dataBytes; byte = beat * PacketStream.dataBytes + i)
      when(values.enable && (if (beat == 0) first else second)) {
        if (byte >= from4 && byte < until6 - 1) when(values.at === byte.U)(bytes(i) := values.value(15, 8))
        if (byte >= from4 + 1 && byte < until6) when(values.at === (byte - 1).U)(bytes(i) := values.value(7, 0))
      }
    to <> from
    to.bits.data := bytes.asUInt
  }
}
