// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._

/** A datagram whose time is over. */
class ExpiryRequest(p: ReassemblyConfig) extends Bundle {
  val row = UInt(p.rowBits.W)

  /** One bit. */
  val way = UInt(ways.W)
}

/**
 * Looks through the table for datagrams whose time is over, once after each tick, in the cycles in
 * which no other module reads it. It stands still while the table is empty.
 *
 * `request` stays until `done`; then the same row is read once more. A pass takes 4 cycles a row; a
 * tick that comes during one starts one more behind it.
 */
class ExpirySweep(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val tick = Input(Bool())

    /** There are datagrams. */
    val any = Input(Bool())

    /** The table may be read in this cycle. */
    val grant = Input(Bool())
    val read = Output(Bool())
    val row = Output(UInt(p.rowBits.W))

    /** What [[DatagramTable]] says of it. */
    val expired = Input(UInt(ways.W))
    val request = Valid(new ExpiryRequest(p))
    val done = Input(Bool())
  })

  private val due = RegInit(false.B)
  private val active = RegInit(false.B)
  private val waiting = RegInit(false.B)
  private val row = RegInit(0.U(p.rowBits.W))
  private val request = RegInit(false.B)
  private val way = Reg(UInt(ways.W))

  when(io.tick) { due := true.B }.elsewhen(!active) { due := false.B }
  when(!active) { active := due && io.any }

  io.read := active && !waiting && !request && io.grant
  private val arrives = ShiftRegister(io.read, DatagramTable.expiredLatency, false.B, true.B)
  when(io.read) { waiting := true.B }
  when(arrives) {
    waiting := false.B
    request := io.expired.orR
    way := PriorityEncoderOH(io.expired)
    when(!io.expired.orR) {
      row := row + 1.U
      when(row.andR) { active := false.B }
    }
  }
  when(io.done) { request := false.B }

  io.row := row
  io.request.valid := request
  io.request.bits.row := row
  io.request.bits.way := way
}
