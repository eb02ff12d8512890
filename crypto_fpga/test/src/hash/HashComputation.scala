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
   */
  class Hash(kind: HashKind.Type) {
    private val initial = Compression.start(kind)

    /** The `auth` field of a key row. */
    def auth(key: Array[Byte]): Array[Byte] = Compression.hmacStates(kind, key)

    def digest(message: Array[Byte])(next: Array[Byte] => HashComputation): HashComputation =
      resume(initial, 0, message)(next)

    /** RFC 2104. */
    def hmac(key: Array[Byte], message: Array[Byte]): HashComputation =
      if (key.length > 64) digest(key)(hmac(_, message))
      else {
        Compress(
          initial,
          Compression.pad(key, 0x36),
          inner =>
            Compress(
              initial,
              Compression.pad(key, 0x5c),
              outer => resume(inner, 64, message)(digest => resume(outer, 64, digest)(Result))
            )
        )
      }

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

  val sha256 = new Hash(HashKind.sha256)
  val sha1 = new Hash(HashKind.sha1)
  val sm3 = new Hash(HashKind.sm3)
}
