// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{PrefixChildRow, PrefixRow}

/** The policy of a packet's destination, as the tree finds it. */
class PolicyPlace extends Bundle {

  /** There is a tree. */
  val live = Bool()

  /** With `live`: row of `prefix_policy`; 0 is none. */
  val row = UInt(PrefixChildRow.child0.width.W)

  /** It may be another, for a row has a flipped bit. */
  val upset = Bool()

  /** It comes a cycle early. */
  val early = Bool()
}

/**
 * The two users of the trees take turns: routes have the even cycles, policies the odd ones. So a
 * query waits a cycle or none, and queries of a user must be two cycles apart or more.
 *
 * `group` belongs to the `route` of [[PrefixTurns.latency]] cycles before, and `place` to the
 * `policy` as long before, unless it is `early`. Places come in odd cycles alone, so that their
 * user's tables have a turn for each, too.
 *
 * @param last     rows of the last level: [[PrefixNode.rows]]
 * @param networks that have trees, a power of two
 */
class PrefixTurns(last: Int, networks: Int = 1) extends Module {
  val io = IO(new Bundle {
    val route = Flipped(Valid(new PrefixKey))
    val group = Output(UInt(PrefixRow.group0.width.W))

    /** The group may be another, for a row has a flipped bit. */
    val groupUpset = Output(Bool())
    val policy = Flipped(Valid(new PrefixKey))
    val place = Output(new PolicyPlace)

    /** A look-up of routes, or of policies, met a row with a flipped bit. */
    val routeRowUpset = Output(Bool())
    val policyRowUpset = Output(Bool())
    val tables = new PrefixTables
    val ready = Output(Bool())
  })
  private val tree = Module(new PrefixTree(last, networks))
  tree.io.tables <> io.tables
  io.ready := tree.io.ready
  io.routeRowUpset := tree.io.routeRowUpset
  io.policyRowUpset := tree.io.policyRowUpset

  private val odd = RegInit(false.B)
  odd := !odd

  /** A query in its turn, and whether it has not waited for that. */
  private def inTurn(query: Valid[PrefixKey], turn: Bool): (Valid[PrefixKey], Bool) = {
    val waits = RegNext(query.valid && !turn, false.B)
    assert(!waits || !query.valid, "queries of a tree's user are two cycles apart")
    val taken = Wire(Valid(new PrefixKey))
    taken.valid := query.valid || waits
    taken.bits := Mux(waits, RegNext(query.bits), query.bits)
    (taken, !waits)
  }
  private val (route, routeEarly) = inTurn(io.route, !odd)
  private val (policy, policyEarly) = inTurn(io.policy, odd)
  private val query = Mux(odd, policy, route)
  tree.io.query.valid := query.valid
  tree.io.query.bits.policies := odd
  tree.io.query.bits.key := query.bits

  // An odd latency would turn the users' cycles around.
  require(PrefixTree.latency % 2 == 0, "an answer of the tree comes in its user's turn")
  private def answered(value: Bool): Bool = ShiftRegister(value, PrefixTree.latency, false.B, true.B)
  private val early = answered(!odd && route.valid && routeEarly)
  private val late = answered(!odd && route.valid && !routeEarly)
  private def inTime[T <: Data](answer: T): T =
    Mux(RegNext(early, false.B), RegNext(answer), Mux(late, answer, 0.U.asTypeOf(answer)))
  io.group := inTime(tree.io.group)
  io.groupUpset := inTime(tree.io.upset)
  private val found = answered(odd && policy.valid)
  io.place.live := tree.io.live
  io.place.row := tree.io.policy
  io.place.upset := found && tree.io.upset
  io.place.early := answered(odd && policyEarly)
}

object PrefixTurns {

  /** A turn, and the tree. */
  val latency: Int = 1 + PrefixTree.latency
}
