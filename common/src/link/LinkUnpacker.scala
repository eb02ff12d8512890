// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.ByteShift
import sallyport.common.clock.ClockGate
import sallyport.common.stream.PacketStream

/**
 * What a received word holds, one piece a cycle: a payload beat at byte 0, or a header that
 * stands alone.
 */
class LinkItem extends Bundle {
  val beat = Bool()
  val first = Bool()
  val last = Bool()
  val bytes = UInt(7.W)
  val data = UInt(PacketStream.dataBits.W)

  /** The item is a header alone. */
  val control = Bool()

  /** It is the resync with which the framing starts anew. */
  val resync = Bool()

  /** It was found in a hunt. */
  val hunting = Bool()
  val lock = UInt(4.W)

  /**
   * Header and sequence number of the packet, valid with its last beat; of a control item
   * its header.
   */
  val header = UInt(LinkFrame.headerBits.W)
  val sequence = UInt(64.W)
}

/**
 * Turns parsed words into payload beats that start at byte 0, zero above `bytes`, and headers.
 *
 * One item a cycle; a word in which two items start takes two. Packets of 65 to 72 bytes are the
 * worst: 1.45 beats a word, so that 0.65 words a cycle, what four Aurora lanes deliver, need 0.95
 * cycles a cycle. Latency 3 cycles, and the wait for the next word if a frame goes on in it.
 *
 * Words that `accept` does not cover are thrown away; `stray` names the lock of such words, so that
 * the parser hunts if it still trusts it. A resync waits until every earlier item has left the
 * `depth` stages behind this module, and everything behind it until it has left them too. The clock
 * stops while this module and those stages are empty.
 */
class LinkUnpacker(withSequence: Boolean, depth: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new ParsedWord))

    /** The framing is trusted. */
    val accept = Input(Bool())

    /** Throw away the items in here: the one before them was broken. */
    val flush = Input(Bool())

    /** A resync is issued: every earlier item is through. */
    val restart = Output(Bool())
    val stray = Valid(UInt(4.W))
    val out = Valid(new LinkItem)
  })

  private val stirs = Wire(Bool())
  private val running = ClockGate(clock, io.in.valid || stirs || reset.asBool)
  override protected def implicitClock: Clock = running

  private val headUnits = if (withSequence) 3 else 2
  private val word0 = Reg(new ParsedWord)
  private val word1 = Reg(new ParsedWord)
  private val valid0 = RegInit(false.B)
  private val valid1 = RegInit(false.B)
  private val second = RegInit(false.B)

  private val ready = valid0 && (!word0.continued || valid1)
  private val after = word0.head.valid || word0.control
  private val trusted = io.accept && !word0.hunting
  private val quietFor = RegInit(0.U(5.W))
  private val quiet = quietFor === (depth + 3).U
  stirs := valid0 || !quiet
  private val waiting = word0.resync && !quiet

  private val takeTail = ready && word0.tail.valid && !second
  private val takeAfter =
    ready && after && (second || !word0.tail.valid || word0.resync) && !waiting && !(word0.resync && second)
  private val advance = ready && Mux(word0.resync, second && quiet, second || !(word0.tail.valid && after))
  when(ready) { second := Mux(advance, false.B, Mux(word0.resync, second || takeAfter, true.B)) }
  io.restart := takeAfter && word0.resync
  io.stray.valid := ready && !io.accept && !word0.hunting
  io.stray.bits := word0.lock

  io.in.ready := !valid1 || !valid0 || advance
  when(advance || !valid0) {
    valid0 := valid1 || io.in.valid
    word0 := Mux(valid1, word1, io.in.bits)
    valid1 := valid1 && io.in.valid
    word1 := io.in.bits
  }.elsewhen(!valid1) {
    valid1 := io.in.valid
    word1 := io.in.bits
  }

  // Stage 1: shift to byte 0.
  private val beat = (takeTail || (takeAfter && word0.head.valid)) && trusted
  private val control = takeAfter && word0.control && (trusted || word0.hunting)
  quietFor := Mux(beat || control, 0.U, Mux(quiet, quietFor, quietFor + 1.U))
  private val selected = Mux(takeTail, word0.tail, word0.head)
  private val pair = Cat(word1.data, word0.data)
  private val headerNew = Reg(UInt((64 * headUnits).W))
  private val headerOld = Reg(UInt((64 * headUnits).W))
  private val latch = advance && (word0.packet || word0.control) || takeAfter
  when(latch) {
    headerNew := (pair >> Cat(word0.position, 0.U(6.W)))(64 * headUnits - 1, 0)
    headerOld := headerNew
  }
  private class Stage extends Bundle {
    val item = new LinkItem
    val old = Bool()
    val mask = UInt(64.W)
  }
  private val next = Wire(new Stage)
  next.item.beat := beat
  next.item.first := selected.first
  next.item.last := selected.last
  next.item.bytes := selected.bytes
  next.item.data := (pair >> Cat(selected.start, 0.U(6.W)))(PacketStream.dataBits - 1, 0)
  next.item.control := control
  next.item.resync := word0.resync
  next.item.hunting := word0.hunting
  next.item.lock := word0.lock
  next.item.header := DontCare
  next.item.sequence := DontCare
  next.old := takeTail && latch
  next.mask := ByteShift.mask(selected.bytes)
  private val stage1 = Reg(new Stage)
  stage1 := next

  // Stage 2: zero above the end, and the header that belongs to the item.
  private val header = Mux(stage1.old, headerOld, headerNew)
  private val item = Wire(new LinkItem)
  item := stage1.item
  item.data := ByteShift.keep(stage1.item.data, stage1.mask)
  item.header := header(LinkFrame.headerBits - 1, 0)
  item.sequence := (if (withSequence) header(191, 128) else 0.U)
  io.out.bits := RegNext(item)
  private val valid1st = RegNext((beat || control) && !io.flush, false.B)
  io.out.valid := RegNext(valid1st && !io.flush, false.B)
}
