// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import sallyport.crypto.support.Bytes

/**
 * A computation on a compression function that somebody else evaluates: one at a time, many
 * computations at once.
 */
sealed trait HashComputation
object HashComputation {
  case class Compress(state: Array[Byte], block: Array[Byte], next: Array[Byte] => HashComputation)
      extends HashComputation
  case class Result(bytes: Array[Byte]) extends HashComputation

  /**
   * A hash of 64-byte blocks with FIPS 180-4's padding, which GB/T 32905 shares.
   *
   * @param initial
   *   state before the first block
   */
  class Hash(initial: Array[Byte], compress: Compression.Function) {
    def digest(message: Array[Byte])(next: Array[Byte] => HashComputation): HashComputation =
      resume(initial, 0, message)(next)

    /** RFC 2104. */
    def hmac(key: Array[Byte], message: Array[Byte]): HashComputation =
      if (key.length > 64) digest(key)(hmac(_, message))
      else {
        Compress(
          initial,
          pad(key, 0x36),
          inner =>
            Compress(
              initial,
              pad(key, 0x5c),
              outer => resume(inner, 64, message)(digest => resume(outer, 64, digest)(Result))
            )
        )
      }

    private def pad(key: Array[Byte], byte: Int) = key.padTo(64, 0.toByte).map(b => (b ^ byte).toByte)

    /** The `auth` field of a key row for a key of up to 64 bytes: inner state, outer state. */
    def auth(key: Array[Byte]): Array[Byte] =
      Seq(0x36, 0x5c).flatMap(byte => compress(initial, pad(key, byte)).padTo(32, 0.toByte)).toArray

    /** Goes on from `state`, after `before` bytes. */
    private def resume(state: Array[Byte], before: Int, message: Array[Byte])(
        next: Array[Byte] => HashComputation
    ): HashComputation = {
      val bits = BigInt(8L * (before + message.length))
      val zeros = Math.floorMod(-(message.length + 9), 64)
      val padded = (message :+ 0x80.toByte) ++ new Array[Byte](zeros) ++ Bytes.fromBigInt(bits, 8).reverse
      def chain(state: Array[Byte], blocks: List[Array[Byte]]): HashComputation = blocks match {
        case block :: rest => Compress(state, block, chain(_, rest))
        case Nil => next(state)
      }
      chain(state, padded.grouped(64).toList)
    }
  }

  private def hash(initial: String, compress: Compression.Function) = new Hash(Bytes.fromHex(initial), compress)
  val sha256 = hash("6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19", Compression.sha256)
  val sha1 = hash("67452301efcdab8998badcfe10325476c3d2e1f0", Compression.sha1)
  val sm3 = hash("7380166f4914b2b9172442d7da8a0600a96f30bc163138aae38dee4db0fb0e4e", Compression.sm3)
}
