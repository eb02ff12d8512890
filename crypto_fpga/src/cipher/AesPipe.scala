package sallyport.crypto

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._
import sallyport.common.ClockGate

/** What goes into a cipher pipe. */
class CipherBlock[T <: Data](tagType: T) extends Bundle {
  val block = UInt(128.W)

  /** AES-128 uses the low half. */
  val key = UInt(256.W)
  val aes256 = Bool()
  val tag = tagType.cloneType
}

/**
 * Feed-forward AES encryption (FIPS-197): one block a cycle, AES-128 or AES-256 by block, no stall.
 *
 * The key schedule runs on the fly beside the data, so each block brings its own key and a change of key costs
 * nothing. Latency is [[AesPipe.latency]] cycles for both key lengths: AES-128 passes through the last four stages
 * unchanged. What is in `tag` comes out beside the block; `ahead` shows the same `aheadBy` cycles earlier, for
 * whoever has to fetch something for it.
 *
 * The pipe's clock stops while it is empty. While `wipe` is high zeros enter; after [[AesPipe.latency]] such
 * cycles no register holds a key.
 *
 * A stage: round state, and two round keys. `older`/`newer` are the last eight words of the AES-256 schedule;
 * AES-128 needs the last four alone, and starts one expansion earlier, in stage 0.
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
    val aes256 = Bool()
    val tag = tagType.cloneType
  }

  private implicit val sbox: Definition[AesSbox] = Definition(new AesSbox)

  /** The four key words after those in (`older`, `newer`), made in stage `r` for round `r + 1`. */
  private def nextKey(r: Int, older: UInt, newer: UInt, aes256: Bool): UInt = {
    val sub = Aes.subBytes(newer(127, 96))
    val for128 = if (r < 10) Aes.rotWord(sub) ^ Aes.rcon(r + 1).U else sub
    val for256 = if (r % 2 == 1) Aes.rotWord(sub) ^ Aes.rcon((r + 1) / 2).U else sub
    Aes.expand(Mux(aes256, older, newer), Mux(aes256, for256, for128))
  }

  private val valids = Wire(Vec(AesPipe.latency, Bool()))
  private val running = ClockGate(clock, io.in.valid || io.wipe || reset.asBool || valids.asUInt.orR)

  withClock(running) {
    val entry = Wire(new Stage)
    val in = io.in.bits
    val key = Mux(io.wipe, 0.U, in.key)
    entry.state := in.block ^ key(127, 0)
    entry.older := key(127, 0)
    entry.newer := Mux(in.aes256, key(255, 128), nextKey(0, key(127, 0), key(127, 0), false.B))
    entry.aes256 := in.aes256
    entry.tag := in.tag

    val stages = (1 to AesPipe.rounds).scanLeft(RegNext(entry)) { (before, r) =>
      val after = Wire(new Stage)
      val mixed = Aes.shiftRows(Aes.subBytes(before.state))
      val body = r match {
        case AesPipe.rounds => mixed
        case 10 => Mux(before.aes256, Aes.mixColumns(mixed), mixed)
        case _ => Aes.mixColumns(mixed)
      }
      after.state := (if (r <= 10) body ^ before.newer else Mux(before.aes256, body ^ before.newer, before.state))
      after.older := before.newer
      after.newer := (if (r < AesPipe.rounds) nextKey(r, before.older, before.newer, before.aes256) else before.newer)
      after.aes256 := before.aes256
      after.tag := before.tag
      RegNext(after)
    }

    valids.zip(io.in.valid +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
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
