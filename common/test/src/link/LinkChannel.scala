// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._

/** How a [[LinkChannel]] behaves; all by poke. */
class ChannelControl extends Bundle {

  /** Words a 256 cycles: 166 is four lanes at 25.78125 Gb/s. */
  val rate = UInt(9.W)

  /** Probability of a fault in a word, of 2^32. */
  val faults = UInt(32.W)

  /** Faults of every kind (bursts, lost and inserted words) rather than single bits. */
  val mixed = Bool()
  val up = Bool()
  val seed = UInt(32.W)
}

/** A 64-bit xorshift generator. */
class Noise(salt: Long) extends Module {
  val io = IO(new Bundle {
    val seed = Input(UInt(32.W))
    val out = Output(UInt(64.W))
  })
  private val state = RegInit(BigInt(0x9e3779b97f4a7c15L & Long.MaxValue).U(64.W))
  private val x1 = state ^ (state << 13)(63, 0)
  private val x2 = x1 ^ (x1 >> 7).asUInt
  private val x3 = x2 ^ (x2 << 17)(63, 0)
  private val before = RegNext(io.seed, 0.U)
  state := Mux(io.seed =/= before, Cat(io.seed ^ salt.U(32.W), 1.U(32.W)), x3)
  io.out := state
}

object Noise {

  /** 64 new bits a cycle, others for each `salt`; a new `seed` begins them anew. */
  def apply(salt: Long, seed: UInt): UInt = {
    val noise = Module(new Noise(salt))
    noise.io.seed := seed
    noise.io.out
  }
}

/** One direction of an Aurora channel: latency, gearbox pauses, faults. */
class LinkChannel(latency: Int, salt: Long) extends Module {
  val io = IO(new Bundle {
    val control = Input(new ChannelControl)
    val in = Flipped(Decoupled(UInt(512.W)))
    val out = Valid(UInt(512.W))

    /** Faults injected. */
    val faults = Output(UInt(32.W))
  })

  private val r0 = Noise(salt + 1, io.control.seed)
  private val r1 = Noise(salt + 2, io.control.seed)

  private val gearbox = RegInit(0.U(9.W))
  private val sum = gearbox +& io.control.rate
  gearbox := Mux(sum >= 256.U, sum - 256.U, sum)(8, 0)
  io.in.ready := RegNext(sum >= 256.U, false.B) && RegNext(io.control.up, false.B)

  private val hit = io.in.fire && r0(31, 0) < io.control.faults
  private val kind = Mux(io.control.mixed, r0(34, 32), r0(33, 32))
  private val bit = (1.U(512.W) << r1(8, 0))(511, 0)
  private val bit2 = (1.U(512.W) << r1(17, 9))(511, 0)
  private val burst = (r1 << Cat(r0(40, 38), 0.U(6.W)))(511, 0)
  private val flipped = io.in.bits ^ MuxLookup(kind, bit)(Seq(3.U -> (bit | bit2), 4.U -> (bit | bit2), 5.U -> burst))
  private val lose = hit && kind === 6.U
  private val pending = RegInit(false.B)
  private val last = RegEnable(io.in.bits, io.in.fire)
  private val insert = pending && !io.in.fire
  when(hit && kind === 7.U) { pending := true.B }.elsewhen(insert) { pending := false.B }

  private val word = Wire(Valid(UInt(512.W)))
  word.valid := (io.in.fire && !lose) || insert
  word.bits := Mux(
    insert,
    MuxLookup(r0(42, 41), 0.U)(Seq(0.U -> last, 1.U -> Fill(8, r1), 2.U -> last)),
    Mux(hit, flipped, io.in.bits)
  )

  // The delay line is a memory: a shift register of 41 words costs the simulator.
  private val line = Mem(64, Valid(UInt(512.W)))
  private val time = RegInit(0.U(6.W))
  time := time + 1.U
  line.write(time, Mux(io.control.up, word, 0.U.asTypeOf(word)))
  private val started = RegInit(0.U(7.W))
  when(io.control.up) { when(started < latency.U) { started := started + 1.U } }.otherwise { started := 0.U }
  private val arrived = line.read(time - (latency - 1).U)
  io.out.valid := RegNext(arrived.valid && io.control.up && started === latency.U, false.B)
  io.out.bits := RegNext(arrived.bits)

  private val faults = RegInit(0.U(32.W))
  faults := faults + hit
  io.faults := faults
}
