// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.elaborate.Emit
import sallyport.common.simulation.{LongForm, SpecFolder}
import sallyport.crypto.suite.Suite

import java.nio.file.{Files, Path, Paths}
import scala.jdk.CollectionConverters._
import scala.sys.process._

/**
 * The model of a lane against the lane, every port in every cycle. Not in ChiselSim, which links no
 * C++ of others.
 *
 * A slice runs the same cycles every time. `SALLYPORT_LANE_CYCLES=N` runs N cycles for each kind of
 * lane, and adds kinds; `SALLYPORT_LANE_SEED=S` replaces seed 1.
 */
class LaneModelSpec extends AnyFunSuite {

  /** The first folder of this name going up from the working folder. */
  private def up(name: String): Path = Iterator
    .iterate(Paths.get("").toAbsolutePath)(_.getParent)
    .takeWhile(_ != null)
    .map(_.resolve(name))
    .find(Files.isDirectory(_))
    .getOrElse(fail(s"no $name above the working folder: run this in a clone"))

  private def files(folder: Path, suffix: String): Seq[String] =
    Files.list(folder).iterator.asScala.map(_.toString).filter(_.endsWith(suffix)).toSeq.sorted

  private def number(variable: String, default: Int): Int = sys.env.get(variable).fold(default)(_.toInt)

  private def compare(name: String, config: LaneConfig): Unit = {
    val folder = SpecFolder("LaneModelSpec", name)
    Emit(new LanePairs(config), folder)
    val seed = number("SALLYPORT_LANE_SEED", 1)
    val packets =
      Files.write(folder.resolve("packets"), LanePackets.file(config.encrypt, config.suites, each = 64, seed))
    val program = folder.resolve("pairs")
    val said = new StringBuilder
    val log = ProcessLogger(line => said.append(line).append('\n'))
    def run(command: Seq[String]): Unit = assert(command.!(log) == 0, s"${command.head}:\n$said")
    val engine = up("sim/engine/src")
    run(
      Seq("verilator", "--cc", "--exe", "--build", "--quiet", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style") ++
        Seq("--top-module", "LanePairs", "--Mdir", folder.resolve("obj").toString, "-o", program.toString) ++
        Seq("--x-assign", "fast", "--x-initial", "fast", "--assert", "--output-split", "100000") ++
        Seq("-CFLAGS", s"-std=c++17 -march=native -iquote $engine", "-LDFLAGS", "-lcrypto -latomic") ++
        files(folder, ".sv") ++ files(engine.resolve("model"), ".cpp") :+
        up("crypto_fpga/test/cpp").resolve("lane_pairs.cpp").toString
    )
    val cycles = number("SALLYPORT_LANE_CYCLES", LaneModelSpec.slice)
    run(Seq(program.toString, packets.toString, cycles.toString, seed.toString))
    val counts = said.toString.linesIterator.filter(_.startsWith("packets by suite:")).toSeq.last
    info(said.toString.linesIterator.filter(_.startsWith("packets by")).mkString("; "))
    val bySuite = counts.split(':').last.trim.split(' ').map(_.toInt)
    assert(config.suites.forall(suite => bySuite(suite.number) >= 100), said)
  }

  for ((name, encrypt) <- Seq("an encrypting" -> true, "a decrypting" -> false))
    test(s"$name lane and its model are the same at every port in every cycle") {
      compare(if (encrypt) "encrypting" else "decrypting", LaneConfig(encrypt))
    }

  // The rings of a lane with less room, and of one that has but one.
  for (
    encrypt <- Seq(true, false);
    (name, suites) <- Seq("all" -> Suite.all) ++ Suite.all.groupBy(_.fast).map {
      case (fast, some) => (if (fast) "fast" else "slow") -> some
    }
  )
    test(s"small lanes and their models, ${if (encrypt) "encrypting" else "decrypting"}, $name suites") {
      LongForm.only()
      val config = LaneConfig(encrypt, suites, slots = 32, bufferBeats = 512)
      compare(s"small-${if (encrypt) "encrypting" else "decrypting"}-$name", config)
    }
}

private object LaneModelSpec {
  val slice = 200000
}
