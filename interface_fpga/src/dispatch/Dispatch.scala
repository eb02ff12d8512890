// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.MuxTree
import sallyport.common.registers.map.{Dispatch => Mode}
import sallyport.iface.headers.IpHeader
import sallyport.iface.parse.{HeaderFields, UdpEncap}

/** What software sets of a [[Dispatch]]. */
class DispatchControl extends Bundle {

  /** One of [[sallyport.common.registers.map.Dispatch]]. */
  val mode = UInt(2.W)

  /** This node speaks for the cluster. */
  val speaker = Bool()

  /** Bit n: bucket n is this node's. */
  val owned = UInt(Dispatch.buckets.W)
  val key = UInt(Dispatch.keyBits.W)
}

/** Whose a frame is. */
class Dispatched extends Bundle {

  /** Its bucket is this node's. */
  val mine = Bool()

  /** This node takes the speaker's frames. */
  val speaks = Bool()
}

/**
 * Which node of a cluster takes a frame that all of them have received
 * (docs/explanation/clusters.md).
 *
 * A hash of the frame, with a key that all nodes share and no sender knows, gives one of 256
 * buckets, and each bucket has an owner. Only the frame counts and nothing that came before it. So
 * a frame that one node has lost moves no other frame.
 *
 *  - ESP, in UDP or not: by its SPI, and per packet by its number (the low half of it). Addresses
 *    and ports do not count. So a packet that comes again under another address has the same
 *    owner, whose window knows it.
 *  - A fragment: by addresses and protocol, for its ports may be known to some nodes alone.
 *  - All else: by addresses, protocol and ports. Per packet also by the IPv4 header checksum, which
 *    the identification changes, and by the payload's bytes 4 to 11. They hold TCP's numbers, UDP's
 *    checksum and first bytes, and ICMP's number.
 *
 * A pipeline without stalls: `out` belongs to the `fields` of [[Dispatch.latency]] cycles before.
 */
class Dispatch extends Module {
  val io = IO(new Bundle {

    /** Static while traffic flows, but for `owned` and `speaker`. */
    val control = Input(new DispatchControl)
    val fields = Input(new HeaderFields)
    val out = Output(new Dispatched)
  })

  private val control = io.control
  private val fields = io.fields
  private val on = control.mode =/= Mode.off.U
  private val whole = !fields.fragment
  private val perPacket = control.mode === Mode.packet.U && whole
  private val esp = whole && (fields.protocol === IpHeader.esp.U || fields.udpEncap === UdpEncap.esp)

  private val ports = Mux(whole, Cat(fields.sourcePort, fields.destinationPort), 0.U(32.W))
  private val flow = Cat(fields.source, fields.destination, fields.protocol, ports)
  private val content = Mux(perPacket, Cat(fields.checksum, fields.content), 0.U(Dispatch.contentBits.W))
  private val number = Mux(perPacket, fields.content(63, 32), 0.U(32.W))
  private val hash = Module(new Toeplitz(Dispatch.inputBits, log2Ceil(Dispatch.buckets)))
  hash.io.input := RegNext(Mux(esp, Cat(fields.spi, number), Cat(flow, content)))
  hash.io.key := control.key

  io.out.mine := RegNext(MuxTree(hash.io.out, control.owned.asBools) || !on)
  io.out.speaks := RegNext(control.speaker || !on)
}

object Dispatch {
  val buckets: Int = 256

  /** IPv4 header checksum, and the payload's bytes 4 to 11. */
  private val contentBits: Int = 16 + 64

  /** Addresses, protocol, ports and those. */
  val inputBits: Int = 128 + 128 + 8 + 32 + contentBits
  val keyBits: Int = Toeplitz.keyBits(inputBits, log2Ceil(buckets))
  val latency: Int = 1 + Toeplitz.latency + 1
}
