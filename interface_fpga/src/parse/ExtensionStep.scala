// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._

/** How far the headers of an IP packet have been read. */
class ExtensionWalk extends Bundle {

  /**
   * The next-header or protocol number of the header at `at`, and its kind: none once there is
   * nothing more to read.
   */
  val protocol = UInt(8.W)
  val kind = new HeaderKind

  /** The unit that has been reached, one-hot; 0 of IPv4. */
  val at = UInt((ExtensionStep.maxUnits + 1).W)

  /** The unit of the extension header before it, one-hot; 0 if there is none. */
  val previous = UInt((ExtensionStep.maxUnits + 1).W)

  /**
   * With `fragment` of IPv6: the unit of the first header that says so, and that of the header
   * before it.
   */
  val fragmentAt = UInt((ExtensionStep.maxUnits + 1).W)
  val beforeFragment = UInt((ExtensionStep.maxUnits + 1).W)

  /** A fragment, and one whose offset is not 0, so that no header is at `at`. */
  val fragment = Bool()
  val laterFragment = Bool()
  val malformed = Bool()
  val unfinished = Bool()
}

/**
 * The walk over the extension headers of an IPv6 packet (RFC 8200 section 4): hop-by-hop options,
 * routing, destination options and fragment, as far as [[ExtensionSkip]] says so. Any other number,
 * ESP, AH and no-next-header among them, is left where it is.
 *
 * In any order and number (4.1), but hop-by-hop options only as the first: elsewhere `malformed`.
 * So is a header that goes beyond the packet. One that goes beyond [[ExtensionStep.maxUnits]] is
 * `unfinished`, whatever its end. Of a fragment header the reserved bits are ignored (4.5).
 */
object ExtensionStep {
  val unitBytes: Int = 8

  /** The limits: extension headers of a packet, and 8-byte units of them all together. */
  val maxHeaders: Int = 4
  val maxUnits: Int = 8

  /** Before the first step. */
  def start(v6: Bool, protocol: UInt, skip: ExtensionSkip): ExtensionWalk = {
    val walk = WireDefault(0.U.asTypeOf(new ExtensionWalk))
    walk.protocol := protocol
    when(v6) {
      walk.kind := HeaderKind(protocol, skip)
      walk.at := 1.U
    }
    walk
  }

  /**
   * Reads one header, if one is there. No registers: 4 LUT levels.
   *
   * @param first this step stands directly behind the fixed header
   */
  def apply(walk: ExtensionWalk, units: Vec[ExtensionUnit], first: Boolean): ExtensionWalk = {
    val here = if (first) units.head else Mux1H(walk.at, units)
    val fragment = walk.kind.fragment
    val misplaced = (!first).B && walk.kind.hopByHop
    val malformed = misplaced || Mux(fragment, here.cut, here.short)
    val next = WireDefault(walk)
    when(walk.kind.any) {
      next.protocol := here.protocol
      val kind = Mux(fragment, here.afterFragment.asUInt, here.afterOther.asUInt)
      next.kind := Mux(misplaced, 0.U, kind).asTypeOf(new HeaderKind)
      next.at := Mux(fragment, (walk.at << 1)(maxUnits, 0), here.end)
      next.previous := walk.at
      next.malformed := malformed
      next.unfinished := !malformed && Mux(fragment, walk.at(maxUnits), here.beyond)
    }
    // Of a header that cannot be read they mean nothing.
    when(fragment && here.fragment && !walk.fragment) {
      next.fragmentAt := walk.at
      next.beforeFragment := walk.previous
    }
    next.fragment := walk.fragment || fragment && here.fragment
    next.laterFragment := walk.laterFragment || fragment && here.later
    next
  }

  /**
   * A packet's walk with all headers read that may be: what still continues is judged as a further
   * header would be.
   */
  def close(walk: ExtensionWalk, units: Vec[ExtensionUnit]): ExtensionWalk = {
    val bad = walk.kind.hopByHop || Mux1H(walk.at, units.map(_.cut))
    val closed = WireDefault(walk)
    when(walk.kind.any) {
      closed.malformed := bad
      closed.unfinished := !bad
    }
    closed
  }
}
