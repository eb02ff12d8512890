// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._

/** What becomes of a fragment and its datagram; with no bit high the fragment is added to it. */
class FragmentFate extends Bundle {

  /** The fragment is an exact duplicate and dropped alone. */
  val duplicate = Bool()

  /** The datagram is dropped with all its fragments. */
  val kills = Bool()

  /** The datagram is whole. */
  val completes = Bool()

  /** With `duplicate` or `kills`. */
  val reason = FragmentDrop()
}

object FragmentFate {

  /**
   * Once all is known. `cut` has a reason that needs no look at the map of cells. The map says
   * whether the units that the fragment fills `overlap` with others, and whether they differ from
   * those of each fragment before.
   */
  def apply(cut: Valid[FragmentDrop.Type], overlap: Bool, differs: Bool, growth: DatagramGrowth): FragmentFate = {
    val fate = Wire(new FragmentFate)
    fate.duplicate := !cut.valid && !differs && growth.sameEnd
    fate.kills := cut.valid ||
      (differs || !growth.sameEnd) && (growth.badEcn || overlap || growth.complete && growth.tooLong)
    fate.completes := growth.complete && !fate.kills && !fate.duplicate
    fate.reason := MuxCase(
      FragmentDrop.oversize,
      Seq(
        cut.valid -> cut.bits,
        fate.duplicate -> FragmentDrop.duplicate,
        growth.badEcn -> FragmentDrop.ecn,
        overlap -> FragmentDrop.overlap
      )
    )
    fate
  }
}
