// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tfc

import chisel3._
import sallyport.common.stream.{Packet, PacketStream, StreamHarness, StreamMatrix}

import scala.util.Random

/** Metadata of a packet under test: its length, and the least that it may have. */
private class PadMeta extends Bundle {
  val least = UInt(TfcPadder.unitsBits.W)
  val length = UInt(PacketStream.lengthBits.W)
}

class TfcPadderSpec extends StreamMatrix {
  private def meta(units: Int, length: Int): BigInt = (BigInt(units) << PacketStream.lengthBits) | length

  test("what is shorter than its least length has zeros behind it up to that; all else is as it was") {
    val random = new Random(27)
    val least = Seq(0, 1, 15, 16, 17, 31, 32, 33, 48, 64, 100, 375, 2400)
    val lengths = Seq(1, 4, 20, 60, 61, 63, 64, 65, 67, 68, 124, 127, 128, 129, 132, 1500, 9596, 9600)
    val all = for (units <- least; length <- lengths) yield {
      val packet = Packet.random(length, random)
      packet.copy(meta = meta(units, length), error = random.nextInt(8) == 0)
    }
    def becomes(packet: Packet): Seq[Packet] = {
      val units = (packet.meta >> PacketStream.lengthBits).toInt
      val bytes = packet.bytes.padTo(4 * units, 0.toByte)
      Seq(packet.copy(bytes = bytes, meta = meta(units, bytes.length)))
    }
    val sent = random.shuffle(all)
    assert(sent.exists(becomes(_).head.beats > sent.map(_.beats).min + 100))
    checkMatrix(
      new StreamHarness(new PadMeta, new PadMeta, depth = 16384)(h => {
        val padder = Module(new TfcPadder(new PadMeta)(_.length, _.least)((meta, bytes) => {
          val resized = WireDefault(meta)
          resized.length := bytes
          resized
        }))
        padder.io.in <> h.in
        h.out <> padder.io.out
      }),
      _ => sent
    )(becomes)
  }
}
