// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util.log2Ceil

import scala.util.Random

class HeaderPrependSpec extends StreamMatrix {

  /**
   * The matrix of lengths with a random header of each kind in front of each; an eighth is
   * swallowed.
   */
  private def packets(lengths: Seq[Int]): Seq[Packet] = {
    val random = new Random(lengths.size)
    matrixPackets(0).map { packet =>
      val header = BigInt(8 * lengths.max, random)
      val drop = if (random.nextInt(8) == 0) 1 else 0
      val choice = random.nextInt(lengths.size)
      val select = (header << log2Ceil(lengths.size)) | choice
      packet.copy(meta = (select << 15) | (lengths(choice) << 9) | (drop << 8) | random.nextInt(256))
    }
  }

  // Few lengths and many are two forms of hardware.
  for (lengths <- Seq(Seq(14, 34, 0, 62), 0 +: (34 to 62 by 4), Seq(14, 18, 21, 27, 33, 46, 59)))
    test(
      s"headers of ${lengths.mkString(", ")} bytes come in front, swallowed packets leave no trace, ends that do not fit cost one beat"
    ) {
      checkMatrix(
        new StreamHarness(new PrependedHeader(lengths, UInt(8.W)), UInt(8.W))(h => {
          val prepend = Module(new HeaderPrepend(lengths, UInt(8.W)))
          prepend.io.in <> h.in
          h.out <> prepend.io.out
        }),
        _ => packets(lengths),
        slack = 16 + matrixLengths.size
      ) { packet =>
        val length = (packet.meta >> 9 & 63).toInt
        val header = Packet.bytesOf(packet.meta >> (15 + log2Ceil(lengths.size)), length)
        if (packet.meta.testBit(8)) Seq() else Seq(Packet(header ++ packet.bytes, packet.meta & 255))
      }
    }
}
