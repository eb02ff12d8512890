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
  // Of the item that comes next out of `word0`: whether it is the tail, its first unit, and whether
  // it is the last one. They are worked out before, for wide multiplexers hang on them.
  private val tailNext = Reg(Bool())
  private val start = Reg(UInt(3.W))
  private val lastNext = Reg(Bool())

  private val ready = valid0 && (!word0.continued || valid1)
  private val after = word0.head.valid || word0.control
  private val trusted = io.accept && !word0.hunting
  private val quietFor = RegInit(0.U(5.W))
  private val quiet = RegInit(false.B)
  stirs := valid0 || !quiet
  private val waiting = word0.resync && !quiet

  private val takeTail = ready && tailNext
  private val takeAfter =
    ready && after && (!tailNext || word0.resync) && !waiting && !(word0.resync && second)
  private val last = Mux(word0.resync, second && quiet, lastNext)
  private val advance = ready && last
  when(ready) { second := Mux(advance, false.B, Mux(word0.resync, second || takeAfter, true.B)) }
  io.restart := takeAfter && word0.resync
  io.stray.valid := ready && !io.accept && !word0.hunting
  io.stray.bits := word0.lock

  // With a word behind it `word0` is ready.
  io.in.ready := !valid1 || last
  when(io.in.ready) { word1 := io.in.bits }
  assert(valid0 || !valid1, "a word without the one before it")
  when(advance || !valid0) {
    val word = Mux(valid1, word1, io.in.bits)
    valid0 := valid1 || io.in.valid
    word0 := word
    tailNext := word.tail.valid
    start := Mux(word.tail.valid, word.tail.start, word.head.start)
    lastNext := !(word.tail.valid && (word.head.valid || word.control))
    valid1 := valid1 && io.in.valid
  }.elsewhen(!valid1) {
    valid1 := io.in.valid
  }
  when(!advance && ready && (!word0.resync || takeAfter)) {
    tailNext := false.B
    start := word0.head.start
    lastNext := true.B
  }

  // Stage 1: shift to byte 0.
  private val beat = (takeTail || (takeAfter && word0.head.valid)) && trusted
  private val control = takeAfter && word0.control && (trusted || word0.hunting)
  when(beat || control) {
    quietFor := 0.U
    quiet := false.B
  }.elsewhen(!quiet) {
    quietFor := quietFor + 1.U
    quiet := quietFor === (depth + 2).U
  }
  private val selected = Mux(tailNext, word0.tail, word0.head)
  private val pair = Cat(word1.data, word0.data)
  private val latch = advance && (word0.packet || word0.control) || takeAfter
  private class Stage extends Bundle {
    val item = new LinkItem

    /** `header` is a new one, which belongs to this item, or to the one behind a tail. */
    val latch = Bool()
    val belongs = Bool()
    val header = UInt((64 * headUnits).W)
    val mask = UInt(64.W)
  }
  private val next = Wire(new Stage)
  next.item.beat := beat
  next.item.first := selected.first
  next.item.last := selected.last
  next.item.bytes := selected.bytes
  next.item.data := (pair >> Cat(start, 0.U(6.W)))(PacketStream.dataBits - 1, 0)
  next.item.control := control
  next.item.resync := word0.resync
  next.item.hunting := word0.hunting
  next.item.lock := word0.lock
  next.item.header := DontCare
  next.item.sequence := DontCare
  next.latch := latch
  next.belongs := latch && !takeTail
  next.header := (pair >> Cat(word0.position, 0.U(6.W)))(64 * headUnits - 1, 0)
  next.mask := ByteShift.mask(selected.bytes)
  private val stage1 = Reg(new Stage)
  stage1 := next

  // Stage 2: zero above the end, and the header that belongs to the item.
  private val held = Reg(UInt((64 * headUnits).W))
  when(stage1.latch) { held := stage1.header }
  private val header = Mux(stage1.belongs, stage1.header, held)
  private val item = Wire(new LinkItem)
  item := stage1.item
  item.data := ByteShift.keep(stage1.item.data, stage1.mask)
  item.header := header(LinkFrame.headerBits - 1, 0)
  item.sequence := (if (withSequence) header(191, 128) else 0.U)
  io.out.bits := RegNext(item)
  private val valid1st = RegNext((beat || control) && !io.flush, false.B)
  io.out.valid := RegNext(valid1st && !io.flush, false.B)
}
