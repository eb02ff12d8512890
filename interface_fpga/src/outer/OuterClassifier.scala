// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.registers.map.{Action, PuntReason}
import sallyport.iface.dispatch.Dispatched
import sallyport.iface.headers.{EthernetHeader, IpHeader, Ipv4Header, Ipv6Header, UdpHeader}
import sallyport.iface.parse.{ExtensionStep, HeaderFields, UdpEncap}
import sallyport.iface.receive.{FrameJudge, FrameVerdict, LocalAddresses, ReceiveDrops}

/** The facts about one frame from the black network when both look-ups have answered. */
class OuterFindings extends Bundle {
  val fields = new HeaderFields

  /** For one of the box's own addresses ([[LocalMatch]]). */
  val toUs = Bool()
  val saHit = Bool()

  /** With `saHit`: the packet's destination is the SA's. */
  val saHere = Bool()

  /** The SA may be another, or there may be one, but for a flipped bit of the SAD. */
  val saUpset = Bool()
  val sa = UInt(16.W)

  /** The SA's packets are in UDP. */
  val saEncap = Bool()

  /** Where they are expected from; port 0: from anywhere. */
  val saPeer = new Peer

  /** From the address of a peer, as the table of peers has it. */
  val fromPeer = Bool()

  /** The SA is in transport mode. */
  val saTransport = Bool()
  val ruleHit = Bool()

  /** A flipped bit of a rule may have changed the other fields of this answer. */
  val ruleUpset = Bool()
  val ruleAction = UInt(2.W)

  /** Next-hop index at the inner chip of a BYPASS rule. */
  val ruleSa = UInt(16.W)
  val dispatched = new Dispatched
}

/** What becomes of one frame from the black network. */
class OuterVerdict extends FrameVerdict {

  /**
   * With `toLink`: bytes at the frame's start that stay here; the link's packet is the
   * `link.length` bytes behind them.
   */
  val strip = UInt(7.W)
}

/** The reasons for which [[OuterClassifier]] drops; at most one a frame. */
class OuterDrops extends ReceiveDrops {
  val ttlExpired = Bool()
  val espTruncated = Bool()
  val unknownSpi = Bool()
  val sadUpset = Bool()
  val policyUpset = Bool()
  val encapMismatch = Bool()
  val udpMalformed = Bool()
  val nattKeepalive = Bool()
}

/**
 * Decides on each frame from the black network. The first line that fits counts:
 *
 *  1. what [[FrameJudge]] drops or punts
 *  1. UDP to port 4500 of this box (`toUs`): with a wrong UDP length drop udpMalformed; a NAT
 *     keepalive: drop nattKeepalive; IKE behind the non-ESP marker: punt; all else is ESP (RFC
 *     3948 2). UDP to port 4500 of another address is ESP if there is an SA for it
 *  1. ESP, in UDP or not, to whatever address, whose SA depends on a row of the SAD with flipped
 *     bits: drop sadUpset
 *  1. ESP, in UDP or not, that is for this box or has an SA of its destination; all else is
 *     somebody else's and goes by the rules (RFC 4301 5.2 step 3b). A fragment of one is put
 *     together first, by the SPI of the first (RFC 4303 3.4.1). One that cannot hold SPI,
 *     sequence number, IV, 4 bytes and ICV, or whose length is no multiple of 4 (RFC 4303 2.4):
 *     drop espTruncated; no SA of its SPI, and of a bump in the wire of its destination (RFC
 *     4301 5.2 step 3a): punt, so that IKE can tell the peer (RFC 7296 1.5); in UDP for an SA
 *     without encapsulation or in transport mode, or behind VLAN tags and 64 bytes of extension
 *     headers, or not in UDP for an SA with it: drop encapMismatch; for an SA in transport mode and
 *     with a longer [[ClearPrefix]] than there can be, or with IPv6 extension headers: drop
 *     transportHeader; else to the link, without padding behind the total length and, but in
 *     transport mode, without Ethernet, tags, IP and UDP headers, and `moved` if it is in UDP and
 *     not from the SA's peer
 *  1. IKE (UDP to port 500), or ICMP to this box that is no bump in the wire: punt. IKE has one of
 *     three reasons: from a peer's address; with what the other side gave (`ikeCookie`); else
 *  1. flipped bits in a rule that the decision depends on: drop policyUpset
 *  1. the rule that matches: PUNT: punt; BYPASS: to the link as an IP packet, or drop ttlExpired if
 *     its TTL is 0, by a bump in the wire as it is; any other, and no rule at all: drop policy (RFC
 *     4301 5.2: a packet that needs protection is not let in without), or, of ESP, drop unknownSpi
 *
 * What would go to the link is dropped as linkDown while `linkUp` is low. The TTL of ESP packets is
 * not judged: they are for this box (RFC 1812 4.2.2.9).
 *
 * A pipeline without stalls: one frame a cycle, answered [[OuterClassifier.latency]] cycles later.
 * `drops` pulses with the verdict.
 */
