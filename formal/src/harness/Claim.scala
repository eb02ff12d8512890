// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.harness

/**
 * A mistake planted in the Verilog of `module`: the regular expression `find` matches exactly once
 * and becomes `replace`.
 */
case class Bug(module: String, find: String, replace: String)

/**
 * What a [[Property]] claims, and how `make formal` shows it.
 *
 * @param proves  one sentence
 * @param clause  of a standard, or the module's contract
 * @param bug     with which the property must fail
 * @param assumes what the environment does, each with the module that guarantees it
 * @param cuts    modules that are left out: their outputs may be anything, and their own assertions
 *   are not judged here
 * @param depth   k of the induction, in cycles
 * @param reach   cycles from reset within which each cover is reached and the bug is seen
 */
case class Claim(
    proves: String,
    clause: String,
    bug: Bug,
    assumes: Seq[String] = Nil,
    cuts: Seq[String] = Nil,
    depth: Int = 2,
    reach: Int = 12
) {
  require(depth >= 1 && reach >= 2, s"'$proves': a depth of 1 cycle and a reach of 2 are the least")

  /** As JSON, with the names of the registers that the property's ports `spy_N` stand for. */
  def json(spies: Seq[String]): String = {
    def text(s: String) = "\"" + s.flatMap {
      case c @ ('"' | '\\') => s"\\$c"
      case c => c.toString
    } + "\""
    def list(items: Seq[String]) = items.map(text).mkString("[", ", ", "]")
    s"""{"proves": ${text(proves)}, "clause": ${text(clause)}, "assumes": ${list(assumes)},
       | "depth": $depth, "reach": $reach, "spies": ${list(spies)}, "cuts": ${list(cuts)},
       | "bug": {"module": ${text(bug.module)}, "find": ${text(bug.find)}, "replace": ${text(bug.replace)}}}
       |""".stripMargin
  }
}
