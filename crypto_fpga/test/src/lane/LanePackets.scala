// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import sallyport.crypto.suite.Suite
import sallyport.crypto.support.Bytes

import java.io.{ByteArrayOutputStream, DataOutputStream}
import scala.util.Random

/** Packets for a lane, for a program that is not in Scala: whole ones, broken ones, forged ones. */
object LanePackets {

  /**
   * A file of packets in an order that does not matter: of each the number of bytes (4, the highest
   * first), whether it is fast, whether the input says `error`, the suite, a byte of no meaning,
   * the bits of [[LaneJob]], the lowest byte first, filled up to a multiple of 4 bytes, and
   * the packet.
   */
  def file(encrypt: Boolean, suites: Seq[Suite], each: Int, seed: Int): Array[Byte] = {
    val random = new Random(seed)
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    for (suite <- suites; i <- 0 until each) {
      val job = EspModel.randomJob(random, Seq(suite)).copy(nextHeader = if (i % 17 == 1) 59 else 4)
      val text = Bytes.random(random, length(random)).toSeq
      val packet = if (encrypt) text else received(random, job, text, i)
      out.writeInt(packet.length)
      out.writeByte(if (suite.fast) 1 else 0)
      out.writeByte(if (i % 19 == 2) 1 else 0)
      out.writeByte(suite.number)
      out.writeByte(0)
      val bits = Bytes.fromBigInt(job.jobBits(packet.length, inbound = !encrypt), (LanePairs.jobBits + 31) / 32 * 4)
      out.write(bits)
      out.write(packet.toArray)
    }
    bytes.toByteArray
  }

  private def length(random: Random): Int = random.nextInt(10) match {
    case 0 | 1 | 2 => 1 + random.nextInt(60)
    case 3 | 4 | 5 => 40 + random.nextInt(200)
    case 6 | 7 => 400 + random.nextInt(200)
    case 8 => 1300 + random.nextInt(220)
    case _ => 1 + random.nextInt(9500)
  }

  /** An ESP packet, every other one with something about it. */
  private def received(random: Random, job: EspJob, payload: Seq[Byte], i: Int): Seq[Byte] = {
    val to = job.suite.padTo
    def ascending(n: Int) = (1 to n).map(_.toByte)
    def pad(atLeast: Int) = ascending(atLeast + (to - (payload.length + atLeast + 2) % to) % to)
    def flip(bytes: Seq[Byte], bit: Int) = bytes.updated(bit / 8, (bytes(bit / 8) ^ 1 << (bit % 8)).toByte)
    val good = job.seal(job.text(payload))
    i % 16 match {
      case 1 => flip(good, random.nextInt(8 * good.length))
      case 3 => flip(good, 8 * good.length - 1 - random.nextInt(8 * job.icvBytes))
      case 5 => job.seal(job.text(payload, Some(pad(random.nextInt(240)))))
      case 7 =>
        val right = pad(1 + random.nextInt(200))
        job.seal(job.text(payload, Some(flip(right, random.nextInt(8 * right.length)))))
      case 9 =>
        val n = 1 + random.nextInt(3)
        val beyond = if (random.nextBoolean()) n * to - 2 else 255
        job.seal(job.text(Seq(), Some(ascending(n * to - 2)), Some(beyond)))
      case 11 => good.take(1 + random.nextInt(good.length))
      case 13 => Bytes.random(random, 1 + random.nextInt(80)).toSeq
      case _ => good
    }
  }
}
