// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.stream.{ConnectStream, PacketStream, RegisterSlice}
import sallyport.iface.headers.{EthernetHeader, Ipv6Header, VlanTags}
import sallyport.iface.mac.RxMeta
import sallyport.iface.parse.HeaderKind
import sallyport.iface.stream.PacketSteer

/**
 * Sends frames that may be fragments to `aside` and all others to `straight`, so that those need
 * not wait for a parser.
 *
 * Looks at the first beat alone: behind up to two VLAN tags (as [[EthernetParser]] finds them) IPv4
 * with more fragments or an offset that is not 0, or IPv6 with a fragment header or with two
 * extension headers, behind which one may be. Every fragment that [[HeaderParser]] can find goes
 * aside; so do packets that are none.
 *
 * A beat a cycle, latency 2 cycles, registered both ways. Stalls while either output does.
 * Drops nothing.
 */
class FragmentSteer extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new RxMeta))
    val straight = PacketStream(new RxMeta)
    val aside = PacketStream(new RxMeta)
  })

  private class Steered extends Bundle {
    val rx = new RxMeta
    val aside = Bool()
  }

  // What the first beat says holds for the others.
  private val first = RegInit(true.B)
  private val said = Reg(Bool())
  private val aside = Mux(first, FragmentSteer.suspect(io.in.bits.data), said)
  when(io.in.fire) {
    first := io.in.bits.last
    said := aside
  }
  private val marked = Wire(PacketStream(new Steered))
  ConnectStream(marked, io.in) { (to, from) =>
    to.rx := from
    to.aside := aside
  }

  private val steer = Module(new PacketSteer(new Steered, 2))
  steer.io.in <> RegisterSlice(marked)
  steer.io.select := Cat(steer.io.in.bits.meta.aside, !steer.io.in.bits.meta.aside)
  for ((to, from) <- Seq(io.straight, io.aside).zip(steer.io.out)) ConnectStream(to, from)(_ := _.rx)
}

object FragmentSteer {

  /**
   * Bytes of the IP header: flags and offset of IPv4, next header of IPv6, and that of the
   * extension header behind it.
   */
  private val v4Flags: Int = 6
  private val v6Next: Int = 6
  private val v6NextBehind: Int = Ipv6Header.bytes

  /** The frame that begins with this beat may be a fragment. Four LUT levels. */
  private def suspect(beat: UInt): Bool = {
    def byte(at: Int): UInt = beat(8 * at + 7, 8 * at)
    def word(at: Int): UInt = Cat(byte(at), byte(at + 1))
    def isOne(value: UInt, numbers: Seq[Int]): Bool = VecInit(numbers.map(value === _.U)).asUInt.orR
    require(EthernetHeader.maxBytes + v6NextBehind < PacketStream.dataBytes, "what is looked at is in one beat")

    val tagged = EthernetHeader.lengths.map(bytes => isOne(word(bytes - 2), VlanTags.types))
    val found = EthernetHeader.lengths.map { ip =>
      val kind = word(ip - 2)
      val v4 = kind === EthernetHeader.ipv4.U && word(ip + v4Flags)(13, 0).orR
      val next = HeaderKind(byte(ip + v6Next))
      val v6 = kind === EthernetHeader.ipv6.U &&
        (next.fragment || next.any && HeaderKind(byte(ip + v6NextBehind)).any)
      v4 || v6
    }
    // A VLAN EtherType is never an IP EtherType, so a match at a too shallow depth cannot occur.
    found(0) || tagged(0) && (found(1) || tagged(1) && found(2))
  }
}
