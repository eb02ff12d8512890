// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

/** A port of a [[Cell]]. In Verilog it has a twin of its width beside it, `name_t`. */
case class CellPort(name: String, bits: Int, isInput: Boolean)

/**
 * A module that CIRCT's pass does not look into: it has a stub there, and its Verilog, with
 * the taint of what it does, comes from here.
 */
sealed trait Cell {
  def module: String

  /** All but the clock. */
  def ports: Seq[CellPort]

  /** The module's statements, in Verilog; `x_t` is the taint of port `x`. */
  def body: String
  def clocked: Boolean = true

  def stub: Seq[String] = {
    val (ins, outs) = ports.partition(_.isInput)
    val clock = if (clocked) Seq("in %clock : !seq.clock") else Nil
    val declared = clock ++ ins.map(p => s"in %${p.name} : i${p.bits}") ++ outs.map(p => s"out ${p.name} : i${p.bits}")
    val zeros = outs.map(p => s"    %zero_${p.name} = hw.constant 0 : i${p.bits}")
    val output =
      s"    hw.output ${outs.map("%zero_" + _.name).mkString(", ")} : ${outs.map("i" + _.bits).mkString(", ")}"
    s"  hw.module private @$module(${declared.mkString(", ")}) {" +: zeros :+ output :+ "  }"
  }

  def verilog: String = {
    val clock = if (clocked) Seq("  input clock") else Nil
    val declared = ports.map { port =>
      s"  ${if (port.isInput) "input" else "output"} [${port.bits - 1}:0] ${port.name}, ${port.name}_t"
    }
    s"module $module(\n${(clock ++ declared).mkString(",\n")}\n);\n$body\nendmodule\n"
  }
}

/** A port of a memory of firtool's: what it does in a cycle. */
sealed abstract class MemoryPort(val letter: Char)
object MemoryPort {
  case object Read extends MemoryPort('r')
  case object Write extends MemoryPort('w')
  case object ReadWrite extends MemoryPort('b')
}

/**
 * A memory and the taint of its rows. A tainted enable or address of a write may have changed any
 * row, so all rows are tainted from then on. One of a read taints its data.
 *
 * @param latency cycles from a read's address to its data, 0 or 1
 * @param lanes parts of a row that a write may leave as they are, each with a bit of its mask
 */
