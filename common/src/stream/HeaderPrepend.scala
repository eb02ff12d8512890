// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.ByteShift
import sallyport.common.clock.ClockGate

/**
 * What [[HeaderPrepend]] does with one packet.
 *
 * @param lengths  header lengths in bytes that may be chosen; 0 adds no header
 * @param metaType what travels on with the packet
 */
class PrependedHeader[M <: Data](val lengths: Seq[Int], metaType: M) extends Bundle {

  /** The header, byte 0 in bits 7:0; bytes above the chosen length are ignored. */
  val bytes = UInt((8 * lengths.max).W)

  /**
   * Index into `lengths`, and the length that stands there: given here, it spares the adders
   * a decoder.
   */
  val select = UInt(log2Ceil(lengths.size.max(2)).W)
  val length = UInt(6.W)

  /** Swallow the packet instead. */
  val drop = Bool()
  val meta = metaType.cloneType
}

/**
 * Puts the header that a packet carries as metadata in front of it, or swallows the packet.
 *
 * A packet of n beats costs n cycles, or n + 1 if the header pushes its end into a further beat; a
 * swallowed packet costs n. Latency 1 cycle. Stalls only when `out` does. Drops nothing by itself:
 * the module that sets `drop` counts it. `error` is passed on. `in.ready` and every output come
 * from registers. The clock stops while the module is empty.
 */
class HeaderPrepend[M <: Data](lengths: Seq[Int], meta: M) extends Module {
  require(
    lengths.nonEmpty && lengths.max > 0 && lengths.forall(n => n >= 0 && n < PacketStream.dataBytes),
    s"header lengths $lengths must be 0 to 63 bytes, and not all 0"
  )

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new PrependedHeader(lengths, meta)))
    val out = PacketStream(meta)
  })

  private val beatBytes = PacketStream.dataBytes
  private val maxBytes = lengths.max

  private val stirs = Wire(Bool())
  private val running = ClockGate(clock, io.in.valid || stirs || reset.asBool)
  override protected def implicitClock: Clock = running

  private val slice = Module(new RegisterSlice(chiselTypeOf(io.out.bits)))
  io.out <> slice.io.out

  private val beat = io.in.bits
  private val header = beat.meta

  /** `of(n)` for the length `n` that this packet chose. */
  private def chosen[T <: Data](of: Int => T): T =
    if (lengths.size == 1) of(lengths.head)
    else Mux1H(lengths.zipWithIndex.map { case (n, i) => (header.select === i.U) -> of(n) })

  // The beat, turned by the length of the header: one turn has the bytes behind the header and, at
  // its start, those that it pushes out of the beat.
  private val added = lengths.filter(_ > 0)
  private val turned =
    if (lengths.size <= HeaderPrepend.fewLengths) chosen(n => beat.data.rotateLeft(8 * n))
    else {
      val moved = ByteShift.turn(beat.data, header.length, added)
      if (lengths.contains(0)) Mux(header.length === 0.U, beat.data, moved) else moved
    }
  private def bytes(word: UInt): Seq[UInt] = word.asTypeOf(Vec(word.getWidth / 8, UInt(8.W)))

  /** Of each byte that a header may have: this one has it. */
  private val isHeader = Seq.tabulate(maxBytes)(i => chosen(n => (n > i).B))

  private val first = RegInit(true.B)
  private val carry = Reg(UInt((8 * maxBytes).W))
  private val spill = Cat(bytes(turned).zip(isHeader).zipWithIndex.map { case ((byte, is), i) =>
    if (i < added.min) byte else Mux(is, byte, 0.U)
  }.reverse)
  private val end = beat.bytes + header.length
  private val fits = end <= beatBytes.U

  // What the header pushed out of the last beat, sent in the cycle after it.
  private val tail = RegInit(false.B)
  private val tailBytes = Reg(UInt(beat.bytes.getWidth.W))
  private val tailError = Reg(Bool())
  private val tailMeta = Reg(meta.cloneType)

  private val isNew = first && !tail
  private val data = Cat(bytes(turned).zipWithIndex.map { case (byte, i) =>
    if (i < maxBytes) Mux(tail || isHeader(i), Mux(isNew, bytes(header.bytes)(i), bytes(carry)(i)), byte)
    else Mux(tail, 0.U, byte)
  }.reverse)
  stirs := tail || slice.io.out.valid

  io.in.ready := slice.io.in.ready && !tail
  slice.io.in.valid := tail || (io.in.valid && !header.drop)
  slice.io.in.bits.data := data
  slice.io.in.bits.last := tail || (beat.last && fits)
  slice.io.in.bits.bytes := Mux(tail, tailBytes, Mux(end(6), beatBytes.U, end))
  slice.io.in.bits.error := Mux(tail, tailError, beat.last && fits && beat.error)
  slice.io.in.bits.meta := Mux(tail, tailMeta, header.meta)

  when(io.in.fire) {
    first := beat.last
    carry := spill
    tail := beat.last && !fits && !header.drop
    tailBytes := end(5, 0)
    tailError := beat.error
    tailMeta := header.meta
    assert(header.length === chosen(n => n.U(6.W)), "a header's length is not the one chosen")
  }.elsewhen(slice.io.in.ready) {
    tail := false.B
  }
}

private object HeaderPrepend {

  /** Up to so many lengths, a choice between whole turns takes fewer LUTs than turns by digits. */
  val fewLengths = 6
}
