package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * One lane of a direction: ESP with AES-GCM (RFC 4303, RFC 4106), many packets in flight, 128 bits a cycle.
 *
 * Encrypt: an inner packet goes in and SPI, sequence number, IV, ciphertext of packet, padding and trailer, and
 * ICV come out. Decrypt: the reverse; of a packet nothing leaves before its ICV is found right, and of a packet
 * that is refused nothing leaves at all. The contract of the ports, of verdicts and of `zeroize` is at
 * [[LanePorts]] and [[Verdict]].
 *
 * Never drops. `in` stalls while all slots or the buffers are full. Rate: 2 cycles more than a packet has blocks
 * of text, so a 64-byte frame (46 bytes inside) in 5 cycles and 1400 bytes in 89. Alone in the lane a packet takes
 * a block every 2 cycles, because GHASH runs as two chains.
 *
 * Order of things: the intake writes the packet into the first buffer and keeps what came beside it in the
 * memories of its slot; once all of it is there the engine starts. Text comes back into the second buffer, and
 * when the packet's end is known its slot is done. The outlet sends slots in order. Both buffers have one layout,
 * so a packet's place is one number.
 *
 * The clock of the whole lane stops while it is empty.
 */
class Lane(config: LaneConfig) extends Module {
  val io = IO(new LanePorts)

  private val awake = Wire(Bool())
  private val running = ClockGate(clock, io.in.valid || io.zeroize || awake || reset.asBool)

