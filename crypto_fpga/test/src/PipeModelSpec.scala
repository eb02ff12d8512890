package sallyport.crypto

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.Emit

import java.nio.file.{Files, Path, Paths}
import scala.jdk.CollectionConverters._
import scala.sys.process._

/** The models against the pipes, on random operands. Not in ChiselSim, which links no C++ of others. */
class PipeModelSpec extends AnyFunSuite {

  /** The first folder of this name going up from the working folder. */
  private def up(name: String): Path = Iterator
    .iterate(Paths.get("").toAbsolutePath)(_.getParent)
    .takeWhile(_ != null)
    .map(_.resolve(name))
    .find(Files.isDirectory(_))
    .getOrElse(fail(s"no $name above the working folder: run this in a clone"))

  private def files(folder: Path, suffix: String): Seq[String] =
    Files.list(folder).iterator.asScala.map(_.toString).filter(_.endsWith(suffix)).toSeq.sorted

  test("every pipe and its model: the same results in the same cycles, with gaps and wipes") {
    val folder = Files.createTempDirectory("pipe-pairs")
    Emit(new PipePairs, folder)
    val models = up("sim/engine/model")
    val program = folder.resolve("pairs")
    val said = new StringBuilder
    val log = ProcessLogger(line => said.append(line).append('\n'))
    def run(command: Seq[String]): Unit = assert(command.!(log) == 0, s"${command.head}:\n$said")
    run(
      Seq("verilator", "--cc", "--exe", "--build", "--quiet", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style") ++
        Seq("--top-module", "PipePairs", "--Mdir", folder.resolve("obj").toString, "-o", program.toString) ++
        Seq("-CFLAGS", "-std=c++17 -march=native", "-LDFLAGS", "-lcrypto -latomic") ++
        files(folder, ".sv") ++ files(models, ".cpp") :+ up("crypto_fpga/test/cpp").resolve("pipe_pairs.cpp").toString
    )
    run(Seq(program.toString, "60000"))
    val counts = said.toString.linesIterator.filter(_.startsWith("results:")).toSeq.lastOption
    val results = counts.get.stripPrefix("results:").trim.split(' ').map(_.toInt)
    assert(results.length == PipePairs.names.size && results.forall(_ > 2000), said)
  }
}
