// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._
import sallyport.common.clock.PipeClock

/** The input of a cipher pipe. */
class CipherBlock[T <: Data](tagType: T) extends Bundle {
  val block = UInt(128.W)

  /**
   * The low `size` bits count. Of a block that is deciphered the last words of the key schedule, as
   * many as the key has, in their order: round key 10 in the low half with AES-128, round keys 13
   * and 14 with AES-256.
   */
  val key = UInt(256.W)
  val size = AesKeySize()

  /** To be deciphered; not with 192 bits. */
  val inverse = Bool()
  val tag = tagType.cloneType
}

/**
 * Feed-forward AES (FIPS-197): one block a cycle, each with a key of 128, 192 or 256 bits, no
 * stall; with `deciphers` each the one way or the other.
 *
 * The key schedule runs on the fly beside the data, so each block brings its own key and a change
 * of key costs nothing. Latency is [[AesPipe.latency]] cycles for all key lengths and both ways:
 * AES-128 passes through the last four stages unchanged, AES-192 through the last two. Deciphering
 * (the inverse cipher of 5.3), the schedule runs backwards from the last words of it, which
 * software computes once a key, and AES-128 waits in the first four stages, and so has round key k
 * in the same stage as AES-256. `tag` comes out beside the block; `ahead` shows it `aheadBy` cycles
 * earlier, so that a memory can be read for it.
 *
 * The pipe's clock stops while it is empty. While `wipe` is high zeros enter; after
 * [[AesPipe.latency]] such cycles no register holds a key.
 *
 * A stage begins with its bytes coming out of the S-boxes ([[SboxRom]]). Beside them are the last
 * two round keys, `newer` for this round ([[AesKeySchedule]]), and from stage 11 on what blocks of
 * shorter keys have come to. The two ways are two paths with the S-boxes in common, both those of
 * the data and those of the key schedule, since a block goes but one.
 *
 * @param aheadBy
 *   0 to [[AesPipe.latency]] - 1
 * @param deciphers
 *   `inverse` may be asked for
 */
class AesPipe[T <: Data](tagType: T, aheadBy: Int, deciphers: Boolean = false) extends Module {
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
  assert(!(io.in.valid && io.in.bits.inverse && (!deciphers.B || io.in.bits.size === AesKeySize.bits192)))

  private class Stage extends Bundle {
    val older = UInt(128.W)
    val newer = UInt(128.W)
    val size = AesKeySize()
    val inverse = Bool()
    val tag = tagType.cloneType
  }

  /**
   * Of a block that is deciphered: the key of the round that comes, and the one before; AES-128
   * needs the first alone.
   */
  private class BackStage extends Bundle {
    val older = UInt(128.W)
    val newer = UInt(128.W)
    val is128 = Bool()
  }

  private implicit val sbox: Definition[AesSbox] = Definition(new AesSbox)
  private def either(inverse: Bool, back: => UInt, forth: UInt): UInt =
    if (deciphers) Mux(inverse, back, forth) else forth

  PipeClock(io.in.valid, io.wipe, AesPipe.latency) { valids =>
    val in = io.in.bits
    val key = Mux(io.wipe, 0.U, in.key)
    val entry = Wire(new Stage)
    entry.older := key(127, 0)
    entry.newer := AesKeySchedule.first(key, in.size)
    entry.size := in.size
    entry.inverse := deciphers.B && in.inverse
    entry.tag := in.tag
    val backEntry = Wire(new BackStage)
    backEntry.older := key(127, 0)
    backEntry.newer := key(255, 128)
    backEntry.is128 := in.size === AesKeySize.bits128

    // Keys and tags, a register a stage; backwards, those of round `rounds` first.
    val (stages, backStages) = (2 to AesPipe.rounds).scanLeft((RegNext(entry), RegNext(backEntry))) {
      case ((before, backBefore), r) =>
        val k = AesPipe.rounds + 1 - r
        val (older, newer, size) = (before.older, before.newer, before.size)
        val (backOlder, is128) = (backBefore.older, backBefore.is128)
        val sub = Aes.subBytes(
          either(
            before.inverse,
            AesKeySchedule.wordBack(k, backOlder, is128),
            AesKeySchedule.word(r, older, newer, size)
          )
        )
        val after = Wire(new Stage)
        after := before
        after.older := newer
        after.newer := AesKeySchedule.next(r, older, newer, size, sub)
        // AES-128 has round key 10 from the start, and its first round is that of round key 9.
        val previous = AesKeySchedule.previous(k, backOlder, backBefore.newer, is128, sub)
        val backAfter = Wire(new BackStage)
        backAfter := backBefore
        backAfter.older := Mux(is128 && (k > 10).B, backOlder, previous)
        backAfter.newer := backOlder
        (RegNext(after), RegNext(backAfter))
    }.unzip

    // States, and what those have come to that have had their last round; the states of the way
    // back. A stage begins with what the one before it has at the S-boxes' addresses.
    case class States(inverse: Bool, forth: UInt, ended: UInt, back: UInt)
    val backFirst = in.block ^ Mux(backEntry.is128, backEntry.older, backEntry.newer)
    val last = stages
      .lazyZip(backStages)
      .lazyZip(1 to AesPipe.rounds)
      .foldLeft(States(entry.inverse, in.block ^ key(127, 0), 0.U(128.W), backFirst)) {
        case (States(inverse, forth, ended, back), (stage, backStage, r)) =>
          val address = either(inverse, back, forth)
          val images = if (deciphers) Aes.subBytesEither(address, inverse) else Aes.subBytesDoubled(address)
          val rows = Aes.shiftRows(images)
          val ends = AesKeySize.all.find(AesKeySize.rounds(_) == r).fold(false.B)(stage.size === _)

          // The key goes in before the columns are mixed: behind it, the key would need a mixing of
          // its own.
          val k = AesPipe.rounds - r
          val keyed = Aes.low(Aes.inverseShiftRows(images)) ^ backStage.older
          val mixed = if (k > 0) Aes.inverseMixColumns(keyed) else keyed
          States(
            stage.inverse,
            Aes.mixDoubled(rows) ^ stage.newer,
            RegNext(Mux(ends, Aes.low(rows) ^ stage.newer, ended)),
            if (k > 9) Mux(backStage.is128, RegNext(back), mixed) else mixed
          )
      }

    io.out.valid := valids.last
    io.out.bits.block := either(RegNext(stages.last.inverse), RegNext(last.back), last.ended)
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
