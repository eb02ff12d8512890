// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.ClearPrefix
import sallyport.common.registers.map.{PuntHeader, PuntReason}
import sallyport.common.stream.PacketStream
import sallyport.iface.cpu.PuntMeta
import sallyport.iface.forwarding.NextHop
import sallyport.iface.fragmentation.FragmentCut
import sallyport.iface.headers.{ChecksumUpdate, Ecn, EthernetHeader, IpHeader, Ipv4Header, VlanTags}
import sallyport.iface.parse.{EtherClass, HeaderFields}
import sallyport.iface.receive.{AddressCheck, BoxAddresses, FrameJudge}
import sallyport.iface.tracking.UpperFields
import sallyport.iface.usage.UsageCharge

/** The facts about one decrypted or bypassed packet when all look-ups have answered. */
class InspectorFindings extends Bundle {
  val fields = new HeaderFields

  /** As of [[DecryptFragments]]. */
  val conflict = Bool()
  val overlap = Bool()

  /** It can wait for the first one of its datagram; it has waited so far. */
  val waits = Bool()
  val waited = Bool()

  /** It has waited, and its SA, or what that may send, may have become another meanwhile. */
  val stale = Bool()

  /** A fragment that ends beyond the longest datagram (RFC 791 3.1). */
  val beyond = Bool()
  val bypass = Bool()

  /** The SA of a decrypted packet. */
  val sa = UInt(PuntHeader.sa.width.W)

  /**
   * A whole frame of `frameBytes`: bypassed by a bump in the wire, or with an IP packet of
   * transport mode.
   */
  val frame = Bool()
  val frameBytes = UInt(PacketStream.lengthBits.W)

  /** With `frame`. */
  val frameClass = EtherClass()

  /** From the ESP trailer. */
  val nextHeader = UInt(8.W)

  /** TOS byte of the outer header; of a frame its [[ClearPrefix]]. */
  val outerTos = UInt(8.W)

  /**
   * The SA's selector row is valid; `selected`: that row allows the packet, or of one in clear the
   * inbound rules.
   */
  val selectorHit = Bool()
  val selected = Bool()

  /** A flipped bit of an inbound rule may have changed `selected`. */
  val rulesUpset = Bool()

  /** All low if the SA does not check. */
  val replay = new ReplayWindow.Verdict
  val nextHop = new NextHop
}

/** What becomes of one packet to the red network. */
class InspectorVerdict extends Bundle {
  val forward = Bool()

  /** To the management CPU; `punt` says why. */
  val toPunt = Bool()
  val punt = new PuntMeta

  /** To wait for its datagram's first fragment, as it came. */
  val waits = Bool()

  /**
   * With `forward` or `toPunt`: bytes of the IP packet; the bytes behind it are TFC padding (RFC
   * 4303 2.7). Or bytes of the frame.
   */
  val length = UInt(PacketStream.lengthBits.W)

  /** It has an Ethernet header. */
  val frame = Bool()

  /** With `forward`: payload units of its fragments; 0: it goes whole ([[FragmentCut]]). */
  val units = UInt(FragmentCut.unitsBits.W)
  val rewrite = new IpRewrite
  val nextHopMac = UInt(48.W)

  /** With `forward`: to another tunnel, with `tunnel`, and not to the port ([[Hairpin]]). */
  val hairpin = Bool()
  val tunnel = new HairpinMeta

  /** None of a frame, which has its own. */
  val tags = new VlanTags
}

/** The reasons for which [[InnerInspector]] drops; at most one a packet. */
class InspectorDrops extends Bundle {
  val noSelector = Bool()
  val windowUpset = Bool()
  val tooOld = Bool()
  val replayed = Bool()
  val notIp = Bool()
  val malformed = Bool()
  val extensionHeaders = Bool()
  val checksum = Bool()
  val inboundRuleUpset = Bool()
  val stale = Bool()
  val selectorMismatch = Bool()
  val inClearDenied = Bool()
  val martian = Bool()
  val ownSource = Bool()
  val redSource = Bool()
  val fragmentConflict = Bool()
  val fragmentOffset = Bool()
  val ecn = Bool()
  val hostUpset = Bool()
  val prefixUpset = Bool()
  val txDisabled = Bool()
  val lifetime = Bool()
}

