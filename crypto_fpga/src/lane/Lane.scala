// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.experimental.hierarchy.{instantiable, public}
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.clock.ClockGate
import sallyport.common.link.LinkMeta
import sallyport.crypto.suite.Suite

/**
 * One lane of a direction: ESP (RFC 4303) with any of the suites of its configuration, many packets
 * in flight, 128 bits a cycle.
 *
 * Encrypt: an inner packet goes in and SPI, sequence number, IV, ciphertext of packet, padding and
 * trailer, and ICV come out. Decrypt: the reverse; of a packet nothing leaves before its ICV is
 * found right, and of a packet that is refused nothing leaves at all. The contract of the ports, of
 * verdicts and of `zeroize` is at [[LaneFarPorts]], [[LanePorts]] and [[Verdict]].
 *
 * Never drops. Rate: a block of 16 bytes a cycle, and 2 cycles more a packet with GCM: a 64-byte
 * frame (46 bytes inside) takes 5 cycles, 1400 bytes 89. Suites with a hash take 4 cycles for each
 * 64 bytes hashed if that is more, and want many packets in flight ([[ChainSequence]],
 * [[HashEngine]]).
 *
 * Order of things: the intake writes the packet into the first buffer and keeps what came beside it
 * in the memories of its slot. The engine starts with a fast packet ([[Suite.fast]]) as it comes
 * in, with a slow one once all of it is there. Text comes back into the second buffer, and when the
 * packet's end is known its slot is done. A slow packet leaves its slot then and waits in its own
 * first beat of the first buffer ([[LaneRetire]]). The outlet sends packets as they are granted.
 * The hashes read the buffer on the black side. When encrypting this is the second buffer, and the
 * outlet pauses its reads for them; else it is the first, and the intake pauses its writes while
 * beats wait. The pause is one cycle of four at most and takes nothing from the rate, since beats
 * come and go four times as fast as blocks. Both buffers have one layout, so a packet's place is
 * one number.
 *
 * The clock of the whole lane stops while it is empty.
 */
@instantiable
class Lane(config: LaneConfig) extends Module {
  @public val io = IO(new LaneFarPorts)

  private val awake = Wire(Bool())
  private val comes = io.in.valid && !io.noBeat
  private val running = ClockGate(clock, comes || io.zeroize || awake || reset.asBool)

