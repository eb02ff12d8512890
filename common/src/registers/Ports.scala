package sallyport.common

import chisel3._
import chisel3.util._

/**
 * One beat from or to the 100GbE MAC: a frame from its destination address to the last byte before the FCS.
 *
 * Receive side (`Valid`: the CMAC has no back-pressure): `error` with `last` says that the MAC found the frame bad (FCS,
 * coding). Length rules are the core's. Transmit side (`Decoupled`): `error` with `last` makes the MAC send a bad FCS.
 */
class MacBeat extends Bundle {
  val data = UInt(PacketStream.dataBits.W)
  val last = Bool()
  val bytes = UInt(log2Ceil(PacketStream.dataBytes + 1).W)
  val error = Bool()
}

/**
 * The chip's side of one Aurora 64B/66B streaming channel, already in the core clock domain.
 *
 * `tx` obeys the Decoupled rule of [[PacketBeat]]; Aurora takes a word when it can (gearbox, clock compensation). `rx` has no
 * back-pressure. A word is eight 8-byte units, unit 0 in bits 63:0; words arrive in order, unchanged but for bit errors. An error that costs the
 * channel a part of a word shifts all that come after it; `restart` then asks for a new beginning.
 */
class LinkPort extends Bundle {
  val up = Input(Bool())
  val tx = Decoupled(UInt(PacketStream.dataBits.W))
  val rx = Flipped(Valid(UInt(PacketStream.dataBits.W)))

  /** Pulse: no good header has come for [[Link.patience]] cycles of `up`. */
  val restart = Output(Bool())
}

/** AXI4-Lite (AMBA IHI 0022), 32-bit data, 16-bit byte address; written from the manager's side: flip it at a chip. */
class AxiLite extends Bundle {
  val aw = Decoupled(new Bundle { val addr = UInt(AxiLite.addressBits.W); val prot = UInt(3.W) })
  val w = Decoupled(new Bundle { val data = UInt(32.W); val strb = UInt(4.W) })
  val b = Flipped(Decoupled(UInt(2.W)))
  val ar = Decoupled(new Bundle { val addr = UInt(AxiLite.addressBits.W); val prot = UInt(3.W) })
  val r = Flipped(Decoupled(new Bundle { val data = UInt(32.W); val resp = UInt(2.W) }))
}

object AxiLite {
  val addressBits = 16
  val okay = 0
  val slverr = 2
}

/**
 * Access to one row of one table, from the register bank's indirect window to the table that `table` names.
 *
 * One request at a time. The window holds `request` until `ready`, then waits for exactly one `response`. A row is written
 * whole in one cycle of the table (shadow row + commit), so traffic never sees half a row.
 */
class TablePort extends Bundle {
  val request = Decoupled(new TableRequest)
  val response = Flipped(Valid(new TableResponse))
}

class TableRequest extends Bundle {
  val table = UInt(8.W)
  val index = UInt(24.W)
  val write = Bool()
  val row = UInt(TablePort.rowBits.W)
}

class TableResponse extends Bundle {

  /** Index out of range, or no such table, or the row cannot be read (keys). */
  val error = Bool()
  val row = UInt(TablePort.rowBits.W)
}

object TablePort {

  /** Widest row any table has: 32 data words of the window. */
  val rowBits = 1024
}