case class MemoryCell(depth: Int, width: Int, latency: Int, lanes: Int, kinds: Seq[MemoryPort]) extends Cell {
  import MemoryPort._
  def module: String = s"Memory_${depth}x${width}_${latency}_${lanes}_${kinds.map(_.letter).mkString}"

  private val addressBits = math.max(1, BigInt(depth - 1).bitLength)
  def ports: Seq[CellPort] = kinds.zipWithIndex.flatMap { case (kind, n) =>
    def in(name: String, bits: Int) = CellPort(s"p${n}_$name", bits, isInput = true)
    Seq(in("addr", addressBits), in("en", 1)) ++
      Option.when(kind != Read)(in("data", width)) ++
      Option.when(kind != Read && lanes > 1)(in("mask", lanes)) ++
      Option.when(kind == ReadWrite)(in("wmode", 1)) ++
      Option.when(kind != Write)(CellPort(s"p${n}_q", width, isInput = false))
  }

  def body: String = {
    val parts = kinds.zipWithIndex.map { case (kind, n) => part(kind, s"p$n") }
    val (wires, clocked) = (parts.flatMap(_._1), parts.flatMap(_._2))
    s"""  reg [${width - 1}:0] Memory[0:${depth - 1}], rows_t[0:${depth - 1}];
       |  reg wild = 0;
       |${wires.mkString("\n")}
       |  always @(posedge clock) begin
       |${clocked.map("    " + _).mkString("\n")}
       |  end""".stripMargin
  }

  /** The wires of a port and the statements of its clock. */
  private def part(kind: MemoryPort, p: String): (Seq[String], Seq[String]) = {
    val all = s"~$width'h0"
    val taintOfRead = s"wild | (|${p}_addr_t) ? $all : rows_t[${p}_addr]"
    val mode = if (kind == ReadWrite) s" | (|${p}_wmode_t)" else ""
    val mask = if (kind != Read && lanes > 1) s" | (|${p}_mask_t)" else ""
    val writes = if (kind == Read) Nil
    else {
      val size = width / lanes
      val begins = if (kind == ReadWrite) s"${p}_en & ${p}_wmode" else s"${p}_en"
      Seq.tabulate(lanes) { lane =>
        val (when, bits) =
          if (lanes == 1) (begins, "") else (s"$begins & ${p}_mask[$lane]", s"[${size * lane} +: $size]")
        s"if ($when) begin Memory[${p}_addr]$bits <= ${p}_data$bits; rows_t[${p}_addr]$bits <= ${p}_data_t$bits; end"
      } :+ s"if ((|${p}_en_t)$mode$mask | (${p}_en & (|${p}_addr_t))) wild <= 1;"
    }
    val (wires, reads) = kind match {
      case Write => (Nil, Nil)
      case _ if latency == 0 =>
        (Seq(s"  assign ${p}_q = Memory[${p}_addr];", s"  assign ${p}_q_t = $taintOfRead;"), Nil)
      case _ =>
        val when = if (kind == ReadWrite) s"${p}_en & ~${p}_wmode" else s"${p}_en"
        (
          Seq(s"  reg [${width - 1}:0] q_$p, t_$p;", s"  assign ${p}_q = q_$p;", s"  assign ${p}_q_t = t_$p;"),
          Seq(
            s"if ($when) begin q_$p <= Memory[${p}_addr]; t_$p <= $taintOfRead; end",
            s"if ((|${p}_en_t)$mode) t_$p <= $all;"
          )
        )
    }
    (wires, writes ++ reads)
  }
}

/** A table with a register behind it. In each of its reads a tainted address taints the data. */
case class RomCell(module: String, ports: Seq[CellPort], plain: String) extends Cell {
  def body: String = {
    val taints = ports.filter(_.isInput).zip(ports.filterNot(_.isInput)).map { case (address, data) =>
      s"""  reg [${data.bits - 1}:0] taint_${data.name};
         |  always @(posedge clock) taint_${data.name} <= {${data.bits}{|${address.name}_t}};
         |  assign ${data.name}_t = taint_${data.name};""".stripMargin
    }
    s"""  ${module}Plain plain(.clock(clock), ${ports.map(p => s".${p.name}(${p.name})").mkString(", ")});
       |${taints.mkString("\n")}""".stripMargin
  }
  override def verilog: String = plain.replace(s"module $module(", s"module ${module}Plain(") + "\n" + super.verilog
}

/** Its `secret` is the port's value, with the taint of the [[Source]]. */
case class SourceCell(source: Source) extends Cell {
  def module: String = s"Secret_${source.port}"
  def ports: Seq[CellPort] =
    ((source.port -> source.bits) +: source.reads).map { case (name, bits) => CellPort(name, bits, isInput = true) } :+
      CellPort("secret", source.bits, isInput = false)
  def body: String =
    s"""  wire [${source.bits - 1}:0] taint;
       |  assign secret = ${source.port};
       |  assign secret_t = taint;
       |${source.taint}""".stripMargin
}

/** Is 1 in a run with `+planted=NAME`. */
case class PlantCell(name: String) extends Cell {
  def module: String = s"Planted_$name"
  override def clocked: Boolean = false
  def ports: Seq[CellPort] = Seq(CellPort("on", 1, isInput = false))
  def body: String =
    s"""  reg is;
       |  initial is = $$test$$plusargs("planted=$name") != 0;
       |  assign on = is;
       |  assign on_t = 0;""".stripMargin
}
