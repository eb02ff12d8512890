// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._
import sallyport.common.clock.QuietClock
import sallyport.common.registers.map.{CommonRegs, CounterDesc, RegisterDesc, RegisterRole}
import sallyport.common.table.TablePort

import scala.collection.immutable.SeqMap

/**
 * The parameters of a chip's register bank.
 *
 * @param chip value of CHIP, one of [[sallyport.common.registers.map.Chip]]
 * @param version `major.minor.patch`, the VERSION file's text
 * @param registers every register of the chip, as generated
 * @param counters every counter of the chip, as generated
 * @param build values of the registers that are fixed at elaboration (BUILD and the capabilities);
 *   others are 0
 */
case class RegisterBankParams(
    chip: Int,
    version: String,
    registers: Seq[RegisterDesc],
    counters: Seq[CounterDesc],
    build: Map[RegisterDesc, BigInt] = Map.empty
) {
  require(version.matches("""\d{1,3}\.\d{1,3}\.\d{1,3}"""), s"the version must be major.minor.patch, not '$version'")
  require(version.split('.').forall(_.toInt < 256), s"each part of the version must be below 256, not '$version'")
  build.foreach { case (register, value) =>
    require(registers.contains(register), s"the chip has no register ${register.name}")
    require(register.role == RegisterRole.Build, s"${register.name} is not fixed at elaboration")
    require(value >= 0 && value.bitLength <= 32, s"${register.name}: $value is not a 32-bit number")
  }
  require(CommonRegs.all.forall(registers.contains), "a chip has every register of CommonRegs")

  /** Values of all registers that read the same for ever. */
  val fixed: Map[RegisterDesc, BigInt] = {
    val versionWord = version.split('.').foldLeft(BigInt(0))((word, part) => (word << 8) | part.toInt)
    val known = Map[RegisterDesc, BigInt](
      CommonRegs.chip -> BigInt(chip),
      CommonRegs.version -> versionWord,
      CommonRegs.capabilityCounters -> BigInt(counters.length)
    )
    known.keys.foreach(r => require(!build.contains(r), s"${r.name} is the register bank's own"))
    registers.collect {
      case r if r.role == RegisterRole.Constant => r -> r.reset
      case r if r.role == RegisterRole.Build => r -> (known ++ build).getOrElse(r, BigInt(0))
    }.toMap
  }
  val status: Seq[RegisterDesc] = registers.filter(_.role == RegisterRole.Status)
  val control: Seq[RegisterDesc] = registers.filter(_.role == RegisterRole.Control)
}

/** A 32-bit value for each of `registers`: `values(OuterRegs.portMtu)`. */
class RegisterValues(registers: Seq[RegisterDesc]) extends Record {
  val elements: SeqMap[String, UInt] = SeqMap.from(registers.map(_.name -> UInt(32.W)))
  def apply(register: RegisterDesc): UInt =
    elements.getOrElse(register.name, throw new IllegalArgumentException(s"no register ${register.name} here"))
}

/**
 * The registers of a chip behind AXI4-Lite: identity, capabilities, scratch, status, control,
 * counter window, table window, as the RDL describes them (docs/reference/registers.md).
 *
 * `control` holds what software wrote (after reset: the RDL's reset values); a bit that the RDL
 * calls a single pulse is high for one cycle after software wrote 1 and reads 0. `status` is
 * sampled when it is read. An address that is no register, a write to a register without a writable
 * bit, and a read of TABLE_COMMAND answer SLVERR and change nothing. One write and one read every 5
 * cycles; a write of COUNTER_INDEX ends when the counter is latched, 4 cycles later.
 *
 * `clear` empties the shadow row of the table window and sets the control bits that the RDL calls
 * `hwclr` to 0 (zeroize). While it stays high neither can be written, and write commands fail.
 *
 * What `control` holds is voted ([[VotedRegister]]): a flipped bit changes nothing, and is counted.
 *
 * @param voted makes a register of so many bits with that reset value; tests flip bits of it
 */
