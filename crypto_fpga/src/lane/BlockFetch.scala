// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.crypto.suite.{AuthKind, Suite}

/**
 * What a lane keeps of a packet's header, for the associated data and the ESP header: byte strings
 * as on the wire.
 */
class EspHead extends Bundle {
  val spi = UInt(32.W)
  val sequenceLow = UInt(32.W)
  val sequenceHigh = UInt(32.W)
  val esn = Bool()
  val iv = UInt(64.W)

  /** RFC 4106 section 5, RFC 7634 section 2.1: SPI and sequence number, 32 or 64 bits of it. */
  def aad: UInt = Cat(0.U(32.W), Mux(esn, Cat(sequenceLow, sequenceHigh), Cat(0.U(32.W), sequenceLow)), spi)

  /** The first 16 bytes of the packet. */
  def wire: UInt = Cat(iv, sequenceLow, spi)

  /**
   * RFC 4543 section 3.3: the number in full, then the IV; with 64 bits of number its last 4 bytes
   * begin the block behind.
   */
  def gmacAad: UInt = Cat(Mux(esn, Cat(iv(31, 0), sequenceLow, sequenceHigh), Cat(iv, sequenceLow)), spi)
}

/**
 * Brings the block that a step works on: associated data from the packet's head, anything else from
 * the packet buffer, with the ESP trailer put behind the payload (encrypt). From black to red
 * blocks lie at any word of the buffer.
 *
 * Feed-forward, a block a cycle, [[BlockFetch.cycles]] cycles. `base`, `frame`, `arrived` and
 * `nextHeader` are those of the slot of `op`, `head` that of `headSlot`: memories with
 * asynchronous read.
 */
class BlockFetch(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val op = Flipped(Valid(new LaneOp(config)))
    val base = Input(UInt(config.rowBits.W))
    val frame = Input(new LaneFrame)

    /**
     * All of the packet is there. Before, `frame` is not known, and every block of text is one of
     * payload alone.
     */
    val arrived = Input(Bool())
    val nextHeader = Input(UInt(8.W))
    val headSlot = Output(UInt(config.slotBits.W))
    val head = Input(new EspHead)
    val read = Valid(new BlockAddress(config))

    /** The cycle after `read`: the beats of the banks read. */
    val readData = Input(Vec(4, UInt(128.W)))
    val data = Output(UInt(128.W))
  })

  private val op = io.op.bits
  private val ops = Seq.iterate(op, BlockFetch.cycles)(RegNext(_))

  // Cycle 0: where the block lies, in words of 4 bytes from the start of the packet.
  private val textWord = op.index << 2
  private val headWords = Suite.choose(op.suite)(_.headBytes / 4)
  private val word = RegNext(
    if (config.encrypt) textWord
    else
      Mux1H(
        Seq(
          op.step.iv -> 2.U,
          op.step.text -> (textWord + headWords),
          op.step.end -> ((io.frame.text >> 2) + headWords),
          op.step.icv -> ((io.frame.text >> 2) + headWords + 4.U)
        )
      )
  )
  private val base = RegNext(io.base)

  // Cycle 1: the beat. Cycle 2: and the one behind it. Cycle 3: read.
  private val row = RegNext(config.beatRings.after(base, word >> 4))
  private val word2 = RegNext(word(3, 0))
  private val address = Reg(new BlockAddress(config))
  address.row := row
  address.next := config.beatRings.after(row, 1.U)
  address.word := word2
  io.read.valid := ShiftRegister(io.op.valid && !op.step.head, 3, false.B, true.B)
  io.read.bits := address

  // Cycle 4: the banks; 16 bytes from one, or from two that follow each other.
  private val word4 = RegNext(address.word)
  private val bank = word4(3, 2)
  io.headSlot := ops(4).slot
  private val fromHead =
    RegNext(Mux(Suite.isAuth(ops(4).suite, AuthKind.Gmac), io.head.gmacAad, io.head.aad))
  private val here = ops(5)
  private val data = Reg(UInt(128.W))
  io.data := data

  if (config.encrypt) {
    val raw = RegNext(io.readData(bank))
    val trailer = Module(new TrailerInsert)
    trailer.io.arrived := io.arrived
    trailer.io.payload := io.frame.payload
    trailer.io.text := io.frame.text
    trailer.io.index := op.index
    trailer.io.last := op.last
    trailer.io.nextHeader := io.nextHeader
    trailer.io.block := raw
    data := Mux(here.step.head, fromHead, trailer.io.out)
  } else {
    val pair = RegNext(io.readData(bank +% 1.U) ## io.readData(bank))
    val shift = RegNext(word4(1, 0))
    val turned = VecInit.tabulate(4)(i => pair(32 * i + 127, 32 * i))(shift)
    data := Mux(here.step.head, fromHead, turned)
  }
}

