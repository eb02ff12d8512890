package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/** A packet buffer that is written by the beat and read by the block of 128 bits: four banks of one block a beat. */
class BeatToBlockBuffer(beats: Int) extends Module {
  private val rowBits = log2Ceil(beats)
  val io = IO(new Bundle {
    val write = Flipped(Valid(new Bundle { val row = UInt(rowBits.W); val data = UInt(PacketStream.dataBits.W) }))
    val read = Flipped(Valid(UInt((rowBits + 2).W)))

    /** The cycle after `read`. */
    val block = Output(UInt(128.W))
  })
  private val bank = io.read.bits(1, 0)
  private val banks = Seq.tabulate(4) { i =>
    val memory = SyncReadMem(beats, UInt(128.W))
    when(io.write.valid) { memory.write(io.write.bits.row, io.write.bits.data(128 * i + 127, 128 * i)) }
    memory.read(io.read.bits >> 2, io.read.valid && bank === i.U)
  }
  io.block := VecInit(banks)(RegEnable(bank, io.read.valid))
}

/** A packet buffer that is written by the block of 128 bits and read by the beat. */
class BlockToBeatBuffer(beats: Int) extends Module {
  private val rowBits = log2Ceil(beats)
  val io = IO(new Bundle {
    val write = Flipped(Valid(new Bundle { val place = UInt((rowBits + 2).W); val block = UInt(128.W) }))
    val read = Flipped(Valid(UInt(rowBits.W)))

    /** The cycle after `read`. */
    val beat = Output(UInt(PacketStream.dataBits.W))
  })
  io.beat := Cat(Seq.tabulate(4) { i =>
    val memory = SyncReadMem(beats, UInt(128.W))
    when(io.write.valid && io.write.bits.place(1, 0) === i.U) {
      memory.write(io.write.bits.place >> 2, io.write.bits.block)
    }
    memory.read(io.read.bits, io.read.valid)
  }.reverse)
}
