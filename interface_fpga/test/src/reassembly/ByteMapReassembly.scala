// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.iface.headers.Ecn

import scala.collection.mutable

/**
 * Reassembly with a map of bytes, as the RFCs tell it (791 3.2, 8200 4.5, 5722 4, 6946 4,
 * 3168 5.3), and with the limits of a [[ReassemblyConfig]]. The reference of [[ReassemblerSpec]]:
 * no unit, no cell map, no sum that is carried on.
 */
class ByteMapReassembly(p: ReassemblyConfig, timeout: Int, perSource: Int) {
  private class State(val born: Int, val source: BigInt) {
    val bytes: mutable.Map[Int, Byte] = mutable.Map.empty
    var fragments = 0
    var end: Option[Int] = None
    var first: Option[Fragment] = None
    var dead: Option[String] = None
    val ecn: mutable.Set[Int] = mutable.Set.empty
    val cells: mutable.Set[Int] = mutable.Set.empty
  }
  private val states = mutable.Map.empty[Any, State]
  private var now = 0
  val counts: mutable.Map[String, Int] = mutable.Map.empty.withDefaultValue(0)

  /** Frames that are held. */
  def held: Int = states.values.filter(_.dead.isEmpty).map(_.fragments).sum
  def live: Int = states.size

  private def key(f: Fragment): Any =
    (f.of.ipv6, f.of.source, f.of.destination, f.of.identification, if (f.of.ipv6) 0 else f.of.protocol)

  def tick(): Unit = {
    now += 1
    for ((key, state) <- states.toSeq if now - state.born >= timeout) {
      if (state.dead.isEmpty) counts("timeout") += state.fragments
      states -= key
    }
  }

  private def drop(reason: String): Option[Seq[Byte]] = { counts(reason) += 1; None }

  /** The packet that a fragment makes whole. */
  def take(f: Fragment): Option[Seq[Byte]] = {
    val atomic = f.offset == 0 && !f.more
    val known = if (atomic) None else states.get(key(f))
    if (f.payload.isEmpty || (f.more && f.payload.length % 8 != 0)) drop("length")
    else if (f.headless) drop("headers")
    else if (known.exists(_.dead.nonEmpty)) drop(known.get.dead.get)
    else if (known.isEmpty && !atomic && states.size == p.datagrams) drop("full")
    else if (known.isEmpty && !atomic && states.values.count(_.source == f.of.source) >= perSource) drop("source")
    else {
      val state = known.getOrElse(new State(now, f.of.source))
      if (!atomic) states(key(f)) = state
      add(state, f, key(f))
    }
  }

  private def add(state: State, f: Fragment, key: Any): Option[Seq[Byte]] = {
    val range = 8 * f.offset until f.end
    state.fragments += 1
    state.ecn += f.ecn
    val headerBytes = if (f.offset == 0) f.header.length else 0
    val cells = (range.head + 128) / 1024 to (range.last + 128) / 1024
    val used = states.values.map(_.cells.size).sum
    def beyond(end: Int): Boolean = f.end > end || (!f.more && f.end != end)
    val fault =
      if (headerBytes + f.end > p.maxBytes) Some("oversize")
      else if (used + cells.count(!state.cells(_)) > p.cells) Some("memory")
      else if (state.end.exists(beyond) || (!f.more && state.bytes.keys.exists(_ >= f.end))) Some("end")
      else if (state.ecn(Ecn.notEct) && state.ecn.size > 1) Some("ecn")
      else if (range.exists(state.bytes.contains)) Some("overlap")
      else None
    fault match {
      case Some(reason) => kill(state, reason)
      case None =>
        state.cells ++= cells
        state.bytes ++= range.zip(f.payload)
        if (!f.more) state.end = Some(f.end)
        if (f.offset == 0) state.first = Some(f)
        if (!state.end.exists(end => (0 until end).forall(state.bytes.contains))) None
        else {
          val first = state.first.get
          val ecn = if (state.ecn(Ecn.ce)) Ecn.ce else first.ecn
          val packet = first.of.whole((0 until state.end.get).map(state.bytes), ecn = ecn)
          if (packet.length > p.maxBytes) kill(state, "oversize")
          else {
            counts("reassembled") += 1
            counts("merged") += state.fragments - 1
            if (states.get(key).contains(state)) states -= key
            Some(packet)
          }
        }
    }
  }

  private def kill(state: State, reason: String): Option[Seq[Byte]] = {
    counts(reason) += state.fragments
    state.dead = Some(reason)
    state.bytes.clear()
    state.cells.clear()
    None
  }
}
