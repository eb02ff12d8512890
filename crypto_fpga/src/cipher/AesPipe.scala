package sallyport.crypto

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._

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
 * A stage: round state, and the last two round keys, `newer` for the round to come; see [[AesKeySchedule]].
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
    val state = UInt(128.W)
    val older = UInt(128.W)
    val newer = UInt(128.W)
    val size = AesKeySize()
    val tag = tagType.cloneType
  }

  private implicit val sbox: Definition[AesSbox] = Definition(new AesSbox)

  /** Round `r`: the lengths before the last round go on, those at it do not mix columns, those past it keep their state. */
  private def round(r: Int, state: UInt, key: UInt, size: AesKeySize.Type): UInt = {
    val is128 = size === AesKeySize.bits128
    val is256 = size === AesKeySize.bits256
    val shifted = Aes.shiftRows(Aes.subBytes(state))
    val mixed = Aes.mixColumns(shifted)
    r match {
      case 10 => Mux(is128, shifted, mixed) ^ key
      case 11 => Mux(is128, state, mixed ^ key)
      case 12 => Mux(is128, state, Mux(is256, mixed, shifted) ^ key)
      case 13 => Mux(is256, mixed ^ key, state)
      case 14 => Mux(is256, shifted ^ key, state)
      case _ => mixed ^ key
    }
  }

  PipeClock(io.in.valid, io.wipe, AesPipe.latency) { valids =>
    val entry = Wire(new Stage)
    val in = io.in.bits
    val key = Mux(io.wipe, 0.U, in.key)
    entry.state := in.block ^ key(127, 0)
    entry.older := key(127, 0)
    entry.newer := AesKeySchedule.first(key, in.size)
    entry.size := in.size
    entry.tag := in.tag

    val stages = (1 to AesPipe.rounds).scanLeft(RegNext(entry)) { (before, r) =>
      val after = Wire(new Stage)
      after.state := round(r, before.state, before.newer, before.size)
      after.older := before.newer
      after.newer := (if (r < AesPipe.rounds) AesKeySchedule.next(r + 1, before.older, before.newer, before.size)
                      else before.newer)
      after.size := before.size
      after.tag := before.tag
      RegNext(after)
    }

    io.out.valid := valids.last
    io.out.bits.block := stages.last.state
    io.out.bits.tag := stages.last.tag
    io.ahead.valid := valids(AesPipe.latency - 1 - aheadBy)
    io.ahead.bits := stages(AesPipe.latency - 1 - aheadBy).tag
  }
}

object AesPipe {
  val rounds = 14

  /** Cycles from `in` to `out`. */
  val latency: Int = rounds + 1
}
