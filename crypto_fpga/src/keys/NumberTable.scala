// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.OutboundNumberRow
import sallyport.common.table.{TableAccess, TablePort}

/**
 * Software's way to the outbound sequence counters: a row is the last number that its SA was given.
 * It is read, and a write raises it ([[SequenceAuthority]]); a lower number changes nothing.
 *
 * Either waits for a [[PacketPause]] (`hold`, `drained`), for the counter is read and written where
 * packets' numbers are, and lasts until the counter is written. A write that waits at `clear`
 * raises nothing. One that has begun may raise twice, the second time to 0.
 */
class NumberTable(saBits: Int) extends Module {
  val io = IO(new Bundle {
    val table = Flipped(new TablePort)
    val hold = Output(Bool())
    val drained = Input(Bool())
    val clear = Input(Bool())

    /** A read is a raise to 0, which `last` answers as it does any. */
    val raise = Valid(new SequenceRaise(saBits, OutboundNumberRow.last.width))
    val last = Input(UInt(OutboundNumberRow.last.width.W))
  })

  private val pause = Module(new PacketPause)
  // There is no memory here to clear: the two rows are the fewest that TableAccess clears.
  private val access = Module(
    new TableAccess(1 << saBits, io.last.getWidth, clearRows = 2, writeOnly = false, 1 + SequenceAuthority.raiseLatency)
  )
  pause.io.in <> io.table
  pause.io.may := true.B
  pause.io.drained := io.drained
  io.hold := pause.io.hold
  access.io.table <> pause.io.out
  access.io.clear := io.clear
  access.io.data := io.last
  private val accesses = access.io.memory.valid && !access.io.clearing
  private val step = RegInit(0.U((SequenceAuthority.raiseLatency + 1).W))
  private val starts = accesses && step === 0.U
  step := Cat(step(SequenceAuthority.raiseLatency - 1, 0), starts && access.io.memory.bits.write)
  access.io.memory.ready := access.io.clearing || !access.io.memory.bits.write || step.head(1).asBool
  io.raise.valid := RegNext(starts, false.B)
  io.raise.bits.sa := RegNext(access.io.index)
  io.raise.bits.number := RegNext(access.io.memory.bits.row)
}
