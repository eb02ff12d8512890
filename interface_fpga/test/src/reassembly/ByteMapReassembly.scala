// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.iface.headers.Ecn

import scala.collection.mutable

/**
 * Reassembly with a map of bytes, as the RFCs tell it (791 3.2, 8200 4.5, 6946 4, 3168 5.3), and
 * with the limits of a [[ReassemblyConfig]]. The reference of [[ReassemblerSpec]]: no unit, no cell
 * map, no sum that is carried on.
 */
class ByteMapReassembly(p: ReassemblyConfig, timeout: Int, perSource: Int) {
  private class State(val born: Int, val source: BigInt) {
    val bytes: mutable.Map[Int, Byte] = mutable.Map.empty
    val parts: mutable.Set[(Int, Int, Boolean)] = mutable.Set.empty
    var fragments = 0
    var end: Option[Int] = None
    var first: Option[Fragment] = None
    val ecn: mutable.Set[Int] = mutable.Set.empty
    val cells: mutable.Set[Int] = mutable.Set.empty
  }

  /** The oldest first. */
  private val states = mutable.LinkedHashMap.empty[Any, State]
  private var now = 0
  val counts: mutable.Map[String, Int] = mutable.Map.empty.withDefaultValue(0)

  /** Frames that are held. */
  def held: Int = states.values.map(_.fragments).sum
  def live: Int = states.size

  private def key(f: Fragment): Any =
    (f.of.ipv6, f.of.source, f.of.destination, f.of.identification, if (f.of.ipv6) 0 else f.of.protocol)

  /** An IPv4 address or an IPv6 /64. */
  private def source(f: Fragment): BigInt = if (f.of.ipv6) f.of.source >> 64 << 64 else f.of.source

  def tick(): Unit = {
    now += 1
    for ((key, state) <- states.toSeq if now - state.born >= timeout) {
      counts("timeout") += state.fragments
      states -= key
    }
  }

  private def drop(reason: String): Option[Seq[Byte]] = { counts(reason) += 1; None }

  private def tooLong(f: Fragment): Boolean =
    (if (f.offset == 0) f.header.length else 0) + f.end > p.maxBytes
  private def freeCells: Int = p.cells - states.values.map(_.cells.size).sum

  /** The packet that a fragment makes whole. */
  def take(f: Fragment): Option[Seq[Byte]] = {
    val atomic = f.offset == 0 && !f.more
    val known = if (atomic) None else states.get(key(f))
    val begins = known.isEmpty && !atomic
    if (f.payload.isEmpty || (f.more && f.payload.length % 8 != 0)) drop("length")
    else if (f.headless) drop("headers")
    else if (begins && states.values.count(_.source == source(f)) >= perSource) drop("source")
    else if (!tooLong(f) && states.nonEmpty && (begins && states.size == p.datagrams || freeCells < p.pages)) {
      val (oldest, state) = states.head
      counts("full") += state.fragments
      states -= oldest
      take(f)
    } else {
      val state = known.getOrElse(new State(now, source(f)))
      if (!atomic) states(key(f)) = state
      add(state, f, key(f))
    }
  }

  private def add(state: State, f: Fragment, key: Any): Option[Seq[Byte]] = {
    val range = 8 * f.offset until f.end
    val part = (f.offset, f.end, f.more)
    val marks = state.ecn.toSet + f.ecn
    val cells = (range.head + 128) / 1024 to (range.last + 128) / 1024
    def beyond(end: Int): Boolean = f.end > end || (!f.more && f.end != end)
    val fault =
      if (tooLong(f)) Some("oversize")
      else if (state.end.exists(beyond) || (!f.more && state.bytes.keys.exists(_ >= f.end))) Some("end")
      else if (state.parts(part)) Some("duplicate")
      else if (marks(Ecn.notEct) && marks.size > 1) Some("ecn")
      else if (range.exists(state.bytes.contains)) Some("overlap")
      else None
    fault match {
      case Some("duplicate") => drop("duplicate")
      case Some(reason) => kill(state, reason, key, 1)
      case None =>
        state.fragments += 1
        state.ecn += f.ecn
        state.parts += part
        state.cells ++= cells
        state.bytes ++= range.zip(f.payload)
        if (!f.more) state.end = Some(f.end)
        if (f.offset == 0) state.first = Some(f)
        if (!state.end.exists(end => (0 until end).forall(state.bytes.contains))) None
        else {
          val first = state.first.get
          val ecn = if (state.ecn(Ecn.ce)) Ecn.ce else first.ecn
          val packet = first.of.whole((0 until state.end.get).map(state.bytes), ecn = ecn)
          if (packet.length > p.maxBytes) kill(state, "oversize", key, 0)
          else {
            counts("reassembled") += 1
            counts("merged") += state.fragments - 1
            if (states.get(key).contains(state)) states -= key
            Some(packet)
          }
        }
    }
  }

  /** `more`: frames beside those that the datagram holds. */
  private def kill(state: State, reason: String, key: Any, more: Int): Option[Seq[Byte]] = {
    counts(reason) += state.fragments + more
    if (states.get(key).contains(state)) states -= key
    None
  }
}