  withClock(running) {
    val slots = config.slots
    val intake = Module(new LaneIntake(config))
    val fetch = Module(new BlockFetch(config))
    val engine = Module(new LaneEngine(config))
    val writer = Module(new TextWriter(config))
    val outlet = Module(new LaneOutlet(config))
    val before = Module(new BeatToBlockBuffer(config))
    val after = Module(new BlockToBeatBuffer(config))

    // The state of each slot.
    val metas = Mem(slots, new LinkMeta)
    val heads = Mem(slots, new EspHead)
    val suites = Mem(slots, UInt((Suite.laneBits + Suite.icvBits).W))
    val bases = Mem(slots, UInt(config.rowBits.W))
    val frames = Mem(slots, new LaneFrame)
    val tags = Mem(slots, UInt(256.W))
    val results = Mem(slots, new LaneDecision)
    def suite(slot: UInt): UInt = suites(slot)(Suite.laneBits - 1, 0)
    def icv(slot: UInt): UInt = suites(slot) >> Suite.laneBits
    val occupied = RegInit(0.U(slots.W))
    intake.io.slots := occupied
    val complete = RegInit(0.U(slots.W))
    val malformed = Reg(UInt(slots.W))
    val killed = Reg(UInt(slots.W))
    val done = RegInit(0.U(slots.W))

    // Zeroizing: the engine forgets, and takes no key. Packets in the lane, and those that come in,
    // are lost and done when they have arrived. The counter's highest bit is 1 while it counts
    // down, so that no comparison is in front of the pipes.
    val wipeBits = log2Ceil(LanePorts.wipeCycles)
    val wiping = RegInit(0.U((wipeBits + 1).W))
    val wipe = wiping(wipeBits)
    when(io.zeroize) { wiping := ((1 << wipeBits) + LanePorts.wipeCycles - 1).U }
      .elsewhen(wipe) { wiping := wiping - 1.U }

    // A packet comes in.
    val job = io.in.bits.meta
    val begin = intake.io.begin
    val erasing = wipe || io.zeroize
    intake.io.in := io.in
    intake.io.in.valid := comes
    io.ready := intake.io.ready
    before.io.write := intake.io.write
    val freed = WireDefault(0.U.asTypeOf(new LaneFreed))
    intake.io.freed := freed
    io.freed := RegNext(freed, 0.U.asTypeOf(freed))

    val head = Wire(new EspHead)
    head.esn := job.esn
    head.sequenceHigh := WireOrder.bigEndian(job.sequence(63, 32))
    if (config.encrypt) {
      head.spi := WireOrder.bigEndian(job.spi)
      head.sequenceLow := WireOrder.bigEndian(job.sequence(31, 0))
      head.iv := WireOrder.bigEndian(job.iv)
    } else {
      head.spi := io.in.bits.data(31, 0)
      head.sequenceLow := io.in.bits.data(63, 32)
      head.iv := io.in.bits.data(127, 64)
    }
    when(begin.valid) {
      metas(begin.bits.slot) := job.meta
      heads(begin.bits.slot) := head
      suites(begin.bits.slot) := job.icv ## job.suite
      bases(begin.bits.slot) := begin.bits.base
    }
    engine.io.load.valid := begin.valid && !erasing
    engine.io.load.bits.slot := begin.bits.slot
    engine.io.load.bits.key := job.key
    engine.io.load.bits.nonce := head.iv ## job.salt
    engine.io.load.bits.auth := job.auth

    // It has begun, or all of it is there. A malformed packet that the engine has begun with is
    // finished by it, as any length will do.
    val arrived = intake.io.arrived
    val inSlot = intake.io.slot
    val inHead = heads(inSlot)
    val lost = killed(inSlot) || wipe
    val dead = lost || (arrived.bits.malformed && !arrived.bits.opened)
    when(arrived.valid) { frames(inSlot) := arrived.bits.frame }
    val start = Wire(new LaneStart(config))
    start.slot := inSlot
    start.suite := suite(inSlot)
    start.icv := icv(inSlot)
    start.esn := inHead.esn
    start.sequenceHigh := inHead.sequenceHigh
    start.base := bases(inSlot)
    start.aadBytes := Mux(inHead.esn, 12.U, 8.U)
    val starts = (intake.io.opens && !lost) || (arrived.valid && !arrived.bits.opened && !dead)
    engine.io.start.valid := RegNext(starts, false.B) && !wipe
    engine.io.start.bits := RegNext(start)
    engine.io.length.valid := RegNext(arrived.valid && !dead, false.B) && !wipe
    engine.io.length.bits.slot := engine.io.start.bits.slot
    engine.io.length.bits.textBytes := RegNext(arrived.bits.frame.text)
    engine.io.entered := RegNext(intake.io.entered)
    engine.io.wipe := wipe

    // Blocks to the engine and back.
    val fetched = engine.io.fetch.bits.slot
    fetch.io.op := engine.io.fetch
    fetch.io.base := bases(fetched)
    fetch.io.frame := frames(fetched)
    fetch.io.arrived := complete(fetched)
    fetch.io.nextHeader := metas(fetched).nextHeader
    fetch.io.head := heads(fetch.io.headSlot)
    before.io.read := fetch.io.read
    fetch.io.readData := before.io.banks
    engine.io.data := fetch.io.data
    val exitHead = heads(engine.io.exitSlot)
    engine.io.headRest := exitHead.iv(63, 32)
    writer.io.headed := engine.io.headed
    writer.io.head := RegNext(exitHead.wire)
    writer.io.text := engine.io.text
    writer.io.base := bases(writer.io.slot)
    after.io.write := writer.io.write
    engine.io.grown := writer.io.grown
    after.io.read := outlet.io.read
    before.io.readBeat := engine.io.read
    intake.io.pause := engine.io.readsSoon
    outlet.io.pause := false.B
    engine.io.beat := RegNext(before.io.beat)
    if (config.encrypt) {
      before.io.readBeat.valid := false.B
      intake.io.pause := false.B
      outlet.io.pause := ShiftRegister(engine.io.readsSoon, 2, false.B, true.B)
      when(engine.io.read.valid) { after.io.read := engine.io.read }
      engine.io.beat := RegNext(after.io.beat)
    }

    // The end of a packet.
    val decided = if (config.encrypt) {
      when(engine.io.done.valid) { tags(engine.io.done.bits.slot) := engine.io.done.bits.tag }
      val decided = Wire(Valid(new LaneDecided(config)))
      decided.valid := engine.io.done.valid
      decided.bits.slot := engine.io.done.bits.slot
      decided.bits.decision := DontCare
      decided.bits.decision.verdict := Verdict.ok
      decided
    } else {
      val judge = Module(new EspJudge(config))
      judge.io.text := engine.io.text
      judge.io.done := engine.io.done
      judge.io.textBytes := frames(engine.io.done.bits.slot).text
      judge.io.decided
    }
    when(decided.valid) { results(decided.bits.slot) := decided.bits.decision }

    // Out.
    val outSlot = WireDefault(outlet.io.slot)
    val leavesSlot = WireDefault(outlet.io.taken)
    val result = results(outSlot)
    val outFrame = frames(outSlot)
    outlet.io.finishedSlots := done
    outlet.io.idle := !io.busy
    outlet.io.grant := io.grant
    outlet.io.stop := io.stop
    io.done := outlet.io.done
    outlet.io.finished.base := bases(outSlot)
    outlet.io.finished.beats := outFrame.beats
    outlet.io.finished.verdict := Mux(
      killed(outSlot),
      Verdict.zeroized,
      Mux(malformed(outSlot), Verdict.truncated, result.verdict)
    )
    outlet.io.finished.meta := metas(outSlot)
    outlet.io.finished.length := result.length
    outlet.io.finished.nextHeader := result.nextHeader
    outlet.io.finished.tag := tags(outSlot)
    outlet.io.finished.words := (outFrame.text >> 2) + Suite.choose(suite(outSlot))(_.headBytes / 4)
    outlet.io.finished.icvBytes := Suite.icvLength(suite(outSlot), icv(outSlot))
    outlet.io.readData := after.io.beat
    freed.release := outlet.io.release
    io.out := outlet.io.out

    // Slow packets leave their slots when they are finished.
    val clearing = WireDefault(false.B)
    outlet.io.front.valid := false.B
    outlet.io.front.bits := DontCare
    outlet.io.tellsSlow := false.B
    if (config.hasSlow) {
      val retire = Module(new LaneRetire(config))
      retire.io.done := done
      retire.io.begins := RegNext(begin.valid && !config.slotRings.isFast(begin.bits.slot), false.B)
      retire.io.hold := outlet.io.turn
      retire.io.finished := outlet.io.finished
      retire.io.zeroize := erasing
      retire.io.busy := (if (config.encrypt) false.B else engine.io.readsSoon)
      retire.io.beat := before.io.beat
      retire.io.record := before.io.record
      retire.io.crowded := intake.io.crowded
      retire.io.empty := intake.io.noSlow
      retire.io.nextRow := intake.io.nextSlow
      retire.io.take := outlet.io.takeFront
      outlet.io.front := retire.io.front
      outlet.io.tellsSlow := retire.io.tells
      when(!outlet.io.turn) { outSlot := retire.io.slot }
      leavesSlot := outlet.io.taken || retire.io.taken
      freed.retired := retire.io.taken
      clearing := retire.io.clearing
      assert(!retire.io.refused, "what a row is marked for is no record of it")
      when(retire.io.soon) { intake.io.pause := true.B }
      when(retire.io.write.valid) { before.io.write := retire.io.write }
      when(retire.io.read.valid) { before.io.readBeat := retire.io.read }
    }

    // The bits of each slot.
    def bit(valid: Bool, slot: UInt): UInt = Mux(valid, UIntToOH(slot, slots), 0.U(slots.W))
    // A cycle late, for `begin` ends a long path; the packet's other facts are later still. So is
    // `leaves`.
    val begins = bit(RegNext(begin.valid, false.B), RegNext(begin.bits.slot))
    val leaves = bit(RegNext(leavesSlot, false.B), RegNext(outSlot))
    val arrives = bit(arrived.valid, inSlot)
    val ends =
      bit(decided.valid && !wipe, decided.bits.slot) | Mux(dead, arrives, 0.U) | Mux(wipe, occupied & complete, 0.U)
    occupied := (occupied | begins) & ~leaves
    complete := (complete | arrives) & ~begins
    malformed := (malformed & ~begins) | Mux(arrived.bits.malformed, arrives, 0.U)
    killed := (killed & ~begins) | Mux(erasing, occupied, 0.U) | Mux(RegNext(erasing, false.B), begins, 0.U)
    done := (done | ends) & ~leaves

    val busy = intake.io.occupied || outlet.io.pending || wipe
    io.busy := busy
    // Three cycles longer than busy, and than reset, for registers that follow it.
    awake := busy || clearing || (1 to 3).map(ShiftRegister(busy, _, true.B, true.B)).reduce(_ || _)
  }
}
