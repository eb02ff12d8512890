package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._
import sallyport.common.regs.{Action, FlowRow, PuntReason, RuleRow}

/** Answer of one of the two SPD tables. */
class SpdAnswer extends Bundle {
  val hit = Bool()
  val action = UInt(2.W)
  val sa = UInt(16.W)
  val priority = UInt(32.W)
}

object SpdAnswer {
  def flow(result: TableResult): SpdAnswer = {
    val answer = Wire(new SpdAnswer)
    answer.hit := result.hit
    answer.action := FlowRow.action(result.row)
    answer.sa := FlowRow.sa(result.row)
    answer.priority := FlowRow.priority(result.row)
    answer
  }

  def rule(result: TableResult): SpdAnswer = {
    val answer = Wire(new SpdAnswer)
    answer.hit := result.hit
    answer.action := RuleRow.action(result.row)
    answer.sa := RuleRow.sa(result.row)
    answer.priority := RuleRow.priority(result.row)
    answer
  }
}

/** What is known of one frame from the red network when both look-ups have answered. */
class InnerFindings extends Bundle {
  val fields = new HeaderFields
  val flow = new SpdAnswer
  val rule = new SpdAnswer
}

/** Where one frame from the red network goes. */
class InnerVerdict extends FrameVerdict {

  /** With `toLink`: the IP header's new values. */
  val rewrite = new Ipv4Rewrite
}

/** The reasons for which [[InnerClassifier]] drops; at most one a frame. */
class InnerDrops extends Bundle {
  val macFilter = Bool()
  val ipMalformed = Bool()
  val ipChecksum = Bool()
  val ttlExpired = Bool()
  val policy = Bool()
  val linkDown = Bool()
}

/**
 * Decides on each frame from the red network (RFC 4301 5.1). The first line that fits counts:
 *
 *  1. `macFilter` is on and the destination is neither `portMac` nor a group address: drop macFilter
 *  1. ARP, IPv6, VLAN tag, any other type but IPv4: punt
 *  1. IPv4 malformed: drop ipMalformed; header checksum wrong: drop ipChecksum
 *  1. a fragment: punt
 *  1. the SPD decision, of flow and rule that with the lower priority number, the flow at equality: PUNT: punt; DISCARD or
 *     none at all: drop policy; BYPASS or PROTECT with a TTL of 0 or 1: drop ttlExpired; else to the link with a TTL of one
 *     less (RFC 4301 5.1.2.1 note 3, RFC 1812 5.3.1)
 *
 * What would go to the link is dropped as linkDown while `linkUp` is low.
 *
 * A pipeline without stalls: one frame a cycle, answered [[InnerClassifier.latency]] cycles later. `drops` pulses with the
 * verdict.
 */
class InnerClassifier extends Module {
  val io = IO(new Bundle {
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val linkUp = Input(Bool())
    val findings = Flipped(Valid(new InnerFindings))
    val verdict = Valid(new InnerVerdict)
    val drops = Output(new InnerDrops)
  })

  private val in = io.findings.bits
  private val fields = in.fields

  // Stage 1: one bit a question.
  private def ask(question: Bool): Bool = RegNext(question)
  private val valid1 = RegNext(io.findings.valid, false.B)
  private val filtered = ask(io.macFilter && !fields.macDestination(0) && fields.macDestination =/= io.portMac)
  private val isArp = ask(fields.etherClass === EtherClass.arp)
  private val isIpv6 = ask(fields.etherClass === EtherClass.ipv6)
  private val isVlan = ask(fields.etherClass === EtherClass.vlan)
  private val isOther = ask(fields.etherClass === EtherClass.other)
  private val malformed = ask(fields.malformed)
  private val checksumBad = ask(fields.checksumBad)
  private val fragment = ask(fields.fragment)
  private val ttlExpired = ask(fields.ttlExpired)
  private val linkDown = ask(!io.linkUp)
  private val flowWins = ask(in.flow.hit && (!in.rule.hit || in.flow.priority <= in.rule.priority))
  private val decided = ask(in.flow.hit || in.rule.hit)
  private val flow1 = RegNext(in.flow)
  private val rule1 = RegNext(in.rule)
  private val fields1 = RegNext(fields)
  private val checksum1 = RegNext(ChecksumUpdate.sum(fields.checksum))

