// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.{LongForm, SpecFolder}
import sallyport.crypto.lane.{LaneConfig, LanePackets, LanePairs}
import sallyport.crypto.support.{Bytes, VerilatedProgram}

import java.nio.file.Files

/**
 * Follows keys, and packets from red, through every wire of a lane: none of their bits reaches a
 * port toward black, nor a port's timing, but by the ciphers and the hashes ([[Declassified]]).
 * Toward red, only packets whose ICV is right leave.
 *
 * CIRCT's pass adds to each wire a wire of its taint. Each planted leak must be found, and a leak
 * if one entry of the list of ciphers' outputs is withheld. Not in ChiselSim, which simulates
 * Chisel alone. `SALLYPORT_TAINT_CYCLES=N` runs N cycles a direction; `SALLYPORT_TAINT_SEED=S`
 * replaces seed 1.
 */
class TaintSpec extends AnyFunSuite {

  private def follow(direction: String, plants: Seq[Plant], free: Seq[Declassified]): Unit = {
    LongForm.only()
    val encrypt = direction == "encrypt"
    val config = LaneConfig(encrypt)
    val folder = SpecFolder("TaintSpec", direction)
    val verilog = Instrument(folder, new TaintedLane(config), plants, sources = Nil, free)
    val program = new VerilatedProgram("TaintedLane", folder)
    program.build("lane_taint.cpp", VerilatedProgram.files(verilog, ".sv"), flags = "-march=native")
    val packets = Files.write(folder.resolve("packets"), LanePackets.file(encrypt, config.suites, each = 64, seed = 1))
    val secrets =
      Files.write(folder.resolve("secrets"), Bytes.fromBigInt(TaintedLane.secrets, (LanePairs.jobBits + 31) / 32 * 4))
    val seed = sys.env.getOrElse("SALLYPORT_TAINT_SEED", "1")
    def run(cycles: String, more: String*): (Int, String) =
      program.run(Seq(packets.toString, cycles, seed, secrets.toString, direction) ++ more: _*)
    val (status, said) = run(sys.env.getOrElse("SALLYPORT_TAINT_CYCLES", TaintSpec.cycles))
    assert(status == 0, said)
    info(said.linesIterator.mkString("; "))
    def counts(of: String): Seq[Int] =
      said.linesIterator.find(_.startsWith(of)).toSeq.flatMap(_.split(':').last.trim.split(' ').map(_.toInt))
    assert(config.suites.forall(suite => counts("packets by suite:")(suite.number) >= 100), said)
    assert(encrypt == (counts("beats of verified plaintext:") == Seq(0)), said)
    for (leak <- plants.map(plant => s"+planted=${plant.name}") ++ free.map(one => s"+withheld=${one.name}")) {
      val (status, said) = run(TaintSpec.cycles, leak)
      assert(status == 1 && said.contains("a secret leaves by"), s"$leak was not found: $said")
      info(s"$leak: ${said.trim}")
    }
  }

  test("neither keys nor packets from red leave an encrypting lane but through its ciphers") {
    follow("encrypt", Seq(Plants.salt, Plants.pace), Declassified.encrypting)
  }

  test("nothing of a packet leaves a decrypting lane unless its ICV is right") {
    follow("decrypt", Seq(Plants.beat, Plants.oracle), Declassified.decrypting)
  }
}

private object TaintSpec {
  val cycles = "400000"
}