/**
 * Decides on each packet to the red network. The first line that fits counts; the first five and
 * those of fragments and ECN are for decrypted packets alone, a bypassed one never was in a tunnel:
 *
 *  1. the SA has no selector row: drop noSelector
 *  1. the highest number of its SA is lost to flipped bits ([[ReplayTops]]): drop windowUpset
 *  1. its number is left of the window, or was received before: drop tooOld, replayed (RFC
 *     4303 3.4.3; the ICV is good, so the window has moved already, whatever comes of the packet)
 *  1. next header is neither IPv4 nor IPv6: drop notIp
 *  1. another version than the next header's, or malformed: drop malformed; IPv4 header checksum
 *     wrong: drop checksum
 *  1. more IPv6 extension headers than the parser reads, so that its selectors are not known: drop
 *     extensionHeaders
 *  1. flipped bits in an inbound rule that the next two lines depend on: drop inboundRuleUpset
 *  1. `stale`: drop stale
 *  1. not what the SA's selectors allow (RFC 4301 5.2 step 4), and `waits`: it waits
 *  1. the same otherwise: drop selectorMismatch
 *  1. bypassed, and not what the inbound rules let in clear (RFC 4301 5.2 step 3b): drop
 *     inClearDenied
 *  1. addresses that no packet on a wire has ([[AddressCheck]]), or of a bypassed packet one of a
 *     single link: drop martian (RFC 1812 5.3.7, RFC 4291 2.5.6); from an address of this box: drop
 *     ownSource; bypassed, and from the network at the red port: drop redSource (RFC 2827)
 *  1. a first fragment unlike another one of its datagram: drop fragmentConflict
 *  1. a later fragment over the upper-layer fields of the first, of a decrypted packet also an IPv4
 *     fragment of TCP that begins at byte 8 of the TCP header, whatever came before (RFC 4301 7.2,
 *     RFC 1858 4): drop fragmentOffset
 *  1. congestion met by a packet without ECN (RFC 6040 4.2): drop ecn
 *  1. to an address of the box at the red port, or of tunnel mode and of one link, which is the
 *     tunnel: to the management CPU, with the TTL that it has (RFC 1812 5.2.3), unless `lifetime`
 *     below holds
 *  1. TTL or hop limit 0 or 1 (RFC 1812 5.3.1; RFC 4301 5.1.2.1 note 2): to the management CPU,
 *     with the TTL that it has, unless `lifetime` below holds
 *  1. a flipped bit in a row of hosts that its next hop depends on: drop hostUpset; in one of
 *     prefixes or of their next hops: drop prefixUpset; `enable` low: drop txDisabled
 *  1. for a host whose Ethernet address is not known, which raises `unresolved`, or without a valid
 *     next hop: to the management CPU likewise, which finds the host or tells the sender (RFC 1812
 *     3.3.2, 5.2.7.1)
 *  1. the SA has reached a hard limit of its lifetime ([[UsageTable]]): drop lifetime
 *  1. an IP packet longer than `mtu` that must not be cut (IPv6 or DF: RFC 8200 section 5, RFC 1812
 *     4.2.2.7), or that [[Fragmenter]] cannot cut, for its options or its VLAN tags, or because
 *     offsets would begin anew at 0: to the management CPU, with the TTL that it has, for its
 *     sender has to be told (RFC 4301 6)
 *  1. to another tunnel, whose policies may ask for ports too, and `waits`: it waits
 *  1. else forward, cut if it is longer than `mtu` (RFC 791 3.2), with TTL one less and the ECN
 *     field of RFC 6040 figure 4; `ecnUnexpected` pulses with the verdict if the figure says of
 *     inner and outer field that they are currently unused together
 *
 * Next header, checksum, ECN, TTL and next hop of a whole frame are not checked: it was not a
 * packet of a tunnel, and this box is not a hop on its way. A bypassed frame may be ARP, which goes
 * on whatever the rules say, and so does neighbour discovery with a hop limit of 255, as
 * [[FrameJudge]] has it. Any other type but IP, or other tags than the metadata names, are denied.
 *
 * A pipeline without stalls: one packet a cycle, answered [[InnerInspector.latency]] cycles later.
 * `drops` pulses with the verdict. [[InnerInspector.chargeLatency]] cycles after the findings,
 * `charge` says whether the packet counts, and `expired` whether its SA has expired.
 */
