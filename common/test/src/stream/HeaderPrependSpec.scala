// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._

import scala.util.Random

class HeaderPrependSpec extends StreamMatrix {
  private val lengths = Seq(14, 34, 0, 62)

  /**
   * The matrix of lengths with a random header of each kind in front of each; an eighth is
   * swallowed.
   */
  private def packets(metaWidth: Int): Seq[Packet] = {
    val random = new Random(metaWidth)
    matrixPackets(0).map { packet =>
      val header = BigInt(8 * lengths.max, random)
      val drop = if (random.nextInt(8) == 0) 1 else 0
      val choice = random.nextInt(lengths.size)
      packet.copy(meta = (header << 17) | (choice << 15) | (lengths(choice) << 9) | (drop << 8) | random.nextInt(256))
    }
  }

  test(
    "headers of three lengths, or none, come in front, swallowed packets leave no trace, ends that do not fit cost one beat"
  ) {
    checkMatrix(
      new StreamHarness(new PrependedHeader(lengths, UInt(8.W)), UInt(8.W))(h => {
        val prepend = Module(new HeaderPrepend(lengths, UInt(8.W)))
        prepend.io.in <> h.in
        h.out <> prepend.io.out
      }),
      packets,
      slack = 16 + matrixLengths.size
    ) { packet =>
      val length = (packet.meta >> 9 & 63).toInt
      val header = Packet.bytesOf(packet.meta >> 17, length)
      if (packet.meta.testBit(8)) Seq() else Seq(Packet(header ++ packet.bytes, packet.meta & 255))
    }
  }
}
