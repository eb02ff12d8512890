// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._

/** A finished packet as it waits in [[LaneRetire]], a beat at most. */
class LaneRecord(config: LaneConfig) extends Bundle {
  val finished = new LaneFinished(config)

  /** [[LaneRecord.check]] of `finished`. */
  val check = UInt(LaneRecord.facts(finished).map(_.getWidth).sum.W)

  def isRight: Bool = check === LaneRecord.check(finished)
}

object LaneRecord {
  private def facts(of: LaneFinished): Seq[Data] = Seq(of.verdict, of.length, of.words, of.beats, of.base)

  /** What decides whether a packet leaves, and which bytes, once more: each bit inverted. */
  def check(of: LaneFinished): UInt = ~Cat(facts(of).map(_.asUInt))
}
