// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

/**
 * One kind of memory of a design, as firtool lists it (`--repl-seq-mem-file`): a line such as
 * `name rows_ext depth 512 width 1024 ports mwrite,read mask_gran 8`.
 *
 * @param name  the module that firtool expects somebody else to write
 * @param ports in firtool's order: `read`, `write`, `rw`, and `mwrite` or `mrw` if parts of a row
 *   are written apart
 * @param grain bits of such a part; else those of a row
 */
case class MemoryShape(name: String, depth: Int, width: Int, ports: Seq[String], grain: Int) {
  require(
    ports.nonEmpty && ports.forall(MemoryShape.kinds),
    s"$name has ports of no known kind: ${ports.mkString(",")}"
  )
  require(width % grain == 0, s"$name has rows of $width bits, which are no parts of $grain")

  val addressBits: Int = chisel3.util.log2Ceil(depth).max(1)
}

object MemoryShape {
  private val kinds = Set("read", "write", "rw", "mwrite", "mrw")

  /** The shapes that a file of firtool's lists. */
  def list(text: String): Seq[MemoryShape] =
    text.linesIterator.map(_.trim).filter(_.nonEmpty).map(parse).toSeq

  private def parse(line: String): MemoryShape = {
    val words = line.split(" +").toSeq
    require(words.size % 2 == 0, s"not firtool's list of memories: $line")
    val values = words.grouped(2).map(pair => pair(0) -> pair(1)).toMap
    val width = values("width").toInt
    val grain = values.get("mask_gran").fold(width)(_.toInt)
    MemoryShape(values("name"), values("depth").toInt, width, values("ports").split(",").toSeq, grain)
  }
}
