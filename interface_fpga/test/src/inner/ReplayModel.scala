// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import scala.collection.mutable

/**
 * The receiver's window as RFC 4303 3.4.3 and appendix A2.1 describe it, by sets and not by bits:
 * every number that was ever accepted, kept for ever. The right edge is the highest of them, the
 * left edge is right - window + 1.
 */
class ReplayModel {
  private val received = mutable.Set(BigInt(0)) // never sent (RFC 4303 2.2)
  var top: BigInt = 0

  def apply(sequence: BigInt, window: Int): String =
    if (sequence < top - window + 1) "too old"
    else if (received(sequence)) "replayed"
    else {
      accept(sequence)
      "good"
    }

  def accept(sequence: BigInt): Unit = {
    received += sequence
    top = top.max(sequence)
  }

  /** What the window holds. */
  def inside(window: Int): Set[BigInt] = received.filter(n => n > 0 && n > top - window).toSet
}

object ReplayModel {

  /** Rows of 1024 numbers in the ring of a window. */
  def ring(window: Int): Int = if (window > 2048) 4 else if (window > 1024) 2 else 1
}
