package sallyport.crypto

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._
import sallyport.common.PipeClock

/** What goes into a cipher pipe. */
class CipherBlock[T <: Data](tagType: T) extends Bundle {
  val block = UInt(128.W)

  /** The low `size` bits count. */
  val key = UInt(256.W)
  val size = AesKeySize()
  val tag = tagType.cloneType
}

/**
 * Feed-forward AES encryption (FIPS-197): one block a cycle, each with a key of 128, 192 or 256 bits, no stall.
 *
 * The key schedule runs on the fly beside the data, so each block brings its own key and a change of key costs
 * nothing. Latency is [[AesPipe.latency]] cycles for all key lengths: AES-128 passes through the last four stages
 * unchanged, AES-192 through the last two. What is in `tag` comes out beside the block; `ahead` shows the same `aheadBy` cycles earlier, for
 * whoever has to fetch something for it.
 *
 * The pipe's clock stops while it is empty. While `wipe` is high zeros enter; after [[AesPipe.latency]] such
 * cycles no register holds a key.
 *
 * A stage begins with its bytes coming out of the S-boxes ([[SboxRom]]). Beside them are the last two round keys,
 * `newer` for this round ([[AesKeySchedule]]), and from stage 11 on what blocks of shorter keys have come to.
 *
 * @param aheadBy
 *   0 to [[AesPipe.latency]] - 1
 */
class AesPipe[T <: Data](tagType: T, aheadBy: Int) extends Module {
  require(
    aheadBy >= 0 && aheadBy < AesPipe.latency,
    s"the tag is known up to ${AesPipe.latency - 1} cycles before the block, not $aheadBy"
  )

  val io = IO(new Bundle {
    val in = Flipped(Valid(new CipherBlock(tagType)))
    val wipe = Input(Bool())
    val out = Valid(new Bundle { val block = UInt(128.W); val tag = tagType.cloneType })
    val ahead = Valid(tagType.cloneType)
  })

  private class Stage extends Bundle {
    val older = UInt(128.W)
    val newer = UInt(128.W)
    val size = AesKeySize()
    val tag = tagType.cloneType
  }

  private implicit val sbox: Definition[AesSbox] = Definition(new AesSbox)

  PipeClock(io.in.valid, io.wipe, AesPipe.latency) { valids =>
    val in = io.in.bits
    val key = Mux(io.wipe, 0.U, in.key)
    val entry = Wire(new Stage)
    entry.older := key(127, 0)
    entry.newer := AesKeySchedule.first(key, in.size)
    entry.size := in.size
    entry.tag := in.tag

    // Keys and tags, a register a stage.
    val stages = (2 to AesPipe.rounds).scanLeft(RegNext(entry)) { (before, r) =>
      val after = Wire(new Stage)
      after := before
      after.older := before.newer
      after.newer := AesKeySchedule.next(r, before.older, before.newer, before.size)
      RegNext(after)
    }

    // States, and what those have come to that have had their last round.
    val (_, result) = stages.zip(1 to AesPipe.rounds).foldLeft((in.block ^ key(127, 0), 0.U(128.W))) {
      case ((state, ended), (stage, r)) =>
        val rows = Aes.shiftRows(Aes.subBytesDoubled(state))
        val ends = AesKeySize.all.find(AesKeySize.rounds(_) == r).fold(false.B)(stage.size === _)
        (Aes.mixDoubled(rows) ^ stage.newer, RegNext(Mux(ends, Aes.low(rows) ^ stage.newer, ended)))
    }

    io.out.valid := valids.last
    io.out.bits.block := result
    io.out.bits.tag := RegNext(stages.last.tag)
    io.ahead.valid := valids(AesPipe.latency - 1 - aheadBy)
    io.ahead.bits := (stages.map(_.tag) :+ io.out.bits.tag)(AesPipe.latency - 1 - aheadBy)
  }
}

object AesPipe {
  val rounds = 14

  /** Cycles from `in` to `out`. */
  val latency: Int = rounds + 1
}
