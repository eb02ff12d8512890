// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.ByteShift
import sallyport.common.link.{LinkFrame, LinkMeta, Noise}
import sallyport.common.stream.PacketStream

/**
 * Random packets as a neighbour chip may send them, whether it means well or not: every field of
 * the metadata takes any value, those that pass often; lengths of 1 to 128 bytes, at times to 2048,
 * and around the longest that ESP can carry.
 *
 * @param saBits
 *   most SA numbers have this many bits; the others sixteen
 * @param spi of SA 0, each next one more: half of the packets begin with that of their SA; `None`
 *   if the packets are no ESP
 * @param pause
 *   a packet begins in one cycle of 2^pause
 */
class HostileSource(saBits: Int, spi: Option[Long], pause: Int, salt: Long) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val seed = Input(UInt(32.W))
    val out = PacketStream(new LinkMeta)
    val sent = Output(UInt(32.W))
  })

  private val shape = Noise(salt + 1, io.seed)
  private val fields = Noise(salt + 2, io.seed)
  private val bytes = Noise(salt + 3, io.seed)

  private val length = WireDefault(UInt(PacketStream.lengthBits.W), shape(15, 9) +& 1.U)
  when(shape(8, 0) === 511.U) { length := (LinkFrame.maxBytes - 63).U + shape(14, 9) }
    .elsewhen(shape(8, 0) >= 504.U) { length := shape(19, 9) +& 1.U }

  private val meta = Wire(new LinkMeta)
  meta := 0.U.asTypeOf(meta)
  meta.length := shape(63, 50)
  meta.sa := Mux(shape(23, 20) === 0.U, fields(15, 0), fields(saBits - 1, 0))
  meta.bypass := shape(27, 24) === 0.U
  meta.transport := shape(28)
  meta.moved := shape(29)
  meta.df := shape(30)
  meta.tos := fields(23, 16)
  meta.nextHeader := fields(31, 24)
  meta.peerTag := fields(39, 32)

  private val random = Cat((0 until 8).map(i => bytes.rotateLeft(7 * i) ^ (i * 0x1234567).U))
  private val first = spi.fold(random) { base =>
    val own = (base.U(32.W) + meta.sa).asTypeOf(Vec(4, UInt(8.W)))
    Mux(shape(34), random(511, 32) ## Cat(own), random)
  }

  private val valid = RegInit(false.B)
  private val left = Reg(UInt(PacketStream.lengthBits.W))
  private val data = Reg(UInt(PacketStream.dataBits.W))
  private val held = Reg(new LinkMeta)
  private val sent = RegInit(0.U(32.W))
  private val last = left <= PacketStream.dataBytes.U
  private val ends = io.out.fire && last

  when(io.out.fire && !last) {
    left := left - PacketStream.dataBytes.U
    data := random
  }
  when(ends || !valid) {
    valid := io.enable && shape(34 + pause, 35) === 0.U
    left := length
    data := first
    held := meta
  }
  sent := sent + ends
  io.sent := sent

  io.out.valid := valid
  io.out.bits.last := last
  io.out.bits.bytes := Mux(last, left(6, 0), PacketStream.dataBytes.U)
  io.out.bits.data := ByteShift.keep(data, ByteShift.mask(io.out.bits.bytes))
  io.out.bits.error := false.B
  io.out.bits.meta := held
}