class OuterClassifier extends Module {
  val io = IO(new Bundle {

    /** The box is a bump in the wire. */
    val bump = Input(Bool())
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val own = Input(new LocalAddresses)
    val linkUp = Input(Bool())
    val findings = Flipped(Valid(new OuterFindings))
    val verdict = Valid(new OuterVerdict)
    val drops = Output(new OuterDrops)
  })

  private val in = io.findings.bits
  private val fields = in.fields

  private val judge = Module(new FrameJudge(delivers = false))
  judge.io.bump := io.bump
  judge.io.macFilter := io.macFilter
  judge.io.portMac := io.portMac
  judge.io.own := io.own
  judge.io.fields := fields
  private val frame = judge.io.out

  // Stage 1: one bit a question.
  private def ask(question: Bool): Bool = RegNext(question)
  private val valid1 = RegNext(io.findings.valid, false.B)
  private val inUdp = fields.udpEncap === UdpEncap.esp
  private val udpMalformed = ask(in.toUs && fields.udpEncap === UdpEncap.malformed)
  private val keepalive = ask(in.toUs && fields.udpEncap === UdpEncap.keepalive)
  private val plainEsp = fields.protocol === IpHeader.esp.U
  // An SPI that is cut short is none, whatever stands behind the packet.
  private val known = in.saHit && in.saHere && (fields.tracked || fields.payloadLength >= Mux(
    inUdp,
    (UdpHeader.bytes + OuterClassifier.spiBytes).U,
    OuterClassifier.spiBytes.U
  ))
  private val esp = ask((plainEsp || inUdp) && (in.toUs || known))
  private val fragment = ask(fields.fragment)
  private val sadUpset = ask((plainEsp || inUdp) && in.saUpset)
  private val least = Mux(inUdp, (UdpHeader.bytes + OuterClassifier.minEspBytes).U, OuterClassifier.minEspBytes.U)
  private val truncated = ask(fields.payloadLength < least || fields.payloadLength(1, 0) =/= 0.U)
  private val unknownSpi = ask(!in.saHit)
  private val stray = ask(plainEsp && !in.toUs && !known)
  // Tags, all the extension headers that are read and UDP are more than is taken off.
  private val beyond =
    fields.l2Bytes =/= EthernetHeader.bytes.U && fields.headerBytes === OuterClassifier.maxIpv6Bytes.U
  private val encapMismatch = ask(in.saEncap =/= inUdp || inUdp && (in.saTransport || beyond))
  private val expects = ask(in.saEncap && in.saPeer.port =/= 0.U)
  private val otherAddress = ask(fields.source(31, 0) =/= in.saPeer.address)
  private val otherPort = ask(fields.sourcePort =/= in.saPeer.port)
  private val transport = ask(in.saTransport)
  private val tags = fields.l2Bytes(4, 2) - (EthernetHeader.bytes / 4).U
  private val prefix = ClearPrefix(tags, fields.headerBytes(5, 2))
  private val transportable = ask(
    ClearPrefix.possible(prefix) && fields.headerBytes(6) === 0.U &&
      (!fields.isV6 || fields.headerBytes === Ipv6Header.bytes.U)
  )
  private val toPort500 = fields.protocol === UdpHeader.protocol.U && fields.hasPorts &&
    fields.destinationPort === UdpHeader.portIke.U
  private val ike = ask(in.toUs && (toPort500 || fields.udpEncap === UdpEncap.ike))
  private val fromPeer = ask(in.fromPeer)
  private val ikeCookie = ask(fields.ikeCookie)
  private val icmp =
    ask(in.toUs && !io.bump && fields.protocol === Mux(
      fields.isV6,
      Ipv6Header.protocolIcmp.U,
      Ipv4Header.protocolIcmp.U
    ))
  // IKE and ICMP to the box are the speaker's. Each node puts fragments of ESP together, for none
  // of them says which number the packet has.
  private val dispatched1 = RegNext(in.dispatched)
  judge.io.dispatched.mine := Mux(ike || icmp, dispatched1.speaks, dispatched1.mine) || esp && fragment
  judge.io.dispatched.speaks := dispatched1.speaks
  private val ruleUpset = ask(in.ruleUpset)
  private val rulePunts = ask(in.ruleHit && in.ruleAction === Action.punt.U)
  private val ruleBypasses = ask(in.ruleHit && in.ruleAction === Action.bypass.U)
  private val ttlZero = ask(fields.ttl === 0.U)
  private val linkDown = ask(!io.linkUp)

