package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/** A beat and its place in a packet buffer. */
class BeatWrite(config: LaneConfig) extends Bundle {
  val row = UInt(config.rowBits.W)
  val data = UInt(PacketStream.dataBits.W)
}

/**
 * A packet buffer that is written by the beat and read by 16 bytes from any word on: four banks of 16 bytes a beat, each with an
 * address of its own. Read and write ports are registered; it maps to block RAM or URAM.
 */
class BeatToBlockBuffer(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val write = Flipped(Valid(new BeatWrite(config)))
    val read = Flipped(Valid(new BlockAddress(config)))

    /** The cycle after `read`; the banks that are not needed keep what they had. */
    val banks = Output(Vec(4, UInt(128.W)))
  })
  private val bank = io.read.bits.word(3, 2)
  private val crosses = io.read.bits.word(1, 0) =/= 0.U
  io.banks := VecInit(Seq.tabulate(4) { i =>
    val memory = SyncReadMem(config.bufferBeats, UInt(128.W))
    when(io.write.valid) { memory.write(io.write.bits.row, io.write.bits.data(128 * i + 127, 128 * i)) }
    val behind = bank =/= i.U
    val used = !behind || (crosses && bank +% 1.U === i.U)
    memory.read(Mux(behind && i.U < bank, io.read.bits.next, io.read.bits.row), io.read.valid && used)
  })
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

/** A packet buffer that is written by 16 bytes from any 8 on, and read by the beat: eight banks of 8 bytes a beat. */
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

/** A packet buffer that is written and read by the beat. */
class BeatBuffer(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val write = Flipped(Valid(new BeatWrite(config)))
    val read = Flipped(Valid(UInt(config.rowBits.W)))

    /** The cycle after `read`. */
    val beat = Output(UInt(PacketStream.dataBits.W))
  })
  private val memory = SyncReadMem(config.bufferBeats, UInt(PacketStream.dataBits.W))
  when(io.write.valid) { memory.write(io.write.bits.row, io.write.bits.data) }
  io.beat := memory.read(io.read.bits, io.read.valid)
}