class RegisterBank(
    p: RegisterBankParams,
    voted: (Int, BigInt) => VotedRegister = new VotedRegister(_, _)
) extends Module {
  val io = IO(new Bundle {
    val axil = Flipped(new AxiLite)
    val status = Input(new RegisterValues(p.status))
    val control = Output(new RegisterValues(p.control))
    val increments = Input(Vec(p.counters.length, UInt(CounterBank.incrementBits.W)))
    val table = new TablePort
    val clear = Input(Bool())

    /** A flipped bit of a control register was repaired: high for one cycle. */
    val repaired = Output(Bool())
  })
  private val stirs = Wire(Bool())
  private val running = withClock(clock)(QuietClock(stirs, cycles = 16))
  override protected def implicitClock: Clock = running

  private val target = Module(new AxiLiteTarget)
  private val window = Module(new TableWindow)
  private val gauges = p.counters.filter(_.isGauge).map(_.index).toSet
  private val counters = withClock(clock)(Module(new CounterBank(p.counters.length, gauges)))
  private val repairs = Wire(Vec(p.control.length, Bool()))
  // Each first in a register of its own: a comparison and the sum of all are too deep together.
  private def anyRepair: Bool = RegNext(RegNext(repairs.asUInt, 0.U).orR, false.B)
  private val asked = io.axil.aw.valid || io.axil.w.valid || io.axil.ar.valid
  stirs := asked || io.axil.b.valid || io.axil.r.valid || window.io.busy || io.clear ||
    withClock(clock)(anyRepair)
  target.io.axil <> io.axil
  io.table <> window.io.table
  window.io.clear := io.clear
  counters.io.increments := io.increments

  // Writes: decode into one bit a register, act in the next cycle.
  private val writable =
    p.registers.filter(_.writable != 0).flatMap(r => Seq.tabulate(r.count)(n => (r, r.offset + 4 * n)))
  private val hit = RegNext(VecInit(writable.map(_._2.U === target.io.write.bits.address)))
  private val act = RegNext(target.io.write.valid, false.B)
  private val data = RegNext(target.io.write.bits.data)
  private val mask = RegNext(target.io.write.bits.mask)
  private def strobes(r: RegisterDesc): Seq[Bool] =
    writable.zip(hit).collect { case ((`r`, _), selected) => act && selected }
  private def strobe(r: RegisterDesc): Bool = strobes(r).head

  for ((r, n) <- p.control.zipWithIndex) {
    val held = r.writable & ~r.pulse
    val register = Module(voted(32, r.reset))
    val value = register.io.value
    val cleared = (r.cleared != 0).B && io.clear
    val pulse = RegNext(Mux(strobe(r), data & mask & r.pulse.U, 0.U), 0.U)
    register.io.write.valid := strobe(r) || cleared
    register.io.write.bits :=
      Mux(cleared, value & (~r.cleared & 0xffffffffL).U, (value & ~mask) | (data & mask & held.U))
    repairs(n) := register.io.repairs
    io.control(r) := value | pulse
  }
  io.repaired := anyRepair

  window.io.setWord := VecInit(strobes(CommonRegs.tableData)).asUInt
  window.io.setSelect := strobe(CommonRegs.tableSelect)
  window.io.setIndex := strobe(CommonRegs.tableIndex)
  window.io.command := strobe(CommonRegs.tableCommand) && mask(0)
  window.io.data := data
  window.io.mask := mask
  private val ofTable =
    Seq(CommonRegs.tableData, CommonRegs.tableSelect, CommonRegs.tableIndex, CommonRegs.tableCommand)

  // Writing COUNTER_INDEX starts a read of the counter; its end is the end of the write.
  private val counterIndex = RegInit(0.U(CommonRegs.CounterIndex.index.width.W))
  private val counterValue = RegInit(0.U(64.W))
  private val newIndex = ((counterIndex & ~mask) | (data & mask))(counterIndex.getWidth - 1, 0)
  private val latch = strobe(CommonRegs.counterIndex) && newIndex < p.counters.length.U
  when(latch) { counterIndex := newIndex }
  counters.io.read.valid := RegNext(latch, false.B)
  counters.io.read.bits := counterIndex(log2Ceil(p.counters.length) - 1, 0)
  when(counters.io.value.valid) { counterValue := counters.io.value.bits }

  private val refused = !hit.asUInt.orR ||
    (window.io.busy && VecInit(ofTable.flatMap(strobes)).asUInt.orR) || (strobe(CommonRegs.counterIndex) && !latch)
  target.io.writeDone.valid := RegNext((act && !latch) || counters.io.value.valid, false.B)
  target.io.writeDone.bits := RegNext(act && refused, false.B)

  // Reads: decode into one bit a register, then select.
  private val fixed = p.fixed.toSeq.map { case (r, value) => r.offset -> value.U(32.W) }
  private val status = p.status.map(r => r.offset -> io.status(r))
  private val held = p.control.map(r => r.offset -> (io.control(r) & (~r.pulse & 0xffffffffL).U))
  private val windows = Seq(
    CommonRegs.counterIndex.offset -> counterIndex,
    CommonRegs.counterLo.offset -> counterValue(31, 0),
    CommonRegs.counterHi.offset -> counterValue(63, 32),
    CommonRegs.tableSelect.offset -> window.io.select,
    CommonRegs.tableIndex.offset -> window.io.index,
    CommonRegs.tableStatus.offset -> (window.io.error ## window.io.busy)
  ) ++ window.io.shadow.zipWithIndex.map { case (word, n) => (CommonRegs.tableData.offset + 4 * n) -> word }
  private val readable = (fixed ++ status ++ held ++ windows).sortBy(_._1)
  require(readable.map(_._1).distinct == readable.map(_._1), "two registers share an address")

  private val readHit = RegNext(VecInit(readable.map(_._1.U === target.io.read.bits)))
  target.io.readDone.valid := ShiftRegister(target.io.read.valid, 2, false.B, true.B)
  target.io.readDone.bits.data := RegNext(Mux1H(readHit, readable.map(_._2.pad(32))))
  target.io.readDone.bits.error := RegNext(!readHit.asUInt.orR)
}