class InnerInspector extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())

    /** At the red port. */
    val box = Input(new BoxAddresses)

    /** The longest IP packet that leaves. Software sets it while no traffic flows. */
    val mtu = Input(UInt(14.W))
    val findings = Flipped(Valid(new InspectorFindings))
    val charge = Output(new UsageCharge)
    val expired = Input(Bool())
    val verdict = Valid(new InspectorVerdict)
    val drops = Output(new InspectorDrops)

    /** With `verdict`. */
    val unresolved = Output(Bool())
    val ecnUnexpected = Output(Bool())

    /** With `verdict`: how many more wait than before. */
    val held = Output(SInt(2.W))
  })

  private val in = io.findings.bits
  private val fields = in.fields
  private val innerEcn = fields.tos(1, 0)
  private val outerEcn = in.outerTos(1, 0)

  // Stage 1: one bit a question.
  private def ask(question: Bool): Bool = RegNext(question)
  private val bypassedFrame = in.bypass && in.frame
  private val isArp = in.frameClass === EtherClass.arp
  private val isIp = in.frameClass === fields.etherClass
  private val crosses = isArp || isIp && FrameJudge.fromThisLink(fields)
  private val valid1 = RegNext(io.findings.valid, false.B)
  private val noSelector = ask(!in.bypass && !in.selectorHit)
  private val windowUpset = ask(!in.bypass && in.replay.upset)
  private val tooOld = ask(!in.bypass && in.replay.tooOld)
  private val replayed = ask(!in.bypass && in.replay.replayed)
  private val v4InIp = in.nextHeader === IpHeader.v4InIp.U
  private val v6InIp = in.nextHeader === IpHeader.v6InIp.U
  private val notIp = ask(!in.bypass && !in.frame && !v4InIp && !v6InIp)
  private val malformed = ask(
    (!bypassedFrame || isIp) && fields.malformed || !in.bypass && !in.frame && v6InIp =/= fields.isV6
  )
  private val extensionHeaders = ask((!bypassedFrame || isIp) && fields.unfinished)
  private val checksumBad = ask(!in.frame && fields.checksumBad)
  private val rulesUpset = ask(in.rulesUpset && !(bypassedFrame && crosses))
  private val stale = ask(in.stale)
  private val mismatch = ask(!in.bypass && !in.selected)
  private val waits = ask(in.waits)
  private val denied = ask(in.bypass && Mux(in.frame, !crosses && !(isIp && in.selected), !in.selected))
  private val addresses = Module(new AddressCheck)
  addresses.io.box := io.box
  addresses.io.fields := fields
  require(AddressCheck.latency == 1, "what addresses are is known with the questions of stage 1")
  private val routed = ask(!in.frame)
  private val addressed = ask(!bypassedFrame || isIp && !FrameJudge.fromThisLink(fields))
  private val clear = ask(in.bypass)
  private val martian =
    addressed && (addresses.io.out.martian || routed && clear && addresses.io.out.linkLocal)
  private val ownSource = addressed && addresses.io.out.own
  private val redSource = addressed && clear && addresses.io.out.near
  private val isOfPacket = !bypassedFrame || isIp
  private val conflict = ask(in.conflict && isOfPacket)
  private val overlap = ask(!in.bypass && !in.frame && fields.overTcpFlags || in.overlap && isOfPacket)
  private val ecnDrops = ask(!in.bypass && !in.frame && Ecn.drops(innerEcn, outerEcn))
  private val ecnUnexpected = ask(!in.bypass && !in.frame && Ecn.unexpected(innerEcn, outerEcn))
  private val local = routed && (addresses.io.out.toOwn || addresses.io.out.linkLocal)
  private val ttlExpired = ask(!in.frame && fields.ttlExpired)
  private val hostUpset = ask(!in.frame && in.nextHop.hostUpset)
  private val prefixUpset = ask(!in.frame && in.nextHop.prefixUpset)
  private val unresolved = ask(!in.frame && in.nextHop.unresolved)
  // A packet in clear is not for tunnels: it is at black already.
  private val noNextHop = ask(!in.frame && (!in.nextHop.known || in.nextHop.hairpin && in.bypass))
  private val hairpin = ask(!in.frame && in.nextHop.hairpin)
  private val disabled = ask(!io.enable)
  private val tooLong = ask(isOfPacket && fields.totalLength > io.mtu && (in.frame || !in.nextHop.hairpin))
  private val mayCut = RegNext(io.mtu >= FragmentCut.minMtuV4.U)
  private val prefix = ClearPrefix.tags(in.outerTos)
  private val cuttable = ask(
    !fields.dontFragment && fields.headerBytes === Ipv4Header.bytes.U && !in.beyond &&
      (!in.frame || prefix === 0.U)
  )
  private val ecn = Mux(in.bypass, innerEcn, Ecn.decapsulate(innerEcn, outerEcn))
  private val ecn1 = RegNext(ecn)
  private val checksumOf1 = RegNext(fields.checksum)
  private val ecnDelta1 = RegNext(ecn.zext - innerEcn.zext)
  private val dscp1 = RegNext(fields.tos(7, 2))
  private val v61 = RegNext(fields.isV6)
  private val ttl1 = RegNext(fields.ttl)
  private val length1 = RegNext(fields.totalLength)
  private val frame1 = RegNext(in.frame)
  private val frameBytes1 = RegNext(in.frameBytes)
  private val mac1 = RegNext(in.nextHop.mac)
  private val sa1 = RegNext(Mux(in.bypass, 0.U, in.sa))
  private val tunnel1 = Wire(new HairpinMeta)
  tunnel1.network := RegNext(fields.network)
  tunnel1.upper.valid := RegNext(fields.fragment && fields.tracked)
  tunnel1.upper.bits := RegNext(UpperFields(fields))
  private val tags1 = RegNext(Mux(in.frame, VlanTags.none, in.nextHop.tags))

  // Stage 2: the first that fits.
  private object Outcome extends ChiselEnum {
    val dropNoSelector, dropWindowUpset, dropTooOld, dropReplayed, dropNotIp, dropMalformed, dropChecksum = Value
    val dropExtensionHeaders, dropRuleUpset, dropStale, awaitFirst, dropMismatch, dropDenied = Value
    val dropMartian, dropOwnSource, dropRedSource, dropConflict, dropFragmentOffset, dropEcn, deliver = Value
    val puntTtl, dropHostUpset, dropPrefixUpset, dropDisabled, puntHost, puntRoute, puntMtu = Value
    val forward = Value
  }
  import Outcome._
  private val outcome = RegNext(
    MuxCase(
      forward,
      Seq(
        noSelector -> dropNoSelector,
        windowUpset -> dropWindowUpset,
        tooOld -> dropTooOld,
        replayed -> dropReplayed,
        notIp -> dropNotIp,
        malformed -> dropMalformed,
        checksumBad -> dropChecksum,
        extensionHeaders -> dropExtensionHeaders,
        rulesUpset -> dropRuleUpset,
        stale -> dropStale,
        (mismatch && waits) -> awaitFirst,
        mismatch -> dropMismatch,
        denied -> dropDenied,
        martian -> dropMartian,
        ownSource -> dropOwnSource,
        redSource -> dropRedSource,
        conflict -> dropConflict,
        overlap -> dropFragmentOffset,
        ecnDrops -> dropEcn,
        local -> deliver,
        ttlExpired -> puntTtl,
        hostUpset -> dropHostUpset,
        prefixUpset -> dropPrefixUpset,
        disabled -> dropDisabled,
        unresolved -> puntHost,
        noNextHop -> puntRoute,
        (tooLong && !(cuttable && mayCut)) -> puntMtu,
        (hairpin && waits) -> awaitFirst
      )
    )
  )
  private val valid2 = RegNext(valid1, false.B)
  private val sum2 = RegNext(ChecksumUpdate.sum(checksumOf1, ecnDelta1))
  private val sumOfLocal2 = RegNext(ChecksumUpdate.sumOfTos(checksumOf1, ecnDelta1))

  // Stage 3: verdict and events.
  private def is(wanted: Outcome.Type): Bool = outcome === wanted
  private val verdict = Wire(new InspectorVerdict)
  private val length2 = RegNext(length1)
  private val punts = Seq(
    deliver -> (PuntReason.tunnel, PuntReason.clear),
    puntTtl -> (PuntReason.tunnelTtl, PuntReason.clearTtl),
    puntHost -> (PuntReason.tunnelHost, PuntReason.clearHost),
    puntRoute -> (PuntReason.tunnelRoute, PuntReason.clearRoute),
    puntMtu -> (PuntReason.tunnelMtu, PuntReason.clearMtu)
  )
  private val delivers = punts.map { case (outcome, _) => is(outcome) }.reduce(_ || _)
  private val stays = is(forward) || delivers
  private val cuts = RegNext(tooLong && cuttable)
  io.charge.counts := valid2 && stays
  io.charge.bytes := length2
  verdict.forward := is(forward) && !io.expired
  verdict.toPunt := delivers && !io.expired
  verdict.waits := is(awaitFirst)
  private val clear2 = RegNext(clear)
  verdict.punt.reason := Mux1H(punts.map { case (outcome, (ofTunnel, ofClear)) =>
    is(outcome) -> Mux(clear2, ofClear.U, ofTunnel.U)
  })
  verdict.punt.sa := RegNext(sa1)
  verdict.punt.injected := false.B
  verdict.punt.hairpin := false.B
  verdict.punt.network := verdict.tunnel.network
  verdict.length := RegNext(Mux(frame1, frameBytes1, length1))
  // A frame that is cut ends where its IP packet does: the fragmenter goes by that one's length.
  when(is(forward) && cuts) { verdict.length := RegNext(length1 + Mux(frame1, EthernetHeader.bytes.U, 0.U)) }
  verdict.units := Mux(is(forward) && cuts, RegNext(FragmentCut.units(io.mtu, v6 = false.B)), 0.U)
  verdict.frame := RegNext(frame1)
  verdict.rewrite.none := RegNext(frame1)
  verdict.rewrite.v6 := RegNext(v61)
  verdict.rewrite.tos := RegNext(Cat(dscp1, ecn1))
  verdict.rewrite.ttl := Mux(delivers, RegNext(ttl1), RegNext(ttl1 - 1.U))
  verdict.rewrite.checksum := ChecksumUpdate.fold(Mux(delivers, sumOfLocal2, sum2))
  verdict.nextHopMac := RegNext(mac1)
  verdict.hairpin := is(forward) && RegNext(hairpin)
  verdict.tunnel := RegNext(tunnel1)
  verdict.tags := RegNext(tags1)
  io.verdict.valid := RegNext(valid2, false.B)
  io.verdict.bits := RegNext(verdict)

  private def drop(outcome: Outcome.Type): Bool = RegNext(valid2 && is(outcome), false.B)
  io.drops.noSelector := drop(dropNoSelector)
  io.drops.windowUpset := drop(dropWindowUpset)
  io.drops.tooOld := drop(dropTooOld)
  io.drops.replayed := drop(dropReplayed)
  io.drops.notIp := drop(dropNotIp)
  io.drops.malformed := drop(dropMalformed)
  io.drops.checksum := drop(dropChecksum)
  io.drops.extensionHeaders := drop(dropExtensionHeaders)
  io.drops.inboundRuleUpset := drop(dropRuleUpset)
  io.drops.stale := drop(dropStale)
  io.drops.selectorMismatch := drop(dropMismatch)
  io.drops.inClearDenied := drop(dropDenied)
  io.drops.martian := drop(dropMartian)
  io.drops.ownSource := drop(dropOwnSource)
  io.drops.redSource := drop(dropRedSource)
  io.drops.fragmentConflict := drop(dropConflict)
  io.drops.fragmentOffset := drop(dropFragmentOffset)
  io.drops.ecn := drop(dropEcn)
  io.drops.hostUpset := drop(dropHostUpset)
  io.drops.prefixUpset := drop(dropPrefixUpset)
  io.drops.txDisabled := drop(dropDisabled)
  io.unresolved := RegNext(valid2 && is(puntHost) && !io.expired, false.B)
  io.ecnUnexpected := RegNext(valid2 && stays && !io.expired && RegNext(ecnUnexpected), false.B)
  io.drops.lifetime := RegNext(valid2 && stays && io.expired, false.B)
  private val waited2 = ShiftRegister(in.waited, 2)
  private val begins = valid2 && is(awaitFirst) && !waited2
  private val ends = valid2 && !is(awaitFirst) && waited2
  io.held := RegNext(begins.zext - ends.zext, 0.S)
}

object InnerInspector {
  val latency: Int = 3

  /** Cycles from the findings to `charge` and `expired`. */
  val chargeLatency: Int = 2
}
