// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.PuntReason
import sallyport.iface.cpu.PuntMeta
import sallyport.iface.forwarding.HostAddress
import sallyport.iface.headers.VlanTags

/** Whether a packet goes to the management CPU instead of the port. */
class ClearPunt extends Bundle {
  val toPunt = Bool()

  /** It is for a host straight behind the port. */
  val toHost = Bool()

  def meta: PuntMeta = {
    val meta = WireDefault(0.U.asTypeOf(new PuntMeta))
    meta.reason := Mux(toHost, PuntReason.clearHost.U, PuntReason.clearRoute.U)
    meta
  }
}

/** What a clear packet has waited for. */
class ClearAnswer extends Bundle {

  /** First wire byte in bits 7:0. */
  val mac = UInt(48.W)
  val tags = new VlanTags
  val drop = Bool()
  val punt = new ClearPunt
}

/**
 * What becomes of a clear packet, by the faults that its headers and its look-up have.
 *
 * A fault of the headers comes first: a packet that is too long is dropped, whether or not there is
 * a station. A packet for a host without a known Ethernet address, or without a next hop, goes to
 * the management CPU, in a frame to the port's own address. A packet whose look-up met a flipped
 * bit is dropped. Combinational.
 */
class ClearOutcome extends Module {
  val io = IO(new Bundle {
    val portMac = Input(UInt(48.W))

    /** Of the packet that `station` is for. */
    val headers = Input(new HeaderFault)
    val station = Flipped(Valid(new ClearStation))
    val host = Flipped(Valid(new HostAddress))
    val answer = Valid(new ClearAnswer)

    /** The fault of the look-up, if it counts. */
    val fault = Output(new ClearFault)

    /** The address of a host that is not known. */
    val unresolved = Valid(new HostAddress)
  })

  private val station = io.station.bits
  private val faulty = io.headers.any
  io.fault := Mux(faulty, 0.U.asTypeOf(new ClearFault), station.fault)
  io.unresolved.valid := io.host.valid && !faulty
  io.unresolved.bits := io.host.bits

  private val lost = station.fault.unresolved || station.fault.noNextHop
  io.answer.valid := io.station.valid
  io.answer.bits.mac := Mux(lost, io.portMac, station.mac)
  io.answer.bits.tags := Mux(lost, VlanTags.none, station.tags)
  io.answer.bits.drop := faulty || station.fault.hostUpset || station.fault.prefixUpset
  io.answer.bits.punt.toPunt := lost
  io.answer.bits.punt.toHost := station.fault.unresolved
}
