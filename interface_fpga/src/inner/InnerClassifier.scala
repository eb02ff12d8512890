// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.registers.map.{Action, FlowRow, PuntReason}
import sallyport.common.stream.PacketStream
import sallyport.iface.dispatch.Dispatched
import sallyport.iface.fragmentation.FragmentCut
import sallyport.iface.headers.{ChecksumUpdate, EthernetHeader, IpHeader, Ipv4Header, Ipv6Header}
import sallyport.iface.mss.MssPatch
import sallyport.iface.parse.{HeaderFields, HeaderKind}
import sallyport.iface.receive.{FrameJudge, FrameVerdict, LocalAddresses, ReceiveDrops}
import sallyport.iface.tfc.TfcPadder

/** The facts about one frame from the red network when the SPD has decided ([[SpdDecision]]). */
class InnerFindings extends Bundle {
  val fields = new HeaderFields
  val policy = new SpdAnswer

  /** The decision depends on a row with a flipped bit. */
  val upset = Bool()

  /**
   * It comes from the management CPU, as if from that network; with `hairpin` out of a tunnel, for
   * another one.
   */
  val injected = Bool()
  val hairpin = Bool()
  val dispatched = new Dispatched
}

/** Where one frame from the red network goes. */
class InnerVerdict extends FrameVerdict {

  /** With `toLink`: `link.sa` is a block of the SAs by DSCP, and this the packet's DSCP. */
  val byDscp = Bool()
  val dscp = UInt(6.W)

  /** With `toLink`: bytes of the Ethernet header and its tags, if they stay here. */
  val strip = UInt(5.W)

  /** With `toLink`: payload units of its fragments; 0: it goes whole ([[FragmentCut]]). */
  val units = UInt(FragmentCut.unitsBits.W)

  /**
   * With `toLink`: least length of it, or of each of its fragments, in units of 4 bytes
   * ([[TfcPadder]]).
   */
  val tfc = UInt(TfcPadder.unitsBits.W)

  /** With `toLink`: the IP header's new values. */
  val rewrite = new IpRewrite

  /** With `toLink`: the TCP header's. Not the classifier's to say. */
  val mss = new MssPatch
}

/** The reasons for which [[InnerClassifier]] drops; at most one a frame. */
class InnerDrops extends ReceiveDrops {
  val policyUpset = Bool()

  /** By its headers it would be punted, but it does not come from the port. */
  val injectPunt = Bool()

  /** It came out of a tunnel, and its policy would let it out in clear. */
  val hairpinClear = Bool()
}

/**
 * Decides on each frame from the red network (RFC 4301 5.1). The first line that fits counts:
 *
 *  1. what [[FrameJudge]] drops or punts
 *  1. flipped bits in a row that the decision depends on: drop policyUpset
 *  1. the SPD's decision: PUNT: punt; DISCARD or none at all: drop policy; PROTECT in transport
 *     mode of a fragment: to be put together first (RFC 4303 3.3.4, RFC 4301 7); BYPASS or PROTECT
 *     with a TTL or hop limit of 0 or 1: punt, for the sender has to be told (RFC 1812 5.3.1);
 *     longer than the MTU that comes with the decision, and IPv6 or IPv4 with DF: punt, for the
 *     sender has to be told (RFC 4301 8.2.1), and so is IPv4 with options under BYPASS, for this
 *     chip cannot cut it (RFC 1812 4.2.2.7); else to the link with TTL or hop limit one less (RFC
 *     4301 5.1.2.1 note 2, RFC 1812 5.3.1), cut if it is longer than that MTU, the decision says so
 *     and the header has no options; so is IPv4 without DF that is too long for any ESP packet
 *
 * Under PROTECT in transport mode, and under BYPASS of a bump in the wire, the whole frame goes to
 * the link, with the TTL that it has and uncut. ESP stands behind the IPv4 header with its options,
 * or the IPv6 header alone: without anything behind it, with a longer [[ClearPrefix]] than there
 * can be or with IPv6 extension headers, skipped or not, a packet is dropped as transportHeader.
 *
 * With `byDscp` in its SPD entry the packet's SA is still to be found ([[SaByDscp]]).
 *
 * Under PROTECT in tunnel mode the decision's least length goes with the packet (RFC 4303 2.7).
 *
 * A frame that the management CPU injects goes back to it for the SPD's sake alone, marked as its
 * own: it lacks an SA, or is too long. What [[FrameJudge]] would punt is dropped as injectPunt. It
 * keeps its TTL, of whatever value, for this box is its source (RFC 1812 5.2.1.2). The same holds
 * for a frame out of a tunnel: the decrypt path has judged it as one of this network, and lowered
 * its TTL. Under BYPASS it is dropped as hairpinClear, and under PROTECT in transport mode, which
 * is between hosts, as transportHeader.
 *
 * What would go to the link is dropped as linkDown while `linkUp` is low.
 *
 * A fragment is judged by the upper-layer fields of its datagram and goes on as it is.
 *
 * A pipeline without stalls: one frame a cycle, answered [[InnerClassifier.latency]] cycles later.
 * `drops` pulses with the verdict, and so does `policy`, with the row that counts the flow or rule
 * that decided.
 */
