// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import chisel3.util._
import sallyport.formal.harness.{Claim, Property}

/**
 * A first-in first-out queue gives what it took, once and in order, and stands still while it
 * waits: it is compared with a list of `places` entries.
 *
 * The environment may do anything on either side. Entries are 3 bits wide: no queue looks into
 * them, so more bits change nothing.
 *
 * @param places entries that the queue holds at most
 * @param flows  an entry may leave in the cycle in which it comes
 */
abstract class QueueProperty(claim: Claim, places: Int, flows: Boolean = false) extends Property(claim) {
  protected val item: UInt = UInt(QueueProperty.bits.W)
  protected val in: DecoupledIO[UInt] = Wire(Decoupled(item))
  protected val out: DecoupledIO[UInt] = Wire(Decoupled(item))
  private val offers = any(Bool())
  private val offered = any(item)
  private val accepts = any(Bool())
  in.valid := offers
  in.bits := offered
  out.ready := accepts

  // The list, oldest first.
  private val list = Reg(Vec(places, item))
  protected val count: UInt = RegInit(0.U(log2Ceil(places + 1).W))
  private val passes = flows.B && count === 0.U && in.fire && out.fire
  private val comes = in.fire && !passes
  private val goes = out.fire && !passes
  private val left = count - goes
  when(goes) { for (i <- 0 until places - 1) list(i) := list(i + 1) }
  for (i <- 0 until places) when(comes && left === i.U) { list(i) := in.bits }
  count := left + comes

  assert(count <= places.U && (!comes || left < places.U))
  assert(!out.valid || count =/= 0.U || flows.B && in.valid)
  when(out.valid) { assert(out.bits === (if (flows) Mux(count === 0.U, in.bits, list.head) else list.head)) }
  cover(count === places.U)
  cover(before(count) === places.U && before(out.fire) && out.fire)

  /** Ties a place of the queue to the list: entry `index` of the list, if there, has these bits. */
  protected def holds(index: UInt, bits: UInt): Unit =
    for (i <- 0 until places) when(index === i.U && index < count) { assert(list(i) === bits) }
}

object QueueProperty {
  val bits: Int = 3
}
