// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import sallyport.common.registers.map.SaUsageRow

/** Lifetimes in absolute numbers; 0 is none. */
case class Limits(
    softBytes: BigInt = 0,
    hardBytes: BigInt = 0,
    softPackets: BigInt = 0,
    hardPackets: BigInt = 0
)

/** What an SA has carried, as Linux's xfrm counts it: nothing here wraps or is offset. */
case class Usage(
    limits: Limits = Limits(),
    bytes: BigInt = 0,
    packets: BigInt = 0,
    warned: Boolean = false,
    expired: Boolean = false
) {
  import limits._

  /** The usage after a packet, and the event: hard, of bytes, of packets. */
  def apply(length: Int): (Usage, Option[(Boolean, Boolean, Boolean)]) =
    if (expired) (this, None)
    else {
      def reached(count: BigInt, limit: BigInt): Boolean = limit != 0 && count >= limit
      val (b, p) = (bytes + length, packets + 1)
      val hard = (reached(b, hardBytes), reached(p, hardPackets))
      // Where both are one, the hard limit stands for both.
      val soft = (
        softBytes != hardBytes && reached(b, softBytes),
        softPackets != hardPackets && reached(p, softPackets)
      )
      val isHard = hard._1 || hard._2
      val isSoft = soft._1 || soft._2
      val event =
        if (isHard) Some((true, hard._1, hard._2))
        else Option.when(isSoft && !warned)((false, soft._1, soft._2))
      (Usage(limits, b, p, warned || isSoft, isHard), event)
    }

  /** The row as regs/rows.rdl has it. */
  def row: BigInt = {
    def wrap(value: BigInt): BigInt = value.mod(BigInt(1) << 64)
    def soft(soft: BigInt, hard: BigInt): BigInt = if (soft == 0) 0 else wrap(soft - hard)
    SaUsageRow.bytes.put(wrap(bytes - hardBytes)) | SaUsageRow.packets.put(wrap(packets - hardPackets)) |
      SaUsageRow.softBytes.put(soft(softBytes, hardBytes)) |
      SaUsageRow.softPackets.put(soft(softPackets, hardPackets)) |
      SaUsageRow.warned.put(if (warned) 1 else 0) | SaUsageRow.expired.put(if (expired) 1 else 0)
  }
}
