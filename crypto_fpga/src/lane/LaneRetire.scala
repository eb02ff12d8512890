// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.LowestOne
import sallyport.common.queue.LutQueue
import sallyport.common.stream.PacketStream

/**
 * Where finished slow packets of a lane wait for their grant, so that they keep no slot: in their
 * own first beat of the buffer by which they came in, which nothing reads any more.
 *
 * A packet leaves its slot (`taken`, with what the slot's memories say in `finished`) as soon as it
 * is done, whatever came before it: a packet of 9000 bytes holds up no other. It is held until it
 * is its turn, and then joins the queue to `front`, or it goes into the buffer as a record, and a
 * mark says that the row has one. While the queue has room, the record whose turn it is is fetched:
 * rows are given in order of arrival, so its place is where the packet before it ends. `front` is
 * taken by `take`.
 *
 * The buffer's port for beats is asked for by `soon`. Two cycles after the first one that is not
 * `busy`, `write` or `read` uses it. A packet passes from slot to `front` in 8 cycles if it is the
 * oldest. Records go into the buffer and come from it at the same time, one each 10 cycles: a
 * packet's hash takes 12 or more.
 *
 * `zeroize`: packets that are in the lane or begin to enter it come out as `zeroized`.
 *
 * A record is not a packet's beat: the buffer tells them apart by a bit that no packet reaches, a
 * record names its row, and what decides on its packet stands in it twice. A wrong mark, of a
 * flipped bit, brings nothing to the front; at most the row's packet is told of early. Else bytes
 * in clear could leave as the ICV of a packet. Nor does a packet come to the front whose record
 * flipped in the queue.
 *
 * @param lutQueue
 *   the queue to the front, of [[LaneRetire.ahead]] packets
 */
