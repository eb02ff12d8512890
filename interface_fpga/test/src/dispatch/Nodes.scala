// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.dispatch

import sallyport.common.registers.map.{OuterRegs, PuntReason, RegisterDesc}

import scala.util.Random

/** What software sets at one node of a cluster ([[DispatchControl]]). */
case class Node(mode: Int, speaker: Boolean, owned: BigInt, key: BigInt) {

  /** The registers, which both interface chips have at the same offsets. */
  def registers: Seq[(RegisterDesc, BigInt)] = {
    def word(of: BigInt, register: RegisterDesc): BigInt =
      (of >> (32 * register.name.split('_').last.toInt)) & 0xffffffffL
    val control = OuterRegs.DispatchControl.mode.put(mode) |
      OuterRegs.DispatchControl.speaker.put(if (speaker) 1 else 0)
    (OuterRegs.dispatchControl -> control) +: OuterRegs.all.collect {
      case register if register.name.startsWith("dispatch_key_") => register -> word(key, register)
      case register if register.name.startsWith("dispatch_owned_") => register -> word(owned, register)
    }
  }
}

object Nodes {

  /** Punted frames that are their bucket's owner's: the other reasons are the speaker's. */
  val byBucket: Set[Int] = Set(PuntReason.policy, PuntReason.unknownSpi, PuntReason.ttl, PuntReason.mtu)

  private val key = BigInt(Dispatch.keyBits, new Random(2020))

  /** The bucket of a packet that begins with its SPI and number. */
  def ofEsp(mode: Int, packet: Seq[Byte]): Int = {
    val alone = mode == sallyport.common.registers.map.Dispatch.packet
    val number = if (alone) packet.slice(4, 8) else Seq.fill(4)(0.toByte)
    val input = BigInt(1, (packet.take(4) ++ number).toArray)
    ToeplitzModel(input, Dispatch.inputBits, key, Dispatch.keyBits, 8).toInt
  }

  /**
   * Node `number` of `count`, which have the buckets in turn. Node 0 speaks.
   *
   * @param mode one of [[sallyport.common.registers.map.Dispatch]]
   */
  def dispatch(mode: Int, number: Int, count: Int): Node = {
    val owned = (number until Dispatch.buckets by count).map(BigInt(1) << _).sum
    Node(mode, speaker = number == 0, owned, key)
  }
}
