// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.elaborate.Emit
import sallyport.common.simulation.{LongForm, SpecFolder}
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.VerilatedProgram

import java.nio.file.Files

/**
 * The model of a lane against the lane, every port in every cycle. Not in ChiselSim, which links no
 * C++ of others.
 *
 * A slice runs the same cycles every time. `SALLYPORT_LANE_CYCLES=N` runs N cycles for each kind of
 * lane, and adds kinds; `SALLYPORT_LANE_SEED=S` replaces seed 1.
 */
class LaneModelSpec extends AnyFunSuite {

  private def number(variable: String, default: Int): Int = sys.env.get(variable).fold(default)(_.toInt)

  private def compare(name: String, config: LaneConfig): Unit = {
    val folder = SpecFolder("LaneModelSpec", name)
    Emit(new LanePairs(config), folder)
    val seed = number("SALLYPORT_LANE_SEED", 1)
    val packets =
      Files.write(folder.resolve("packets"), LanePackets.file(config.encrypt, config.suites, each = 64, seed))
    val program = new VerilatedProgram("LanePairs", folder)
    val engine = VerilatedProgram.up("sim/engine/src")
    program.build(
      "lane_pairs.cpp",
      VerilatedProgram.files(folder, ".sv") ++ VerilatedProgram.files(engine.resolve("model"), ".cpp"),
      flags = s"-march=native -iquote $engine",
      options = Seq("--assert", "-LDFLAGS", "-lcrypto")
    )
    val cycles = number("SALLYPORT_LANE_CYCLES", LaneModelSpec.slice)
    val (status, said) = program.run(packets.toString, cycles.toString, seed.toString)
    assert(status == 0, said)
    val counts = said.linesIterator.filter(_.startsWith("packets by suite:")).toSeq.last
    info(said.linesIterator.filter(_.startsWith("packets by")).mkString("; "))
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