class InnerClassifier extends Module {
  val io = IO(new Bundle {

    /** The box is a bump in the wire. */
    val bump = Input(Bool())
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val own = Input(new LocalAddresses)
    val linkUp = Input(Bool())
    val findings = Flipped(Valid(new InnerFindings))
    val verdict = Valid(new InnerVerdict)
    val policy = Valid(UInt(FlowRow.usage.width.W))

    /** With `verdict` or `policy`: length of the IP packet. */
    val ipBytes = Output(UInt(PacketStream.lengthBits.W))

    /** With `verdict`: the MTU that TCP segments are to fit; 0: any. */
    val segmentMtu = Output(UInt(PacketStream.lengthBits.W))
    val drops = Output(new InnerDrops)
  })

  private val in = io.findings.bits
  private val fields = in.fields

  private val judge = Module(new FrameJudge(delivers = true))
  judge.io.bump := io.bump
  judge.io.macFilter := io.macFilter
  judge.io.portMac := io.portMac
  judge.io.own := io.own
  judge.io.fields := fields
  judge.io.injected.get := in.injected
  private val frame = judge.io.out

  // Stage 1: one bit a question.
  private def ask(question: Bool): Bool = RegNext(question)
  private val valid1 = RegNext(io.findings.valid, false.B)
  private val injected1 = ask(in.injected)
  private val hairpin1 = ask(in.hairpin)
  private val ttlExpired = ask(fields.ttlExpired && !in.injected)
  private val linkDown = ask(!io.linkUp)
  private val decided = ask(in.policy.hit)
  private val upset = ask(in.upset)
  private val isTooLong = ask(in.policy.mtu =/= 0.U && fields.totalLength > in.policy.mtu)
  private val hasOptions = fields.headerBytes =/= Ipv4Header.bytes.U
  private val noOptions = ask(!hasOptions)
  private val cutFirst = ask(fields.totalLength > InnerClassifier.longestForEsp.U && !fields.dontFragment)
  private val cutMtu = RegNext(
    Mux(
      in.policy.mtu === 0.U || in.policy.mtu > InnerClassifier.longestForEsp.U,
      InnerClassifier.longestForEsp.U,
      in.policy.mtu
    )
  )
  // A bump in the wire leaves packets that are too long to the outer chip.
  private val cutsElsewhere = ask(hasOptions && !io.bump)
  private val tags = fields.l2Bytes(4, 2) - (EthernetHeader.bytes / 4).U
  private val prefix = ClearPrefix(tags, fields.headerBytes(5, 2))
  private val transportable = ask(
    ClearPrefix.possible(prefix) && fields.headerBytes(6) === 0.U && fields.payloadLength =/= 0.U &&
      (!fields.isV6 || fields.headerBytes === Ipv6Header.bytes.U && !HeaderKind(fields.protocol).any)
  )
  private val prefix1 = RegNext(prefix)
  private val frameBytes1 = RegNext(fields.totalLength + fields.l2Bytes)
  private val policy1 = RegNext(in.policy)
  private val fields1 = RegNext(fields)
  private val checksum1 = RegNext(ChecksumUpdate.sum(fields.checksum))

