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
 * A value that is a secret from there on: the one at `port`, of `bits` bits, of the instance
 * `instance` in `module`.
 *
 * @param reads other ports of the instance, and its reset, with their widths
 * @param taint Verilog that drives `taint` by them: which bits are secret
 */
case class Source(module: String, instance: String, port: String, bits: Int, reads: Seq[(String, Int)], taint: String)

/**
 * A design that the pass takes, the modules whose Verilog is to be written over, and the modules in
 * each module.
 */
case class Prepared(text: String, cells: Seq[Cell], modules: Map[String, Seq[String]])

/**
 * A design as firtool writes it in CIRCT's hardware dialect (`--ir-hw`), one operation a line, made
 * ready for the pass that instruments it ("CellIFT", Solt, Gras, Razavi, USENIX Security 2022).
 *
 * The pass knows neither memories nor modules of Verilog. Memories and tables become modules of
 * their own, whose Verilog has their taint ([[Cell]]). Clocks go past their gates, as they do on
 * a device.
 */
object HwDesign {

  def prepare(text: String, plants: Seq[Plant], sources: Seq[Source]): Prepared = {
    val roms = romsOf(text)
    val cells = mutable.LinkedHashMap.empty[String, Cell]
    def use(cell: Cell): Cell = cells.getOrElseUpdate(cell.module, cell)
    roms.foreach(use)
    val modules = modulesOf(plain(text))
      .map(ungated)
      .map(planted(_, plants, use))
      .map(marked(_, sources, use))
      .map(lifted(_, use))
    val stubs = cells.values.toSeq.flatMap(_.stub)
    val instances = modules.map(lines => nameOf(lines) -> lines.collect { case instance(of) => of }.distinct).toMap
    Prepared((("module {" +: stubs) ++ modules.flatten :+ "}").mkString("\n"), cells.values.toSeq, instances)
  }

  private val romSource = """(?m)^\s*sv\.verbatim\.source private @(\w+)\.sv attributes \{content = "(.*?)"""".r
  private val escaped = """\\([0-9A-F]{2})""".r

  private val romPort = """(input|output)(?: reg)? \[(\d+):0\] ([\w, ]*\w)""".r

  /** Modules of Verilog with addresses and data. */
  private def romsOf(text: String): Seq[RomCell] = romSource.findAllMatchIn(text).toSeq.map { found =>
    val verilog = escaped.replaceAllIn(
      found.group(2),
      code => Regex.quoteReplacement(Integer.parseInt(code.group(1), 16).toChar.toString)
    )
    val ports = romPort.findAllMatchIn(verilog).toSeq.flatMap { port =>
      port.group(3).split(", ").map(CellPort(_, port.group(2).toInt + 1, port.group(1) == "input"))
    }
    RomCell(found.group(1), ports, verilog)
  }.filter(_.ports.exists(_.name.startsWith("address")))

  /** Without names and symbols, which only bind a line to others left out. */
  private def plain(text: String): Seq[String] = text.linesIterator.toSeq
    .map(_.replaceAll(""" \{sv\.namehint = "[^"]*"\}""", "").replaceAll(""" sym @\w+""", ""))

  /** The lines of each module of hardware. */
  private def modulesOf(lines: Seq[String]): Seq[Seq[String]] = {
    val starts = lines.indices.filter(lines(_).startsWith("  hw.module "))
    starts.map(at => lines.slice(at, lines.indexOf("  }", at) + 1))
  }

  private val head = """  hw\.module (?:private )?@(\w+)\(.*""".r
  private def nameOf(lines: Seq[String]): String = lines.head match {
    case head(name) => name
    case other => sys.error(s"no module begins with: $other")
  }
  private val instance = """.* = hw\.instance "\w+" @(\w+)\(.*""".r

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
    plants.filter(_.module == nameOf(lines)).foldLeft(lines) { (before, plant) =>
      val places = before.filter(_.matches(s"\\s*${plant.find}"))
      require(places.size == 1, s"the planted ${plant.name} has ${places.size} places in ${plant.module}, not one")
      val on = s"%planted_${plant.name}"
      val cell = use(PlantCell(plant.name))
      val switch = s"""    $on = hw.instance "planted_${plant.name}" @${cell.module}() -> (on: i1)"""
      val at = before.indexOf(places.head)
      val line = places.head.replaceFirst(s"\\s*${plant.find}", plant.replace.replace("%planted", on))
      (before.head +: switch +: before.slice(1, at) :+ line) ++ before.drop(at + 1)
    }

  /** With a cell in front of each port from which on a value is secret. */
  private def marked(lines: Seq[String], sources: Seq[Source], use: Cell => Cell): Seq[String] =
    sources.filter(_.module == nameOf(lines)).foldLeft(lines) { (before, source) =>
      val at = before.indexWhere(_.contains(s"""hw.instance "${source.instance}" @"""))
      require(at >= 0, s"no instance ${source.instance} in ${source.module}")
      def operand(port: String): String = {
        val out = s"%${source.instance}.$port"
        val in = s"[(, ]$port: (%[\\w.-]+): ".r.findFirstMatchIn(before(at)).map(_.group(1))
        in.orElse(Option.when(before(at).contains(s"$out,"))(out))
          .getOrElse(sys.error(s"no port $port of ${source.instance} in ${source.module}"))
      }
      val cell = use(SourceCell(source))
      val secret = s"%secret_${source.port}"
      val inputs = ((source.port -> source.bits) +: source.reads).map { case (p, n) => s"$p: ${operand(p)}: i$n" }
      val mark = s"""    $secret = hw.instance "secret_${source.port}" @${cell.module}(clock: %clock: !seq.clock, """ +
        s"""${inputs.mkString(", ")}) -> (secret: i${source.bits})"""
      val line = before(at).replace(s"${source.port}: ${operand(source.port)}:", s"${source.port}: $secret:")
      (before.take(at) :+ mark :+ line) ++ before.drop(at + 1)
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
