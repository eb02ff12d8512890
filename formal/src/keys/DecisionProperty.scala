// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import sallyport.crypto.dispatch.{PacketHead, Route}
import sallyport.crypto.keys.KeyDecision
import sallyport.crypto.suite.Suite
import sallyport.formal.harness.{Bug, Claim, Property}

/** What a fetch asks [[KeyDecision]], as ports. */
class DecisionQuestion extends Bundle {
  val blocked = Bool()
  val head = new PacketHead
  val allowBypass = Bool()
  val usable = Bool()
  val transport = Bool()
  val suite = UInt(Suite.bits.W)
  val icv = UInt(Suite.icvBits.W)
}

/** [[KeyDecision]] of one direction, which is a function, as a module. */
class Decision(encrypts: Boolean) extends Module {
  override def desiredName = "Decision"
  val question = IO(Input(new DecisionQuestion))
  val route = IO(Output(Route()))
  import question._
  route := (if (encrypts) KeyDecision.encrypt(blocked, head, allowBypass, usable, transport, suite, icv)
            else KeyDecision.decrypt(blocked, head, allowBypass, usable, transport))
}

/** What both directions owe. */
abstract class DecisionProperty(claim: Claim, encrypts: Boolean) extends Property(claim) {
  protected val asked: DecisionQuestion = any(new DecisionQuestion)
  private val dut = Module(new Decision(encrypts))
  dut.question := asked
  protected val route: Route.Type = dut.route
  protected val meta = asked.head.meta

  assert(!asked.blocked || route === Route.notReady)
  assert(route =/= Route.bypass || meta.bypass && asked.allowBypass && !asked.blocked)
  assert(!meta.bypass || route =/= Route.lane)
  when(route === Route.lane) {
    assert(asked.usable && meta.transport === asked.transport)
    assert(!meta.hasPrefix || meta.length =/= 0.U)
  }
  cover(route === Route.lane)
  cover(route === Route.bypass)
}

class EncryptDecisionProperty
    extends DecisionProperty(
      Claim(
        proves =
          "A lane gets only packets with a usable key of their mode, as ESP of at most 9582 bytes; a bypass needs permission.",
        clause = "RFC 4303 2.4 (padding), KeyDecision",
        bug = Bug("Decision", raw"question_head_meta_bypass & question_allowBypass", "question_head_meta_bypass"),
        depth = 1,
        reach = 2
      ),
      encrypts = true
    ) {
  for (suite <- Suite.all) when(asked.suite === suite.number.U && route === Route.lane && !meta.transport) {
    val icv = if (suite.icvByRow) Suite.icvLength(asked.suite, asked.icv) else suite.fixedIcvBytes.U
    val padded = (meta.length +& (2 + suite.padTo - 1).U) & (0xffff - (suite.padTo - 1)).U(16.W)
    assert(padded +& suite.headBytes.U +& icv <= KeyDecision.longestEsp.U)
  }
}

class DecryptDecisionProperty
    extends DecisionProperty(
      Claim(
        proves =
          "An ESP packet goes to a lane only with a usable key of its mode and with whole words for all of ESP's fields.",
        clause = "RFC 4303 2, KeyDecision",
        bug = Bug("Decision", raw"question_usable\s+\?", "1'h1 ?"),
        depth = 1,
        reach = 2
      ),
      encrypts = false
    ) {
  when(route === Route.lane) { assert(meta.length >= 28.U && meta.length(1, 0) === 0.U) }
}
