// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.queue.RingDelay
import sallyport.iface.headers.{IpHeader, UdpHeader}
import sallyport.iface.mac.RxMeta
import sallyport.iface.parse.{ExtensionSkip, ExtensionStep, HeaderChain, HeaderParser, OuterTag}
import sallyport.iface.reassembly.FragmentInfo
import sallyport.iface.stream.LookupLaunch
import sallyport.iface.tracking.{FragmentQuery, FragmentTable, TrackerConfig, TrackingEvents, UpperFields}

/** A frame that may be a fragment, on its way to a [[FragmentJudge]]. */
class FragmentMeta extends RxMeta {

  /** Tick in which it came. */
  val born = UInt(TrackerConfig.tickBits.W)

  /** It has waited for the first fragment of its datagram. */
  val waited = Bool()

  /** Its policy wants the whole datagram. */
  val back = Bool()
}

/** Where a frame that may be a fragment goes: to one of these, or nowhere. */
class FragmentJudgement extends Bundle {

  /** On, with the upper-layer fields of its datagram if it is a fragment. */
  val passes = Bool()
  val upper = Valid(new UpperFields)

  /** To wait for the first fragment, since `born`; with the `mark` of [[FragmentTable]]. */
  val waits = Bool()
  val born = UInt(TrackerConfig.tickBits.W)
  val mark = UInt(TrackerConfig.markBits.W)

  /** Into the whole datagram. */
  val joins = Bool()

  /** With `passes` its length and `notice`. */
  val info = new FragmentInfo
}

/**
 * Says of each frame that may be a fragment where it goes.
 *
 * A fragment is what [[FrameJudge]] would punt as one. All else passes unchanged, in order, for the
 * next module to judge it under its own reason, and so does a fragment whose sender has to be told
 * ([[FragmentNotice]]). Of a fragment the first line that fits counts:
 *
 *  1. a wrong length: drop length; first of IPv6 without all headers: drop headers
 *  1. its policy wants the whole datagram (`back`), or its datagram `ends` here: ESP to this box,
 *     of a bump in the wire any ESP: it joins its datagram
 *  1. another first one than came before: drop conflict; over fields of the first: drop overlap
 *  1. it is the first, or the first has come: if the datagram ends here, UDP to this box's port
 *     4500 or 500 or of a bump in the wire any to port 4500, it joins its datagram; else it passes
 *  1. it has waited as long as it may: drop orphan; else it waits
 *
 * Where no datagram ends, VLANs may be of networks with equal addresses
 * ([[sallyport.iface.inner.Networks]]). There fragments are of one datagram only if they have the
 * same outer VLAN ID. The next module says of a frame with a tag whether it comes from the box's
 * own address.
 *
 * A pipeline without stalls: one frame every second cycle, answered in order.
 *
 * @param ends datagrams end at this port
 */
class FragmentJudge(p: TrackerConfig, ends: Boolean) extends Module {
  val io = IO(new Bundle {
    val ready = Output(Bool())

    /** As of [[FragmentPath]]. */
    val bump = Input(Bool())
    val own = Flipped(Valid(new LocalAddresses))
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val sources = Input(new LocalAddresses)
    val skip = Input(new ExtensionSkip)
    val tick = Input(Bool())
    val now = Input(UInt(TrackerConfig.tickBits.W))
    val timeout = Input(UInt((TrackerConfig.tickBits - 1).W))
    val in = Flipped(Valid(new LookupLaunch(new FragmentMeta, HeaderParser.windowBytes(ethernet = true))))
    val out = Valid(new FragmentJudgement)

    /** A first fragment has come, of a datagram with this mark; the table holds some. */
    val wrote = Valid(UInt(TrackerConfig.markBits.W))
    val busy = Output(Bool())

    /** As far as they happen here. */
    val events = Output(new TrackingEvents)
  })

  private val parser = Module(new HeaderParser(ethernet = true, fragments = true))
  parser.io.skip := io.skip
  parser.io.in.valid := io.in.valid
  parser.io.in.bits.bytes := io.in.bits.bytes
  parser.io.in.bits.length := io.in.bits.meta.length
  private val fields = parser.io.out.bits
  private val fragment = parser.io.fragment.get

  // Of a port that has networks. Those that are put together there are of network 0.
  private val vlan = Wire(UInt(OuterTag.idBits.W))
  vlan := {
    if (ends) 0.U
    else RingDelay(Mux(io.bump, 0.U, OuterTag.id(io.in.bits.bytes)), HeaderParser.latency(ethernet = true))
  }

