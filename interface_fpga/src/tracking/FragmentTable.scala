// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3._
import chisel3.util._
import sallyport.common.table.CuckooHash
import sallyport.iface.headers.IpHeader
import sallyport.iface.parse.{ExtensionStep, FragmentFields, HeaderFields}

/**
 * A fragment that is looked up.
 *
 * @param keyBits of what tells datagrams apart
 */
class FragmentQuery(keyBits: Int) extends Bundle {
  val key = UInt(keyBits.W)

  /** It is the first of its datagram, and then `upper` is its own. */
  val first = Bool()
  val upper = new UpperFields

  /** Of a first one: 8-byte units up to the end of the fields that policies look at. */
  val upperUnits = UInt(FragmentTable.unitBits.W)

  /** Of a later one: units in front of it. */
  val offset = UInt(13.W)
}

object FragmentQuery {

  /** That of a fragment that a parser has read, under a key of the caller's. */
  def apply(fields: HeaderFields, fragment: FragmentFields, key: UInt): FragmentQuery = {
    val query = Wire(new FragmentQuery(key.getWidth))
    query.key := key
    query.first := fragment.offset === 0.U
    query.upper := UpperFields(fields)
    // Of IPv6 the fragment header is in front of them, and extension headers may be.
    val behind = (fields.headerBytes + fields.l2Bytes - fragment.headerBytes) >> log2Ceil(ExtensionStep.unitBytes)
    query.upperUnits := behind + Mux(fields.protocol === IpHeader.tcp.U, 2.U, 1.U) - fields.isV6
    query.offset := fragment.offset
    query
  }
}

/** What the table says of a fragment. */
class FragmentAnswer extends Bundle {

  /** `upper` is that of its datagram: it is the first, or the first is known. */
  val known = Bool()
  val upper = new UpperFields

  /** A first one, and another first one said otherwise (RFC 1858, RFC 4301 7.3). */
  val conflict = Bool()

  /** A later one that lies over fields that policies look at. */
  val overlap = Bool()

  /** Part of the hash of its datagram. */
  val mark = UInt(TrackerConfig.markBits.W)
}

/**
 * The upper-layer fields of first fragments, for the later ones of their datagrams (RFC 4301 7.3,
 * stateful fragment checking).
 *
 * Four ways under one hash; keys are compared whole. A first fragment without a row writes one, in
 * place of the oldest of its four. A row lives for `timeout` ticks; then it is as if it were not
 * there, and a walk over all rows, which begins at each tick, clears it.
 *
 * A pipeline without stalls: `answer` belongs to the `query` of [[FragmentTable.latency]] cycles
 * before. A query comes at most every second cycle, and finds what the one before it wrote. `soon`
 * names each query [[FragmentTable.ahead]] cycles before it, and until it has come. Reset empties
 * the table, a row a cycle; `ready` says when.
 */
class FragmentTable(p: TrackerConfig, keyBits: Int) extends Module {
  import FragmentTable._

  val io = IO(new Bundle {
    val ready = Output(Bool())

    /** Time passes: a pulse; `now` is the tick that it is. */
    val tick = Input(Bool())
    val now = Input(UInt(TrackerConfig.tickBits.W))
    val timeout = Input(UInt((TrackerConfig.tickBits - 1).W))
    val soon = Input(Bool())
    val query = Flipped(Valid(new FragmentQuery(keyBits)))
    val answer = Output(new FragmentAnswer)

    /** The row of a datagram with this `mark` has been written. */
    val wrote = Valid(UInt(TrackerConfig.markBits.W))

    /** There are rows. */
    val busy = Output(Bool())
  })

  private val setBits = log2Ceil(p.sets)
  private class Row extends Bundle {
    val valid = Bool()
    val born = UInt(TrackerConfig.tickBits.W)
    val upperUnits = UInt(unitBits.W)
    val upper = new UpperFields
    val key = UInt(keyBits.W)
  }

  private class LastWrite extends Bundle {
    val set = UInt(setBits.W)
    val turn = UInt(log2Ceil(ways).W)
    val row = new Row
  }

  private val clearing = RegInit(0.U((setBits + 1).W))
  io.ready := clearing(setBits)
  when(!io.ready) { clearing := clearing + 1.U }

  // The walk takes a step when no query is near.
  private val stages = Seq.iterate(io.query.valid, 5)(RegNext(_, false.B))
  private val due = RegInit(false.B)
  private val walks = RegInit(false.B)
  private val place = RegInit(0.U(setBits.W))
  private val steps = Wire(Bool())
  private val stepping = Seq.iterate(steps, 4)(RegNext(_, false.B))
  steps := walks && !io.soon && !stages.reduce(_ || _) && !stepping.tail.reduce(_ || _)
  when(steps) {
    place := place + 1.U
    when(place.andR) { walks := false.B }
  }
  when(io.tick) { due := true.B }
  when(due && !walks) {
    walks := io.busy
    due := io.tick
  }

