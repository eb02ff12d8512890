// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

/** What a memory of an UltraScale+ device is made of, by the name that synthesis knows it by. */
sealed abstract class MemoryKind(val style: String)
object MemoryKind {
  case object Lutram extends MemoryKind("distributed")
  case object Bram extends MemoryKind("block")
  case object Uram extends MemoryKind("ultra")
}

/** Bits of every row of a memory, from `lsb`, that are in memories of one kind. */
case class MemorySlice(kind: MemoryKind, lsb: Int, width: Int)

/**
 * Decides how each memory of a design is built, by its rows and their bits.
 *
 * A URAM has 4096 rows of 72 bits, so a deep memory has a URAM for each 4096 rows and 72 bits; the
 * rest of a row is in block RAM unless it would fill most of a column. Rows that are written in
 * parts are in no URAM, and a slice is a part: as one array with enables for parts yosys would make
 * a multiplexer of the whole row for each of them.
 */
object MemoryBinding {
  import MemoryKind._

  val uramRows: Int = 4096
  val uramBits: Int = 72

  /** Four URAMs hand their data on to each other. */
  val columnRows: Int = 4 * uramRows

  /** Up to so many rows fill a LUT each bit. */
  private val lutramRows = 64

  /**
   * A block RAM of one port to read and one to write has 512 rows of 72 bits. A rest of a row of up
   * to so many bits is in LUT RAM, or it would take a block RAM of its own.
   */
  private val bramRows = 512
  private val bramBits = 72
  private val smallRest = 18

  /** A rest of a row that takes a column of URAM although it does not fill it: three quarters. */
  private val fullRest = 54

  /**
   * Exceptions by rows and bits. Soft limits and policies' counts, the latter in banks, would bring
   * the inner chip's use of URAM to 68 %. The roots of prefixes are read in the cycle of a write,
   * which block RAM leaves open. Packets that wait for their look-ups fill a quarter of their block
   * RAM, which the inner chip lacks, and so do the lengths of frames in queues. The crypto chip has
   * no URAM left for its clear headers.
   */
  private val exceptions: Map[(Int, Int), MemoryKind] =
    Map((65536, 128) -> Bram, (32768, 128) -> Bram, (4096, 508) -> Bram) ++
      Seq((256, 17), (128, 520), (128, 207), (256, 30), (256, 83), (512, 31), (512, 53)).map(_ -> Lutram)

  /**
   * Columns of URAM of other exceptions. A sixth column of flows, with one bit in block RAM, would
   * bring the inner chip's use of URAM above 60 %, and so would a third one of a tree's leaves.
   */
  private val fewerColumns: Map[(Int, Int), Int] = Map((16384, 433) -> 5, (4096, 212) -> 2)

  /**
   * Rests that stay in block RAM, of first fragments and of a tree's nodes: their address comes out
   * of logic in the cycle of the read, and the levels of LUT RAM would come behind it.
   */
  private val addressedLate: Set[(Int, Int)] = Set((512, 373), (512, 378), (512, 1018))

  private def hasSmallRest(shape: MemoryShape): Boolean = {
    val rest = shape.width % bramBits
    shape.depth <= bramRows && shape.width > bramBits && rest > 0 && rest <= smallRest &&
    shape.ports.sorted == Seq("read", "write")
  }

  /** The slices of a memory, lowest first; they cover its rows. */
  def apply(shape: MemoryShape): Seq[MemorySlice] = {
    def whole(kind: MemoryKind) =
      Seq.tabulate(shape.width / shape.grain)(part => MemorySlice(kind, part * shape.grain, shape.grain))
    val isMasked = shape.grain != shape.width
    exceptions.get((shape.depth, shape.width)) match {
      case Some(kind) => whole(kind)
      case None if shape.depth <= lutramRows => whole(Lutram)
      case None if !isMasked && hasSmallRest(shape) =>
        val rest = shape.width % bramBits
        val kind = if (addressedLate((shape.depth, shape.width))) Bram else Lutram
        Seq(MemorySlice(Bram, 0, shape.width - rest), MemorySlice(kind, shape.width - rest, rest))
      case None if shape.depth < uramRows || isMasked => whole(Bram)
      case None =>
        val most = (shape.width + uramBits - fullRest) / uramBits
        val columns = fewerColumns.getOrElse((shape.depth, shape.width), most)
        val inUram = shape.width.min(columns * uramBits)
        if (inUram == shape.width) whole(Uram)
        else if (inUram == 0) whole(Bram)
        else Seq(MemorySlice(Uram, 0, inUram), MemorySlice(Bram, inUram, shape.width - inUram))
    }
  }
}
