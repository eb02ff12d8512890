// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mac

import chisel3._
import sallyport.common.stream.{NoMeta, Packet, StreamHarness, StreamMatrix}
import sallyport.iface.headers.{EthernetHeader, VlanTags}

import scala.util.Random

class TagInsertSpec extends StreamMatrix {

  /**
   * The matrix of lengths that a frame may have, with none, one and two tags of random bytes
   * in turn.
   */
  private def packets(metaWidth: Int): Seq[Packet] = {
    val random = new Random(metaWidth)
    matrixPackets(0).filter(_.bytes.size >= EthernetHeader.bytes).zipWithIndex.map { case (packet, i) =>
      packet.copy(meta = BigInt(i % 3) << 64 | BigInt(64, random))
    }
  }

  test("tags come behind the addresses, the first one first; ends that do not fit cost one beat") {
    checkMatrix(
      new StreamHarness(new VlanTags, new NoMeta)(h => {
        val insert = Module(new TagInsert)
        insert.io.in <> h.in
        h.out <> insert.io.out
      }),
      packets,
      slack = 16 + matrixLengths.size
    ) { packet =>
      val tags = Packet.bytesOf(packet.meta, 4 * (packet.meta >> 64).toInt)
      val (addresses, rest) = packet.bytes.splitAt(12)
      Seq(packet.copy(bytes = addresses ++ tags ++ rest, meta = 0))
    }
  }
}
