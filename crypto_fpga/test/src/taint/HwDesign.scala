// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import scala.collection.mutable
import scala.util.matching.Regex

/**
 * A mistake that a run can switch on: in `module` the one line that `find` matches becomes
 * `replace`, in which `%planted` is 1 if it is on, and `$1`… are the groups of `find`.
 */
case class Plant(name: String, module: String, find: String, replace: String)

/**
 * A design as firtool writes it in CIRCT's hardware dialect (`--ir-hw`), one operation a line, made
 * ready for the pass that instruments it ("CellIFT", Solt, Gras, Razavi, USENIX Security 2022).
 *
 * The pass knows neither memories nor modules of Verilog. Memories and tables become modules of
 * their own, whose Verilog has their taint ([[Cell]]). Clocks go past their gates, as they do on
 * a device.
 */
object HwDesign {

  /** The design that the pass takes, and the modules whose Verilog is to be written over. */
  def prepare(text: String, plants: Seq[Plant]): (String, Seq[Cell]) = {
    val roms = romsOf(text)
    val cells = mutable.LinkedHashMap.empty[String, Cell]
    def use(cell: Cell): Cell = cells.getOrElseUpdate(cell.module, cell)
    roms.foreach(use)
    val modules =
      modulesOf(plain(text)).map(ungated).map(module => planted(module, plants, use)).map(lifted(_, use))
    val stubs = cells.values.toSeq.flatMap(_.stub)
    ((("module {" +: stubs) ++ modules.flatten :+ "}").mkString("\n"), cells.values.toSeq)
  }

  private val romSource = """(?m)^\s*sv\.verbatim\.source private @(\w+Rom)\.sv attributes \{content = "(.*?)"""".r
  private val escaped = """\\([0-9A-F]{2})""".r

  private def romsOf(text: String): Seq[RomCell] = romSource.findAllMatchIn(text).toSeq.map { found =>
    val verilog = escaped.replaceAllIn(
      found.group(2),
      code => Regex.quoteReplacement(Integer.parseInt(code.group(1), 16).toChar.toString)
    )
    def bits(port: String): Int =
      s"\\[(\\d+):0\\] $port".r.findFirstMatchIn(verilog).fold(sys.error(s"no $port in $verilog"))(_.group(1).toInt + 1)
    RomCell(found.group(1), bits("address0"), bits("data0"), verilog)
  }

  /** Without names and symbols, which only bind a line to others left out. */
  private def plain(text: String): Seq[String] = text.linesIterator.toSeq
    .map(_.replaceAll(""" \{sv\.namehint = "[^"]*"\}""", "").replaceAll(""" sym @\w+""", ""))

  /** The lines of each module of hardware. */
  private def modulesOf(lines: Seq[String]): Seq[Seq[String]] = {
    val starts = lines.indices.filter(lines(_).startsWith("  hw.module "))
    starts.map(at => lines.slice(at, lines.indexOf("  }", at) + 1))
  }

  private val nameOf = """  hw\.module (?:private )?@(\w+)\(.*""".r
  private def isModule(lines: Seq[String], name: String): Boolean = lines.head match {
    case nameOf(found) => found == name
    case other => sys.error(s"no module begins with: $other")
  }

  private val gate = """\s*(%[\w.-]+) = hw\.instance "\w+" @SallyportClockGate\(clock: (%[\w.-]+): .*""".r

  /** With the clock in front of each gate in place of the one behind it. */
  private def ungated(lines: Seq[String]): Seq[String] = {
    val clocks = lines.collect { case gate(behind, before) => behind -> before }.toMap
    val gated = """%[\w.-]+""".r
    lines
      .filterNot(gate.matches(_))
      .map(line =>
        if (clocks.isEmpty) line else gated.replaceAllIn(line, name => clocks.getOrElse(name.matched, name.matched))
      )
  }

  private def planted(lines: Seq[String], plants: Seq[Plant], use: Cell => Cell): Seq[String] =
    plants.filter(plant => isModule(lines, plant.module)).foldLeft(lines) { (before, plant) =>
      val places = before.filter(_.matches(s"\\s*${plant.find}"))
      require(places.size == 1, s"the planted ${plant.name} has ${places.size} places in ${plant.module}, not one")
      val on = s"%planted_${plant.name}"
      val cell = use(PlantCell(plant.name))
      val switch = s"""    $on = hw.instance "planted_${plant.name}" @${cell.module}() -> (on: i1)"""
      val at = before.indexOf(places.head)
      val line = places.head.replaceFirst(s"\\s*${plant.find}", plant.replace.replace("%planted", on))
      (before.head +: switch +: before.slice(1, at) :+ line) ++ before.drop(at + 1)
    }

  private val value = """(%[\w.-]+)"""
  private val memory =
    s"""\\s*$value = seq\\.firmem (\\d), 1, undefined, port_order : <(\\d+) x (\\d+)(?:, mask (\\d+))?>""".r
  private val access = """.*seq\.firmem\.\w+_port (%[\w.]+)\[.*""".r
  private val read =
    s"""\\s*$value = seq\\.firmem\\.read_port %[\\w.]+\\[$value\\], clock %clock(?: enable $value)? :.*""".r
  private val write =
    s"""\\s*seq\\.firmem\\.write_port %[\\w.]+\\[$value\\] = $value, clock %clock(?: enable $value)?(?: mask $value)? :.*""".r
  private val both =
    s"""\\s*$value = seq\\.firmem\\.read_write_port %[\\w.]+\\[$value\\] = $value if $value, clock %clock(?: enable $value)? :.*""".r

  /** With instances of modules instead of memories. */
  private def lifted(lines: Seq[String], use: Cell => Cell): Seq[String] = {
    val accesses = lines.collect { case line @ access(of) => of -> line }.groupMap(_._1)(_._2)
    val one = "%one_for_enables"
    var usesOne = false
    val out = lines.flatMap {
      case memory(name, latency, depth, width, mask) =>
        val ports = accesses.getOrElse(name, Nil).map {
          case read(q, address, enable) => (MemoryPort.Read, q, Seq(address, enable))
          case write(address, data, enable, mask) =>
            (MemoryPort.Write, "", Seq(address, enable, data) ++ Option(mask))
          case both(q, address, data, mode, enable) => (MemoryPort.ReadWrite, q, Seq(address, enable, data, mode))
          case other => sys.error(s"an access to a memory in a form that is not known: $other")
        }
        val lanes = Option(mask).fold(1)(_.toInt)
        val cell = use(MemoryCell(depth.toInt, width.toInt, latency.toInt, lanes, ports.map(_._1)))
        val operands = ports.flatMap(_._3).map(operand => Option(operand).getOrElse { usesOne = true; one })
        val (ins, outs) = cell.ports.partition(_.isInput)
        require(ins.size == operands.size, s"${cell.module} has ${ins.size} inputs, not ${operands.size}")
        val wired = "clock: %clock: !seq.clock" +: ins.zip(operands).map { case (p, v) => s"${p.name}: $v: i${p.bits}" }
        val results = ports.map(_._2).filter(_.nonEmpty).mkString(", ")
        val shown = outs.map(p => s"${p.name}: i${p.bits}").mkString(", ")
        Seq(s"""    $results = hw.instance "${name.drop(1)}" @${cell.module}(${wired.mkString(", ")}) -> ($shown)""")
      case access(_) => Nil
      case line => Seq(line)
    }
    if (usesOne) out.head +: s"    $one = hw.constant 1 : i1" +: out.tail else out
  }
}
