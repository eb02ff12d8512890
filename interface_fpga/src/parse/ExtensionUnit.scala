// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.iface.headers.Ipv6Header

/** Which extension headers are skipped (RFC 4301 4.4.1.1); fragment headers always are. */
class ExtensionSkip extends Bundle {
  val hopByHop = Bool()
  val routing = Bool()
  val destinationOptions = Bool()
}

object ExtensionSkip {

  /** All of them, as after reset. */
  def all: ExtensionSkip = ((BigInt(1) << new ExtensionSkip().getWidth) - 1).U.asTypeOf(new ExtensionSkip)
}

/**
 * What an IPv6 next-header number is to the walk over extension headers; no bit set: not one of
 * them, the walk ends.
 */
class HeaderKind extends Bundle {
  val hopByHop = Bool()
  val fragment = Bool()

  /** Routing or destination options. */
  val other = Bool()
  def any: Bool = hopByHop || fragment || other
}

object HeaderKind {
  private val hopByHop: Int = 0
  private val routing: Int = 43
  private val destinationOptions: Int = 60

  /** A header that is not skipped is none: the walk ends there. */
  def apply(number: UInt, skip: ExtensionSkip = ExtensionSkip.all): HeaderKind = {
    val kind = Wire(new HeaderKind)
    kind.hopByHop := number === hopByHop.U && skip.hopByHop
    kind.fragment := number === Ipv6Header.fragment.U
    kind.other := number === routing.U && skip.routing ||
      number === destinationOptions.U && skip.destinationOptions
    kind
  }
}

/**
 * The fields at one of the 8-byte units behind the fixed IPv6 header, if an extension header begins
 * there (RFC 8200 section 4). All units are read at once, before the walk knows which ones matter.
 */
class ExtensionUnit extends Bundle {
  import ExtensionStep.maxUnits

  /**
   * Next-header number of the header here, and its kind if the walk goes on behind it: behind a
   * fragment header, and behind another.
   */
  val protocol = UInt(8.W)
  val afterFragment = new HeaderKind
  val afterOther = new HeaderKind

  /**
   * The unit behind the header, one-hot, unless it is `beyond` what the parser reads; of a
   * fragment header it is the next one.
   */
  val end = UInt((maxUnits + 1).W)
  val beyond = Bool()

  /**
   * The header ends beyond the packet, and within what the parser reads; one of 8 bytes, as a
   * fragment header is, ends beyond the packet.
   */
  val short = Bool()
  val cut = Bool()

  /**
   * As a fragment header that can be read: more fragments, or an offset that is not 0, and the
   * latter alone.
   */
  val fragment = Bool()
  val later = Bool()

  /** The packet has 4 bytes here. */
  val four = Bool()
}

object ExtensionUnit {
  import ExtensionStep.{maxUnits, unitBytes}

  /**
   * Reads a unit, with a register and some logic behind it. The first answers in a cycle. The
   * others take two, for the walk reaches none of them earlier.
   *
   * @param unit number of the unit, 0 directly behind the fixed header
   * @param word its first 4 bytes, in host order; of the unit behind the last that is read it does
   *   not matter
   * @param payload bytes of the packet behind the fixed header
   * @param skip    headers that are walked over
   */
  def apply(unit: Int, word: UInt, payload: UInt, skip: ExtensionSkip): ExtensionUnit = {
    val here = finish(unit, RegNext(look(unit, word, payload, skip)))
    if (unit == 0) here else RegNext(here)
  }

  /** What the words tell at once. */
  private class Look extends Bundle {
    val unit = new ExtensionUnit
    val next = new HeaderKind

    /** Whole units of the packet behind the fixed header, less those that this header says. */
    val margin = SInt(14.W)
  }

  private def look(unit: Int, word: UInt, payload: UInt, skip: ExtensionSkip): Look = {
    val more = word(23, 16)
    val look = WireDefault(0.U.asTypeOf(new Look))
    val here = look.unit
    look.next := HeaderKind(word(31, 24), skip)
    val left = payload >> log2Ceil(unitBytes)
    look.margin := left.zext - more.zext
    // The one comparison that the first unit has time for.
    here.short := left <= more
    here.protocol := word(31, 24)
    here.end := VecInit.tabulate(maxUnits + 1)(n => if (n > unit) more === (n - unit - 1).U else false.B).asUInt
    here.beyond := more >= (maxUnits - unit).U
    here.cut := payload < (unitBytes * (unit + 1)).U
    here.later := word(15, 3) =/= 0.U
    here.fragment := word(15, 3) =/= 0.U || word(0)
    here.four := payload >= (unitBytes * unit + 4).U
    look
  }

  private def finish(number: Int, look: Look): ExtensionUnit = {
    val unit = look.unit
    val here = WireDefault(unit)
    val last = (number == maxUnits).B
    val read = !unit.cut && !last
    val margin = look.margin.asUInt
    val short = if (number == 0) unit.short else margin.head(1).asBool || margin <= number.U
    here.short := unit.cut || !unit.beyond && short
    here.later := unit.later && read
    here.fragment := unit.fragment && read
    here.afterFragment := Mux(read && !unit.later, look.next.asUInt, 0.U).asTypeOf(new HeaderKind)
    here.afterOther := Mux(here.short || unit.beyond, 0.U, look.next.asUInt).asTypeOf(new HeaderKind)
    here
  }
}
