// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.FlowRow
import sallyport.common.stream.PacketStream
import sallyport.common.table.TablePort
import sallyport.iface.receive.FrameVerdict
import sallyport.iface.tfc.{Dummy, TfcPadder}

/**
 * Counts a packet for its policy and its outbound SA when the encrypt path judges it, beside its
 * way to the link.
 *
 * Every packet for the link gets one bit at `passes`, in order: low if its SA has expired, and then
 * it goes no further than [[PacketGate]]. The answer is there before the packet, so neither waits.
 * An SA counts what passes, by the length of the IP packet: what the link loses, or the crypto chip
 * drops, is in its count. A policy counts all that it decided on.
 *
 * A dummy packet is counted, whole, when no packet is judged in that cycle or those around it:
 * `dummyAsked`, a cycle or more after `dummy` is valid. Whether it may be made, because its SA has
 * not expired, is said at `dummyPasses`.
 *
 * @param saBits     log2 of the outbound SAs; one beyond them has no lifetime and no count
 * @param policyBits log2 of the rows of policies
 */
class EncryptUsage(saBits: Int, policyBits: Int) extends Module {
  val io = IO(new Bundle {
    val verdict = Flipped(Valid(new FrameVerdict))

    /** In two cycles `verdict` is valid. */
    val soon = Input(Bool())

    /** With `verdict`: the row of the policy that decided. */
    val policy = Flipped(Valid(UInt(FlowRow.usage.width.W)))

    /** With `verdict` or `policy`: length of the IP packet. */
    val ipBytes = Input(UInt(PacketStream.lengthBits.W))
    val passes = Valid(Bool())
    val dummy = Flipped(Valid(new Dummy))
    val dummyAsked = Output(Bool())
    val dummyPasses = Valid(Bool())
    val dropLifetime = Output(Bool())
    val event = Valid(new UsageEvent)
    val outboundTable = Flipped(new TablePort)
    val policyTable = Flipped(new TablePort)
    val ready = Output(Bool())
  })

  private val link = io.verdict.bits.link
  private val forLink = io.verdict.valid && io.verdict.bits.toLink
  private def later[T <: Data](value: T): T = ShiftRegister(value, UsageTable.latency)
  private val dummyBytes = io.dummy.bits.units << log2Ceil(TfcPadder.unitBytes)
  private val length = later(Mux(forLink, io.ipBytes, dummyBytes))
  // A cycle ahead: no packet is judged now, in the next cycle and in the one behind it.
  private val gap = !io.verdict.valid && !RegNext(io.soon, false.B) && !io.soon
  private val asked = RegInit(false.B)
  asked := io.dummy.valid && gap && !asked
  io.dummyAsked := asked
  private val sa = Mux(forLink, link.sa, io.dummy.bits.sa)

  private val outbound = Module(new UsageTable(saBits, limited = true))
  outbound.io.table <> io.outboundTable
  outbound.io.read.valid := (forLink && !link.bypass || asked) && (sa >> saBits) === 0.U
  outbound.io.read.bits := sa(saBits - 1, 0)
  outbound.io.charge.counts := true.B
  outbound.io.charge.bytes := length
  io.event := outbound.io.event
  private val judged = ShiftRegister(forLink, UsageTable.latency, false.B, true.B)
  io.passes.valid := RegNext(judged, false.B)
  io.passes.bits := RegNext(!outbound.io.expired)
  io.dropLifetime := RegNext(outbound.io.expired && judged, false.B)
  io.dummyPasses.valid := RegNext(ShiftRegister(asked, UsageTable.latency, false.B, true.B), false.B)
  io.dummyPasses.bits := io.passes.bits

  private val policies = Module(new UsageTable(policyBits, limited = false))
  policies.io.table <> io.policyTable
  policies.io.read.valid := io.policy.valid && (io.policy.bits >> policyBits) === 0.U
  policies.io.read.bits := io.policy.bits(policyBits - 1, 0)
  policies.io.charge.counts := true.B
  policies.io.charge.bytes := later(io.ipBytes)

  io.ready := outbound.io.ready && policies.io.ready
}

object EncryptUsage {

  /**
   * Packets that may have been judged and not have reached the gate: those of [[LookupStage]] and
   * of the stripper behind it.
   */
  val ahead: Int = 64
}
