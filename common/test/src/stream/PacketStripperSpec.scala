// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._

import scala.util.Random

/** Metadata of a packet to be cut: as the parsers of the interface chips give it. */
class CutMeta extends Bundle {
  val length = UInt(14.W)
  val headerWords = UInt(4.W)
}

class PacketStripperSpec extends StreamMatrix {
  private def stripper(offsets: Seq[Int])(offset: CutMeta => UInt) = new StreamHarness(new CutMeta, new CutMeta)(h => {
    val cut = Module(new PacketStripper(new CutMeta, offsets)(offset, _.length))
    cut.io.in <> h.in
    h.out <> cut.io.out
  })

  /**
   * Packets of the matrix with room for the offset, cut at random: exactly at the end, a few bytes
   * (padding) or many before.
   */
  private def packets(offset: Random => (Int, Int), short: Boolean = false): Seq[Packet] = {
    val random = new Random(3)
    for (length <- random.shuffle(matrixLengths)) yield {
      val (words, strip) = offset(random)
      val padding = random.nextInt(4) match {
        case 0 => random.nextInt(70)
        case 1 => random.nextInt(200)
        case _ => 0
      }
      val broken = short && random.nextBoolean()
      val bytes = Packet.random((strip + length + padding) min 9674, random).bytes
      val kept = (if (broken) bytes.length - strip + 1 + random.nextInt(100) else length) min 9600
      Packet(bytes, BigInt(kept << 4 | words))
    }
  }

  private def cut(p: Packet, strip: Int): Seq[Packet] =
    Seq(p.copy(bytes = p.bytes.slice(strip, strip + (p.meta >> 4).toInt)))

  test("strips an Ethernet header and trims padding") {
    checkMatrix(stripper(Seq(14))(_ => 14.U), _ => packets(_ => (5, 14)))(cut(_, 14))
  }

  test("strips Ethernet and IPv4 header with options and trims") {
    checkMatrix(
      stripper((5 to 15).map(14 + 4 * _))(m => (m.headerWords << 2) +& 14.U),
      _ =>
        packets { r =>
          val words = 5 + r.nextInt(11); (words, 14 + 4 * words)
        }
    )(p => cut(p, 14 + 4 * (p.meta & 15).toInt))
  }

  test("a packet with too few bytes comes out with an error, and hurts no other") {
    withBench(stripper((5 to 15).map(14 + 4 * _))(m => (m.headerWords << 2) +& 14.U)) { bench =>
      val sent = packets(r => { val words = 5 + r.nextInt(11); (words, 14 + 4 * words) }, short = true) ++
        Seq(1, 64, 65, 70, 74).map(n => Packet(Seq.fill(n)(7.toByte), BigInt(20 << 4 | 15)))
      bench.load(sent)
      for (idle <- Pace.all; pressure <- Pace.all) {
        bench.run(idle, pressure, 1)
        val received = bench.received
        assert(received.length == sent.length)
        for ((s, r) <- sent.zip(received)) {
          val strip = 14 + 4 * (s.meta & 15).toInt
          val short = strip + (s.meta >> 4).toInt > s.bytes.length
          assert(
            r.error == short && r.meta == s.meta,
            s"${s.bytes.length} bytes, ${s.meta >> 4} of them from $strip wanted"
          )
          if (!short) comparePackets(Seq(r), cut(s, strip), "beside broken ones")
        }
      }
    }
  }
}
