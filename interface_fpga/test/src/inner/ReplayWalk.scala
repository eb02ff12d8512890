// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import scala.collection.mutable
import scala.util.Random

object ReplayWalk {

  /**
   * Packets as a network brings them: in order, late, twice, at the edges, and after gaps of up to
   * three rings.
   */
  def apply(random: Random, count: Int, windowOf: Map[Int, Int], start: BigInt, gap: => Int): Seq[Query] = {
    val tops = mutable.Map.empty[Int, BigInt].withDefaultValue(start)
    val history = mutable.Map.empty[Int, mutable.ArrayBuffer[BigInt]]
    Seq.fill(count) {
      val sa = windowOf.keys.toSeq(random.nextInt(windowOf.size))
      val window = windowOf(sa)
      val top = tops(sa)
      val past = history.getOrElseUpdate(sa, mutable.ArrayBuffer.empty)
      val number = (random.nextInt(32) match {
        case 0 => top + random.nextInt(3 * 4096)
        case 1 => top + 900 + random.nextInt(300)
        case 2 => top - window + random.nextInt(4) - 1
        case 3 => top - random.nextInt(10000)
        case 4 => top - (top % 1024) + random.nextInt(3) - 1
        case 5 => BigInt(random.nextInt(2))
        case n if n < 12 => top + 1 + random.nextInt(40)
        case n if n < 16 => top + 1
        case n if n < 24 && past.nonEmpty => past(past.size - 1 - random.nextInt(past.size min 120))
        case _ => top - random.nextInt(window + 2)
      }).max(0)
      past += number
      tops(sa) = top.max(number)
      Query(sa, number, window, gap)
    }
  }
}
