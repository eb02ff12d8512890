// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.PuntReason
import sallyport.iface.dispatch.Dispatched
import sallyport.iface.headers.Ipv6Header
import sallyport.iface.parse.{EtherClass, HeaderFields}

/** The reasons for which [[FrameJudge]] drops. */
class FrameDrops extends Bundle {
  val macFilter = Bool()
  val macSource = Bool()
  val macGroup = Bool()
  val martian = Bool()
  val ownSource = Bool()
  val ipMalformed = Bool()
  val ipChecksum = Bool()

  /** Another node of the cluster takes it. */
  val dispatch = Bool()
}

/** Why an interface chip drops a frame that its look-ups have answered for; one is high at most. */
class ReceiveDrops extends FrameDrops {
  val policy = Bool()
  val transportHeader = Bool()
  val linkDown = Bool()
}

/** What [[FrameJudge]] says of one frame: `passes`, `crosses`, `punts` or one of `drops`. */
class FrameJudgement extends Bundle {
  val passes = Bool()

  /**
   * It passes unchanged from port to port under every policy: a bump in the wire does not end
   * protocols of a single link.
   */
  val crosses = Bool()
  val punts = Bool()

  /** With `punts`. */
  val reason = UInt(8.W)
  val drops = new FrameDrops

  /** The only objection to the frame is that it is a fragment. */
  def isFragment: Bool = punts && reason === PuntReason.fragment.U
}

/**
 * The questions that both interface chips ask of a frame before their own. The first line that
 * fits counts:
 *
 *  1. `macFilter` is on and the destination is neither `portMac` nor a group address:
 *     drop macFilter; the source is a group address: drop macSource
 *  1. ARP: punt, with a reason of its own if it is for another ([[FrameJudge.forOthers]]), of a
 *     bump in the wire crosses; more than two VLAN tags, any other type but IP: punt
 *  1. a malformed IP packet: drop ipMalformed; a wrong IPv4 header checksum: drop ipChecksum
 *  1. more IPv6 extension headers than the parser reads: punt
 *  1. a packet to one host in a frame to a group, which a bump in the wire does not ask: drop
 *     macGroup (RFC 1812 5.3.4, RFC 1122 3.3.6)
 *  1. addresses that no packet on a wire has ([[AddressCheck]]): drop martian
 *  1. IPv6 neighbour discovery: punt, with the same reason if it is for another; of a bump in the
 *     wire crosses if its hop limit is 255, which says that it comes from this link, and is judged
 *     as any other packet if not (RFC 4861 6.1, 7.1)
 *  1. other IP of this link alone ([[AddressFindings.linkLocal]]): punt; passes of a bump in the
 *     wire
 *  1. from an address of the box: drop ownSource (RFC 1812 5.3.8)
 *  1. a fragment whose datagram's upper layer is not known (`tracked`): punt, with a reason of its
 *     own if its sender has to be told ([[FragmentNotice]])
 *  1. with `delivers`, to an address of the box that is no bump in the wire: punt (RFC 1812 5.2.3)
 *
 * Of a frame that the management CPU has injected, the lines of macFilter, neighbour discovery, IP
 * of one link and ownSource do not count: the box is its source, and its tunnels are links.
 *
 * What would pass and is not `mine` is dropped as dispatch, and so is what would be punted or cross
 * where this node does not speak for its cluster.
 *
 * A pipeline without stalls: `out` belongs to the inputs of [[FrameJudge.latency]] cycles before.
 *
 * @param delivers all packets to the box's own addresses are for the CPU, of whatever protocol
 */
class FrameJudge(delivers: Boolean) extends Module {
  val io = IO(new Bundle {

    /** The box is a bump in the wire. */
    val bump = Input(Bool())
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))

    /** This box's own addresses at this port. */
    val own = Input(new LocalAddresses)
    val fields = Input(new HeaderFields)

    /** The management CPU has injected the frame; without this port no frame is. */
    val injected = Option.when(delivers)(Input(Bool()))

