package sallyport.crypto

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._

/** What goes into an [[Sm4Pipe]]. */
class Sm4Block extends Bundle {
  val block = UInt(128.W)

  /** Encrypt: the key. Decrypt: K39, K38, K37, K36 of [[Sm4Pipe]]. */
  val key = UInt(128.W)
  val decrypt = Bool()
}

/**
 * Feed-forward SM4 (GB/T 32907-2016), both directions: one block a cycle, each with its own key, no stall. Byte 0 of
 * a block or key is in bits 7:0.
 *
 * Decryption is the cipher with the round keys in reverse order. They are words of a recurrence that runs both ways:
 * with K the words of the key expansion, of which K4 to K35 are the round keys, and its rule and CK continued four
 * steps to K39, the step with the constants in reverse order makes K35, K34 … of K39 to K36. Software computes these
 * four once a key.
 *
 * Latency [[Sm4Pipe.latency]] cycles, one a round: the first round is computed from the inputs, and the register
 * behind the last is the output. A stage makes the round key of the next; the first one its own as well, which makes
 * it the deepest: two S-boxes, 6 LUT levels.
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

  private class Stage extends Bundle {
    val x = Vec(4, UInt(32.W))

    /** The last is the key of the round that comes. */
    val k = Vec(4, UInt(32.W))
    val decrypt = Bool()
  }

  private implicit val sbox: Definition[Sm4Sbox] = Definition(new Sm4Sbox)

  PipeClock(io.in.valid, io.wipe, Sm4Pipe.latency) { valids =>
    val in = io.in.bits
    val firstKey = Module(new Sm4FirstKey)
    firstKey.io.key := in.key
    firstKey.io.decrypt := in.decrypt

    val entry = Wire(new Stage)
    entry.x := Sm4.words(in.block)
    entry.k := Sm4Pipe.keyWords(in.key, in.decrypt).tail :+ firstKey.io.out
    entry.decrypt := in.decrypt

    val last = (0 until Sm4Pipe.rounds).foldLeft(entry) { (before, r) =>
      val after = Wire(new Stage)
      after.x := before.x.tail :+ Sm4.round(before.x, before.k.last)
      after.k := (if (r + 1 < Sm4Pipe.rounds) before.k.tail :+ Sm4Pipe.roundKey(r + 1, before.k, before.decrypt)
                  else before.k)
      after.decrypt := before.decrypt
      // The wipe is at the register and not at the input, where it would cost a level.
      RegNext(if (r == 0) Mux(io.wipe, 0.U.asTypeOf(after), after) else after)
    }

    io.out.valid := valids.last
    io.out.bits := Sm4.block(last.x.reverse)
  }
}

/**
 * Key of the first round. A module of its own, because synthesis would share XORs between it and what follows, at the
 * cost of a level.
 */
class Sm4FirstKey(implicit sbox: Definition[Sm4Sbox]) extends FixedIORawModule(new Sm4FirstKeyPorts) {
  io.out := Sm4Pipe.roundKey(0, Sm4Pipe.keyWords(io.key, io.decrypt), io.decrypt)
}

class Sm4FirstKeyPorts extends Bundle {
  val key = Input(UInt(128.W))
  val decrypt = Input(Bool())
  val out = Output(UInt(32.W))
}

object Sm4Pipe {
  private val rounds = 32

  /** The four words of the key schedule in front of the first round key. */
  private[crypto] def keyWords(key: UInt, decrypt: Bool): Seq[UInt] =
    Sm4.words(key).zip(Sm4.fk).map { case (word, fk) => word ^ Mux(decrypt, 0.U, fk.U(32.W)) }

  /** Key of round `r`, from 0 on, after the four words `k` of the key schedule. */
  private[crypto] def roundKey(r: Int, k: Seq[UInt], decrypt: Bool)(implicit sbox: Definition[Sm4Sbox]): UInt =
    Sm4.expand(k, Mux(decrypt, Sm4.ck(35 - r).U(32.W), Sm4.ck(r).U(32.W)))

  /** Cycles from `in` to `out`. */
  val latency: Int = rounds
}