  private val udpBytes = Mux(inUdp, UdpHeader.bytes.U, 0.U)
  private val espLength1 = RegNext(fields.payloadLength - udpBytes)
  private val totalLength1 = RegNext(fields.totalLength)
  private val prefix1 = RegNext(prefix)
  private val frameBytes1 = RegNext(fields.totalLength + fields.l2Bytes)
  private val length1 = RegNext(fields.length)
  private val bump1 = RegNext(io.bump)
  private val espStrip1 = RegNext(fields.headerBytes + fields.l2Bytes + udpBytes)
  private val l2Bytes1 = RegNext(fields.l2Bytes)
  private val tos1 = RegNext(fields.tos)
  private val sa1 = RegNext(in.sa)
  private val ruleSa1 = RegNext(in.ruleSa)

  // Stage 2: the first that fits, if the frame passes.
  private object Outcome extends ChiselEnum {
    val dropUdpMalformed, dropKeepalive, dropTruncated, dropEncapMismatch, dropTtl, dropPolicy = Value
    val toWhole, dropTransportHeader, dropStray, dropSadUpset, dropPolicyUpset = Value
    val puntUnknown, puntIke, puntIkeCookie, puntIkeInit, puntIcmp, puntPolicy, sendEsp, sendBypass = Value
  }
  import Outcome._
  private val outcome = RegNext(
    MuxCase(
      dropPolicy,
      Seq(
        udpMalformed -> dropUdpMalformed,
        keepalive -> dropKeepalive,
        sadUpset -> dropSadUpset,
        (esp && fragment) -> toWhole,
        (esp && truncated) -> dropTruncated,
        (esp && unknownSpi) -> puntUnknown,
        (esp && encapMismatch) -> dropEncapMismatch,
        (esp && transport && !transportable) -> dropTransportHeader,
        esp -> sendEsp,
        (ike && fromPeer) -> puntIke,
        (ike && ikeCookie) -> puntIkeCookie,
        ike -> puntIkeInit,
        icmp -> puntIcmp,
        ruleUpset -> dropPolicyUpset,
        rulePunts -> puntPolicy,
        (ruleBypasses && ttlZero && !bump1) -> dropTtl,
        ruleBypasses -> sendBypass,
        stray -> dropStray
      )
    )
  )
  private val valid2 = RegNext(valid1, false.B)
  private val linkDown2 = RegNext(linkDown)

