package sallyport.crypto

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._
import sallyport.common.PipeClock

/** What goes into an [[AesDecryptPipe]]. */
class AesDecryptBlock extends Bundle {
  val block = UInt(128.W)

  /**
   * The last words of the key schedule, as many as the key has, in their order: round key 10 in the low half with
   * AES-128, round keys 13 and 14 with AES-256.
   */
  val key = UInt(256.W)

  /** 128 or 256 bits. */
  val size = AesKeySize()
}

/**
 * Feed-forward AES decryption, the inverse cipher of FIPS-197 5.3, for keys of 128 and 256 bits: one block a cycle,
 * each with its own key, no stall. Byte 0 of a block or key is in bits 7:0.
 *
 * The key schedule runs backwards beside the data, from the last words of it, which software computes once a key.
 * Latency is [[AesDecryptPipe.latency]] cycles for both key lengths: AES-128 waits in the first four stages, and so
 * has round key k in the same stage as AES-256.
 *
 * The clock stops while the pipe is empty. While `wipe` is high zeros enter as key; after [[AesDecryptPipe.latency]]
 * such cycles no register holds a key.
 */
class AesDecryptPipe extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new AesDecryptBlock))
    val wipe = Input(Bool())
    val out = Valid(UInt(128.W))
  })
  assert(!io.in.valid || io.in.bits.size =/= AesKeySize.bits192)

  private class Stage extends Bundle {

    /** The key of the round that comes, and the one before; AES-128 needs the first alone. */
    val older = UInt(128.W)
    val newer = UInt(128.W)
    val is128 = Bool()
  }

  private implicit val sbox: Definition[AesSbox] = Definition(new AesSbox)

  PipeClock(io.in.valid, io.wipe, AesDecryptPipe.latency) { valids =>
    val in = io.in.bits
    val key = Mux(io.wipe, 0.U, in.key)
    val entry = Wire(new Stage)
    entry.is128 := in.size === AesKeySize.bits128
    entry.older := key(127, 0)
    entry.newer := key(255, 128)

    // Keys, those of round `rounds` first.
    val stages = (AesPipe.rounds - 1 until 0 by -1).scanLeft(RegNext(entry)) { (before, k) =>
      // AES-128 has round key 10 from the start, and its first round is that of round key 9.
      val after = Wire(new Stage)
      after := before
      val previous = AesKeySchedule.previous(k, before.older, before.newer, before.is128)
      after.older := Mux(before.is128 && (k > 10).B, before.older, previous)
      after.newer := before.older
      RegNext(after)
    }

    // States; each stage begins with its bytes coming out of the S-boxes.
    val first = in.block ^ Mux(entry.is128, entry.older, entry.newer)
    val last = stages.zip(AesPipe.rounds - 1 to 0 by -1).foldLeft(first) { case (state, (stage, k)) =>
      // The key goes in before the columns are mixed: behind it, the key would need a mixing of its own.
      val keyed = Aes.pack(Aes.inverseShiftRows(Aes.inverseSubBytes(state))) ^ stage.older
      val next = if (k > 0) Aes.inverseMixColumns(keyed) else keyed
      if (k > 9) Mux(stage.is128, RegNext(state), next) else next
    }

    io.out.valid := valids.last
    io.out.bits := RegNext(last)
  }
}

object AesDecryptPipe {

  /** Cycles from `in` to `out`. */
  val latency: Int = AesPipe.latency
}
