package sallyport.crypto

import chisel3._
import chisel3.util._

/** What a lane keeps of a packet's header, for the associated data and the ESP header: byte strings as on the wire. */
class EspHead extends Bundle {
  val spi = UInt(32.W)
  val sequenceLow = UInt(32.W)
  val sequenceHigh = UInt(32.W)
  val esn = Bool()
  val iv = UInt(64.W)

  /** RFC 4106 section 5: SPI and sequence number, 32 or 64 bits of it. */
  def aad: UInt = Cat(0.U(32.W), Mux(esn, Cat(sequenceLow, sequenceHigh), Cat(0.U(32.W), sequenceLow)), spi)

  /** The first 16 bytes of the packet. */
  def wire: UInt = Cat(iv, sequenceLow, spi)
}

/**
 * Brings the engine the block it asks for: from the packet buffer, with the ESP trailer put behind the payload
 * (encrypt) or the ICV gathered from the two blocks it may lie across (decrypt); associated data from the packet's
 * head.
 *
 * Feed-forward, a block a cycle, [[EspFetch.cycles]] cycles. `slot` selects `frame`, `nextHeader` and, two cycles
 * later (`headSlot`), `head`: they come from memories with asynchronous read. `place` is where the block of text
 * belongs in the output buffer, with the timing of the engine's `text`.
 */
class EspFetch(config: LaneConfig) extends Module {
  private val slotBits = log2Ceil(config.slots)
  private val blockBits = log2Ceil(config.bufferBeats) + 2
  val io = IO(new Bundle {
    val fetch = Flipped(Valid(new GcmOp(config.slots)))
    val frame = Input(new LaneFrame(config))
    val nextHeader = Input(UInt(8.W))
    val headSlot = Output(UInt(slotBits.W))
    val head = Input(new EspHead)
    val read = Valid(UInt(blockBits.W))

    /** The block that `read` named a cycle before. */
    val readData = Input(UInt(128.W))
    val data = Output(UInt(128.W))
    val place = Output(UInt(blockBits.W))
  })

  // Cycle 0: address.
  private val op = io.fetch.bits
  private val start = Cat(io.frame.base, 0.U(2.W))
  private val address = RegNext(start + op.index + (if (config.encrypt) 0.U else 1.U))
  private val place = RegNext(start + op.index + (if (config.encrypt) 1.U else 0.U))
  private val ops = Seq.iterate(op, 4)(RegNext(_))
  io.read.valid := RegNext(io.fetch.valid && op.step =/= GcmStep.aad, false.B)
  io.read.bits := address
  io.place := ShiftRegister(place, EspFetch.cycles)

  // Cycle 2: the block, from the buffer or from the head.
  io.headSlot := ops(2).slot
  private val raw = RegNext(Mux(ops(2).step === GcmStep.aad, io.head.aad, io.readData))

  // Cycle 3: trailer or ICV.
  private val data = Reg(UInt(128.W))
  data := raw
  io.data := data

  private val here = ops(3)
  private def words(block: UInt) = block.asTypeOf(Vec(4, UInt(32.W)))

  if (config.encrypt) {
    // The trailer ends in the last word of the text and begins in it, or with one byte in the word before.
    val odd = ShiftRegister(io.frame.payload(1, 0), 3)
    val nextHeader = ShiftRegister(io.nextHeader, 3)
    val splits =
      ShiftRegister(RegNext(io.frame.payload(3, 0) === 15.U) && RegNext(io.frame.payload >> 4) === ops(1).index, 2)
    val lastWord = here.bytes(3, 2) - 1.U
    val text = here.step === GcmStep.text
    data := Cat(words(raw).zipWithIndex.map { case (word, i) =>
      val ends = text && here.last && lastWord === i.U
      val before = text && odd === 3.U && (if (i == 3) splits else here.last && lastWord === (i + 1).U)
      val end = MuxLookup(odd, word)(
        Seq(
          0.U -> Cat(nextHeader, 0x020201.U(24.W)),
          1.U -> Cat(nextHeader, 0x0101.U(16.W), word(7, 0)),
          2.U -> Cat(nextHeader, 0.U(8.W), word(15, 0)),
          3.U -> Cat(nextHeader, 0x030302.U(24.W))
        )
      )
      Mux(ends, end, Mux(before, Cat(1.U(8.W), word(23, 0)), word))
    }.reverse)
  } else {
    // What follows the text in its last block is the start of the ICV; the rest begins the block after.
    val tails = Mem(config.slots, UInt(128.W))
    when(ShiftRegister(io.fetch.valid, 3, false.B, true.B) && here.last) { tails(here.slot) := raw }
    val offset = here.bytes(3, 2)
    val firsts = words(tails(here.slot))
    val mixed = VecInit(words(raw).zipWithIndex.map { case (word, i) =>
      Mux(offset =/= 0.U && offset <= i.U, firsts(i), word)
    })
    val turned = Cat(Seq.tabulate(4)(i => mixed(offset + i.U(2.W))).reverse)
    when(here.step === GcmStep.length) { data := turned }
  }
}

object EspFetch {

  /** Cycles from `fetch` to `data`. */
  val cycles = 4
}
