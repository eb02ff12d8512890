// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.memory.{MemoryWrite, ParityMemory, RowForward}

/**
 * The window rows of all SAs, and the verdicts on packets (RFC 4303 3.4.3).
 *
 * `read` names the row of a packet's number, whose `place` comes [[ReplayRing.accessLatency]]
 * cycles later. The verdict follows two cycles after that. A packet every second cycle, of one row
 * if need be. `access` reads a row for software, [[ReplayRing.accessLatency]] cycles later, and
 * `set` writes one; both come while no packet is under way. A row's name has a register in front of
 * the memory, for it leads to hundreds of blocks.
 *
 * A flipped bit in the memory lets no number in again. Each word of [[ReplayRing.groupBits]] bits
 * has parity. A wrong word counts as received, all of it, at most 64 good packets. If `last` is
 * wrong, all numbers of the row up to the last that it must cover count as received, and `access`
 * shows the highest number that there is for it. A packet that is not dropped as too old writes the
 * row back with right parity; `filled` pulses for it.
 *
 * @param store a memory of so many rows of so many bits
 */
class ReplayRing(rowBits: Int, store: (Int, Int) => ParityMemory) extends Module {
  private val stateBits = (new ReplayState).getWidth

  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(rowBits.W)))
    val place = Input(new ReplayWindow.Place)
    val verdict = Valid(new ReplayWindow.Verdict)
    val access = Flipped(Valid(UInt(rowBits.W)))
    val state = Output(new ReplayState)
    val set = Flipped(Valid(new MemoryWrite(rowBits, stateBits)))
    val filled = Output(Bool())
  })

  private val memory = Module(store(1 << rowBits, stateBits))
  private val forward = Module(new RowForward(rowBits, stateBits, ParityMemory.latency))
  forward.io.read.valid := RegNext(io.read.valid || io.access.valid, false.B)
  forward.io.read.bits := RegNext(Mux(io.read.valid, io.read.bits, io.access.bits))
  forward.io.set := io.set
  memory.io.read := forward.io.read
  memory.io.write := forward.io.write

  // `last` is the group above those of `received`.
  private val groups = memory.groups
  private val wrong = memory.io.row.wrong
  private val lastWrong = wrong(groups - 1)
  private val fill = VecInit.tabulate(groups - 1)(word => Fill(ReplayRing.groupBits, wrong(word) || lastWrong)).asUInt
  forward.io.stored := memory.io.row.data | fill

  // Stage 5: the row meets the place of the number. A row without its `last`, all of whose bits are
  // set, is taken for one up to the number that it must cover. Stage 6: verdict and new row.
  private val valid5 = ShiftRegister(io.read.valid, ReplayRing.accessLatency, false.B, true.B)
  private val state5 = forward.io.state.asTypeOf(new ReplayState)
  private val unknown5 = RegNext(lastWrong) && !forward.io.forwarded
  private val wrong5 = RegNext(wrong.orR) && !forward.io.forwarded
  private def stateWith(last: UInt): ReplayState = {
    val state = WireDefault(state5)
    when(unknown5)(state.last := last)
    state
  }
  io.state := stateWith(Fill(64, true.B))

  private val valid6 = RegNext(valid5, false.B)
  private val comparison6 = RegNext(ReplayWindow.compare(stateWith(io.place.lastBlock ## io.place.lastLow), io.place))
  private val (verdict, state) = ReplayWindow.update(comparison6)
  forward.io.update.valid := valid6 && !comparison6.place.tooOld && !comparison6.place.lost
  forward.io.update.bits := state.asUInt
  io.verdict.valid := RegNext(valid6, false.B)
  io.verdict.bits := RegNext(verdict)
  io.filled := RegNext(forward.io.update.valid && RegNext(wrong5), false.B)
  require(forward.latency + 1 == ReplayRing.accessLatency && groups * ReplayRing.groupBits == stateBits)
}

object ReplayRing {

  /** Bits of a row that share a parity bit. */
  val groupBits: Int = 64

  /** Cycles from the name of a row to its value. */
  val accessLatency: Int = ParityMemory.latency + 2

  /** Cycles from the name of a row to the verdict. */
  val latency: Int = accessLatency + 2
}
