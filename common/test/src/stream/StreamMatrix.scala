// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

/**
 * A packet on a stream: its bytes, its metadata bundle as a number, and `error` on its
 * last beat.
 */
case class Packet(bytes: Seq[Byte], meta: BigInt = 0, error: Boolean = false) {
  def beats: Int = (bytes.length + PacketStream.dataBytes - 1) / PacketStream.dataBytes
}

object Packet {
  private val beatBytes = PacketStream.dataBytes

  /** The number whose byte n (bits 8n+7:8n) is `bytes(n)`. */
  def littleEndian(bytes: Seq[Byte]): BigInt = BigInt(1, bytes.reverse.toArray)

  /** The low `count` bytes of a number, byte 0 first. */
  def bytesOf(value: BigInt, count: Int): Seq[Byte] = (0 until count).map(i => (value >> (8 * i)).toByte)

  /**
   * The beats as numbers in the layout of `PacketBeat.asUInt` (data highest, then last, bytes,
   * error, meta).
   */
  def toBeats(packet: Packet, metaWidth: Int): Seq[BigInt] = {
    val chunks = packet.bytes.grouped(beatBytes).toSeq
    chunks.zipWithIndex.map { case (chunk, i) =>
      val last = i == chunks.length - 1
      var beat = littleEndian(chunk)
      beat = (beat << 1) | (if (last) 1 else 0)
      beat = (beat << 7) | chunk.length
      beat = (beat << 1) | (if (last && packet.error) 1 else 0)
      (beat << metaWidth) | packet.meta
    }
  }

  /** The packets that a sequence of beats holds; an unfinished one at the end is an error. */
  def fromBeats(beats: Seq[BigInt], metaWidth: Int): Seq[Packet] = {
    val packets = Seq.newBuilder[Packet]
    var bytes = Vector.empty[Byte]
    for (beat <- beats) {
      val meta = beat & ((BigInt(1) << metaWidth) - 1)
      val rest = beat >> metaWidth
      bytes ++= bytesOf(rest >> 9, ((rest >> 1) & 127).toInt)
      if (rest.testBit(8)) {
        packets += Packet(bytes, meta, rest.testBit(0))
        bytes = Vector.empty
      }
    }
    require(bytes.isEmpty, s"the last packet of ${beats.length} beats has no end")
    packets.result()
  }

  def random(length: Int, random: Random, metaWidth: Int = 0): Packet = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    Packet(bytes.toSeq, BigInt(metaWidth, random))
  }
}

/** Drives a simulated [[StreamHarness]]. */
class StreamBench[I <: Data, O <: Data](dut: StreamHarness[I, O]) extends PeekPokeAPI {
  private val inMetaWidth = dut.inWidth - 521
  private val outMetaWidth = dut.outWidth - 521

  private def step(cycles: Int): Unit = dut.clock.step(cycles)

  def load(packets: Seq[Packet]): Unit = {
    val beats = packets.flatMap(Packet.toBeats(_, inMetaWidth))
    require(beats.length <= dut.depth, s"${beats.length} beats do not fit a harness of ${dut.depth}")
    dut.io.clear.poke(true.B)
    step(1)
    dut.io.clear.poke(false.B)
    dut.io.load.valid.poke(true.B)
    for (beat <- beats) {
      dut.io.load.bits.poke(beat.U(dut.inWidth.W))
      step(1)
    }
    dut.io.load.valid.poke(false.B)
  }

  /**
   * Plays the loaded packets and runs until nothing has come out for `settle` cycles after the
   * last beat went in. `setting` is for the hardware around the module under test.
   */
  def run(idle: Int, pressure: Int, seed: Int, settle: Int = 400, limit: Int = 200000, setting: Int = 0): Unit = {
    dut.io.setting.poke(setting.U)
    dut.io.idle.poke(idle.U)
    dut.io.pressure.poke(pressure.U)
    dut.io.seed.poke((seed & 0x7fffffff).U)
    dut.io.start.poke(true.B)
    step(1)
    dut.io.start.poke(false.B)
    var cycles = 0
    while (dut.io.quiet.peek().litValue < settle) {
      step(settle)
      cycles += settle
      require(cycles < limit, s"not done after $cycles cycles: ${dut.io.outBeats.peek().litValue} beats came out")
    }
    val violations = dut.io.violations.peek().litValue.toInt
    val rules = Seq(
      "valid or bits changed while stalled",
      "bytes above `bytes` not zero",
      "wrong `bytes`",
      "metadata changed in a packet"
    )
    require(
      violations == 0,
      rules.indices.filter(i => (violations >> i) % 2 == 1).map(rules).mkString("stream rules broken: ", ", ", "")
    )
  }

