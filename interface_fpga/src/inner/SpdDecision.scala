// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.registers.map.Action

/** What the three SPD tables say of one packet. */
class SpdAnswers extends Bundle {
  val flow = new SpdAnswer
  val prefix = new SpdAnswer
  val rule = new SpdAnswer

  /** One of them may be another than the tables held before a bit of them flipped. */
  val upset = Bool()
}

/**
 * The SPD's decision on one packet: of flow, entry by prefixes and rule that with the lowest
 * priority number, at equality the first in this order (RFC 4301 4.4.1).
 *
 * With `error` the packet is an ICMP error, and the answers of the cycle before are those of the
 * return traffic of the packet in it ([[sallyport.iface.parse.ReturnTraffic]]). Where the error's
 * own selectors meet no policy, the error follows a PROTECT policy of that traffic (RFC 4301 6.2).
 * Where they meet a DISCARD policy, it does so if that PROTECT policy stands before the DISCARD
 * policy in the SPD: a DISCARD policy for all the rest does not allow an error's carriage, and one
 * that stands first, or has the same priority number, is the administrator's word on these
 * messages. The error follows no other policy of that traffic: RFC 4301 6.2 wants an active SA, and
 * bytes that anyone may choose open no way in clear.
 *
 * A pipeline without stalls: `out` belongs to the `in` of [[SpdDecision.latency]] cycles before.
 * `out.hit`: a policy decides.
 */
class SpdDecision extends Module {
  val io = IO(new Bundle {
    val in = Input(new SpdAnswers)
    val error = Input(Bool())
    val out = Output(new SpdAnswer)

    /** The decision depends on a row with a flipped bit. */
    val upset = Output(Bool())
  })

  // Stage 1: which of the three answers.
  private val in = io.in
  private def before(one: SpdAnswer, other: SpdAnswer): Bool = !other.hit || one.priority <= other.priority
  private val flowWins = RegNext(in.flow.hit && before(in.flow, in.prefix) && before(in.flow, in.rule))
  private val prefixWins = RegNext(in.prefix.hit && before(in.prefix, in.rule))
  private val flow = RegNext(in.flow)
  private val prefix = RegNext(in.prefix)
  private val rule = RegNext(in.rule)
  private val upset = RegNext(in.upset)
  private val error = RegNext(io.error, false.B)
  private val own = Mux(flowWins, flow, Mux(prefixWins, prefix, rule))

  // Stage 2: with an error, the answer that was here a cycle before stands beside it.
  private val returning = RegNext(own)
  private val returningUpset = RegNext(upset)
  private val refused = !own.hit || own.action === Action.discard.U
  private val follows = error && refused && returning.hit && returning.action === Action.protect.U &&
    (!own.hit || own.priority > returning.priority)
  io.out := RegNext(Mux(follows, returning, own))
  io.upset := RegNext(upset || error && refused && returningUpset)
}

object SpdDecision {
  val latency: Int = 2
}
