// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/** A beat and its place in a packet buffer. */
class BeatWrite(config: LaneConfig) extends Bundle {
  val row = UInt(config.rowBits.W)
  val data = UInt(PacketStream.dataBits.W)

  /** Not of the packet: a record of [[LaneRetire]]. */
  val record = Bool()
}

/**
 * A packet buffer that is written by the beat and read by 16 bytes from any word on, and, by the
 * beat, for the records of [[LaneRetire]] and from black to red for the hashes.
 *
 * A block that crosses from the last 16 bytes of a beat needs the first 16 of the beat behind. So a
 * beat stands in two memories with an address each: its first 18 bytes, which fill two columns of
 * URAM, and the rest with `record`. Beats are read through the port that writes them, so never in
 * a cycle with `write`.
 */
class BeatToBlockBuffer(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val write = Flipped(Valid(new BeatWrite(config)))
    val read = Flipped(Valid(new BlockAddress(config)))

    /** The cycle after `read`: those of the four blocks of 16 bytes that it needs. */
    val banks = Output(Vec(4, UInt(128.W)))
    val readBeat = Flipped(Valid(UInt(config.rowBits.W)))

    /** The cycle after `readBeat`. */
    val beat = Output(UInt(PacketStream.dataBits.W))
    val record = Output(Bool())
  })
  private val bank = io.read.bits.word(3, 2)
  private val crosses = io.read.bits.word(1, 0) =/= 0.U
  private val wraps = bank === 3.U

  /** Bits `lsb` to `msb` of the beats: what `read` finds at `row`, and what `readBeat` does. */
  private def part(msb: Int, lsb: Int, row: UInt, used: Bool): (UInt, UInt) = {
    val memory = SyncReadMem(config.bufferBeats, UInt((msb - lsb + 1).W))
    val data = (io.write.bits.record ## io.write.bits.data)(msb, lsb)
    val beat =
      if (config.hasSlow) {
        val at = Mux(io.readBeat.valid, io.readBeat.bits, io.write.bits.row)
        memory.readWrite(at, data, io.write.valid || io.readBeat.valid, !io.readBeat.valid)
      } else {
        when(io.write.valid) { memory.write(io.write.bits.row, data) }
        0.U((msb - lsb + 1).W)
      }
    (memory.read(row, io.read.valid && used), beat)
  }
  private val (low, lowBeat) =
    part(BeatToBlockBuffer.lowBits - 1, 0, Mux(wraps, io.read.bits.next, io.read.bits.row), !wraps || crosses)
  private val (high, highBeat) =
    part(PacketStream.dataBits, BeatToBlockBuffer.lowBits, io.read.bits.row, bank =/= 0.U || crosses)
  io.banks := (high ## low)(PacketStream.dataBits - 1, 0).asTypeOf(io.banks)
  io.beat := (highBeat ## lowBeat)(PacketStream.dataBits - 1, 0)
  io.record := highBeat(PacketStream.dataBits - BeatToBlockBuffer.lowBits)
  assert(!(io.write.valid && io.readBeat.valid), "a beat comes in while one is read for the hashes")
}

object BeatToBlockBuffer {
  private val lowBits = 144
}

/** A block and its place in a packet buffer: at an even or odd 8 bytes. */
class BlockWrite(config: LaneConfig) extends Bundle {

  /** The beat in which the block starts, and the one behind it. */
  val row = UInt(config.rowBits.W)
  val next = UInt(config.rowBits.W)

  /** Which 8 bytes of the beat. */
  val lane = UInt(3.W)
  val block = UInt(128.W)
}

/**
 * A packet buffer that is written by 16 bytes from any 8 on, and read by the beat. It has eight
 * banks of 8 bytes a beat; each bank fills a column of URAM.
 */
class BlockToBeatBuffer(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val write = Flipped(Valid(new BlockWrite(config)))
    val read = Flipped(Valid(UInt(config.rowBits.W)))

    /** The cycle after `read`. */
    val beat = Output(UInt(PacketStream.dataBits.W))
  })
  private val write = io.write.bits
  private val second = write.lane +% 1.U
  io.beat := Cat(Seq.tabulate(8) { i =>
    val memory = SyncReadMem(config.bufferBeats, UInt(64.W))
    val isSecond = second === i.U
    when(io.write.valid && (write.lane === i.U || isSecond)) {
      val row = if (i == 0) Mux(isSecond, write.next, write.row) else write.row
      memory.write(row, Mux(isSecond, write.block(127, 64), write.block(63, 0)))
    }
    memory.read(io.read.bits, io.read.valid)
  }.reverse)
}
