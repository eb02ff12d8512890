// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.path

import chisel3._
import sallyport.common.clock.QuietClock

/**
 * The clock of an [[EncryptPath]] or a [[DecryptPath]], which stops in simulation while there is
 * no packet in it ([[QuietClock]]).
 */
private[crypto] object PathClock {

  /**
   * More cycles than the rest of the work takes when the last packet has left or a row was
   * written.
   */
  private val settleCycles = 1024

  /**
   * @param received
   *   packets that have come in this cycle
   * @param left
   *   packets that have left in this cycle, by whatever name
   * @param stirs
   *   something is at the path's ports, or its tables are being cleared
   * @param control
   *   what the path samples
   */
  def apply(received: UInt, left: Seq[UInt], stirs: Bool, control: PathControl): Clock = {
    val inside = RegInit(0.U(16.W))
    // A cycle late: nothing stands on these counts but this clock, and what sums up to them
    // is long.
    inside := inside + RegNext(received, 0.U) - left.map(RegNext(_, 0.U)).reduce(_ +& _)
    val changed = control.asUInt =/= RegNext(control.asUInt, 0.U)
    QuietClock(stirs || inside =/= 0.U || changed || control.blocked, settleCycles)
  }
}
