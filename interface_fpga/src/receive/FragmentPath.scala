// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.stream.{ConnectStream, PacketStream}
import sallyport.iface.mac.RxMeta
import sallyport.iface.parse.{ExtensionSkip, HeaderChain, HeaderParser}
import sallyport.iface.reassembly.{FragmentInfo, Reassembler, ReassemblyConfig, ReassemblyEvents}
import sallyport.iface.stream.LookupStage

/** What software sets of a [[FragmentPath]], as registers hold it. */
class FragmentLimits extends Bundle {

  /** Ticks after which a datagram is given up; 0 counts as 1. */
  val timeout = UInt(15.W)

  /** Datagrams of one source at once; there is no limit if it is more than there may be at all. */
  val perSource = UInt(16.W)
}

/**
 * The way of frames that may be fragments: headers read, fragments put together, whole datagrams
 * and all that is no fragment out again.
 *
 * A fragment is what [[FrameJudge]] would punt as one. All else passes as it came, in order, so
 * that the next module judges it under its own reason. A frame for another MAC address or a broken
 * one never gets into a datagram. So does a fragment whose sender has to be told
 * ([[FragmentNotice]]), with `notice`. What becomes of the others is [[Reassembler]]'s contract.
 *
 * A frame every 2 cycles, a beat a cycle. Other packets take some 25 cycles. `in` stalls when
 * `out` does.
 */
class FragmentPath(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {

    /** The box is a bump in the wire. */
    val bump = Input(Bool())

    /** This box's own addresses at this port, if fragments to them end here. */
    val own = Flipped(Valid(new LocalAddresses))
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))

    /** This box's own addresses at this port, whatever ends here: no fragment comes from them. */
    val sources = Input(new LocalAddresses)
    val limits = Input(new FragmentLimits)

    /** Time passes: a pulse, every `tickCycles`. */
    val tick = Input(Bool())
    val in = Flipped(PacketStream(new RxMeta))
    val out = PacketStream(new WholeMeta)
    val ready = Output(Bool())
    val events = Output(new ReassemblyEvents)

    /**
     * Fragments are held. Without any, all that is inside is at `out` within
     * [[FragmentPath.transitCycles]].
     */
    val busy = Output(Bool())
  })

  private val window = HeaderParser.windowBytes(ethernet = true)
  private val stage = Module(new LookupStage(new RxMeta, new FragmentInfo, window))
  stage.io.in <> io.in
  stage.io.hold := false.B

  private val parser = Module(new HeaderParser(ethernet = true, fragments = true))
  parser.io.skip := ExtensionSkip.all // a fragment header may be behind any
  parser.io.in.valid := stage.io.launch.valid
  parser.io.in.bits.bytes := stage.io.launch.bits.bytes
  parser.io.in.bits.length := stage.io.launch.bits.meta.length
  private val fields = parser.io.out.bits

  private val judge = Module(new FrameJudge(delivers = false))
  judge.io.bump := io.bump
  judge.io.macFilter := io.macFilter
  judge.io.portMac := io.portMac
  judge.io.own := io.sources
  judge.io.fields := fields
  private val info = ShiftRegister(FragmentInfo(fields, parser.io.fragment.get), FrameJudge.latency)
  stage.io.result.valid := ShiftRegister(parser.io.out.valid, FrameJudge.latency, false.B, true.B)
  stage.io.result.bits := info
  private val headless = HeaderChain.incomplete(fields, parser.io.fragment.get)
  private val notice = Module(new FragmentNotice)
  notice.io.own := io.own
  notice.io.fields := fields
  notice.io.fragment := parser.io.fragment.get
  notice.io.headless := headless
  require(FragmentNotice.latency == FrameJudge.latency, "what is said of a fragment is said in one cycle")
  stage.io.result.bits.fragment := judge.io.out.isFragment && !notice.io.out
  stage.io.result.bits.notice := judge.io.out.isFragment && notice.io.out
  stage.io.result.bits.headless := headless

  private val reassembler = Module(new Reassembler(p))
  reassembler.io.in <> stage.io.out
  ConnectStream(io.out, reassembler.io.out) { (to, from) =>
    to.length := from.length
    to.injected := false.B
    to.notice := from.notice
  }
  io.ready := reassembler.io.ready
  io.events := reassembler.io.events

  private val limits = reassembler.io.limits
  limits.timeout := RegNext(Mux(io.limits.timeout === 0.U, 1.U, io.limits.timeout))
  private val most = (p.datagrams + 1).U(16.W)
  limits.perSource := RegNext((Mux(io.limits.perSource > most, most, io.limits.perSource))(p.datagramBits - 1, 0))
  reassembler.io.tick := io.tick
  io.busy := reassembler.io.busy
}

object FragmentPath {

  /**
   * More cycles than a frame takes from `in` to `out` or into the queue of fragments, or those
   * that have left it to a drop.
   */
  val transitCycles: Int = 1024
}
