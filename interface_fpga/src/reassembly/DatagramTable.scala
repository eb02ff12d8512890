// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.Ecn

/** The cells of a datagram, in the order of its bytes. */
class CellList(p: ReassemblyConfig) extends Bundle {
  val cells = Vec(p.pages, UInt(p.cellBits.W))

  /** A bit a cell: it is there. */
  val held = UInt(p.pages.W)
}

/** The record of a datagram. */
class DatagramRecord(p: ReassemblyConfig) extends Bundle {
  val valid = Bool()
  val key = UInt(FragmentInfo.keyBits.W)

  /** Tick in which its first fragment came. */
  val born = UInt(p.tickBits.W)
  val sourceIndex = UInt(p.sourceBits.W)
  val fragments = UInt(ReassemblyEvents.frameBits.W)

  /** Units received, and the one behind the last of them. */
  val units = UInt(p.unitBits.W)
  val reach = UInt(p.unitBits.W)

  /** The last fragment is there: the payload has so many bytes. */
  val ended = Bool()
  val endBytes = UInt(PacketStream.lengthBits.W)

  /** A bit a codepoint: some fragment's ECN field had it. */
  val ecn = UInt(Ecn.codepoints.W)

  /** Meaningful once the first fragment is there. */
  val notes = new HeaderNotes(p)
  val pages = new CellList(p)
}

/** What [[DatagramTable]] found in the rows it read. */
class DatagramAnswer(p: ReassemblyConfig) extends Bundle {
  val hit = Bool()

  /** Every way holds another datagram. */
  val crowded = Bool()

  /** Of the way that was picked or hit; if `crowded`, of any. */
  val record = new DatagramRecord(p)

  /** Its time is over. */
  val expired = Bool()

  /** The way of `record`, or else a free one; one bit a way. */
  val way = UInt(ways.W)
}

/**
 * The datagrams under reassembly: four ways, each with a hash of its own ([[CuckooHash]]). Rows do
 * not move; with a load of a quarter a new datagram nearly always finds a way that is free.
 *
 * `read` reads a row of each way; `expired` (a bit a way) says 3 cycles later which of them hold a
 * datagram whose time is over, `answer` 4 cycles later what else is there, for the `key` and `pick`
 * of the second and third cycle after `read`. A row is not read in the cycle in which it is
 * written. Reset empties the table, a row a cycle; `ready` says when.
 */
class DatagramTable(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val ready = Output(Bool())
    val read = Flipped(Valid(Vec(ways, UInt(p.rowBits.W))))
    val key = Input(UInt(FragmentInfo.keyBits.W))

    /** A way to answer for, whatever its key. */
    val pick = Flipped(Valid(UInt(ways.W)))
    val now = Input(UInt(p.tickBits.W))
    val timeout = Input(UInt((p.tickBits - 1).W))
    val expired = Output(UInt(ways.W))
    val answer = Output(new DatagramAnswer(p))
    val write = Flipped(Valid(new DatagramWrite(p)))
  })

  private val clearing = RegInit(0.U((p.rowBits + 1).W))
  io.ready := clearing(p.rowBits)
  when(!io.ready) { clearing := clearing + 1.U }

  private val record = WireDefault(io.write.bits.record)
  when(!io.ready) { record.valid := false.B }
  private val writeRow = Mux(io.ready, io.write.bits.row, clearing(p.rowBits - 1, 0))
  private val rows = Seq.tabulate(ways) { way =>
    val memory = SyncReadMem(p.tableRows, new DatagramRecord(p))
    when(!io.ready || (io.write.valid && io.write.bits.ways(way))) { memory.write(writeRow, record) }
    RegNext(memory.read(io.read.bits(way), io.read.valid))
  }

  // Second cycle: every way compared. Third: one chosen.
  private val rows3 = rows.map(RegNext(_))
  private val valid3 = VecInit(rows.map(row => RegNext(row.valid)))
  private val hit3 = VecInit(rows.map(row => RegNext(row.valid && row.key === io.key))).asUInt
  private val expired3 = VecInit(rows.map(row => RegNext(row.valid && io.now - row.born >= io.timeout))).asUInt
  private val crowded3 = valid3.asUInt.andR && !hit3.orR
  private val turn = RegInit(1.U(ways.W))
  turn := turn.rotateLeft(1)
  private val way3 = Mux(io.pick.valid, io.pick.bits, Mux(crowded3, turn, hit3))
  io.expired := expired3
  private val answer = Reg(new DatagramAnswer(p))
  answer.hit := hit3.orR
  answer.crowded := crowded3
  answer.record := Mux1H(way3, rows3)
  answer.expired := (expired3 & way3).orR
  answer.way := Mux(way3.orR, way3, PriorityEncoderOH(~valid3.asUInt))
  io.answer := answer

  assert(!io.read.valid || !io.write.valid, "a row is read while one is written")
  assert(PopCount(hit3) <= 1.U || io.pick.valid, "a datagram stands in two rows")
}

/** A row of [[DatagramTable]] to be written. */
class DatagramWrite(p: ReassemblyConfig) extends Bundle {

  /** One bit. */
  val ways = UInt(ReassemblyConfig.ways.W)
  val row = UInt(p.rowBits.W)
  val record = new DatagramRecord(p)
}

object DatagramTable {

  /** Cycles from `read` to `expired` and to `answer`. */
  val expiredLatency: Int = 3
  val latency: Int = 4
}
