// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.registers.RegisterPort
import sallyport.common.registers.RegisterValues
import sallyport.common.registers.map.{RegisterDesc, RegisterRole}

import scala.collection.immutable.SeqMap

/** A bit for each of `registers`. */
class RegisterFlags(registers: Seq[RegisterDesc]) extends Record {
  val elements: SeqMap[String, Bool] = SeqMap.from(registers.map(_.name -> Bool()))
  def apply(register: RegisterDesc): Bool = elements(register.name)
}

/**
 * Registers as SystemRDL describes them, without the windows of a chip's
 * [[sallyport.common.registers.RegisterBank]].
 *
 * `control` holds the values that software wrote (after reset: the RDL's reset values). A bit that
 * the RDL calls a single pulse is high for one cycle after software wrote 1 and reads 0. `written`
 * pulses in the cycle in which the new value first stands. `status` is sampled when it is read, and
 * `read` pulses in the cycle after. An address that is no register and a write to a register
 * without a writable bit answer an error and change nothing. One access every 5 cycles.
 *
 * @param registers all registers; one that the RDL repeats has an entry for each instance
 * @param build values of the registers that are fixed at elaboration; a register not named is 0
 */
class RegisterFile(addressBits: Int, registers: Seq[RegisterDesc], build: Map[RegisterDesc, BigInt]) extends Module {
  private def of(role: RegisterRole) = registers.filter(_.role == role)
  require(build.keys.forall(of(RegisterRole.Build).contains), "a value for a register that is not fixed at elaboration")
  require(registers.map(_.offset).distinct.length == registers.length, "two registers share an address")
  require(registers.forall(r => r.count == 1 && r.offset < (1 << addressBits)), "a register outside the file")

  val io = IO(new Bundle {
    val port = Flipped(new RegisterPort(addressBits))
    val status = Input(new RegisterValues(of(RegisterRole.Status)))
    val control = Output(new RegisterValues(of(RegisterRole.Control)))
    val written = Output(new RegisterFlags(of(RegisterRole.Control)))
    val read = Output(new RegisterFlags(of(RegisterRole.Status)))
  })

  // An access is decoded into a bit a register, then acts, then answers.
  private val busy = RegInit(false.B)
  private val request = RegEnable(io.port.request.bits, io.port.request.fire)
  private val decodes = RegNext(io.port.request.fire, false.B)
  private val acts = RegNext(decodes, false.B)
  private val answers = RegNext(acts, false.B)
  private val mask = RegNext(FillInterleaved(8, request.strobes))
  private val hits = registers.map(r => r -> RegNext(request.address === r.offset.U)).toMap
  io.port.request.ready := !busy
  when(io.port.request.fire) { busy := true.B }.elsewhen(answers) { busy := false.B }

  for (r <- of(RegisterRole.Control)) {
    val wrote = acts && request.write && hits(r)
    val value = RegInit(r.reset.U(32.W))
    when(wrote) { value := (value & ~mask) | (request.data & mask & (r.writable & ~r.pulse).U) }
    io.control(r) := value | RegNext(Mux(wrote, request.data & mask & r.pulse.U, 0.U), 0.U)
    io.written(r) := RegNext(wrote, false.B)
  }
  for (r <- of(RegisterRole.Status)) io.read(r) := RegNext(acts && !request.write && hits(r), false.B)

  private def value(r: RegisterDesc): UInt = r.role match {
    case RegisterRole.Constant => r.reset.U(32.W)
    case RegisterRole.Build => build.getOrElse(r, BigInt(0)).U(32.W)
    case RegisterRole.Status => io.status(r)
    case RegisterRole.Control => io.control(r) & (~r.pulse & 0xffffffffL).U
    case RegisterRole.Window => throw new IllegalArgumentException(s"${r.name}: a register file has no windows")
  }
  private def any(of: Seq[RegisterDesc]): Bool = VecInit(of.map(hits)).asUInt.orR
  private val known = Mux(request.write, any(registers.filter(_.writable != 0)), any(registers))
  io.port.response.valid := answers
  io.port.response.bits.error := RegNext(!known)
  io.port.response.bits.data := RegNext(Mux1H(registers.map(r => hits(r) -> value(r))))
}
