// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import java.nio.file.{Files, Path}
import scala.util.matching.Regex

/**
 * A signal of a module that carries no secret although it comes from one, in the cycles in which
 * `when` holds, and the reason.
 */
case class Declassified(module: String, signal: String, when: String, because: String) {

  /**
   * Takes the taint away in the instrumented Verilog of the module, at its one assignment, but in a
   * run with `+withheld=SIGNAL`.
   */
  def apply(folder: Path): Unit = {
    val file = folder.resolve(s"$module.sv")
    val assignment = s"(?:assign )?\\b${signal}_t\\s*(<?=)\\s*([^;=][^;]*);".r
    val text = Files.readString(file)
    val places = assignment.findAllMatchIn(text).toSeq
    require(places.size == 1, s"${signal}_t is assigned in ${places.size} places of $module, not one")
    val place = places.head
    val verb = if (place.group(1) == "=") "assign " else ""
    val cleared = s"$verb${signal}_t ${place.group(1)} ($when) & ~withheld_$signal ? '0 : (${place.group(2)});"
    val switch =
      s"\n);\n  reg withheld_$signal;\n  initial withheld_$signal = $$test$$plusargs(\"withheld=$signal\") != 0;\n"
    val switched = text.replaceFirst("\n\\);\n", Regex.quoteReplacement(switch))
    Files.writeString(file, assignment.replaceFirstIn(switched, Regex.quoteReplacement(cleared)))
  }
}

object Declassified {

  /** Toward black: what the ciphers and the hashes make. */
  val encrypting = Seq(
    Declassified("LaneExit", "io_text_bits_block", "1'b1", "ciphertext, and CBC's IV"),
    Declassified("LaneAuth", "io_done_bits_tag", "1'b1", "the ICV")
  )

  /** Toward red: whether the ICV is right; and what a packet says, if it is. */
  val decrypting = Declassified("LaneAuth", "io_done_bits_authentic", "1'b1", "the ICV is right, or not") +:
    Seq("verdict", "length", "nextHeader").map { field =>
      Declassified("EspJudge", s"decided_decision_$field", "done_authentic", "told of a packet whose ICV is right")
    }
}
