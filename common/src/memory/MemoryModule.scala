// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import java.nio.file.{Files, Path}

/**
 * The Verilog of a memory that firtool has lifted out of a design. It has an array for each of the
 * memory's [[MemorySlice]]s, with the attribute by which synthesis binds it. Reads are registered,
 * so that Vivado infers URAM and block RAM.
 *
 * A read of a row in the cycle that writes it gives the old row; no design may rely on that, since
 * Chisel leaves it open. A port that does not read keeps its last output.
 *
 * Both ports of a URAM have one clock (UG573), and Vivado falls back to other memory where it sees
 * two (UG901; Synth 8-6849). firtool gives each port a clock of its own, so an array of URAM has
 * that of the first port. Such a memory is inside a core, which has one clock.
 */
object MemoryModule {

  /**
   * Writes the modules of all memories that `list`, a file of firtool's, names: into
   * its folder.
   */
  def writeAll(list: Path): Unit =
    for (shape <- MemoryShape.list(Files.readString(list)))
      Files.writeString(list.resolveSibling(s"${shape.name}.sv"), text(shape))

  def text(shape: MemoryShape): String = {
    val slices = MemoryBinding(shape)
    // UG573 asks for a register every few blocks of a column. Two columns may meet in a LUT.
    require(
      shape.depth <= 2 * MemoryBinding.columnRows || slices.forall(_.kind != MemoryKind.Uram),
      s"${shape.name} has ${shape.depth} rows in one bank of URAM: build it as a RowMemory of several"
    )
    val numbers = scala.collection.mutable.Map[String, Int]().withDefaultValue(0)
    val ports = shape.ports.map { kind =>
      val number = numbers(prefix(kind))
      numbers(prefix(kind)) += 1
      port(shape, slices, kind, s"${prefix(kind)}$number")
    }
    val arrays = slices.map(s =>
      s"  (* ${attributes(shape, s)} *) reg [${s.width - 1}:0] ${array(s)}[0:${shape.depth - 1}];"
    )
    s"""// ${shape.depth} rows of ${shape.width} bits: ${kinds(slices).mkString(", ")}.
       |module ${shape.name}(
       |${ports.flatMap(_._1).mkString("  ", ",\n  ", "")}
       |);
       |
       |${(arrays ++ ports.flatMap(_._2)).mkString("\n")}
       |endmodule
       |""".stripMargin
  }

  /** Bits of each kind. */
  private def kinds(slices: Seq[MemorySlice]): Seq[String] =
    slices.groupMapReduce(_.kind.style)(_.width)(_ + _).toSeq.sorted.map { case (style, bits) => s"$bits $style" }

  private def attributes(shape: MemoryShape, slice: MemorySlice): String = {
    val isCascade = slice.kind == MemoryKind.Uram && shape.depth > MemoryBinding.uramRows
    val height = MemoryBinding.columnRows / MemoryBinding.uramRows
    s"""ram_style = "${slice.kind.style}"""" + (if (isCascade) s", cascade_height = $height" else "")
  }

  /** firtool's word for a port. */
  private def prefix(kind: String): String = if (kind == "read") "R" else if (kind.endsWith("rw")) "RW" else "W"

  private def array(slice: MemorySlice) = s"${slice.kind.style}_${slice.lsb}"

  /** Declarations and body of a port. */
  private def port(
      shape: MemoryShape,
      slices: Seq[MemorySlice],
      kind: String,
      name: String
  ): (Seq[String], Seq[String]) = {
    val row = s"[${shape.width - 1}:0]"
    val shared = kind.endsWith("rw")
    val reads = kind == "read" || shared
    val (data, out) = if (shared) (s"${name}_wdata", s"${name}_rdata") else (s"${name}_data", s"${name}_data")
    val mask = if (shared) s"${name}_wmask" else s"${name}_mask"
    val isMasked = kind.startsWith("m")
    val declarations = Seq(
      Some(s"input [${shape.addressBits - 1}:0] ${name}_addr"),
      Some(s"input ${name}_en"),
      Some(s"input ${name}_clk"),
      Option.when(shared)(s"input ${name}_wmode"),
      Option.when(kind != "read")(s"input $row $data"),
      Option.when(isMasked)(s"input [${shape.width / shape.grain - 1}:0] $mask"),
      Option.when(reads)(s"output $row $out")
    ).flatten

    def bits(slice: MemorySlice) = s"[${slice.lsb + slice.width - 1}:${slice.lsb}]"
    val body = slices.flatMap { slice =>
      val place = s"${array(slice)}[${name}_addr]"
      val writing = s"${name}_en" + (if (shared) s" & ${name}_wmode" else "")
      // Of a row that is written in parts each slice is one.
      val written = writing + (if (isMasked) s" & $mask[${slice.lsb / shape.grain}]" else "")
      val write = if (kind == "read") Nil else Seq(s"    if ($written) $place <= $data${bits(slice)};")
      val held = s"${name}_${array(slice)}"
      val enable = s"${name}_en" + (if (shared) s" & ~${name}_wmode" else "")
      val read = Seq(s"    if ($enable) $held <= $place;")
      val clock = if (slice.kind == MemoryKind.Uram) s"${prefix(shape.ports.head)}0_clk" else s"${name}_clk"
      (if (reads) Seq(s"  reg [${slice.width - 1}:0] $held;") else Nil) ++
        Seq(s"  always @(posedge $clock) begin") ++ write ++ (if (reads) read else Nil) ++ Seq("  end") ++
        (if (reads) Seq(s"  assign $out${bits(slice)} = $held;") else Nil)
    }
    (declarations, body)
  }
}