  private val judge = Module(new FrameJudge(delivers = false))
  // Each node of a cluster follows all fragments: the first one tells the ports of its own ones.
  judge.io.dispatched.mine := true.B
  judge.io.dispatched.speaks := true.B
  judge.io.bump := io.bump
  judge.io.macFilter := io.macFilter
  judge.io.portMac := io.portMac
  judge.io.own := io.sources
  judge.io.fields := fields
  // Datagrams of other networks may have the box's addresses; the next module knows the networks.
  judge.io.fields.network := vlan.orR
  private val headless = HeaderChain.incomplete(fields, fragment)
  private val notice = Module(new FragmentNotice)
  notice.io.own := io.own
  notice.io.fields := fields
  notice.io.fragment := fragment
  notice.io.headless := headless
  private val local = Module(new LocalMatch)
  local.io.local := io.own.bits
  local.io.fields := fields
  private val known = FrameJudge.latency
  require(
    Seq(FragmentNotice.latency, HeaderChain.latency, LocalMatch.latency, FragmentTable.ahead).forall(_ == known),
    "what is said of a fragment is said in one cycle"
  )

  // Whether its length may be.
  private val unit = log2Ceil(ExtensionStep.unitBytes)
  private val end1 = RegNext(Cat(fragment.offset, 0.U(unit.W)) +& fragment.payloadBytes)
  private val partial1 = RegNext(fragment.more && fragment.payloadBytes(unit - 1, 0) =/= 0.U)
  private val empty1 = RegNext(fragment.payloadBytes === 0.U)
  private val badLength = RegNext(partial1 || empty1 || (end1 >> FragmentJudge.lengthBits) =/= 0.U)

  private val meta = ShiftRegister(io.in.bits.meta, HeaderParser.latency(ethernet = true) + known)
  private val valid = ShiftRegister(parser.io.out.valid, known, false.B, true.B)
  private val info = Wire(new FragmentInfo)
  info := ShiftRegister(FragmentInfo(fields, fragment), known)
  private val isFragment = judge.io.out.isFragment && !notice.io.out
  info.fragment := isFragment
  info.notice := judge.io.out.isFragment && notice.io.out
  info.headless := headless
  private val sound = isFragment && !badLength && !headless

  private val table = Module(new FragmentTable(p, OuterTag.idBits + FragmentInfo.keyBits))
  table.io.tick := io.tick
  table.io.now := io.now
  table.io.timeout := io.timeout
  table.io.soon := parser.io.out.valid || RegNext(parser.io.out.valid, false.B) || valid
  table.io.query.valid := valid && sound && !meta.back
  private val key = Wire(UInt((OuterTag.idBits + FragmentInfo.keyBits).W))
  key := Cat(vlan, FragmentInfo(fields, fragment).key)
  table.io.query.bits :=
    ShiftRegister(FragmentQuery(fields, fragment, key), known)
  io.ready := table.io.ready
  io.wrote := table.io.wrote
  io.busy := table.io.busy

  // With the table's answer.
  private def later[T <: Data](value: T): T = ShiftRegister(value, FragmentTable.latency)
  private val metaOf = later(meta)
  private val isOf = later(isFragment)
  private val soundOf = later(sound)
  private val ours = later(local.io.toUs)
  private val answer = table.io.answer
  private val espHere = ends.B && later(info.protocol === IpHeader.esp.U) && (ours || io.bump)
  private val udpHere = ends.B && (answer.upper.isUdpTo(UdpHeader.portIke) && ours ||
    answer.upper.isUdpTo(UdpHeader.portNatt) && (ours || io.bump))
  private val whole = metaOf.back || espHere
  private val tracked = soundOf && !whole && !answer.conflict && !answer.overlap
  private val late = metaOf.waited && io.now - metaOf.born >= io.timeout
  private val out = Wire(new FragmentJudgement)
  out.info := later(info)
  out.joins := soundOf && whole || tracked && answer.known && udpHere
  out.passes := !isOf || tracked && answer.known && !udpHere
  out.upper.valid := isOf
  out.upper.bits := answer.upper
  out.waits := tracked && !answer.known && !late
  out.born := metaOf.born
  out.mark := answer.mark
  private val answers = ShiftRegister(valid, FragmentTable.latency, false.B, true.B)
  io.out.valid := RegNext(answers, false.B)
  io.out.bits := RegNext(out)

  private def drop(condition: Bool): Bool = RegNext(answers && condition, false.B)
  private val long = later(badLength)
  io.events.dropOverflow := 0.U
  io.events.dropFull := 0.U
  io.events.dropLength := drop(isOf && long)
  io.events.dropHeaders := drop(isOf && !long && !soundOf)
  io.events.dropConflict := drop(soundOf && !whole && answer.conflict)
  io.events.dropOverlap := drop(soundOf && !whole && answer.overlap)
  io.events.dropOrphan := drop(tracked && !answer.known && late)
  private val stays = drop(out.waits && !metaOf.waited)
  private val leaves = drop(!out.waits && metaOf.waited)
  io.events.held := stays.zext - leaves.zext
}

object FragmentJudge {

  /** Of the longest packet. */
  private val lengthBits: Int = 16
}
