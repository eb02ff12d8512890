// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.iface.headers.Ecn

import scala.collection.mutable
import scala.util.Random

/**
 * Random arrivals: datagrams in pieces, some with faults, up to twelve in turn, and whole packets
 * between them.
 */
class ReassemblyCampaign(random: Random) {
  private val dice = new FragmentDice(random)
  private val sources = Seq.fill(12)(random.nextInt(1 << 24))
  private val waiting = mutable.Buffer.empty[List[Fragment]]

  private def size(): Int = random.nextInt(20) match {
    case 0 => 9400 + random.nextInt(300)
    case 1 | 2 => 2000 + random.nextInt(3000)
    case _ => 16 + random.nextInt(1600)
  }

  private def pieces(): List[Fragment] = {
    val datagram = dice.datagram(size(), source = sources(random.nextInt(sources.size)))
    val fragments = dice.cut(datagram, 1 + random.nextInt(6)).toList
    // An IPv4 packet in one piece is no fragment.
    val cut = if (fragments.size == 1 && !datagram.ipv6) dice.cut(datagram, 2).toList else fragments
    dice.shuffle(spoil(cut)).toList
  }

  private def spoil(fragments: List[Fragment]): List[Fragment] = {
    val one = fragments(random.nextInt(fragments.size))
    val of = one.of
    random.nextInt(15) match {
      case 0 if fragments.size > 1 => fragments.filterNot(_ == one)
      case 1 => one :: fragments
      case 2 =>
        of.fragment(8 * one.offset, one.payload ++ Seq.fill(8)(1.toByte), one.more) :: fragments.filterNot(_ == one)
      case 3 if one.offset > 0 =>
        of.fragment(8 * one.offset - 8, Seq.fill(8)(1.toByte) ++ one.payload, one.more) :: fragments.filterNot(_ == one)
      case 4 => of.fragment(8 * one.offset, one.payload ++ Seq(1.toByte), more = true) :: fragments
      case 5 => of.fragment((one.end + 7) / 8 * 8 + 8 * random.nextInt(3), Seq(1.toByte), more = false) :: fragments
      // Congestion on the way, and what no sender makes.
      case 6 | 7 => fragments.map(f => if (random.nextBoolean()) f.marked(Ecn.ce) else f)
      case 8 => fragments.map(_.marked(random.nextInt(Ecn.codepoints)))
      case 9 if one.offset == 0 => one.copy(headless = true) :: fragments
      case _ => fragments
    }
  }

  /**
   * Arrivals until so many more datagrams have been begun; those that are left go on with the
   * next chunk.
   */
  def chunk(datagrams: Int): Seq[Arrival] = {
    val arrivals = Seq.newBuilder[Arrival]
    var begun = 0
    while (begun < datagrams || (waiting.size > 6 && random.nextInt(100) > 0)) {
      if (begun < datagrams && waiting.size < 12) {
        waiting += pieces()
        begun += 1
      }
      val turn = random.nextInt(waiting.size)
      arrivals += waiting(turn).head.arrival
      waiting(turn) = waiting(turn).tail
      if (waiting(turn).isEmpty) waiting.remove(turn)
      if (random.nextInt(4) == 0) arrivals += dice.whole(1 + random.nextInt(1500))
    }
    arrivals.result()
  }
}
