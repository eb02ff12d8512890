// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import chisel3.util.experimental.BoringUtils
import sallyport.common.memory.{CodedMemory, MemoryPipe, MemoryWrite, ParityMemory}

/** A bit of a memory of [[AntiReplay]]: of a highest number's word, or of a window row's. */
class FlipPort extends Bundle {
  val top = Bool()
  val row = UInt(16.W)
  val place = UInt(11.W)
}

/** [[AntiReplay]] whose bits flip when a test says so: a read a cycle later finds the bit wrong. */
class FlippedReplay(rowBits: Int) extends Module {
  val io = IO(new AntiReplayIO(rowBits))
  val flip = IO(Flipped(Valid(new FlipPort)))
  private val inner = Module(
    new AntiReplay(
      rowBits,
      (rows, bits) =>
        new CodedMemory(rows, bits) {
          override protected def answered(word: UInt): UInt = word ^
            FlippedReplay.wrong(rows, word.getWidth, BoringUtils.bore(flip), true, this.io.read.bits, this.io.write)
        },
      (rows, bits) =>
        new ParityMemory(rows, bits, ReplayRing.groupBits) {
          override protected def answered(word: UInt): UInt = word ^
            FlippedReplay.wrong(rows, word.getWidth, BoringUtils.bore(flip), false, this.io.read.bits, this.io.write)
        }
    )
  )
  io <> inner.io
}

object FlippedReplay {

  /** Bits of a word of highest numbers: lost, number, check bits. */
  val topBits = 73

  /** Bits of a row's data, and of a group that has parity. */
  val rowBits = 1088
  val groupBits = 64
  val groups: Int = rowBits / groupBits

  /** The group of a place in a row's word; the last is `last`. */
  def group(place: Int): Int = if (place < rowBits) place / groupBits else place - rowBits

  /** The wrong bits of the word that the memory answers. A write makes its row right. */
  private def wrong(
      rows: Int,
      bits: Int,
      flip: Valid[FlipPort],
      top: Boolean,
      read: UInt,
      write: Valid[MemoryWrite]
  ): UInt = {
    val masks = Mem(rows, UInt(bits.W))
    val flips = flip.valid && flip.bits.top === top.B
    val row = flip.bits.row(log2Ceil(rows) - 1, 0)
    val rewritten = write.valid && write.bits.index === row
    when(flips)(masks.write(row, Mux(rewritten, 0.U, masks.read(row)) ^ UIntToOH(flip.bits.place, bits)))
    when(write.valid && !(flips && rewritten))(masks.write(write.bits.index, 0.U))
    ShiftRegister(masks.read(read), MemoryPipe.banks.latency)
  }
}