class LaneRetire(
    config: LaneConfig,
    lutQueue: LaneRecord => LutQueue[LaneRecord] = new LutQueue(_, LaneRetire.ahead)
) extends Module {
  private val slow = false
  private val packetBits = log2Ceil(config.packets(slow) + 1)
  val io = IO(new Bundle {

    /** Of each slot: its packet is finished; late by one cycle behind `taken`. */
    val done = Input(UInt(config.slots.W))
    val slot = Output(UInt(config.slotBits.W))

    /** `finished` is not that of `slot` in this cycle. */
    val hold = Input(Bool())
    val finished = Input(new LaneFinished(config))
    val taken = Output(Bool())

    /** A packet whose turn it is goes into the buffer too, or it waits for room in the queue. */
    val crowded = Input(Bool())

    val busy = Input(Bool())
    val soon = Output(Bool())
    val write = Valid(new BeatWrite(config))
    val read = Valid(UInt(config.rowBits.W))

    /** The cycle after `read`, and whether it is a record. */
    val beat = Input(UInt(PacketStream.dataBits.W))
    val record = Input(Bool())

    val front = Valid(new LaneFinished(config))
    val take = Input(Bool())

    /** Once of each packet, in order: it is finished. The answer takes its time, so it is early. */
    val tells = Output(Bool())

    /** A slow packet has begun to enter the lane in the cycle before. */
    val begins = Input(Bool())
    val zeroize = Input(Bool())

    /** There is no slow packet in the lane, and the next one begins here. */
    val empty = Input(Bool())
    val nextRow = Input(UInt(config.rowBits.W))

    /** What came is no record of the row: a bit has flipped. It is not at the front. */
    val refused = Output(Bool())

    /** From reset on, until no row is marked; nothing is written or fetched meanwhile. */
    val clearing = Output(Bool())
  })

  // A slot whose packet is done: those done at one time before those done later.
  private val batch = RegInit(0.U(config.slots.W))
  private val picked = RegInit(false.B)
  private val slot = Reg(UInt(config.slotBits.W))
  when(io.taken) {
    picked := false.B
    batch := batch & ~UIntToOH(slot, config.slots)
  }.elsewhen(!picked && !RegNext(io.taken, false.B)) {
    picked := batch.orR
    slot := LowestOne(batch)
    when(batch === 0.U) { batch := io.done & config.slowSlots.U }
  }
  io.slot := slot

  // Its packet, neither in the queue nor in the buffer.
  private val heldValid = RegInit(false.B)
  private val held = Reg(new LaneRecord(config))
  // About to join the queue: whether it is what it should be is known in the second of two cycles.
  private val comes = RegInit(false.B)
  private val joining = Reg(new LaneRecord(config))
  private val judged = RegNext(comes, false.B)
  private val joins = comes || judged
  private val queue = Module(lutQueue(new LaneRecord(config)))
  // Where the oldest packet that is not in the queue begins.
  private val next = RegInit(config.beatRings.start(slow).U(config.rowBits.W))
  io.taken := picked && !heldValid && !io.hold
  when(io.taken) {
    held.finished := io.finished
    held.check := LaneRecord.check(io.finished)
  }

  // An access to the buffer: asked for until the port is free, next, now; then the record is here.
  // The next one asks when this one's turn is next, so that each finds the marks of the one before.
  private val asks = RegInit(false.B)
  private val reads = Reg(Bool())
  private val granted = RegNext(asks && !io.busy, false.B)
  private val reading = RegNext(granted && reads, false.B)
  private val writing = RegNext(granted && !reads, false.B)
  private val arrives = RegNext(reading, false.B)
  private val idle = !(asks || granted || reading || writing || arrives)

  // A packet held in the cycle before too is known to have its turn, or not.
  private val known = heldValid && RegNext(heldValid, false.B)
  private val turn = RegNext(held.finished.base === next)
  private val moves = known && turn && idle && !joins && queue.io.in.ready

  // The rows that have a record, in words; a word is read in one cycle and written in the next.
  private val marks = Mem(config.bufferBeats / LaneRetire.wordBits, UInt(LaneRetire.wordBits.W))
  private val clears = RegInit((config.bufferBeats / LaneRetire.wordBits).U)
  io.clearing := clears =/= 0.U
  when(io.clearing) { clears := clears - 1.U }
  private val marking = (granted && !reads) || writing
  private val row = Mux(marking, held.finished.base, next)
  private val at = row >> LaneRetire.logWord
  private val word = RegNext(marks(at))
  private val bit = UIntToOH(row(LaneRetire.logWord - 1, 0), LaneRetire.wordBits)
  when(io.clearing || writing || reading) {
    marks(Mux(io.clearing, (clears - 1.U)(at.getWidth - 1, 0), at)) :=
      Mux(io.clearing, 0.U, Mux(writing, word | bit, word & ~bit))
  }
  assert(!writing || (word & bit) === 0.U, "a row is marked twice")
  // `next` is marked, if neither it nor a mark changed, and a packet begins there.
  private val fetching = (asks || granted) && reads || reading || arrives || joins
  private val looks = !marking && !fetching && !io.clearing
  private val found = looks && RegNext(looks, false.B) && (word & bit).orR && next =/= io.nextRow
  private val there = RegInit(false.B)

  private val wantsRead = there && queue.io.in.ready
  // Not while `next` changes, nor behind that before `turn` has followed.
  private val settled = !joins && RegNext(!joins, true.B)
  private val wantsWrite = known && settled && !marking && (!turn || (io.crowded && !queue.io.in.ready))
  private val begins = !asks && (wantsRead || wantsWrite) && !io.clearing
  there := (there || found) && !(begins && wantsRead) && !joins && !io.empty
  when(begins) {
    asks := true.B
    reads := wantsRead
  }.elsewhen(!io.busy) { asks := false.B }
  io.soon := asks
  io.write.valid := writing
  io.write.bits.row := held.finished.base
  io.write.bits.data := held.asUInt
  io.write.bits.record := true.B
  io.read.valid := reading
  io.read.bits := next
  heldValid := io.taken || (heldValid && !moves && !writing && !io.empty)
  // The facts left behind are no record.
  when(moves || writing) { held.check := 0.U }

  private val record = suppressEnumCastWarning { io.beat(held.getWidth - 1, 0).asTypeOf(held) }
  when(moves) { joining := held }
  when(arrives) { joining := record }
  comes := moves || arrives
  private val fits = joining.finished.base === next && joining.isRight && RegNext(moves || io.record)
  private val passes = judged && RegNext(fits, false.B)
  queue.io.in.valid := passes
  queue.io.in.bits := joining
  when(passes) { next := config.beatRings.after(joining.finished.base, joining.finished.beats) }
  private val told = RegInit(false.B)
  io.tells := !told && (there || (known && turn) || passes)
  told := (told || io.tells) && !passes && !io.empty

  private val frontValid = RegInit(false.B)
  private val front = Reg(new LaneRecord(config))
  // It stood in LUT RAM.
  private val checking = RegNext(queue.io.out.fire, false.B)
  // A packet that is none leaves its grant unanswered, which no other one may take. So the lane
  // stops, and its guard sees that.
  private val stopped = RegInit(false.B)
  when(checking && !front.isRight) { stopped := true.B }
  queue.io.out.ready := !frontValid && !checking && !stopped
  when(queue.io.out.fire) { front := queue.io.out.bits }
  frontValid := (checking && front.isRight) || (frontValid && !io.take && !io.empty)
  io.front.valid := frontValid
  io.front.bits := front.finished

  // Packets in the lane, and those that were there when keys were erased.
  private val packets = RegInit(0.U(packetBits.W))
  private val taken = RegNext(io.take, false.B)
  private val packetsNow = packets + io.begins - taken
  private val doomed = RegInit(0.U(packetBits.W))
  packets := packetsNow
  when(io.zeroize) { doomed := packetsNow }
    .elsewhen(taken && doomed =/= 0.U) { doomed := doomed - 1.U }
  when(doomed =/= 0.U) { io.front.bits.verdict := Verdict.zeroized }

  io.refused := (judged && !passes) || (checking && !front.isRight)
  assert(!io.take || frontValid, "a packet is taken that is not here")
  assert(!io.empty || (packets === 0.U && doomed === 0.U && next === io.nextRow && !heldValid && !told))
  assert(!io.empty || !(joins || queue.io.out.valid || checking || frontValid))
  // What a flipped bit may have left ends with the last packet.
  queue.reset := reset.asBool || io.empty
  when(io.empty) {
    packets := io.begins
    when(!io.zeroize) { doomed := 0.U }
    next := io.nextRow
  }
}

object LaneRetire {
  private val logWord = 6

  /** Rows that one word of marks is for. */
  val wordBits: Int = 1 << logWord

  /** Packets in the queue to the front, told of before the one in front of them is granted. */
  val ahead: Int = 16
}