  // Stage 2: the first that fits, if the frame passes.
  private object Outcome extends ChiselEnum {
    val dropUpset, dropPolicy, dropTransportHeader, dropClear, toWhole, puntPolicy, puntTtl, puntMtu, protect, bypass =
      Value
  }
  import Outcome._
  private def decides(action: Int): Bool = decided && policy1.action === action.U
  private val forwards = decides(Action.bypass) || decides(Action.protect)
  private val bump1 = RegNext(io.bump)
  private val transport = decides(Action.protect) && policy1.transport
  private val whole = transport || bump1 && !decides(Action.protect)
  // Frames of the management CPU, and packets out of a tunnel, have reached no other node. Each
  // node puts fragments for transport mode together: the datagram has another bucket.
  private val own = in.injected || in.hairpin
  judge.io.dispatched.mine := RegNext(in.dispatched.mine || own) || transport && fields1.fragment
  judge.io.dispatched.speaks := RegNext(in.dispatched.speaks || own)
  private val cuts = (isTooLong && policy1.fragment || cutFirst && decides(Action.protect)) &&
    noOptions && !whole && cutMtu >= FragmentCut.minMtuV4.U
  private val units = RegNext(Mux(cuts, FragmentCut.units(cutMtu, v6 = false.B), 0.U))
  private val tfc = RegNext(Mux(decides(Action.protect) && !transport, policy1.tfc, 0.U))
  private val segmentMtu = RegNext(Mux(decides(Action.protect) && !transport && policy1.clamp, policy1.mtu, 0.U))
  private val outcome = RegNext(
    MuxCase(
      dropPolicy,
      Seq(
        upset -> dropUpset,
        decides(Action.punt) -> puntPolicy,
        (decides(Action.bypass) && hairpin1) -> dropClear,
        (transport && hairpin1) -> dropTransportHeader,
        (transport && fields1.fragment) -> toWhole,
        (forwards && ttlExpired && !whole) -> puntTtl,
        (isTooLong && (forwards && fields1.dontFragment || decides(Action.bypass) && cutsElsewhere)) -> puntMtu,
        (transport && !transportable) -> dropTransportHeader,
        decides(Action.bypass) -> bypass,
        decides(Action.protect) -> protect
      )
    )
  )
  private val valid2 = RegNext(valid1, false.B)
  private val linkDown2 = RegNext(linkDown)

  private val link = Wire(new LinkMeta)
  link := 0.U.asTypeOf(link)
  link.length := Mux(whole, frameBytes1, fields1.totalLength)
  link.sa := policy1.sa
  link.bypass := decides(Action.bypass)
  link.transport := whole
  link.df := fields1.dontFragment
  link.tos := Mux(whole, prefix1, fields1.tos)
  link.nextHeader := Mux(fields1.isV6, IpHeader.v6InIp.U, IpHeader.v4InIp.U)
  when(transport) { link.nextHeader := fields1.protocol }

  // The metadata of a frame that crosses under every policy; only its length is known.
  private val crossing = Wire(new LinkMeta)
  crossing := 0.U.asTypeOf(crossing)
  crossing.length := fields1.length
  crossing.bypass := true.B
  crossing.transport := true.B
  crossing.tos := prefix1

