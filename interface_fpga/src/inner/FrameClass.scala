// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.iface.headers.{EthernetHeader, VlanTags}
import sallyport.iface.parse.{EtherClass, EthernetParser}
import sallyport.iface.stream.LookupLaunch

/**
 * What the type of a whole frame from the link says it carries (IEEE 802.1Q), if the frame has as
 * many VLAN tags as its metadata names ([[ClearPrefix]]).
 *
 * The metadata is the outer chip's, and tells [[DecryptWindow]] where IP begins. A frame with fewer
 * or more tags is of the class `other`, so that no station takes other bytes for its IP header than
 * this chip judged.
 */
object FrameClass {

  /** Cycles from a frame to its class. */
  val latency: Int = 2

  /** The class, of a frame alone, [[latency]] cycles later. */
  def apply(launch: LookupLaunch[LinkMeta]): EtherClass.Type = {
    val types = (0 to VlanTags.most).map { tags =>
      val end = EthernetHeader.bytesWith(tags)
      WireOrder.bigEndian(launch.bytes(8 * end - 1, 8 * (end - 2)))
    }
    val tagged = types.map(kind => RegNext(VlanTags.isType(kind)))
    val classes = types.map(kind => RegNext(EthernetParser.classify(kind)))
    val named = RegNext(ClearPrefix.tags(launch.meta.tos))
    val places = (0 to VlanTags.most).map { tags =>
      (named === tags.U && tagged.take(tags).foldLeft(true.B)(_ && _)) -> classes(tags)
    }
    RegNext(MuxCase(EtherClass.other, places))
  }
}
