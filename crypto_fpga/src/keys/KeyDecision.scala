package sallyport.crypto

import chisel3._

/** What becomes of a packet as far as its key row and its length say. */
object KeyDecision {

  /** Suites that this build has. */
  private def known(suite: UInt): Bool =
    Seq(Suite.aes128gcm16, Suite.aes192gcm16, Suite.aes256gcm16).map(suite === _.U).reduce(_ || _)

  /** Longest ESP packet that fits an outer IPv4 header into a 9600-byte frame, with room for nothing else: 9600 - 18. */
  val longestEsp: Int = 9582

  /** ESP header, IV, one block of 4 bytes with the trailer, ICV (RFC 4303 section 2, RFC 4106). */
  val shortestEsp: Int = 8 + 8 + 4 + 16

  /** The longest payload whose ESP packet is not above [[longestEsp]]: 16 B of header and IV, 2 of trailer, padding to 4, ICV 16. */
  val longestPayload: Int = (longestEsp - 32) / 4 * 4 - 2

  /** A row that can be used. */
  def usable(hit: Bool, suite: UInt): Bool = hit && known(suite)

  def encrypt(blocked: Bool, head: PacketHead, allowBypass: Bool, usable: Bool): Route.Type = {
    val oversize = head.meta.length > longestPayload.U
    priority(
      Route.lane,
      blocked -> Route.notReady,
      (head.meta.bypass && allowBypass) -> Route.bypass,
      head.meta.bypass -> Route.bypassDenied,
      !usable -> Route.noKey,
      oversize -> Route.oversize
    )
  }

  def decrypt(blocked: Bool, head: PacketHead, allowBypass: Bool, usable: Bool): Route.Type = {
    val truncated = head.meta.length < shortestEsp.U || head.meta.length(1, 0) =/= 0.U
    priority(
      Route.lane,
      blocked -> Route.notReady,
      (head.meta.bypass && allowBypass) -> Route.bypass,
      head.meta.bypass -> Route.bypassDenied,
      truncated -> Route.truncated,
      !usable -> Route.noKey
    )
  }

  private def priority(otherwise: Route.Type, cases: (Bool, Route.Type)*): Route.Type =
    cases.foldRight(otherwise) { case ((condition, route), rest) => Mux(condition, route, rest) }
}