  withClock(running) {
    val slots = config.slots
    val intake = Module(new LaneIntake(config))
    val fetch = Module(new EspFetch(config))
    val engine = Module(new GcmEngine(config.encrypt, slots, EspFetch.cycles))
    val outlet = Module(new LaneOutlet(config))
    val plain = Module(new BeatToBlockBuffer(config.bufferBeats))
    val ready = Module(new BlockToBeatBuffer(config.bufferBeats))

    // What is known of each slot.
    val metas = Mem(slots, new LinkMeta)
    val heads = Mem(slots, new EspHead)
    val frames = Mem(slots, new LaneFrame(config))
    val tags = Mem(slots, UInt(128.W))
    val results = Mem(slots, new LaneDecision)
    val occupied = RegInit(0.U(slots.W))
    val complete = RegInit(0.U(slots.W))
    val malformed = Reg(UInt(slots.W))
    val killed = Reg(UInt(slots.W))
    val done = RegInit(0.U(slots.W))

    // Zeroizing: no packet enters, the engine forgets, and what is in the lane is done, as it is.
    val wiping = RegInit(0.U(log2Ceil(GcmEngine.wipeCycles(slots) + 1).W))
    val wipe = wiping =/= 0.U
    when(io.zeroize) { wiping := GcmEngine.wipeCycles(slots).U }.elsewhen(wipe) { wiping := wiping - 1.U }

    // A packet comes in.
    val job = io.in.bits.meta
    val begin = intake.io.begin
    intake.io.in <> io.in
    intake.io.hold := wipe || io.zeroize
    plain.io.write := intake.io.write

    val head = Wire(new EspHead)
    head.esn := job.esn
    head.sequenceHigh := Lane.bigEndian(job.sequence(63, 32))
    if (config.encrypt) {
      head.spi := Lane.bigEndian(job.spi)
      head.sequenceLow := Lane.bigEndian(job.sequence(31, 0))
      head.iv := Lane.bigEndian(job.iv)
    } else {
      head.spi := io.in.bits.data(31, 0)
      head.sequenceLow := io.in.bits.data(63, 32)
      head.iv := io.in.bits.data(127, 64)
    }
    when(begin.valid) {
      metas(begin.bits) := job.meta
      heads(begin.bits) := head
    }
    engine.io.load.valid := begin.valid
    engine.io.load.bits.slot := begin.bits
    engine.io.load.bits.key := job.key
    engine.io.load.bits.size := Suite.keySize(job.suite)
    engine.io.load.bits.nonce := Cat(head.iv, job.salt)
    engine.io.load.bits.hashKey := job.hashKey
    engine.io.load.bits.hashKey2 := job.hashKey2

    // All of it is there.
    val arrived = intake.io.arrived
    val arrivedSlot = arrived.bits.slot
    val dead = killed(arrivedSlot) || arrived.bits.malformed || wipe
    when(arrived.valid) { frames(arrivedSlot) := arrived.bits.frame }
    engine.io.start.valid := arrived.valid && !dead
    engine.io.start.bits.slot := arrivedSlot
    engine.io.start.bits.aadBytes := Mux(heads(arrivedSlot).esn, 12.U, 8.U)
    engine.io.start.bits.textBytes := arrived.bits.frame.text
    engine.io.oldest := outlet.io.slot
    engine.io.wipe := wipe

    // Blocks to the engine and back.
    fetch.io.fetch := engine.io.fetch
    fetch.io.frame := frames(engine.io.fetch.bits.slot)
    fetch.io.nextHeader := metas(engine.io.fetch.bits.slot).nextHeader
    fetch.io.head := heads(fetch.io.headSlot)
    plain.io.read := fetch.io.read
    fetch.io.readData := plain.io.block
    engine.io.data := fetch.io.data
    ready.io.write.valid := engine.io.text.valid
    ready.io.write.bits.place := fetch.io.place
    ready.io.write.bits.block := engine.io.text.bits.block

    // The end of a packet.
    val decided = if (config.encrypt) {
      when(engine.io.done.valid) { tags(engine.io.done.bits.slot) := engine.io.done.bits.tag }
      val decided = Wire(Valid(new LaneDecided(slots)))
      decided.valid := engine.io.done.valid
      decided.bits.slot := engine.io.done.bits.slot
      decided.bits.decision := DontCare
      decided.bits.decision.verdict := Verdict.ok
      decided
    } else {
      val judge = Module(new EspJudge(slots))
      judge.io.text := engine.io.text
      judge.io.done := engine.io.done
      judge.io.textBytes := frames(engine.io.done.bits.slot).text
      judge.io.decided
    }
    when(decided.valid) { results(decided.bits.slot) := decided.bits.decision }

    // Out.
    val outSlot = outlet.io.slot
    val result = results(outSlot)
    outlet.io.done := done(outSlot)
    outlet.io.finished.frame := frames(outSlot)
    outlet.io.finished.verdict := Mux(
      killed(outSlot),
      Verdict.zeroized,
      Mux(malformed(outSlot), Verdict.truncated, result.verdict)
    )
    outlet.io.finished.meta := metas(outSlot)
    outlet.io.finished.length := result.length
    outlet.io.finished.nextHeader := result.nextHeader
    outlet.io.finished.head := heads(outSlot).wire
    outlet.io.finished.tag := tags(outSlot)
    ready.io.read := outlet.io.read
    outlet.io.readData := ready.io.beat
    intake.io.release := outlet.io.release
    io.out <> outlet.io.out

    // The bits of each slot.
    def bit(valid: Bool, slot: UInt): UInt = Mux(valid, UIntToOH(slot, slots), 0.U(slots.W))
    val begins = bit(begin.valid, begin.bits)
    val leaves = bit(outlet.io.taken, outSlot)
    val arrives = bit(arrived.valid, arrivedSlot)
    val ends =
      bit(decided.valid && !wipe, decided.bits.slot) | Mux(dead, arrives, 0.U) | Mux(wipe, occupied & complete, 0.U)
    occupied := (occupied | begins) & ~leaves
    complete := (complete | arrives) & ~begins
    malformed := (malformed & ~begins) | Mux(arrived.bits.malformed, arrives, 0.U)
    killed := (killed & ~begins) | Mux(wipe || io.zeroize, occupied, 0.U)
    done := (done | ends) & ~leaves

    val busy = intake.io.occupied || outlet.io.pending || wipe
    io.busy := busy
    // Two cycles longer than busy, and than reset, for registers that follow it.
    awake := busy || ShiftRegister(busy, 1, true.B, true.B) || ShiftRegister(busy, 2, true.B, true.B)
  }
}

object Lane {

  /** A number as bytes on the wire, byte 0 in bits 7:0; and back. */
  def bigEndian(x: UInt): UInt = Cat((0 until x.getWidth / 8).map(i => x(8 * i + 7, 8 * i)))
}