  // Stage 2: the first that fits.
  private object Outcome extends ChiselEnum {
    val dropMacFilter, dropMalformed, dropChecksum, dropTtl, dropPolicy = Value
    val puntArp, puntIpv6, puntVlan, puntOther, puntFragment, puntPolicy = Value
    val protect, bypass = Value
  }
  import Outcome._
  private val action1 = Mux(flowWins, flow1.action, rule1.action)
  private def decides(action: Int): Bool = decided && action1 === action.U
  private val outcome = RegNext(
    MuxCase(
      dropPolicy,
      Seq(
        filtered -> dropMacFilter,
        isArp -> puntArp,
        isIpv6 -> puntIpv6,
        isVlan -> puntVlan,
        isOther -> puntOther,
        malformed -> dropMalformed,
        checksumBad -> dropChecksum,
        fragment -> puntFragment,
        decides(Action.punt) -> puntPolicy,
        ((decides(Action.bypass) || decides(Action.protect)) && ttlExpired) -> dropTtl,
        decides(Action.bypass) -> bypass,
        decides(Action.protect) -> protect
      )
    )
  )
  private val valid2 = RegNext(valid1, false.B)
  private val linkDown2 = RegNext(linkDown)

  private val link = Wire(new LinkMeta)
  link := 0.U.asTypeOf(link)
  link.length := fields1.totalLength
  link.sa := Mux(flowWins, flow1.sa, rule1.sa)
  link.bypass := decides(Action.bypass)
  link.df := fields1.dontFragment
  link.tos := fields1.tos
  link.nextHeader := InnerClassifier.nextHeaderIpv4.U

  private val rewrite = Wire(new Ipv4Rewrite)
  rewrite.tos := fields1.tos
  rewrite.ttl := fields1.ttl - 1.U
  rewrite.checksum := ChecksumUpdate.fold(checksum1)

  // Stage 3: verdict and events.
  private def is(wanted: Outcome.Type): Bool = outcome === wanted
  private val forLink = is(protect) || is(bypass)
  private val reasons = Seq(
    puntArp -> PuntReason.arp,
    puntIpv6 -> PuntReason.ipv6,
    puntVlan -> PuntReason.vlan,
    puntOther -> PuntReason.other,
    puntFragment -> PuntReason.fragment,
    puntPolicy -> PuntReason.policy
  )
  private val verdict = Wire(new InnerVerdict)
  verdict.toLink := forLink && !linkDown2
  verdict.toPunt := reasons.map { case (punt, _) => is(punt) }.reduce(_ || _)
  verdict.reason := Mux1H(reasons.map { case (punt, reason) => is(punt) -> reason.U })
  verdict.rewrite := RegNext(rewrite)
  verdict.link := RegNext(link)
  io.verdict.valid := RegNext(valid2, false.B)
  io.verdict.bits := RegNext(verdict)

  private def drop(condition: Bool): Bool = RegNext(valid2 && condition, false.B)
  io.drops.macFilter := drop(is(dropMacFilter))
  io.drops.ipMalformed := drop(is(dropMalformed))
  io.drops.ipChecksum := drop(is(dropChecksum))
  io.drops.ttlExpired := drop(is(dropTtl))
  io.drops.policy := drop(is(dropPolicy))
  io.drops.linkDown := drop(forLink && linkDown2)
}

object InnerClassifier {
  val latency: Int = 3

  /** IPv4 in the ESP trailer: a tunnel (RFC 4303 2.6). */
  val nextHeaderIpv4: Int = 4
}