  private val link = Wire(new LinkMeta)
  link := 0.U.asTypeOf(link)
  private val whole = Mux(esp, transport, bump1)
  link.length := Mux(whole, frameBytes1, Mux(esp, espLength1, totalLength1))
  link.sa := Mux(esp, sa1, ruleSa1)
  link.bypass := !esp
  link.transport := whole
  link.moved := esp && expects && (otherAddress || otherPort)
  link.tos := Mux(whole, prefix1, tos1)

  // What crosses whatever the policy, if that is what the frame is; its length is all that is known
  // of it.
  private val crossing = Wire(new LinkMeta)
  crossing := 0.U.asTypeOf(crossing)
  crossing.length := length1
  crossing.bypass := true.B
  crossing.transport := true.B
  crossing.tos := prefix1

  // Stage 3: verdict and events.
  private def is(wanted: Outcome.Type): Bool = frame.passes && outcome === wanted
  private val forLink = is(sendEsp) || is(sendBypass) || frame.crosses
  private val reasons = Seq(
    is(puntUnknown) -> PuntReason.unknownSpi,
    is(puntIke) -> PuntReason.ike,
    is(puntIkeCookie) -> PuntReason.ikeCookie,
    is(puntIkeInit) -> PuntReason.ikeInit,
    is(puntIcmp) -> PuntReason.icmp,
    is(puntPolicy) -> PuntReason.policy
  )
  private val verdict = Wire(new OuterVerdict)
  verdict.toLink := forLink && !linkDown2
  verdict.toWhole := is(toWhole)
  verdict.toPunt := frame.punts || reasons.map(_._1).reduce(_ || _)
  verdict.injected := false.B
  verdict.hairpin := false.B
  verdict.network := 0.U
  verdict.reason := Mux(frame.punts, frame.reason, Mux1H(reasons.map { case (punt, reason) => punt -> reason.U }))
  verdict.strip := Mux(frame.crosses, 0.U, RegNext(Mux(whole, 0.U, Mux(esp, espStrip1, l2Bytes1))))
  verdict.link := Mux(frame.crosses, RegNext(crossing), RegNext(link))
  io.verdict.valid := RegNext(valid2, false.B)
  io.verdict.bits := RegNext(verdict)

  private def drop(condition: Bool): Bool = RegNext(valid2 && condition, false.B)
  io.drops.macFilter := drop(frame.drops.macFilter)
  io.drops.macSource := drop(frame.drops.macSource)
  io.drops.macGroup := drop(frame.drops.macGroup)
  io.drops.martian := drop(frame.drops.martian)
  io.drops.ownSource := drop(frame.drops.ownSource)
  io.drops.ipMalformed := drop(frame.drops.ipMalformed)
  io.drops.ipChecksum := drop(frame.drops.ipChecksum)
  io.drops.dispatch := drop(frame.drops.dispatch)
  io.drops.ttlExpired := drop(is(dropTtl))
  io.drops.espTruncated := drop(is(dropTruncated))
  io.drops.unknownSpi := drop(is(dropStray))
  io.drops.policyUpset := drop(is(dropPolicyUpset))
  io.drops.sadUpset := drop(is(dropSadUpset))
  io.drops.encapMismatch := drop(is(dropEncapMismatch))
  io.drops.transportHeader := drop(is(dropTransportHeader))
  io.drops.udpMalformed := drop(is(dropUdpMalformed))
  io.drops.nattKeepalive := drop(is(dropKeepalive))
  io.drops.policy := drop(is(dropPolicy))
  io.drops.linkDown := drop(forLink && linkDown2)
}

object OuterClassifier {
  val latency: Int = 3
  private val spiBytes: Int = 4
  private val maxIpv6Bytes: Int = Ipv6Header.bytes + ExtensionStep.unitBytes * ExtensionStep.maxUnits

  /** SPI, sequence number, IV of 8 bytes, one padded word, ICV of 16 bytes (RFC 4106). */
  val minEspBytes: Int = 4 + 4 + 8 + 4 + 16
}
