// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import java.io.InputStream
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import scala.sys.process._

/** The programs of CIRCT, out of firtool's package: Chisel itself unpacks firtool alone. */
class Circt(folder: Path) {
  private val version = new String(resource("project.version").readAllBytes).trim
  require(
    chisel3.BuildInfo.firtoolVersion.contains(version),
    s"build.mill pins firtool $version, and this Chisel comes with ${chisel3.BuildInfo.firtoolVersion.getOrElse("none")}"
  )

  /** Runs a program; throws with its output if it fails. */
  def run(name: String, arguments: String*): Unit = {
    val said = new StringBuilder
    val log = ProcessLogger(line => said.append(line.take(400)).append('\n'))
    val status = (program(name).toString +: arguments).!(log)
    if (status != 0) throw new RuntimeException(s"$name ends with $status:\n${said.toString.take(4000)}")
  }

  private def program(name: String): Path = {
    val file = folder.resolve(name)
    if (!Files.exists(file)) {
      val packed = resource(s"linux-x64/bin/$name")
      try Files.copy(packed, file)
      finally packed.close()
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"))
    }
    file
  }

  private def resource(name: String): InputStream = {
    val path = s"org.chipsalliance/llvm-firtool/$name"
    Option(getClass.getClassLoader.getResourceAsStream(path))
      .getOrElse(throw new RuntimeException(s"no $path on the class path: build.mill names firtool's package"))
  }
}
