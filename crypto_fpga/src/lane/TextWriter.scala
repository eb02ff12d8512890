// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.crypto.suite.Suite

/**
 * Finds the place of each block in the output buffer, and tells the hashes how far a packet
 * has grown.
 *
 * Encrypt: `head` of a packet at its start, then IV and text behind each other: later blocks
 * overwrite what an earlier one has too much. Decrypt: text from the packet's start. `frame` is
 * that of the slot of `op`, the op of `headed` or `text`, which are never in one cycle. Two cycles
 * from them to `write`; `grown` is in the cycle of `write`.
 */
class TextWriter(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val headed = Flipped(Valid(new LaneOp(config)))

    /** The first 16 bytes of the packet in `headed`. */
    val head = Input(UInt(128.W))
    val text = Flipped(Valid(new LaneText(config)))
    val slot = Output(UInt(config.slotBits.W))
    val base = Input(UInt(config.rowBits.W))
    val write = Valid(new BlockWrite(config))
    val grown = Valid(new HashGrown(config.slots))
  })

  private val op = io.text.bits.op
  io.slot := op.slot

  // Cycle 0: the place in words of 8 bytes from the packet's start. Cycle 1: the beat. Cycle 2: and
  // the one behind it.
  private val textAt = op.index << 1
  private val place = RegNext(
    if (config.encrypt)
      Mux(op.step.head, 0.U, Mux(op.step.iv, 1.U, textAt + Suite.choose(op.suite)(_.headBytes / 8)))
    else textAt
  )
  private val base = RegNext(io.base)
  private val block =
    ShiftRegister(if (config.encrypt) Mux(op.step.head, io.head, io.text.bits.block) else io.text.bits.block, 2)
  private val valid =
    ShiftRegister(io.text.valid || (config.encrypt.B && io.headed.valid), 2, false.B, true.B)
  private val row = RegNext(config.beatRings.after(base, place >> 3))
  private val lane = RegNext(place(2, 0))

  io.write.valid := valid
  io.write.bits.row := row
  io.write.bits.next := config.beatRings.after(row, 1.U)
  io.write.bits.lane := lane
  io.write.bits.block := block

  private val isText = ShiftRegister(io.text.valid, 2, false.B, true.B)
  private val hashes = ShiftRegister(!Suite.is(op.suite)(_.fast), 2)
  io.grown.bits.last := ShiftRegister(op.last, 2)
  io.grown.bits.slot := ShiftRegister(op.slot, 2)
  io.grown.valid := config.encrypt.B && isText && hashes && (lane >= 6.U || io.grown.bits.last)
}
