package sallyport.boards

import chisel3._
import chisel3.util._
import sallyport.common.PacketStream

/**
 * The shell's side of one Aurora 64B/66B core of four lanes (boards/ip/aurora_64b66b.yaml), streaming, bytes in AXI order.
 *
 * All but `resetPb` and `pmaInit` is in the domain of `clock`, 402.83203125 MHz, which stops while the core is in reset. `tx` obeys the rule of
 * AXI4-Stream; the core takes no beat in one clock of 33 and in up to 8 of 4992. Nothing holds `rx` back.
 */
class AuroraPort extends Bundle {

  /** user_clk_out. */
  val clock = Input(Clock())
  val channelUp = Input(Bool())
  val hardError = Input(Bool())
  val softError = Input(Bool())
  val tx = Decoupled(UInt(AuroraPort.beatBits.W))
  val rx = Flipped(Valid(UInt(AuroraPort.beatBits.W)))

  /** Reset of the core and of its transceivers, in the initial clock of 50 MHz. */
  val resetPb = Output(Bool())
  val pmaInit = Output(Bool())
}

object AuroraPort {
  val beatBits: Int = 256
}

/** A beat as the 100GbE MAC has it; byte 0 is data(7, 0), `keep` is contiguous from bit 0 and partial on the last beat alone. */
class CmacBeat extends Bundle {
  val data = UInt(PacketStream.dataBits.W)
  val keep = UInt(PacketStream.dataBytes.W)
  val last = Bool()

  /** With `last`. Receiver: the frame is bad. Transmitter: send it with a bad FCS. */
  val error = Bool()
}

/**
 * The shell's side of corundum's cmac_gty_wrapper (boards/ip/cmac_gty_wrapper.yaml).
 *
 * `tx` is in the domain of `txClock`, `rx` in that of `rxClock`, both 322.265625 MHz, neither the other's phase nor exactly its rate. Once a
 * frame has begun, `tx.valid` must stay high to its end. Nothing holds `rx` back; a frame's beats may have gaps.
 */
class CmacPort extends Bundle {
  val txClock = Input(Clock())
  val txReset = Input(Bool())
  val tx = Decoupled(new CmacBeat)
  val rxClock = Input(Clock())
  val rxReset = Input(Bool())
  val rx = Flipped(Valid(new CmacBeat))

  /** The receiver has the far end's signal; in `rxClock`. */
  val rxStatus = Input(Bool())
}

/** One of the two AXI4-Streams of the PCIe block that carry requests of the host and their completions (PG213), 256 bits, 32-bit aligned. */
class PcieBeat(userBits: Int) extends Bundle {
  val data = UInt(PciePort.dataBits.W)
  val keep = UInt((PciePort.dataBits / 32).W)
  val last = Bool()
  val user = UInt(userBits.W)
}

/** The shell's side of pcie4_uscale_plus (boards/ip/pcie4_uscale_plus.yaml), all in the domain of `clock`, 250 MHz. */
class PciePort extends Bundle {
  val clock = Input(Clock())
  val reset = Input(Bool())
  val cq = Flipped(Decoupled(new PcieBeat(PciePort.cqUserBits)))
  val cc = Decoupled(new PcieBeat(PciePort.ccUserBits))
}

object PciePort {
  val dataBits: Int = 256
  val cqUserBits: Int = 88
  val ccUserBits: Int = 33
}
