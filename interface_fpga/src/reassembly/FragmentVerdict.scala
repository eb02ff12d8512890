// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import sallyport.common.stream.PacketStream

/** What a whole datagram is read from its cells with. */
class DatagramReplay(p: ReassemblyConfig) extends Bundle {
  val pages = new CellList(p)
  val ipv6 = Bool()

  /** Bytes of payload. */
  val endBytes = UInt(PacketStream.lengthBits.W)
  val notes = new HeaderNotes(p)

  /** CE takes the place of the ECN field. */
  val congested = Bool()

  /** `notes.countedBytes`, and what CE adds to the sum of the header. */
  val summedBytes = UInt(7.W)
}

/** What becomes of a fragment. */
class FragmentVerdict(p: ReassemblyConfig) extends Bundle {

  /** It goes into the cells; else it is dropped. */
  val accept = Bool()
  val layout = new FragmentLayout(p)

  /** Its datagram is whole with it. */
  val complete = Bool()

  /** The datagram's cells, with this fragment's; with `complete` all else as well. */
  val replay = new DatagramReplay(p)
}
