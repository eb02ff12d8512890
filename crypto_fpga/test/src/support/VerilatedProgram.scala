// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.support

import java.nio.file.{Files, Path, Paths}
import scala.jdk.CollectionConverters._
import scala.sys.process._

/**
 * A design and a driver in C++ as one program, for specs that need more than ChiselSim shows.
 *
 * @param top    the module that the driver drives
 * @param folder of the program and of all that Verilator writes
 */
class VerilatedProgram(top: String, folder: Path) {
  private val program = folder.resolve("program")

  /**
   * Has Verilator build it; throws with its output if it fails.
   *
   * @param driver a file of `crypto_fpga/test/cpp`
   * @param inputs Verilog, and what else Verilator reads or compiles
   * @param flags  of the C++ compiler
   * @param options of Verilator, behind those that all programs have
   */
  def build(driver: String, inputs: Seq[Path], flags: String = "", options: Seq[String] = Nil): Unit = {
    val drivers = VerilatedProgram.up("crypto_fpga/test/cpp")
    val command =
      Seq("verilator", "--cc", "--exe", "--build", "--quiet", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style") ++
        Seq("--top-module", top, "--Mdir", folder.resolve("obj").toString, "-o", program.toString) ++
        Seq("--x-assign", "fast", "--x-initial", "fast", "--output-split", "100000") ++
        Seq("-CFLAGS", s"-std=c++17 -I$drivers $flags".trim, "-LDFLAGS", "-latomic") ++ options ++
        inputs.map(_.toString) :+ drivers.resolve(driver).toString
    val (status, said) = VerilatedProgram.run(command)
    if (status != 0) throw new RuntimeException(s"verilator ends with $status:\n$said")
  }

  /** Its exit status and all that it prints. */
  def run(arguments: String*): (Int, String) = VerilatedProgram.run(program.toString +: arguments)
}

object VerilatedProgram {

  /** The first folder of this name going up from the working folder. */
  def up(name: String): Path = Iterator
    .iterate(Paths.get("").toAbsolutePath)(_.getParent)
    .takeWhile(_ != null)
    .map(_.resolve(name))
    .find(Files.isDirectory(_))
    .getOrElse(throw new RuntimeException(s"no $name above the working folder: run this in a clone"))

  /** The files of a folder whose names end so, in the order of their names. */
  def files(folder: Path, suffix: String): Seq[Path] =
    Files.list(folder).iterator.asScala.filter(_.toString.endsWith(suffix)).toSeq.sorted

  private def run(command: Seq[String]): (Int, String) = {
    val said = new StringBuilder
    val status = command.!(ProcessLogger(line => said.append(line).append('\n')))
    (status, said.toString)
  }
}
