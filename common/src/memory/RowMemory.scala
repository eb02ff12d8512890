// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util._

/** A write to a memory, or else a read. */
class MemoryAccess(indexBits: Int, dataBits: Int) extends MemoryWrite(indexBits, dataBits) {
  val write = Bool()
}

/** Ports of a [[RowMemory]], or of a bank of it. */
class RowMemoryIO(rows: Int, bits: Int) extends Bundle {
  val read = Flipped(Valid(UInt(log2Ceil(rows).W)))
  val row = Output(UInt(bits.W))

  /** Writes, or reads what `answer` shows. */
  val access = Flipped(Valid(new MemoryAccess(log2Ceil(rows), bits)))
  val answer = Output(UInt(bits.W))
}

/**
 * A memory of two ports, as deep as need be: `read`, and `access`, which writes, and reads if the
 * memory `readsBack`.
 *
 * `row` and `answer` follow exactly `pipe.latency` cycles after their reads ([[MemoryPipe]]). Both
 * ports take a request every cycle. A read sees the writes of the cycles before its own; in the
 * same cycle either row may answer. Rows mean nothing before they are written, and `row` means
 * nothing but for a read.
 *
 * A bank reads if the row is in it, so its last row stays in its registers. With `scrubs` there is
 * `every`: all banks read, each the row of that place in it. When all rows are zeros, one such read
 * leaves none of an old row anywhere.
 */
class RowMemory(rows: Int, bits: Int, pipe: MemoryPipe, readsBack: Boolean = false, scrubs: Boolean = false)
    extends Module {
  val io = IO(new RowMemoryIO(rows, bits))
  val every = Option.when(scrubs)(IO(Input(Bool())))

  /** Has `access` do nothing but write. */
  def write(valid: Bool, index: UInt, data: UInt): Unit = {
    io.access.valid := valid
    io.access.bits.write := true.B
    io.access.bits.index := index
    io.access.bits.data := data
  }

  private val perBank = pipe.bankRows.fold(rows)(_.min(rows))
  require(rows % perBank == 0, s"$rows rows are no whole banks of $perBank")
  private val placeBits = log2Ceil(perBank)
  private def place(index: UInt): UInt = index(placeBits - 1, 0)
  private def bankOf(index: UInt): UInt = index >> placeBits

  private val banks = Seq.tabulate(rows / perBank) { number =>
    val bank = Module(new MemoryBank(perBank, bits, pipe, readsBack))
    def here(index: UInt): Bool = if (rows == perBank) true.B else bankOf(index) === number.U
    bank.io.read.valid := io.read.valid && (here(io.read.bits) || every.getOrElse(false.B))
    bank.io.read.bits := place(io.read.bits)
    bank.io.access.valid := io.access.valid && here(io.access.bits.index)
    bank.io.access.bits.write := io.access.bits.write
    bank.io.access.bits.index := place(io.access.bits.index)
    bank.io.access.bits.data := io.access.bits.data
    bank
  }

  /** Of the banks' outputs that of the bank of `index`, which came `pipe.latency` cycles ago. */
  private def chosen(index: UInt, outputs: Seq[UInt]): UInt =
    if (pipe.bankRows.isEmpty) outputs.head
    else if (outputs.size == 1) RegNext(outputs.head)
    else RegNext(VecInit(outputs)(ShiftRegister(bankOf(index), pipe.latency - 1)))
  io.row := chosen(io.read.bits, banks.map(_.io.row))
  io.answer := chosen(io.access.bits.index, banks.map(_.io.answer))
}

/**
 * A column of blocks with its registers: a module of its own, so that no tool takes the registers
 * in front of one bank for those of the next. Ports and times are those of [[RowMemory]], less the
 * register behind the banks.
 */
class MemoryBank(rows: Int, bits: Int, pipe: MemoryPipe, readsBack: Boolean) extends Module {
  val io = IO(new RowMemoryIO(rows, bits))

  private def front[T <: Data](value: T): T =
    if (pipe.bankRows.isEmpty) value
    else {
      val register = RegNext(value)
      addAttribute(register, "keep = \"true\"")
      register
    }
  private val memory = SyncReadMem(rows, UInt(bits.W))
  private val access = io.access.bits
  private val (index, data) = (front(access.index), front(access.data))
  private def behind(row: UInt): UInt = ShiftRegister(row, pipe.columnRegisters)
  io.row := behind(memory.read(front(io.read.bits), front(io.read.valid)))
  if (readsBack) io.answer := behind(memory.readWrite(index, data, front(io.access.valid), front(access.write)))
  else {
    when(front(io.access.valid && access.write))(memory.write(index, data))
    io.answer := 0.U
  }
}