  def signature: (BigInt, BigInt) = (dut.io.outBeats.peek().litValue, dut.io.hash.peek().litValue)
  def events(index: Int): Int = dut.io.events(index).peek().litValue.toInt
  def latency: Int = dut.io.latency.peek().litValue.toInt
  def cycles: Int = dut.io.cycles.peek().litValue.toInt

  def received: Seq[Packet] = {
    val beats = (0 until dut.io.outBeats.peek().litValue.toInt).map { i =>
      dut.io.address.poke(i.U)
      dut.io.recorded.peek().litValue
    }
    Packet.fromBeats(beats, outMetaWidth)
  }
}

/**
 * The fixed matrix of every stream module: lengths 1 to 4 beats, then long ones; idle patterns ×
 * backpressure patterns × seeds.
 *
 * A spec is short:
 * {{{
 * class XSpec extends StreamMatrix {
 *   test("X passes packets") {
 *     checkMatrix(new StreamHarness(new NoMeta, new NoMeta)(h => {
 *       val x = Module(new X); x.io.in <> h.in; h.out <> x.io.out
 *     }))(Seq(_))
 *   }
 * }
 * }}}
 */
trait StreamMatrix extends AnyFunSuite with CompiledOnce {

  /** Lengths of the matrix. */
  val matrixLengths: Seq[Int] =
    (1 to 4 * 64) ++ Seq(257, 319, 320, 321, 576, 1400, 1500, 1518, 4095, 4096, 9000, 9599, 9600)

  def matrixPackets(metaWidth: Int, lengths: Seq[Int] = matrixLengths): Seq[Packet] = {
    val random = new Random(lengths.length)
    random.shuffle(lengths).map(Packet.random(_, random, metaWidth))
  }

  /** Runs `body` on one compiled harness. */
  def withBench[I <: Data, O <: Data](harness: => StreamHarness[I, O])(body: StreamBench[I, O] => Unit): Unit =
    simulate(harness) { dut =>
      dut.io.load.valid.poke(false.B)
      dut.io.clear.poke(false.B)
      dut.io.start.poke(false.B)
      body(new StreamBench(dut))
    }

  /**
   * Plays `packets` (the matrix by default) in every combination of paces and compares with
   * `reference`.
   *
   * @param slack with source and sink always willing, cycles that may pass beyond one a beat
   */
  def checkMatrix[I <: Data, O <: Data](
      harness: => StreamHarness[I, O],
      packets: Int => Seq[Packet] = matrixPackets(_),
      slack: Int = 16,
      seeds: Seq[Int] = Seq(1, 2)
  )(reference: Packet => Seq[Packet]): Unit = {
    var metaWidth = 0
    withBench({ val h = harness; metaWidth = h.inWidth - 521; h }) { bench =>
      val sent = packets(metaWidth)
      val expected = sent.flatMap(reference)
      bench.load(sent)
      var good = Option.empty[(BigInt, BigInt)]
      for (idle <- Pace.all; pressure <- Pace.all; seed <- if (idle + pressure == 0) seeds.take(1) else seeds) {
        bench.run(idle, pressure, seed)
        val clue = s"idle pace $idle, pressure pace $pressure, seed $seed"
        if (!good.contains(bench.signature)) {
          comparePackets(bench.received, expected, clue)
          good = Some(bench.signature)
        }
        if (idle == Pace.Always && pressure == Pace.Always) {
          val beats = sent.map(_.beats).sum max expected.map(_.beats).sum
          info(s"latency ${bench.latency} cycles; ${bench.cycles} cycles for $beats beats")
          assert(bench.cycles <= beats + slack, s"not one beat a cycle: $beats beats took ${bench.cycles} cycles")
        }
      }
    }
  }

  def comparePackets(received: Seq[Packet], expected: Seq[Packet], clue: String): Unit = {
    for (((r, e), i) <- received.zip(expected).zipWithIndex if r != e)
      fail(s"$clue: packet $i of ${expected.length} differs:\n  got  ${describe(r)}\n  want ${describe(e)}")
    assert(received.length == expected.length, s"$clue: number of packets")
  }

  private def describe(p: Packet): String = {
    val bytes = p.bytes.take(96).map(b => f"$b%02x").mkString
    s"${p.bytes.length} B, meta ${p.meta.toString(16)}, error ${p.error}: $bytes"
  }
}
