// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._
import sallyport.common.clock.PipeClock

/** The input of an [[Sm4Pipe]]. */
class Sm4Block extends Bundle {
  val block = UInt(128.W)

  /** Encrypt: the key. Decrypt: K39, K38, K37, K36 of [[Sm4Pipe]]. */
  val key = UInt(128.W)
  val decrypt = Bool()
}

/**
 * Feed-forward SM4 (GB/T 32907-2016), both directions: one block a cycle, each with its own key, no
 * stall. Byte 0 of a block or key is in bits 7:0.
 *
 * Decryption is the cipher with the round keys in reverse order. They are words of a recurrence
 * that runs both ways. Let K be the words of the key expansion: K4 to K35 are the round keys, and
 * four more steps of its rule and of CK lead to K39. Then the step with the constants in reverse
 * order makes K35, K34 … of K39 to K36. Software computes these four once a key.
 *
 * Latency [[Sm4Pipe.latency]] cycles, one a round: the S-boxes of the first round have the inputs
 * at their address, and the output is one LUT behind those of the last. A stage makes the round key
 * of the next; the first one its own as well, with S-boxes in LUTs.
 *
 * The clock stops while the pipe is empty. While `wipe` is high zeros enter; after
 * [[Sm4Pipe.latency]] such cycles no register holds a key.
 */
class Sm4Pipe extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new Sm4Block))
    val wipe = Input(Bool())
    val out = Valid(UInt(128.W))
  })

  private implicit val sbox: Definition[Sm4Sbox] = Definition(new Sm4Sbox)

  PipeClock(io.in.valid, io.wipe, Sm4Pipe.latency) { valids =>
    val in = io.in.bits
    def unlessWiped(word: UInt): UInt = Mux(io.wipe, 0.U, word)
    def constant(r: Int, decrypt: Bool): UInt = Mux(decrypt, Sm4.ck(35 - r).U(32.W), Sm4.ck(r).U(32.W))

    // The four words in front of the first round key, and that key, in LUTs.
    val words = Sm4.words(in.key).zip(Sm4.fk).map { case (word, fk) => word ^ Mux(in.decrypt, 0.U, fk.U(32.W)) }
    val firstKey = words(0) ^ Sm4.mixKey(Sm4.substitute(words(1) ^ words(2) ^ words(3) ^ constant(0, in.decrypt)))

    val start = (Sm4.words(in.block).map(unlessWiped), (words.tail :+ firstKey).map(unlessWiped), in.decrypt)
    val (last, _, _) = (0 until Sm4Pipe.rounds).foldLeft(start) { case ((x, k, decrypt), r) =>
      val text = Sm4.mix(Sm4.substituteInRam(x(1) ^ x(2) ^ x(3) ^ k(3)))
      def next(words: Seq[UInt], sum: UInt): Seq[UInt] = words.tail.map(RegNext(_)) :+ (RegNext(words.head) ^ sum)
      def nextKey = Sm4.mixKey(Sm4.substituteInRam(k(1) ^ k(2) ^ k(3) ^ constant(r + 1, decrypt)))
      (next(x, text), if (r + 1 < Sm4Pipe.rounds) next(k, nextKey) else k, RegNext(decrypt))
    }

    io.out.valid := valids.last
    io.out.bits := Sm4.block(last.reverse)
  }
}

object Sm4Pipe {
  private val rounds = 32

  /** Cycles from `in` to `out`. */
  val latency: Int = rounds
}
