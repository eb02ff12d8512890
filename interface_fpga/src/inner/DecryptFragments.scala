// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.RingDelay
import sallyport.iface.parse.{FragmentFields, HeaderFields}
import sallyport.iface.reassembly.FragmentInfo
import sallyport.iface.tracking.{FragmentQuery, FragmentTable, TrackerConfig}

/**
 * Gives fragments out of a tunnel, or in clear, the upper-layer fields of their datagram's first
 * one (RFC 4301 7.3), if that came before them on the same SA. Else they keep OPAQUE ports, and
 * only selectors that name none allow them; those out of a tunnel may wait (`waits`).
 *
 * A pipeline without stalls: `out` belongs to the `in` of [[DecryptFragments.latency]] cycles
 * before, which come at most every second cycle. `soon` names each packet a cycle before it, and
 * for [[FragmentTable.ahead]] cycles more.
 *
 * @param tickCycles cycles of a tick
 */
class DecryptFragments(p: TrackerConfig, tickCycles: Int) extends Module {
  val io = IO(new Bundle {
    val ready = Output(Bool())

    /** Ticks for which a first fragment is known; 0 counts as 1. */
    val timeout = Input(UInt((TrackerConfig.tickBits - 1).W))
    val soon = Input(Bool())
    val in = Flipped(Valid(new HeaderFields))
    val fragment = Input(new FragmentFields)
    val meta = Input(new LinkMeta)

    /** It has waited, since this tick. */
    val waited = Flipped(Valid(UInt(TrackerConfig.tickBits.W)))
    val out = Output(new HeaderFields)

    /**
     * With `out`: a later fragment out of a tunnel whose first one is not known, and that has not
     * waited for `timeout` ticks; the tick in which it came, and its mark ([[FragmentTable]]).
     */
    val waits = Output(Bool())
    val born = Output(UInt(TrackerConfig.tickBits.W))
    val mark = Output(UInt(TrackerConfig.markBits.W))

    /**
     * With `out`: a first fragment unlike another one of its datagram; a later one over the first.
     */
    val conflict = Output(Bool())
    val overlap = Output(Bool())

    /** Time passes: a pulse. A first fragment has come, of a datagram with this mark. */
    val tick = Output(Bool())
    val wrote = Valid(UInt(TrackerConfig.markBits.W))
  })

  private val (_, tick) = Counter(true.B, tickCycles)
  private val now = RegInit(0.U(TrackerConfig.tickBits.W))
  when(tick) { now := now + 1.U }

  private val fields = io.in.bits
  private val isFragment = io.in.valid && fields.fragment && !fields.malformed && !fields.unfinished
  private val sa = Mux(io.meta.bypass, 0.U, io.meta.sa)
  private val key = Cat(io.meta.bypass, sa, FragmentInfo(fields, io.fragment).key)
  private val table = Module(new FragmentTable(p, key.getWidth))
  private val ticked = RegNext(tick, false.B)
  private val timeout = RegNext(Mux(io.timeout === 0.U, 1.U, io.timeout))
  table.io.tick := ticked
  table.io.now := now
  table.io.timeout := timeout
  table.io.soon := io.soon
  table.io.query.valid := RegNext(isFragment, false.B)
  table.io.query.bits := RegNext(FragmentQuery(fields, io.fragment, key))
  io.ready := table.io.ready

  private val answer = table.io.answer
  private val later = RingDelay(fields, DecryptFragments.latency)
  private val isOf = ShiftRegister(isFragment, DecryptFragments.latency, false.B, true.B)
  io.out := Mux(isOf && answer.known, answer.upper.over(later), later)
  io.conflict := isOf && answer.conflict
  io.overlap := isOf && answer.overlap

  private val born = RegNext(Mux(io.waited.valid, io.waited.bits, now))
  private val young = RegNext(now - born < timeout)
  private val inTunnel = !io.meta.bypass && !io.meta.transport
  private val mayWait = ShiftRegister(inTunnel, 2) && young
  io.waits := isOf && !answer.known && ShiftRegister(mayWait, DecryptFragments.latency - 2)
  io.born := ShiftRegister(born, DecryptFragments.latency - 1)
  io.mark := answer.mark
  io.tick := ticked
  io.wrote := table.io.wrote
}

object DecryptFragments {
  val latency: Int = 1 + FragmentTable.latency
}
