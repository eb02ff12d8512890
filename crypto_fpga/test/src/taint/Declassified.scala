// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import java.nio.file.{Files, Path}
import scala.util.matching.Regex

/**
 * A signal of a module that carries no secret although it comes from one, in the cycles in which
 * `when` holds, and the reason.
 *
 * @param module the module, or the only one of this name and a number in `below`
 * @param below  a module that has it, over any number of others; of the whole design if empty
 */
case class Declassified(module: String, signal: String, when: String, because: String, below: String = "") {

  /** Its name in a run: `+withheld=NAME` leaves the signal its taint. */
  def name: String = if (below.isEmpty) signal else s"${below}_$signal"

  /** Takes the taint away in the instrumented Verilog of the module, at its one assignment. */
  def apply(folder: Path, modules: Map[String, Seq[String]]): Unit = {
    val file = folder.resolve(s"${found(modules)}.sv")
    val assignment = s"(?:assign )?\\b${signal}_t\\s*(<?=)\\s*([^;=][^;]*);".r
    val text = Files.readString(file)
    // Not what a reset makes of it.
    val places = assignment.findAllMatchIn(text).filterNot(_.group(2).trim.matches("\\d+'h0")).toSeq
    require(places.size == 1, s"${signal}_t is assigned in ${places.size} places of $file, not one")
    val place = places.head
    val verb = if (place.group(1) == "=") "assign " else ""
    val cleared = s"$verb${signal}_t ${place.group(1)} ($when) & ~withheld_$name ? '0 : (${place.group(2)});"
    val switch =
      s"\n);\n  reg withheld_$name;\n  initial withheld_$name = $$test$$plusargs(\"withheld=$name\") != 0;\n"
    val switched = text.replaceFirst("\n\\);\n", Regex.quoteReplacement(switch))
    Files.writeString(file, switched.replace(place.matched, cleared))
  }

  private def found(modules: Map[String, Seq[String]]): String = {
    def inside(of: String): Set[String] =
      modules.getOrElse(of, Nil).foldLeft(Set(of))((all, one) => all ++ inside(one))
    val name = s"${Regex.quote(module)}(_\\d+)?".r
    val candidates = (if (below.isEmpty) modules.keySet else inside(below)).filter(name.matches)
    require(
      candidates.size == 1,
      s"${candidates.size} modules $module in ${if (below.isEmpty) "all" else below}, not one"
    )
    candidates.head
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

  /** Of the whole chip: both, and what a code says of a key row's wrong bits. */
  val chip: Seq[Declassified] =
    encrypting.map(_.copy(below = "EncryptPath")) ++
      // The next header is a word toward red.
      decrypting.filterNot(_.signal.endsWith("nextHeader")).map(_.copy(below = "DecryptPath")) :+
      Declassified("RowRepair", "syndrome2", "1'b1", "which bit of a row is wrong, whatever the row says") :+
      Declassified("DecryptFetch", "wrong", "1'b1", "whether a bit of a row is wrong, whatever the row says")
}
