// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import sallyport.common.link.ClearPrefix
import sallyport.crypto.dispatch.{PacketHead, Route}
import sallyport.crypto.suite.Suite

/** What becomes of a packet as far as its key row and its length say. */
object KeyDecision {

  /**
   * Longest ESP packet that fits an outer IPv4 header into a 9600-byte frame, with room for
   * nothing else: 9600 - 18.
   */
  val longestEsp: Int = 9582

  /**
   * The shortest packet of any suite: without a cipher, header, one word of 4 bytes with the
   * trailer, ICV. Lanes know their suite's.
   */
  val shortestEsp: Int = 8 + 4 + 16

  /**
   * The longest payload whose ESP packet is not above [[longestEsp]]: text is a multiple of the
   * padding, and 2 bytes are trailer.
   */
  def longestPayload(suite: Suite, icvBytes: Int): Int =
    (longestEsp - suite.headBytes - icvBytes) / suite.padTo * suite.padTo - 2

  /** A row that can be used: its suite is in this build. */
  def usable(hit: Bool, suite: UInt, suites: Seq[Suite]): Bool =
    hit && suites.map(_.number.U === suite).reduce(_ || _)

  /**
   * @param allowBypass
   *   a packet of this kind may cross in clear
   * @param transport
   *   the row's mode
   */
  def encrypt(
      blocked: Bool,
      head: PacketHead,
      allowBypass: Bool,
      usable: Bool,
      transport: Bool,
      suite: UInt,
      icv: UInt
  ): Route.Type = {
    def longerThan(spare: Int): Bool = head.meta.length > Suite.chooseByIcv(suite, icv)(longestPayload(_, _) - spare)
    val oversize = Mux(head.meta.transport, longerThan(ClearPrefix.lengths.max), longerThan(0))
    priority(
      Route.lane,
      blocked -> Route.notReady,
      (head.meta.bypass && allowBypass) -> Route.bypass,
      head.meta.bypass -> Route.bypassDenied,
      malformed(head) -> Route.wrongMode,
      !usable -> Route.noKey,
      (head.meta.transport =/= transport) -> Route.wrongMode,
      oversize -> Route.oversize
    )
  }

  def decrypt(blocked: Bool, head: PacketHead, allowBypass: Bool, usable: Bool, transport: Bool): Route.Type = {
    val truncated = head.meta.length < shortestEsp.U || head.meta.length(1, 0) =/= 0.U
    priority(
      Route.lane,
      blocked -> Route.notReady,
      (head.meta.bypass && allowBypass) -> Route.bypass,
      head.meta.bypass -> Route.bypassDenied,
      malformed(head) -> Route.wrongMode,
      truncated -> Route.truncated,
      !usable -> Route.noKey,
      (head.meta.transport =/= transport) -> Route.wrongMode
    )
  }

  /**
   * What [[PrefixStrip]] makes of a packet without a possible prefix, or without anything
   * behind it.
   */
  private def malformed(head: PacketHead): Bool = head.meta.hasPrefix && head.meta.length === 0.U

  private def priority(otherwise: Route.Type, cases: (Bool, Route.Type)*): Route.Type =
    cases.foldRight(otherwise) { case ((condition, route), rest) => Mux(condition, route, rest) }
}
