// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.RowField

/**
 * Up to 16 events that wait for software, which looks at the oldest and takes it away with `pop`.
 *
 * An event a cycle. One that finds the queue full (no `room`) is lost, which `lost` says until
 * `clearLost`.
 */
class EventQueue[T <: Data](gen: T) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(gen))
    val pop = Input(Bool())
    val clearLost = Input(Bool())
    val room = Output(Bool())
    val oldest = Valid(gen)
    val lost = Output(Bool())
  })

  private val queue = Module(new Queue(gen, EventQueue.entries))
  queue.io.enq.valid := io.in.valid
  queue.io.enq.bits := io.in.bits
  queue.io.deq.ready := io.pop
  io.room := queue.io.enq.ready
  io.oldest.valid := queue.io.deq.valid
  io.oldest.bits := queue.io.deq.bits

  private val lost = RegInit(false.B)
  when(io.clearLost)(lost := false.B)
  when(io.in.valid && !queue.io.enq.ready)(lost := true.B)
  io.lost := lost
}

object EventQueue {
  val entries: Int = 16

  /** The value of a register that shows an event. */
  def show(fields: (RowField, UInt)*): UInt =
    fields.map { case (field, value) => (value << field.lsb).asUInt.pad(32) }.reduce(_ | _)
}
