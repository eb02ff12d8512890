// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import sallyport.common.queue.{LutQueue, MemoryQueue, PacketQueue, RingQueue, ShiftQueue}

/** The pass-through modules on the matrix: the packets come out as they went in. */
class StreamUtilitiesSpec extends StreamMatrix {
  private val meta = UInt(24.W)

  test("RegisterSlice passes packets") {
    checkMatrix(new StreamHarness(meta, meta)(h => h.out <> RegisterSlice(h.in)), slack = 1)(Seq(_))
  }

  test("PacketQueue passes packets") {
    checkMatrix(new StreamHarness(meta, meta)(h => {
      val queue = Module(new PacketQueue(meta, 16))
      queue.io.in <> h.in
      h.out <> queue.io.out
    }))(Seq(_))
  }

  test("MemoryQueue passes beats, beyond its entries and around them") {
    checkMatrix(new StreamHarness(meta, meta)(h => {
      val queue = Module(new MemoryQueue(chiselTypeOf(h.in.bits), 8))
      queue.io.in <> h.in
      h.out <> queue.io.out
    }))(Seq(_))
  }

  test("ShiftQueue passes beats, beyond its entries") {
    checkMatrix(new StreamHarness(meta, meta)(h => {
      val queue = Module(new ShiftQueue(chiselTypeOf(h.in.bits), 3))
      queue.io.in <> h.in
      h.out <> queue.io.out
    }))(Seq(_))
  }

  test("LutQueue passes beats, beyond its places and around them") {
    checkMatrix(new StreamHarness(meta, meta)(h => h.out <> LutQueue(h.in, 4)), slack = 1)(Seq(_))
  }

  test("RingQueue passes beats, as many as it has places and around them") {
    checkMatrix(new StreamHarness(meta, meta)(h => {
      val places = 4
      val room = RegInit(places.U(3.W))
      h.in.ready := room =/= 0.U
      h.out <> RingQueue(h.in.fire, h.in.bits, places, clear = false.B)
      room := room - h.in.fire + h.out.fire
    }))(Seq(_))
  }

  test("SkidBuffer passes beats") {
    checkMatrix(new StreamHarness(meta, meta)(h => h.out <> SkidBuffer(h.in)))(Seq(_))
  }
}
