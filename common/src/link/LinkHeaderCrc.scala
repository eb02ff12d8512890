// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.Crc
import sallyport.common.clock.PipeClock

object LinkHeaderCrc {

  /** Cycles from `in` to `out`. */
  val latency: Int = 3
}

/**
 * Completes the header of a frame: its check and its CRC (docs/reference/link.md).
 *
 * One header a cycle, latency [[LinkHeaderCrc.latency]]. Rests in simulation while no frame starts.
 *
 * @param withSequence the sequence number of a packet is under the CRC, between payload and header
 */
class LinkHeaderCrc(withSequence: Boolean) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new Bundle {

      /** A packet's header, not one alone. */
      val packet = Bool()

      /** The header without its CRC; its check is not read. */
      val covered = UInt(LinkFrame.coveredBits.W)
      val sequence = UInt(64.W)

      /** State of [[PayloadCrc]] after the packet's payload. */
      val payload = UInt(32.W)
    }))
    val out = Output(UInt(LinkFrame.headerBits.W))
  })

  PipeClock(io.in.valid, awake = false.B, LinkHeaderCrc.latency) { _ =>
    val stage0 = RegNext(io.in.bits)
    val afterSequence =
      if (withSequence) Crc.ieee.advance(stage0.payload, 64) ^ Crc.ieee.contribution(stage0.sequence, 64)
      else stage0.payload

    // The check is computed beside the CRC of the fields around it, and then put into both.
    val covered = RegNext(stage0.covered)
    val check = RegNext(LinkFrame.check(stage0.covered(63, 0)))
    val around = RegNext(Crc.ieee.contribution(stage0.covered, LinkFrame.coveredBits))
    val before = RegNext(Mux(stage0.packet, afterSequence, "hffffffff".U))
    val checkRows = Crc.ieee.dataRows(LinkFrame.coveredBits).map(_ >> 4 & 15)
    val crc = Crc.ieee.advance(before, LinkFrame.coveredBits) ^ around ^ Crc.multiply(checkRows, check)
    io.out := RegNext(Cat(~crc, covered(95, 8), check, covered(3, 0)))
  }
}
