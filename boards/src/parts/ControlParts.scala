// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.parts

import chisel3._
import chisel3.util._
import sallyport.boards.control.{
  AxiLiteManager,
  ControlPlane,
  ControlPlaneParams,
  FrameMailbox,
  RegisterTunnelMaster,
  RegisterTunnelTarget
}
import sallyport.boards.pcie.PcieBridge
import sallyport.boards.registers.{RegisterCrossing, RegisterPort}
import sallyport.common.registers.map.Chip
import sallyport.common.registers.{AxiLite, AxiLiteTarget}

/** The control side's parts ([[Parts]]). */
object ControlParts {
  private def plane(chip: Int, channels: Int) =
    new ControlPlane(ControlPlaneParams(chip, board = 1, "1.2.3", channels, cages = 2, buses = 1))

  val all: Seq[Part] = Seq(
    Part("PcieBridge", () => new PcieBridge),
    Part("AxiLiteCrossing", () => new AxiLiteCrossing),
    Part("FrameMailbox", () => new FrameMailbox),
    Part("RegisterTunnel", () => new RegisterTunnel),
    Part("ControlPlaneInner", () => plane(Chip.inner, channels = 1)),
    Part("ControlPlaneCrypto", () => plane(Chip.crypto, channels = 2))
  )
}

/** A [[RegisterCrossing]] between AXI4-Lite at both ends, so that models of AXI can judge it. */
class AxiLiteCrossing extends RawModule {
  val managerClock = IO(Input(Clock()))
  val managerReset = IO(Input(Bool()))
  val s_axil = IO(Flipped(new AxiLite))
  val targetClock = IO(Input(Clock()))
  val targetReset = IO(Input(Bool()))
  val m_axil = IO(new AxiLite)

  private val crossing = Module(new RegisterCrossing(AxiLite.addressBits))
  crossing.managerClock := managerClock
  crossing.managerReset := managerReset
  crossing.targetClock := targetClock
  crossing.targetReset := targetReset
  withClockAndReset(managerClock, managerReset) { AxiLiteToRegisters(s_axil, crossing.manager) }
  withClockAndReset(targetClock, targetReset) {
    val manager = Module(new AxiLiteManager(AxiLite.addressBits))
    manager.io.port <> crossing.target
    m_axil <> manager.io.axil
  }
}

object AxiLiteToRegisters {

  /** Gives `axil`'s accesses to `port`, a write before a read that comes at once with it. */
  def apply(axil: AxiLite, port: RegisterPort): Unit = {
    val target = Module(new AxiLiteTarget)
    target.io.axil <> axil
    val (write, read) = (RegInit(false.B), RegInit(false.B))
    val (busy, writing) = (RegInit(false.B), RegInit(false.B))
    when(target.io.write.valid) { write := true.B }
    when(target.io.read.valid) { read := true.B }
    port.request.valid := !busy && (write || read)
    port.request.bits.write := write
    port.request.bits.address := Mux(write, target.io.write.bits.address, target.io.read.bits)
    port.request.bits.data := target.io.write.bits.data
    port.request.bits.strobes := VecInit(target.io.write.bits.mask.asBools.grouped(8).map(_.head).toSeq).asUInt
    when(port.request.fire) {
      busy := true.B
      writing := write
      when(write) { write := false.B }.otherwise { read := false.B }
    }.elsewhen(port.response.valid) { busy := false.B }
    target.io.writeDone.valid := port.response.valid && writing
    target.io.writeDone.bits := port.response.bits.error
    target.io.readDone.valid := port.response.valid && !writing
    target.io.readDone.bits.data := port.response.bits.data
    target.io.readDone.bits.error := port.response.bits.error
  }
}

/**
 * Both ends of a register tunnel, with the messages between them at ports; AXI4-Lite at
 * both sides.
 */
class RegisterTunnel extends Module {
  val s_axil = IO(Flipped(new AxiLite))
  val m_axil = IO(new AxiLite)
  val io = IO(new Bundle {
    val out = Decoupled(UInt(88.W))
    val outFar = Flipped(Valid(UInt(88.W)))
    val back = Decoupled(UInt(88.W))
    val backFar = Flipped(Valid(UInt(88.W)))
    val targetReset = Input(Bool())
    val open = Output(Bool())
    val retried = Output(Bool())
    val timedOut = Output(Bool())
  })

  private val master = Module(new RegisterTunnelMaster(patience = 128))
  AxiLiteToRegisters(s_axil, master.io.port)
  io.out <> master.io.send
  master.io.receive := io.backFar
  io.open := master.io.open
  io.retried := master.io.retried
  io.timedOut := master.io.timedOut

  withReset(reset.asBool || io.targetReset) {
    val target = Module(new RegisterTunnelTarget)
    val manager = Module(new AxiLiteManager(AxiLite.addressBits))
    manager.io.port <> target.io.port
    m_axil <> manager.io.axil
    target.io.receive := io.outFar
    io.back <> target.io.send
  }
}
