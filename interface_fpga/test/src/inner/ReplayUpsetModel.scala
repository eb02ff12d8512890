// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import sallyport.common.memory.{CodedMemory, ParityMemory, RowForward}

import scala.collection.mutable

/** Bit `place` of the word of `row` flips in a `cycle` of a run: a read a cycle later finds it. */
case class Flip(cycle: Int, top: Boolean, row: Int, place: Int)

/**
 * The verdicts of [[AntiReplay]] on queries while bits flip, and the cycles in which `upsets` pulse
 * for which reason. Numbers are those of [[ReplayModel]]. Of memories it knows when each row was
 * read and written, and so which flips a packet meets.
 *
 * @param row row r of SA n
 */
class ReplayUpsetModel(row: (Int, Int) => Int) {
  import ReplayUpsetModel.{rowReads, topWrites}

  /**
   * One of the two memories.
   *
   * @param reads cycles from a query to its read
   * @param writes the same to its write
   * @param forwards results that are kept to forward them, however old
   */
  private class Memory(reads: Int, writes: Int, forwards: Int) {
    private val flips = mutable.Map.empty[Int, Seq[Flip]].withDefaultValue(Nil)
    private val written = mutable.Map.empty[Int, Int].withDefaultValue(Int.MinValue)

    /** Row and cycle of the queries that changed one, the newest first. */
    private var changes = List.empty[(Int, Int)]

    /** Flips of a row that no write is known to have undone. */
    def standing(row: Int): Seq[Flip] = flips(row).filter(_.cycle >= written(row))
    def flip(flip: Flip): Unit = flips(flip.row) = flips(flip.row) :+ flip

    /** The flips that a query meets. The result of one two cycles ahead comes past the others. */
    def read(row: Int, cycle: Int): Seq[Flip] = {
      val kept = changes.take(forwards + changes.count(_._2 == cycle - 2))
      if (kept.exists(_._1 == row)) Nil else standing(row).filter(_.cycle < cycle + reads)
    }
    def write(row: Int, cycle: Int): Unit = {
      written(row) = cycle + writes
      changes = (row, cycle) :: changes
    }
  }
  private val tops = new Memory(reads = 0, writes = topWrites, forwards = RowForward.results(CodedMemory.latency))
  private val rows =
    new Memory(reads = rowReads, writes = AntiReplay.latency, forwards = RowForward.results(ParityMemory.latency))

  private val windows = mutable.Map.empty[Int, ReplayModel]
  private val lost = mutable.Set.empty[Int]

  /** `last` of the rows of an SA. */
  private val lasts = mutable.Map.empty[(Int, Int), BigInt].withDefaultValue(BigInt(0))

  /** The cycle and name of each pulse of `upsets`. */
  val pulses: mutable.Buffer[(Int, String)] = mutable.Buffer.empty

  /** Plants a flip, unless the code would not see it: no third in a word, no second in a group. */
  def plant(flip: Flip): Boolean = {
    val memory = if (flip.top) tops else rows
    val standing = memory.standing(flip.row)
    val seen =
      if (flip.top) standing.size < 2 && standing.forall(_.place != flip.place)
      else standing.forall(other => FlippedReplay.group(other.place) != FlippedReplay.group(flip.place))
    if (seen) memory.flip(flip)
    seen
  }

  /** Flips of a highest number that stand. */
  def standing(row: Int): Int = tops.standing(row).size

  def apply(query: Query, cycle: Int): String = {
    val window = windows.getOrElseUpdate(query.sa, new ReplayModel)
    val first = row(query.sa, 0)
    val wrong = tops.read(first, cycle)
    if (wrong.size == 1) pulses += (cycle + topWrites -> "top repaired")
    if (wrong.size == 2) {
      pulses += (cycle + topWrites -> "top lost")
      lost += query.sa
    }
    val ahead = !lost(query.sa) && query.sequence > window.top
    if (ahead || wrong.nonEmpty) tops.write(first, cycle)
    if (lost(query.sa)) "upset"
    else if (query.sequence <= window.top - query.window) "too old"
    else judge(query, cycle, window)
  }

  private def judge(query: Query, cycle: Int, window: ReplayModel): String = {
    val ring = ReplayModel.ring(query.window)
    val r = ((query.sequence / 1024) % ring).toInt
    val groups = rows.read(row(query.sa, r), cycle).map(flip => FlippedReplay.group(flip.place))
    rows.write(row(query.sa, r), cycle)
    if (groups.nonEmpty) pulses += (cycle + AntiReplay.latency -> "row filled")

    val unknown = groups.contains(FlippedReplay.groups - 1)
    val ahead = query.sequence > window.top
    val last = lasts(query.sa -> r)
    if (!unknown) numbers(r, ring, last).filter(n => groups.contains((n % 1024 / 64).toInt)).foreach(window.accept)
    val verdict = if (unknown && !ahead) "replayed" else window(query.sequence, query.window)
    val next = ReplayUpsetModel.lastOfRow(window.top, r, ring)
    if (unknown) numbers(r, ring, next).foreach(window.accept)
    lasts(query.sa -> r) = next
    verdict
  }

  /** The numbers that the bits of a row speak of. */
  private def numbers(r: Int, ring: Int, last: BigInt): Seq[BigInt] =
    (0 until 1024 * ring).map(last - _).filter(n => n > 0 && (n / 1024) % ring == r)
}

object ReplayUpsetModel {

  /** Cycles from a query to the write of its SA's highest number, and to the read of its row. */
  val topWrites: Int = ReplayTops.accessLatency + 2
  private val rowReads: Int = AntiReplay.latency - ReplayRing.latency + 1

  /** The last number up to `top` in row r of a ring; 0 if there is none. */
  def lastOfRow(top: BigInt, r: Int, ring: Int): BigInt = {
    val block = top / 1024
    val back = (block - r).mod(BigInt(ring))
    if (back == 0) top else if (back > block) BigInt(0) else (block - back) * 1024 + 1023
  }
}
