// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.iface.headers.Ipv6Header
import sallyport.iface.parse.{ExtensionStep, FragmentFields, HeaderChain, HeaderFields}

/**
 * Whether the sender of a fragment must hear that it cannot be reassembled (RFC 8200 4.5): the
 * fragment is IPv6, is for this box, and
 *
 *  - is not the last and no multiple of 8 bytes long (ICMPv6 parameter problem, code 0), or
 *  - ends where no IPv6 packet of fewer than 65,536 bytes of payload does (code 0), or
 *  - is the first, and not all headers up to that of the upper layer are in it (code 3; RFC
 *    7112 5).
 *
 * The management CPU gets such a fragment whole and makes the ICMPv6 message of it; which one, the
 * fragment says. Its datagram never hears of it. A fragment in transit causes no notice: its
 * destination sends one. IPv4 knows no such messages.
 *
 * A pipeline without stalls or state: `out` belongs to the inputs of [[FragmentNotice.latency]]
 * cycles before, and is valid only if those belong to a fragment.
 */
class FragmentNotice extends Module {
  val io = IO(new Bundle {

    /** The addresses that fragments end at, if there are any; set while no traffic flows. */
    val own = Flipped(Valid(new LocalAddresses))
    val fields = Input(new HeaderFields)
    val fragment = Input(new FragmentFields)

    /** [[HeaderChain.incomplete]] of them, as late as `out`. */
    val headless = Input(Bool())
    val out = Output(Bool())
  })

  private val local = Module(new LocalMatch)
  local.io.local := io.own.bits
  local.io.fields := io.fields
  require(Seq(LocalMatch.latency, HeaderChain.latency).forall(_ == FragmentNotice.latency), "all answers meet")

  private val unit = log2Ceil(ExtensionStep.unitBytes)
  private val partial = io.fragment.more && io.fragment.payloadBytes(unit - 1, 0) =/= 0.U
  private val partial2 = ShiftRegister(partial, 2)

  // What the payload length of the whole would count: extension headers in front of the fragment
  // header, and up to its end.
  private val end1 = RegNext(Cat(io.fragment.offset, 0.U(unit.W)) +& io.fragment.payloadBytes)
  private val extensions1 = RegNext(io.fragment.headerBytes - io.fields.l2Bytes - Ipv6Header.bytes.U)
  private val beyond2 = RegNext((end1 +& extensions1) >> FragmentNotice.payloadLengthBits =/= 0.U)

  private val ours2 = ShiftRegister(io.fields.isV6 && io.own.valid, 2)
  io.out := ours2 && local.io.toUs && (partial2 || beyond2 || io.headless)
}

object FragmentNotice {
  val latency: Int = 2

  /** Of the IPv6 header. */
  private val payloadLengthBits: Int = 16
}
