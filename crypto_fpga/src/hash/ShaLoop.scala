// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._

/**
 * The common part of FIPS 180-4's compression functions: a round a stage. The constant and the word
 * of the schedule are added to the last working variable a stage ahead, which leaves a round one
 * carry chain. The loop has a stage more than a pass has rounds, for the first round's addition.
 */
trait ShaLoop extends HashLoop {

  /** Of a pass. */
  def rounds: Int
  def stages: Int = rounds + 1

  /** The constants of round `round` of each pass. */
  def constants(round: Int): Seq[BigInt]

  /** One round. The last variable has constant and word added in. */
  def round(pass: UInt, variables: Seq[UInt]): Seq[UInt]

  /** Word t + 16 of the message schedule from words t to t + 15. */
  def expand(schedule: Seq[UInt]): UInt

  def step(stage: Int, pass: UInt, in: HashWords): HashWords = {
    val variables = if (stage == 0) in.variables else round(pass, in.variables)
    if (stage == rounds) {
      HashWords(variables, in.schedule)
    } else {
      val constant = VecInit(constants(stage).map(_.U(32.W)))(pass)
      HashWords(
        variables.init :+ (variables.last + constant + in.schedule.head),
        in.schedule.tail :+ expand(in.schedule)
      )
    }
  }

  def finish(after: UInt, before: UInt): UInt = after + before
}

object ShaLoop {
  def choose(x: UInt, y: UInt, z: UInt): UInt = (x & y) ^ (~x & z)
  def majority(x: UInt, y: UInt, z: UInt): UInt = (x & y) ^ (x & z) ^ (y & z)
}