    /** A cycle behind `fields`. */
    val dispatched = Input(new Dispatched)
    val out = Output(new FrameJudgement)
  })

  // Stage 1: one bit a question, in order.
  private val fields = io.fields
  private def is(kind: EtherClass.Type): Bool = fields.etherClass === kind
  private val addresses = Module(new AddressCheck)
  addresses.io.box := 0.U.asTypeOf(new BoxAddresses)
  addresses.io.box.own := io.own
  addresses.io.fields := fields
  require(AddressCheck.latency == 1, "what addresses are is known with the questions of stage 1")
  private val routed = RegNext(!io.bump)
  private val toGroup = RegNext(!io.bump && fields.macDestination(0))
  private val injected = io.injected.getOrElse(false.B)
  private val received = RegNext(!injected)
  private val filtered = io.macFilter && !injected && !fields.macDestination(0) && fields.macDestination =/= io.portMac
  private val questions = VecInit(
    Seq(
      filtered,
      fields.macFromGroup,
      is(EtherClass.arp),
      is(EtherClass.vlan),
      is(EtherClass.other),
      fields.malformed,
      fields.checksumBad,
      fields.unfinished
    ).map(RegNext(_)) ++ Seq(
      toGroup && !addresses.io.out.group,
      addresses.io.out.martian,
      RegNext(Mux(io.bump, FrameJudge.fromThisLink(fields), FrameJudge.neighbourDiscovery(fields))) && received,
      routed && received && addresses.io.out.linkLocal,
      received && addresses.io.out.own,
      RegNext(fields.fragment && !fields.tracked),
      if (delivers) routed && addresses.io.out.toOwn else false.B
    )
  )

  // Stage 2: the first that fits.
  private val first = PriorityEncoderOH(questions)
  private val Seq(dropFilter, dropSource, arp, vlan, other, dropMalformed, dropChecksum) = first.take(7)
  private val Seq(headers, dropGroup, dropMartian, neighbours, linkLocal, dropOwn, fragment, local) = first.drop(7)
  private val bump = RegNext(io.bump)
  private val notice = RegNext(fields.notice)
  private val others = RegNext(FrameJudge.forOthers(fields, io.own, io.portMac))
  private val crosses = bump && (arp || neighbours)
  private val punts = Seq(
    (arp && !bump && !others) -> PuntReason.arp,
    vlan -> PuntReason.vlan,
    other -> PuntReason.other,
    headers -> PuntReason.extensionHeaders,
    (neighbours && !bump && !others) -> PuntReason.nd,
    ((arp || neighbours) && !bump && others) -> PuntReason.resolution,
    linkLocal -> PuntReason.linkLocal,
    (fragment && !notice) -> PuntReason.fragment,
    (fragment && notice) -> PuntReason.reasm,
    local -> PuntReason.local
  )
  private val asked = VecInit(punts.map(_._1)).asUInt.orR
  private val passes = !questions.asUInt.orR
  private val dispatched = io.dispatched
  private val out = Wire(new FrameJudgement)
  out.passes := passes && dispatched.mine
  out.crosses := crosses && dispatched.speaks
  out.punts := asked && dispatched.speaks
  out.reason := Mux1H(punts.map { case (punt, reason) => punt -> reason.U })
  out.drops.macFilter := dropFilter
  out.drops.macSource := dropSource
  out.drops.macGroup := dropGroup
  out.drops.martian := dropMartian
  out.drops.ownSource := dropOwn
  out.drops.ipMalformed := dropMalformed
  out.drops.ipChecksum := dropChecksum
  out.drops.dispatch := passes && !dispatched.mine || (crosses || asked) && !dispatched.speaks
  io.out := RegNext(out)
}

object FrameJudge {
  val latency: Int = 2

  private def neighbourDiscovery(fields: HeaderFields): Bool =
    fields.isV6 && fields.hasIcmp && Ipv6Header.neighbourTypes.map(fields.messageType === _.U).reduce(_ || _)

  /** ff02::1:ff00:0/104, which a host joins for each of its addresses (RFC 4291 2.7.1). */
  private val solicitedNode = BigInt("ff0200000000000000000001ff", 16)

  /**
   * ARP for another IPv4 address than the box's (RFC 826), or neighbour discovery to the group of
   * an address that ends otherwise than the box's does, and than its MAC address: a link-local
   * address made of that ends so (RFC 4291 A). While the box has no address of a version, all are
   * for it.
   */
  private def forOthers(fields: HeaderFields, own: LocalAddresses, mac: UInt): Bool = {
    val arp = own.v4.orR && fields.destination(31, 0) =/= own.v4
    val end = fields.destination(23, 0)
    val ofMac = Cat(mac(31, 24), mac(39, 32), mac(47, 40))
    val solicits = fields.destination(127, 24) === solicitedNode.U
    Mux(fields.isV6, own.v6.orR && solicits && end =/= own.v6(23, 0) && end =/= ofMac, arp)
  }

  /** Neighbour discovery with a hop limit of 255, which no router has lowered. */
  def fromThisLink(fields: HeaderFields): Bool = neighbourDiscovery(fields) && fields.ttl.andR
}
