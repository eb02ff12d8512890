// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.erase

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.elaborate.Emit
import sallyport.common.memory.MemoryPipe
import sallyport.common.simulation.{LongForm, SpecFolder}
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.VerilatedProgram

import java.nio.file.{Files, Path}
import scala.jdk.CollectionConverters._
import scala.util.Random

/**
 * Searches the whole state of a crypto chip after a zeroize, and after a tamper pulse, for the
 * secrets of before. These are keys, their expansions, salts, powers of H, states of HMAC, masks,
 * key streams.
 *
 * The memories are those of a board: a read port keeps what it read last, and firtool's own model
 * does not. Not in ChiselSim, which shows a test no more than ports.
 */
class EraseSpec extends AnyFunSuite {

  /** What a search has found, and how many packets had left by then, to red and to black. */
  private case class Search(label: String, found: Int, red: Int, black: Int)

  /**
   * Has Verilator keep all registers and memories with their names, and each wire that is wide
   * enough for a secret: keys rest masked, and wires show them where mask and row are still there.
   * With every wire the program would be twice as long, and take ten times as long.
   */
  private def keepState(sources: Seq[Path], file: Path): Path =
    Files.write(file, ("`verilator_config" +: sources.flatMap(kept)).asJava)

  /** Those of a file. firtool names a type once for ports that follow each other. */
  private def kept(source: Path): Seq[String] = {
    val (module, portsEnd) = ("module (\\w+).*".r, "\\s*\\);".r)
    val declaration = "\\s+(?:\\(\\*.*\\*\\)\\s*)?(reg|wire|input|output)\\s+((?:\\[\\d+:\\d+])*)\\s*(\\w+).*".r
    val samePort = "\\s+(\\w+),?".r
    val range = "(\\d+):(\\d+)".r
    var in = ""
    var isPort, keeps = false
    def keep(name: String): Option[String] = Option.when(keeps)(s"""public_flat_rd -module "$in" -var "$name"""")
    Files.readAllLines(source).asScala.toSeq.flatMap {
      case module(name) => in = name; isPort = true; None
      case portsEnd() => isPort = false; None
      case declaration(kind, dimensions, name) =>
        val bits = range.findAllMatchIn(dimensions).map(at => at.group(1).toInt - at.group(2).toInt + 1).product
        keeps = kind == "reg" || bits >= EraseSpec.leastBits
        keep(name)
      case samePort(name) if isPort => keep(name)
      case _ => None
    }
  }

  private def erase(suites: Seq[Suite]): Unit = {
    val folder = SpecFolder("EraseSpec", suites.map(_.name).mkString("-"))
    // Keys in four banks, each with registers of its own.
    val config =
      CryptoConfig(saBits = 4, lanes = 1, suites = suites, slots = 32, laneBeats = 512, keyPipe = EraseSpec.banks)
    Emit(new EraseHarness(config), folder, bindsMemories = true)

    val random = new Random(26)
    val script = new EraseScript
    def install(): Seq[EraseTraffic] = {
      script.ready()
      script.enable()
      for ((suite, i) <- suites.zipWithIndex) yield {
        val traffic = new EraseTraffic(suite, i + 1, random)
        traffic.secrets.foreach(script.secret)
        script.outbound(i + 1, traffic.outbound)
        script.inbound(i + 1, traffic.inbound)
        traffic
      }
    }
    val causes = Seq[(String, () => Unit)]("zeroize" -> script.zeroize, "tamper" -> (() => script.tamper(1)))
    for ((cause, erase) <- causes) {
      def erased(when: String): Unit = {
        erase()
        script.ready()
        script.settle()
        script.search(s"${cause}_$when")
      }
      // When all packets have left.
      for (traffic <- install()) {
        traffic.red.foreach(script.red)
        traffic.black.foreach(script.black)
        script.settle()
      }
      script.search(s"${cause}_before")
      erased("rest")
      // While packets of all suites are inside.
      val all = install()
      for (i <- 0 until EraseTraffic.packets; traffic <- all) {
        script.red(traffic.red(i))
        script.black(traffic.black(i))
      }
      script.run(60 + 20 * suites.length)
      erased("traffic")
    }

    val file = Files.writeString(folder.resolve("script"), script.text)
    val sources = VerilatedProgram.files(folder, ".sv")
    val program = new VerilatedProgram("EraseHarness", folder)
    // Few cycles run, so the code is not optimised (CompiledOnce.brief).
    val light = Seq("-MAKEFLAGS", "OPT_FAST=-O0")
    program.build("erase.cpp", keepState(sources, folder.resolve("state.vlt")) +: sources, options = light)
    val (status, said) = program.run(file.toString)
    assert(status == 0, said)
    val line = "(\\w+): (\\d+) found, sent (\\d+) (\\d+)".r
    val searches = said.linesIterator.collect { case line(label, found, red, black) =>
      Search(label, found.toInt, red.toInt, black.toInt)
    }.toSeq
    // The search names each place it finds. Only a chip before its erasure has any.
    for (suite <- suites) assert(said.contains(s"\n  ${suite.name}/"), "the search sees nothing of a suite")
    val packets = suites.length * EraseTraffic.packets
    info(searches.mkString("; "))
    val labels = for ((cause, _) <- causes; when <- Seq("before", "rest", "traffic")) yield s"${cause}_$when"
    assert(searches.map(_.label) == labels, said)
    val starts = Search("", 0, 0, 0) +: searches.drop(2)
    for ((Seq(before, rest, traffic), start) <- searches.grouped(3).toSeq.zip(starts)) {
      assert(before.found > 4 * suites.length, "the search sees no key in a chip full of them")
      assert(before.red - start.red == packets && before.black - start.black == packets, "packets were lost")
      assert(traffic.red - rest.red < packets && traffic.black - rest.black < packets, s"${traffic.label}: no packet")
      assert(rest.found == 0 && traffic.found == 0, said)
    }
  }

  test("zeroize and tamper leave nothing of keys in any register or memory, with an AEAD and a chained suite") {
    erase(Seq("aes256gcm16", "aes128-sha256").map(Suite.named))
  }

  test("zeroize and tamper leave nothing of keys in any register or memory, in every suite") {
    LongForm.only()
    erase(Suite.all)
  }
}

object EraseSpec {

  /** Of the shortest secret that is told apart ([[Secret]]). */
  private val leastBits: Int = 32

  /** A board's registers of key rows, about banks as small as the tables here. */
  private val banks: MemoryPipe = MemoryPipe.banks.copy(bankRows = Some(4))
}
