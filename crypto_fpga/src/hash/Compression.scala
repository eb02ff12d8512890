// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import java.lang.Integer.{rotateLeft, rotateRight}
import java.nio.ByteBuffer

/**
 * The compression functions in software: what the owner of an HMAC key computes for its row. It is
 * for elaboration and for tests.
 */
object Compression {
  type Function = (Array[Byte], Array[Byte]) => Array[Byte]

  private def words(bytes: Array[Byte]): Seq[Int] =
    bytes.toSeq.grouped(4).map(w => ByteBuffer.wrap(w.toArray).getInt).toSeq
  private def bytes(words: Seq[Int]): Array[Byte] = words.flatMap(w => ByteBuffer.allocate(4).putInt(w).array).toArray
  private def choose(x: Int, y: Int, z: Int) = (x & y) | (~x & z)
  private def majority(x: Int, y: Int, z: Int) = (x & y) | (x & z) | (y & z)

  /** The message schedule: each word from the 16 before it. */
  private def schedule(block: Array[Byte], size: Int)(next: Seq[Int] => Int): Seq[Int] =
    (16 until size).foldLeft(words(block).toVector)((w, _) => w :+ next(w.takeRight(16)))

  val sha256: Function = (state, block) => {
    def three(x: Int, i: Int, j: Int, k: Int) = rotateRight(x, i) ^ rotateRight(x, j) ^ rotateRight(x, k)
    def shifted(x: Int, i: Int, j: Int, k: Int) = rotateRight(x, i) ^ rotateRight(x, j) ^ (x >>> k)
    val w = schedule(block, 64)(w => shifted(w(14), 17, 19, 10) + w(9) + shifted(w(1), 7, 18, 3) + w(0))
    val end = (0 until 64).foldLeft(words(state)) { case (Seq(a, b, c, d, e, f, g, h), t) =>
      val t1 = h + three(e, 6, 11, 25) + choose(e, f, g) + Sha256Pipe.constants(t % 16)(t / 16).toInt + w(t)
      Seq(t1 + three(a, 2, 13, 22) + majority(a, b, c), a, b, c, d + t1, e, f, g)
    }
    bytes(words(state).zip(end).map { case (x, y) => x + y })
  }

  val sha1: Function = (state, block) => {
    val w = schedule(block, 80)(w => rotateLeft(w(13) ^ w(8) ^ w(2) ^ w(0), 1))
    val end = (0 until 80).foldLeft(words(state)) { case (Seq(a, b, c, d, e), t) =>
      val (f, k) = t / 20 match {
        case 0 => (choose(b, c, d), 0x5a827999)
        case 1 => (b ^ c ^ d, 0x6ed9eba1)
        case 2 => (majority(b, c, d), 0x8f1bbcdc)
        case 3 => (b ^ c ^ d, 0xca62c1d6)
      }
      Seq(rotateLeft(a, 5) + f + e + k + w(t), a, rotateLeft(b, 30), c, d)
    }
    bytes(words(state).zip(end).map { case (x, y) => x + y })
  }

  val sm3: Function = (state, block) => {
    def p(x: Int, i: Int, j: Int) = x ^ rotateLeft(x, i) ^ rotateLeft(x, j)
    val w = schedule(block, 68)(w => p(w(0) ^ w(7) ^ rotateLeft(w(13), 15), 15, 23) ^ rotateLeft(w(3), 7) ^ w(10))
    val end = (0 until 64).foldLeft(words(state)) { case (Seq(a, b, c, d, e, f, g, h), j) =>
      val (t, ff, gg) =
        if (j < 16) (0x79cc4519, a ^ b ^ c, e ^ f ^ g) else (0x7a879d8a, majority(a, b, c), choose(e, f, g))
      val ss1 = rotateLeft(rotateLeft(a, 12) + e + rotateLeft(t, j), 7)
      val tt1 = ff + d + (ss1 ^ rotateLeft(a, 12)) + (w(j) ^ w(j + 4))
      Seq(tt1, a, rotateLeft(b, 9), c, p(gg + h + ss1 + w(j), 9, 17), e, rotateLeft(f, 19), g)
    }
    bytes(words(state).zip(end).map { case (x, y) => x ^ y })
  }

  /** State of a hash before the first block. */
  val start: Map[HashKind.Type, Array[Byte]] = Map(
    HashKind.sha256 -> "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19",
    HashKind.sha1 -> "67452301efcdab8998badcfe10325476c3d2e1f0",
    HashKind.sm3 -> "7380166f4914b2b9172442d7da8a0600a96f30bc163138aae38dee4db0fb0e4e"
  ).map { case (hash, hex) => hash -> hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray }

  private val functions = Map[HashKind.Type, Function](
    HashKind.sha256 -> sha256,
    HashKind.sha1 -> sha1,
    HashKind.sm3 -> sm3
  )

  /** A key of up to 64 bytes, filled up and masked for the inner or the outer hash (RFC 2104). */
  def pad(key: Array[Byte], byte: Int): Array[Byte] = key.padTo(64, 0.toByte).map(b => (b ^ byte).toByte)

  /** The `auth` field of a key row for a key of up to 64 bytes: inner state, outer state. */
  def hmacStates(hash: HashKind.Type, key: Array[Byte]): Array[Byte] =
    Seq(0x36, 0x5c).flatMap(byte => functions(hash)(start(hash), pad(key, byte)).padTo(32, 0.toByte)).toArray
}