object BlockFetch {

  /** Cycles from `op` to `data`. */
  val cycles = 6
}

/**
 * Sixteen bytes of a packet buffer from word `word` of beat `row` on; `next` is the
 * beat behind.
 */
class BlockAddress(config: LaneConfig) extends Bundle {
  val row = UInt(config.rowBits.W)
  val next = UInt(config.rowBits.W)
  val word = UInt(4.W)
}

/**
 * Puts the ESP trailer (RFC 4303 section 2.4) behind the payload: pad bytes 1, 2, 3 …, their
 * number, the next header.
 *
 * Everything but `block` belongs to cycle 0, `block` to cycle 5, `out` is in the same cycle as
 * `block`. `text` counts payload and trailer and may be up to 17 bytes more than `payload`. Bytes
 * behind the text do not matter. Unless `arrived` the lengths are not known, and the block
 * is payload.
 */
class TrailerInsert extends Module {
  val io = IO(new Bundle {
    val arrived = Input(Bool())
    val payload = Input(UInt(LaneOp.lengthBits.W))
    val text = Input(UInt(LaneOp.lengthBits.W))
    val index = Input(UInt(LaneOp.blockBits.W))
    val last = Input(Bool())
    val nextHeader = Input(UInt(8.W))
    val block = Input(UInt(128.W))
    val out = Output(UInt(128.W))
  })

  // Cycle 1: bytes of the payload from this block's first one on; may be below zero. The pad.
  private val rest = RegNext((io.payload -& (io.index << 4)).asSInt)
  private val arrived = RegNext(io.arrived)
  private val padLength = RegNext((io.text - io.payload - 2.U)(7, 0))
  private val lastWord1 = RegNext(io.text(3, 2) - 1.U)

  // Cycle 2: how many of the 16 are payload; the number that byte 0 would have in the pad.
  private val allData = RegNext(!arrived || rest >= 16.S)
  private val noData = RegNext(rest <= 0.S)
  private val some = RegNext(rest(3, 0).asUInt)
  private val first = RegNext((1.S(6.W) - rest(5, 0).asSInt)(4, 0).asUInt)

  // Cycles 3 and 4: each byte.
  private val isData = ShiftRegister(VecInit.tabulate(16)(i => allData || (!noData && some > i.U)), 3)
  private val pad = ShiftRegister(VecInit.tabulate(16)(i => first +% i.U), 3)
  private val ends = ShiftRegister(io.last, 5)
  private val lastWord = ShiftRegister(lastWord1, 4)
  private val nextHeader = ShiftRegister(io.nextHeader, 5)
  private val length = ShiftRegister(padLength, 4)

  private val bytes = io.block.asTypeOf(Vec(16, UInt(8.W)))
  io.out := Cat(Seq.tabulate(16) { i =>
    val inTrailer = ends && lastWord === (i / 4).U
    val padded = Mux(isData(i), bytes(i), pad(i).pad(8))
    i % 4 match {
      case 2 => Mux(inTrailer, length, padded)
      case 3 => Mux(inTrailer, nextHeader, padded)
      case _ => padded
    }
  }.reverse)
}
