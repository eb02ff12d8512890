package sallyport.iface

import chisel3._

/** Explicit congestion notification at the end of a tunnel (RFC 6040 section 4.2, figure 4). */
object Ecn {
  val notEct: Int = 0
  val ect1: Int = 1
  val ect0: Int = 2
  val ce: Int = 3

  /** The packet has to be dropped: congestion was met and its sender does not know ECN. */
  def drops(inner: UInt, outer: UInt): Bool = inner === notEct.U && outer === ce.U

  /** ECN field of the packet that goes on. */
  def decapsulate(inner: UInt, outer: UInt): UInt =
    Mux(
      inner === notEct.U || inner === ce.U,
      inner,
      Mux(outer === ce.U, ce.U, Mux(outer === ect1.U, ect1.U, inner))
    )
}
