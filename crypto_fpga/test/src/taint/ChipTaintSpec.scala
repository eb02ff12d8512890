// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.{LongForm, SpecFolder}
import sallyport.crypto.chip.CryptoCore
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.support.VerilatedProgram

import java.nio.file.Path

/**
 * Follows keys, and packets from red, through every wire of a crypto chip between hostile interface
 * chips, under register writes, tampering and flipped bits: `sallyport-fuzz`'s traffic, and its
 * judge. Nothing of them leaves toward black, to software or by time but by the list of
 * [[Declassified]]. Toward red only words of packets leave, and the judge knows each that is right.
 *
 * The chip has one lane a direction with fewer slots, and else what a simulation's has.
 * `SALLYPORT_TAINT_PACKETS=N` runs until N packets went in; `SALLYPORT_TAINT_SEED=S` replaces
 * seed 1.
 */
class ChipTaintSpec extends AnyFunSuite {

  private val plants = Seq(Plants.sideDoor, Plants.staged, Plants.pace, Plants.oracle)

  /** A packet from red is secret, but for its clear headers and unless it bypasses. */
  private val red = {
    val meta = "io_redRx_bits_meta"
    val beat = Seq("reset", "io_redRx_valid", "io_redRx_ready", "io_redRx_bits_last", s"${meta}_bypass")
    Seq(
      Source(
        "CryptoCore",
        "engine",
        "io_redRx_bits_data",
        512,
        (beat :+ s"${meta}_transport").map(_ -> 1) :+ s"${meta}_tos" -> 8,
        s"""  reg first;
           |  always @(posedge clock)
           |    if (reset) first <= 1;
           |    else if (io_redRx_valid & io_redRx_ready) first <= io_redRx_bits_last;
           |  wire [9:0] clear = 8 * (14 + 4 * (${meta}_tos[5:4] + ${meta}_tos[3:0]));
           |  assign taint = ${meta}_bypass ? 512'h0 : first & ${meta}_transport ? ~512'h0 << clear : ~512'h0;
           |""".stripMargin
      ),
      Source(
        "CryptoCore",
        "engine",
        s"${meta}_nextHeader",
        8,
        Seq(s"${meta}_bypass" -> 1),
        s"  assign taint = {8{~${meta}_bypass}};"
      )
    )
  }

  private def program(folder: Path, verilog: Path): VerilatedProgram = {
    val engine = VerilatedProgram.up("sim/engine")
    val folders = Seq("fuzz/link", "fuzz/frames", "fuzz/judge", "fuzz/drive", "src/model")
    val sources = folders.flatMap(of => VerilatedProgram.files(engine.resolve(of), ".cpp"))
    val program = new VerilatedProgram("CryptoCore", folder)
    program.build(
      "chip_taint.cpp",
      Seq(engine.resolve("memories.vlt"), engine.resolve("src/chip/axi_master.cpp")) ++ sources ++
        VerilatedProgram.files(verilog, ".sv"),
      flags = s"-march=native -iquote $engine/src -iquote $engine",
      options = Seq("--build-jobs", "0", "-MAKEFLAGS", "OPT_FAST=-O2", "-LDFLAGS", "-lcrypto")
    )
    program
  }

  test("neither keys nor packets from red leave the crypto chip but through its ciphers") {
    LongForm.only()
    val config = CryptoConfig(lanes = 1, slots = 32, laneBeats = 512)
    val folder = SpecFolder("ChipTaintSpec", "chip")
    val free = Declassified.chip
    val built = program(folder, Instrument(folder, new CryptoCore(config), plants, red, free))
    val seed = sys.env.getOrElse("SALLYPORT_TAINT_SEED", "1")
    val (status, said) = built.run(sys.env.getOrElse("SALLYPORT_TAINT_PACKETS", ChipTaintSpec.packets), seed)
    assert(status == 0, said)
    info(said.linesIterator.mkString("; "))
    for (what <- Seq("ESP out", "verified", "upsets", "tainted words toward red"))
      assert(said.linesIterator.exists(_.matches(s"$what: [1-9]\\d*")), said)
    for (leak <- plants.map(plant => s"+planted=${plant.name}") ++ free.map(one => s"+withheld=${one.name}")) {
      val (status, said) = built.run(ChipTaintSpec.packets, seed, leak)
      assert(status == 1 && said.contains("a secret leaves by"), s"$leak was not found: $said")
      info(s"$leak: ${said.linesIterator.toSeq.last}")
    }
  }
}

private object ChipTaintSpec {
  val packets = "40000"
}
