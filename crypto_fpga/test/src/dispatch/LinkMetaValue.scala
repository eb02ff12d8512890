// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

/**
 * A LinkMeta as Scala sees it, and as the number that the bundle is on a stream (first field
 * highest).
 */
case class LinkMetaValue(
    length: Int,
    sa: Int,
    bypass: Boolean = false,
    df: Boolean = false,
    tos: Int = 0,
    nextHeader: Int = 4,
    peerTag: Int = 0,
    sequence: BigInt = 0,
    transport: Boolean = false,
    moved: Boolean = false
) {
  def bits: BigInt = Seq[(BigInt, Int)](
    (length, 14),
    (sa, 16),
    (if (bypass) 1 else 0, 1),
    (if (transport) 1 else 0, 1),
    (if (moved) 1 else 0, 1),
    (if (df) 1 else 0, 1),
    (tos, 8),
    (nextHeader, 8),
    (peerTag, 8),
    (sequence, 64)
  ).foldLeft(BigInt(0)) { case (packed, (value, width)) => (packed << width) | value }
}

object LinkMetaValue {
  val width: Int = 122

  def apply(bits: BigInt): LinkMetaValue = {
    def field(lsb: Int, width: Int): BigInt = (bits >> lsb) & ((BigInt(1) << width) - 1)
    LinkMetaValue(
      length = field(108, 14).toInt,
      sa = field(92, 16).toInt,
      bypass = field(91, 1) == 1,
      df = field(88, 1) == 1,
      tos = field(80, 8).toInt,
      nextHeader = field(72, 8).toInt,
      peerTag = field(64, 8).toInt,
      sequence = field(0, 64),
      transport = field(90, 1) == 1,
      moved = field(89, 1) == 1
    )
  }
}
