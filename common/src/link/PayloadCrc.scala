// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import sallyport.common.arithmetic.Crc
import sallyport.common.clock.PipeClock
import sallyport.common.stream.PacketStream

/**
 * CRC-32 (IEEE 802.3) over packets of whole 64-byte beats: raw state, initial value all ones, no
 * final XOR.
 *
 * One beat a cycle. The state after the last beat stands at `crc` 2 cycles after that beat and for
 * that cycle only. A `first` beat always starts a new sum.
 */
class PayloadCrc extends Module {
  val io = IO(new Bundle {
    val valid = Input(Bool())
    val first = Input(Bool())
    val data = Input(UInt(PacketStream.dataBits.W))
    val crc = Output(UInt(32.W))
  })

  PipeClock(io.valid, awake = false.B, latency = 2) { _ =>
    val crc = Crc.ieee
    val quarter = PacketStream.dataBits / 4
    val rows = crc.dataRows(PacketStream.dataBits)
    val partials = (0 until 4).map { q =>
      val mask = (BigInt(1) << quarter) - 1
      RegNext(Crc.multiply(rows.map(_ >> (q * quarter) & mask), io.data(quarter * (q + 1) - 1, quarter * q)))
    }
    val valid = RegNext(io.valid, false.B)
    val first = RegNext(io.first)
    val state = Reg(UInt(32.W))
    when(valid) {
      state := crc.advance(Mux(first, "hffffffff".U, state), PacketStream.dataBits) ^ partials.reduce(_ ^ _)
    }
    io.crc := state
  }
}
