// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import circt.stage.ChiselStage
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.{LongForm, SpecFolder}
import sallyport.crypto.lane.{LaneConfig, LanePackets, LanePairs}
import sallyport.crypto.support.{Bytes, VerilatedProgram}

import java.nio.file.{Files, Path}

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

  private val firtoolOptions = Seq("--disable-all-randomization", "--strip-debug-info")

  /** The instrumented Verilog of a lane, in a folder of its own. */
  private def instrument(folder: Path, config: LaneConfig, plants: Seq[Plant], free: Seq[Declassified]): Path = {
    val circt = new Circt(folder)
    def file(name: String): String = folder.resolve(name).toString
    Files.writeString(folder.resolve("lane.fir"), ChiselStage.emitCHIRRTL(new TaintedLane(config)))
    circt.run(
      "firtool",
      Seq(file("lane.fir"), "--ir-hw", "--default-layer-specialization=disable", "-o", file("lane.mlir")) ++
        firtoolOptions: _*
    )
    val (text, cells) = HwDesign.prepare(Files.readString(folder.resolve("lane.mlir")), plants)
    Files.writeString(folder.resolve("prepared.mlir"), text)
    circt.run(
      "circt-opt",
      file("prepared.mlir"),
      "--hw-aggregate-to-comb",
      "--cellift-instrument",
      "-o",
      file("tainted.mlir")
    )
    val verilog = Files.createDirectories(folder.resolve("verilog"))
    circt.run(
      "firtool",
      Seq("--format=mlir", file("tainted.mlir"), "--split-verilog", "-o", verilog.toString) ++ firtoolOptions: _*
    )
    for (cell <- cells) Files.writeString(verilog.resolve(s"${cell.module}.sv"), cell.verilog)
    free.foreach(_(verilog))
    verilog
  }

  private def follow(direction: String, plants: Seq[Plant], free: Seq[Declassified]): Unit = {
    LongForm.only()
    val encrypt = direction == "encrypt"
    val config = LaneConfig(encrypt)
    val folder = SpecFolder("TaintSpec", direction)
    val verilog = instrument(folder, config, plants, free)
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
    for (leak <- plants.map(plant => s"+planted=${plant.name}") ++ free.map(one => s"+withheld=${one.signal}")) {
      val (status, said) = run(TaintSpec.cycles, leak)
      assert(status == 1 && said.contains("a secret leaves by"), s"$leak was not found: $said")
      info(s"$leak: ${said.trim}")
    }
  }

  test("neither keys nor packets from red leave an encrypting lane but through its ciphers") {
    follow(
      "encrypt",
      Seq(
        // The salt stands where the SPI should be.
        Plant(
          "salt",
          "Lane",
          """(%\d+) = comb\.extract %io_in_bits_meta_spi from 0 : \(i32\) -> i8""",
          """    %spi_byte = comb.extract %io_in_bits_meta_spi from 0 : (i32) -> i8
            |    %salt_byte = comb.extract %io_in_bits_meta_salt from 0 : (i32) -> i8
            |    $1 = comb.mux %planted, %salt_byte, %spi_byte : i8""".stripMargin
        ),
        // A bit of the packet decides when the lane is ready: a channel in time.
        Plant(
          "pace",
          "LaneIntake",
          """%io_in_ready_REG = seq\.firreg (%\d+) (.*)""",
          """    %text_bit = comb.extract %io_in_bits_data from 0 : (i512) -> i1
            |    %paced = comb.and %text_bit, $1 : i1
            |    %pace = comb.mux %planted, %paced, $1 : i1
            |    %io_in_ready_REG = seq.firreg %pace $2""".stripMargin
        )
      ),
      Declassified.encrypting
    )
  }

  test("nothing of a packet leaves a decrypting lane unless its ICV is right") {
    follow(
      "decrypt",
      Seq(
        // A refused packet's beat keeps its bytes.
        Plant(
          "beat",
          "LaneOutlet",
          """(%\d+) = comb\.mux bin %beatOk, (%\d+), (%c0_i512) : i512""",
          """    %refused = comb.mux %planted, $2, $3 : i512
            |    $1 = comb.mux %beatOk, $2, %refused : i512""".stripMargin
        ),
        // The padding is judged although the ICV is wrong: the oracle of CBC (Vaudenay, 2002).
        Plant(
          "oracle",
          "EspJudge",
          """(%\d+) = comb\.mux bin %done_authentic, (%\d+), %c1_i3 : i3""",
          """    %judged = comb.mux %planted, $2, %c1_i3 : i3
            |    $1 = comb.mux %done_authentic, $2, %judged : i3""".stripMargin
        )
      ),
      Declassified.decrypting
    )
  }
}

private object TaintSpec {
  val cycles = "400000"
}
