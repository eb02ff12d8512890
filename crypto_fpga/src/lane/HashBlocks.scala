// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.stream.PacketStream
import sallyport.crypto.hash.HashKind

/** A unit and what the pipes do with it. */
class HashPlan(slots: Int) extends Bundle {
  val unit = new HashUnit(slots)
  val kind = HashKind()

  /** First unit of the message. */
  val opens = Bool()

  /** Last unit of the message, or of the digest in the outer hash. */
  val ends = Bool()

  /** Poly1305: blocks of 16 bytes in this unit, 1 to 4. */
  val blocks = UInt(3.W)
}

/**
 * Makes the block of 64 bytes of each unit: fetches the packet's beat and appends what the hash
 * wants behind the message.
 *
 * HMAC: the high half of the sequence number under ESN (RFC 4303 2.2.1), then 0x80, zeros, and the
 * number of bits with the key's block in the last two words (FIPS 180-4 5.1.1, which GB/T 32905
 * shares). The outer hash is the same of a message of 8 or 5 words, the digest, which comes in
 * `chain`. Poly1305: the first block replaced by `head`, the last one filled up with zeros, then
 * the block of lengths (RFC 8439 2.8, RFC 7634 2.1). All of it is whole words, so that a block is
 * picked together word by word.
 *
 * `read` follows `in` by a cycle, `beat` follows `read` by [[HashEngine.readLatency]], `plan` and
 * `block` are those of the cycle of `beat`; one unit a cycle.
 */
class HashBlocks(slots: Int, rowBits: Int, poly: Boolean, next: (UInt, UInt) => UInt) extends Module {
  private val unitBits = HashEngine.unitBits
  private val placeBits = unitBits + 4
  val io = IO(new Bundle {
    val in = Flipped(Valid(new HashUnit(slots)))

    /** Of the unit's packet, in the cycle of `in`. */
    val job = Input(new HashStart(slots, rowBits))
    val read = Valid(UInt(rowBits.W))
    val beat = Input(UInt(PacketStream.dataBits.W))
    val chain = Input(UInt(256.W))
    val plan = Valid(new HashPlan(slots))
    val block = Output(UInt(PacketStream.dataBits.W))
  })

  /** Lengths and places are in words, `last` in units. */
  private class Layout extends Bundle {
    val unit = new HashUnit(slots)
    val kind = HashKind()
    val index = UInt(unitBits.W)
    val words = UInt(placeBits.W)

    /**
     * Two words follow the message, each with its place. Poly1305's are followed by one
     * of zeros each.
     */
    val places = Vec(2, UInt(placeBits.W))
    val extras = Vec(2, UInt(32.W))
    val hasFirst = Bool()
    val last = UInt(unitBits.W)
    val head = UInt(128.W)
  }

  private val job = io.job
  private val unit = io.in.bits
  private def isPoly(kind: HashKind.Type): Bool = if (poly) kind === HashKind.poly1305 else false.B

  // Cycle 0: where things are.
  private val layout = Reg(new Layout)
  private val words = Mux(unit.outer, Mux(job.kind === HashKind.sha1, 5.U, 8.U), job.messageBytes >> 2)
  private val esn = job.esn && !unit.outer
  private val blocks = (words +& 3.U) >> 2
  layout.unit := unit
  layout.kind := job.kind
  layout.index := Mux(unit.outer, 0.U, unit.index)
  layout.words := words
  layout.head := job.head
  when(isPoly(job.kind)) {
    layout.places(0) := blocks << 2
    layout.places(1) := (blocks << 2) | 2.U
    layout.extras(0) := Mux(job.esn, 12.U, 8.U)
    layout.extras(1) := job.textBytes
    layout.hasFirst := true.B
    layout.last := blocks >> 2
  }.otherwise {
    layout.places(0) := words
    layout.places(1) := words +& esn
    layout.extras(0) := job.sequenceHigh
    layout.extras(1) := 0x80.U
    layout.hasFirst := esn
    layout.last := (words +& Mux(esn, 3.U, 2.U)) >> 4
  }
  private val lastBeat = job.messageBytes >> 6
  private val holdsWords = lastBeat > unit.index || (lastBeat === unit.index && job.messageBytes(5, 2).orR)
  io.read.valid := RegNext(io.in.valid && !unit.outer && holdsWords, false.B)
  io.read.bits := RegNext(next(job.base, unit.index))

  // Cycle 1, while the memory is read: which words of this unit they are.
  private def here(place: UInt): Bool = (place >> 4) === layout.index
  private def mask(place: UInt): UInt = Mux(here(place), UIntToOH(place(3, 0), 16), 0.U)
  private val below = VecInit.tabulate(16)(i => i.U < layout.words(3, 0)).asUInt
  private val message = Mux((layout.words >> 4) > layout.index, Fill(16, 1.U), Mux(here(layout.words), below, 0.U))
  private val ends = layout.index === layout.last
  private val bits = (layout.places(1) +& 16.U) << 5
  private val usesHead = isPoly(layout.kind) && layout.index === 0.U

  private val plan = Wire(new HashPlan(slots))
  plan.unit := layout.unit
  plan.kind := layout.kind
  plan.opens := layout.index === 0.U && !layout.unit.outer
  plan.ends := ends
  plan.blocks := Mux(ends, layout.places(0)(3, 2) +& 1.U, 4.U)

  private def atBeat[T <: Data](x: T): T = ShiftRegister(x, HashEngine.readLatency)
  private val fromBeat = atBeat(Mux(layout.unit.outer, 0.U, message & ~Mux(usesHead, 0xf.U(16.W), 0.U(16.W))))
  private val fromChain = atBeat(Mux(layout.unit.outer, message(7, 0), 0.U))
  private val masks = layout.places.zip(Seq(layout.hasFirst, true.B)).map { case (p, on) =>
    atBeat(Mux(on, mask(p), 0.U))
  }
  private val extras = layout.extras.map(atBeat(_))
  private val head = atBeat(Mux(usesHead, layout.head, 0.U))
  private val count = atBeat(Mux(ends && !isPoly(layout.kind), WireOrder.bigEndian(bits.pad(32)), 0.U))

  // The cycle of the beat: pick the words.
  private def word(from: UInt, i: Int, mask: UInt): UInt = from(32 * i + 31, 32 * i) & Fill(32, mask(i))
  io.block := Cat(Seq.tabulate(16) { i =>
    val behind = extras.zip(masks).map { case (extra, mask) => extra & Fill(32, mask(i)) }
    val digest = Option.when(i < 8)(word(io.chain, i, fromChain))
    val fixed = Option.when(i < 4)(head(32 * i + 31, 32 * i)) ++ Option.when(i == 15)(count)
    (word(io.beat, i, fromBeat) +: behind) ++ digest ++ fixed reduce (_ | _)
  }.reverse)
  io.plan.bits := atBeat(plan)
  io.plan.valid := ShiftRegister(io.in.valid, 1 + HashEngine.readLatency, false.B, true.B)
}
