// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import sallyport.iface.parse.HeaderFields

/** The box's own addresses at a port, as numbers; 0 for a version without an address. */
class LocalAddresses extends Bundle {
  val v4 = UInt(32.W)
  val v6 = UInt(128.W)
}

/** Those and the lengths of their networks' prefixes. */
class BoxAddresses extends Bundle {
  val own = new LocalAddresses
  val prefixV4 = UInt(6.W)
  val prefixV6 = UInt(8.W)
}

/**
 * Whether a packet is for this box: for one of its addresses, or for anyone while both are 0.
 *
 * A pipeline without stalls: `toUs` belongs to the `fields` of [[LocalMatch.latency]] cycles
 * before. Software sets the addresses while no traffic flows.
 */
class LocalMatch extends Module {
  val io = IO(new Bundle {
    val local = Input(new LocalAddresses)
    val fields = Input(new HeaderFields)
    val toUs = Output(Bool())
  })

  private val isSetV4 = RegNext(io.local.v4 =/= 0.U)
  private val isSetV6 = RegNext(io.local.v6 =/= 0.U)
  private val same = RegNext(VecInit.tabulate(8) { n =>
    io.fields.destination(16 * n + 15, 16 * n) === io.local.v6(16 * n + 15, 16 * n)
  })
  private val sameV4 = RegNext(io.fields.destination(31, 0) === io.local.v4)
  private val v6 = RegNext(io.fields.isV6)
  io.toUs := RegNext(!isSetV4 && !isSetV6 || Mux(v6, isSetV6 && same.asUInt.andR, isSetV4 && sameV4))
}

object LocalMatch {
  val latency: Int = 2
}