  private val rewrite = Wire(new IpRewrite)
  rewrite.none := whole || injected1
  rewrite.v6 := fields1.isV6
  rewrite.tos := fields1.tos
  rewrite.ttl := fields1.ttl - 1.U
  rewrite.checksum := ChecksumUpdate.fold(checksum1)

  // Stage 3: verdict and events.
  private def is(wanted: Outcome.Type): Bool = frame.passes && outcome === wanted
  private val forLink = is(protect) || is(bypass) || frame.crosses
  private val verdict = Wire(new InnerVerdict)
  verdict.toLink := forLink && !linkDown2
  private val injected2 = RegNext(injected1)
  verdict.toWhole := is(toWhole)
  verdict.toPunt := frame.punts && !injected2 || is(puntPolicy) || is(puntTtl) || is(puntMtu)
  private val hairpin2 = RegNext(hairpin1)
  verdict.injected := injected2 && !hairpin2
  verdict.hairpin := hairpin2
  verdict.network := RegNext(RegNext(fields.network))
  private val reason = MuxLookup(outcome, PuntReason.policy.U)(
    Seq(puntTtl -> PuntReason.ttl.U, puntMtu -> PuntReason.mtu.U)
  )
  verdict.reason := Mux(frame.punts, frame.reason, reason)
  verdict.units := units
  verdict.tfc := Mux(frame.crosses, 0.U, tfc)
  verdict.byDscp := RegNext(decides(Action.protect) && policy1.byDscp) && !frame.crosses
  verdict.dscp := RegNext(fields1.tos(7, 2))
  verdict.strip := Mux(frame.crosses, 0.U, RegNext(Mux(whole, 0.U, fields1.l2Bytes)))
  verdict.rewrite := RegNext(rewrite)
  when(frame.crosses) { verdict.rewrite.none := true.B }
  verdict.mss := 0.U.asTypeOf(new MssPatch)
  verdict.link := Mux(frame.crosses, RegNext(crossing), RegNext(link))
  io.verdict.valid := RegNext(valid2, false.B)
  io.verdict.bits := RegNext(verdict)
  private val settled = RegNext(decided && !upset) && outcome =/= toWhole
  io.policy.valid := RegNext(valid2 && frame.passes && settled, false.B)
  io.policy.bits := ShiftRegister(policy1.usage, 2)
  io.segmentMtu := RegNext(Mux(frame.crosses, 0.U, segmentMtu))
  io.ipBytes := ShiftRegister(fields1.totalLength, 2)

  private def drop(condition: Bool): Bool = RegNext(valid2 && condition, false.B)
  io.drops.macFilter := drop(frame.drops.macFilter)
  io.drops.macSource := drop(frame.drops.macSource)
  io.drops.macGroup := drop(frame.drops.macGroup)
  io.drops.martian := drop(frame.drops.martian)
  io.drops.ownSource := drop(frame.drops.ownSource)
  io.drops.ipMalformed := drop(frame.drops.ipMalformed)
  io.drops.ipChecksum := drop(frame.drops.ipChecksum)
  io.drops.dispatch := drop(frame.drops.dispatch)
  io.drops.policy := drop(is(dropPolicy))
  io.drops.policyUpset := drop(is(dropUpset))
  io.drops.injectPunt := drop(frame.punts && injected2)
  io.drops.hairpinClear := drop(is(dropClear))
  io.drops.transportHeader := drop(is(dropTransportHeader))
  io.drops.linkDown := drop(forLink && linkDown2)
}

object InnerClassifier {
  val latency: Int = 3

  /**
   * The longest IP packet that ESP of any suite may be around: SPI and number, 16 bytes each of IV
   * and of a block, an ICV of 32, pad length and next header. A longer one must be cut before.
   */
  private val longestForEsp: Int = {
    val (header, iv, block, icv, trailer) = (8, 16, 16, 32, 2)
    (PacketStream.maxFrameBytes - EthernetHeader.bytes - EthernetHeader.fcsBytes - header - iv - icv) / block * block - trailer
  }
}