  // Stage 1: the set.
  private val query1 = RegNext(io.query.bits)
  private val set1 = RegNext(CuckooHash.row(0, io.query.bits.key, p.sets))
  private val read = stages(1) || steps
  private val set = Mux(steps, place, set1)

  // Stages 2 and 3: its rows, which are compared.
  private val write = Wire(Valid(UInt(ways.W)))
  private val fresh = WireDefault(0.U.asTypeOf(new Row))
  private val begins4 = Wire(Bool())
  private val set3 = ShiftRegister(set, 2)
  private val set4 = RegNext(set3)
  private val writeSet = Mux(io.ready, set4, clearing(setBits - 1, 0))
  private val memories = Seq.fill(ways)(SyncReadMem(p.sets, new Row))
  private val rows3 = memories.map(memory => RegNext(memory.read(set, read)))
  private val turns = SyncReadMem(p.sets, UInt(log2Ceil(ways).W))
  private val readTurn4 = RegNext(RegNext(turns.read(set, read)))
  private val query3 = ShiftRegister(query1, 2)
  private def each(say: Row => Bool): Vec[Bool] = VecInit(rows3.map(row => RegNext(row.valid && say(row))))
  private def young(row: Row): Bool = io.now - row.born < io.timeout
  private val same4 = each(_.key === query3.key)
  private val young4 = each(young)
  private val valid4 = each(_ => true.B)
  private val agrees4 = each(_.upper === query3.upper)
  private val inside4 = each(_.upperUnits > query3.offset)

  // The row that the query before this one writes is not in what this one reads.
  private val last = Reg(new LastWrite)
  private val wrote3 = RegNext(begins4, false.B)
  private val beside3 = (wrote3 || RegNext(wrote3, false.B)) && last.set === set3
  private val beside4 = RegNext(beside3)
  private val sameLast4 = RegNext(beside3 && last.row.key === query3.key)

  // Stage 4: the answer, and the row that a first fragment writes.
  private val query4 = RegNext(query3)
  private val lastWay = UIntToOH(last.turn, ways)
  private val hits = VecInit.tabulate(ways)(way => same4(way) && young4(way) && !(beside4 && lastWay(way)))
  private val hit = hits.asUInt.orR || sameLast4
  private val turn4 = Mux(beside4, last.turn + 1.U, readTurn4)
  private val uppers4 = rows3.map(row => RegNext(row.upper))
  begins4 := stages(4) && query4.first && !hit
  private val old = VecInit(valid4.zip(young4).map { case (valid, young) => valid && !young }).asUInt
  fresh.valid := begins4 && io.ready
  fresh.born := io.now
  fresh.upperUnits := query4.upperUnits
  fresh.upper := query4.upper
  fresh.key := query4.key
  write.valid := begins4 || stepping(3)
  write.bits := Mux(begins4, UIntToOH(turn4), old)
  for ((memory, way) <- memories.zipWithIndex)
    when(!io.ready || write.valid && write.bits(way)) { memory.write(writeSet, fresh) }
  when(begins4) {
    last.set := set4
    last.turn := turn4
    last.row := fresh
  }
  when(!io.ready || begins4) { turns.write(writeSet, Mux(io.ready, turn4 + 1.U, 0.U)) }

  private val answer = Reg(new FragmentAnswer)
  answer.known := query4.first || hit
  answer.upper := Mux(query4.first, query4.upper, Mux(sameLast4, last.row.upper, Mux1H(hits, uppers4)))
  private val agrees = Mux(sameLast4, RegNext(last.row.upper === query3.upper), (hits.asUInt & agrees4.asUInt).orR)
  private val inside = Mux(sameLast4, RegNext(last.row.upperUnits > query3.offset), (hits.asUInt & inside4.asUInt).orR)
  answer.mark := set4(TrackerConfig.markBits - 1, 0)
  answer.conflict := query4.first && hit && !agrees
  answer.overlap := !query4.first && hit && inside
  io.answer := answer

  private val live = RegInit(0.U((setBits + log2Ceil(ways) + 1).W))
  when(begins4 && !valid4(turn4)) { live := live + 1.U }
  when(stepping(3)) { live := live - PopCount(old) }
  io.busy := live =/= 0.U
  io.wrote.valid := wrote3
  io.wrote.bits := last.set(TrackerConfig.markBits - 1, 0)

  assert(!stages(1) || !stages(2), "two queries come too close")
  assert(!stages(1) || !stepping.reduce(_ || _), "a query comes into a step of the walk")
}

object FragmentTable {
  val ways: Int = 4

  /** Cycles from a query to its answer. */
  val latency: Int = 5

  /** Cycles from `soon` to the query. */
  val ahead: Int = 2

  /** Extension headers behind a fragment header, and TCP's up to its flags, have at most 10. */
  val unitBits: Int = 4
}
