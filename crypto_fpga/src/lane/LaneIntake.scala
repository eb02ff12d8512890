package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/** Where a packet lies in a lane, and its lengths. */
class LaneFrame(config: LaneConfig) extends Bundle {

  /** First beat, the same in both buffers, and the number of beats set aside in each. */
  val base = UInt(log2Ceil(config.bufferBeats).W)
  val beats = UInt(LaneFrame.beatBits.W)

  /** Encrypt: bytes of the inner packet. */
  val payload = UInt(PacketStream.lengthBits.W)

  /** Bytes of ciphertext: payload, padding and the two bytes of the trailer. */
  val text = UInt(PacketStream.lengthBits.W)
}

object LaneFrame {

  /** Bits that count the beats of one packet. */
  val beatBits = 8
}

/**
 * The entrance of a lane: gives each packet a slot and room in the buffers, writes it, and measures it.
 *
 * A beat a cycle. Not ready while `hold`, while all slots or all beats are taken, and for one cycle longer than
 * that, because `ready` is a register. Slots and beats are rings: taken in order of arrival, given back in that
 * order by `release`. An encrypted packet is up to 37 bytes longer than the packet that comes in, so one more beat
 * is set aside for it.
 *
 * `begin` is in the cycle of a packet's first beat, `arrived` four cycles after its last.
 */
class LaneIntake(config: LaneConfig) extends Module {
  private val slotBits = log2Ceil(config.slots)
  private val rowBits = log2Ceil(config.bufferBeats)
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LaneJob))
    val hold = Input(Bool())
    val write = Valid(new Bundle { val row = UInt(rowBits.W); val data = UInt(PacketStream.dataBits.W) })
    val begin = Valid(UInt(slotBits.W))
    val arrived = Valid(new Bundle {
      val slot = UInt(slotBits.W)
      val frame = new LaneFrame(config)

      /** No ESP packet of this suite has this length, or the input said `error`. */
      val malformed = Bool()
    })
    val release = Flipped(Valid(UInt(LaneFrame.beatBits.W)))

    /** A packet is in the lane or has begun to enter it. */
    val occupied = Output(Bool())
  })

  private val spare = if (config.encrypt) 1 else 0
  private val slot = RegInit(0.U(slotBits.W))
  private val row = RegInit(0.U(rowBits.W))
  private val inside = RegInit(false.B)
  private val base = Reg(UInt(rowBits.W))
  private val fullBeats = RegInit(0.U(LaneFrame.beatBits.W))
  private val take = io.in.fire
  private val last = take && io.in.bits.last

  when(take) {
    inside := !io.in.bits.last
    row := row + Mux(io.in.bits.last, (1 + spare).U, 1.U)
    fullBeats := Mux(io.in.bits.last, 0.U, fullBeats + 1.U)
    when(!inside) { base := row }
    when(io.in.bits.last) { slot := slot + 1.U }
  }

  // Room is counted as of the cycle before: two beats may come in until `ready` follows, each of them a packet.
  private val usedSlots = RegInit(0.U(log2Ceil(config.slots + 1).W))
  private val usedBeats = RegInit(0.U(log2Ceil(config.bufferBeats + 1).W))
  private val begins = take && !inside
  usedSlots := usedSlots + begins - io.release.valid
  usedBeats := usedBeats + Mux(last, (1 + spare).U, take) - Mux(io.release.valid, io.release.bits, 0.U)
  io.in.ready := RegNext(
    !io.hold && usedSlots <= (config.slots - 2).U && usedBeats <= (config.bufferBeats - 2 * (1 + spare)).U,
    false.B
  )
  io.occupied := usedSlots =/= 0.U
  assert(usedSlots <= config.slots.U)
  assert(usedBeats <= config.bufferBeats.U)

  io.begin.valid := begins
  io.begin.bits := slot
  io.write.valid := RegNext(take, false.B)
  io.write.bits.row := RegEnable(row, take)
  io.write.bits.data := RegEnable(io.in.bits.data, take)

  // Measure: bytes, then bytes of text, each a cycle.
  private val measured = RegNext(last, false.B)
  private val bytes = RegEnable((fullBeats << 6) + io.in.bits.bytes, last)
  private val taken = RegEnable(fullBeats + (1 + spare).U, last)
  private val lastSlot = RegEnable(slot, last)
  private val lastBase = RegEnable(Mux(inside, base, row), last)
  private val error = RegEnable(io.in.bits.error, last)

  private val frame = Reg(new LaneFrame(config))
  frame.base := lastBase
  frame.beats := taken
  frame.payload := bytes
  private val malformed = Reg(Bool())
  if (config.encrypt) {
    frame.text := Cat((bytes + Esp.longestTrailer.U) >> 2, 0.U(2.W))
    malformed := error
  } else {
    frame.text := bytes - Esp.overhead.U
    malformed := error || bytes < (Esp.overhead + 4).U || bytes(1, 0) =/= 0.U
  }

  // Two cycles more, until the last beat is surely in the buffer.
  io.arrived.valid := ShiftRegister(measured, 2, false.B, true.B)
  io.arrived.bits.slot := ShiftRegister(lastSlot, 2)
  io.arrived.bits.frame := RegNext(frame)
  io.arrived.bits.malformed := RegNext(malformed)
}

/** Lengths of ESP with GCM (RFC 4303 section 2, RFC 4106 section 3), in bytes. */
object Esp {

  /** SPI and sequence number. */
  val header = 8
  val iv = 8
  val icv = 16

  /** Everything but the ciphertext. */
  val overhead: Int = header + iv + icv

  /** Padding to 4 bytes, pad length and next header. */
  val longestTrailer = 5
}
