// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mss

import chisel3._
import chisel3.util._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.{Packet, PacketStream}
import sallyport.iface.parse.HeaderParser

import scala.io.Source

/** Finder and clamp one behind the other, and the beats of packets with their patches. */
private class MssHarness extends Module {
  val io = IO(new Bundle {
    val window = Flipped(Valid(UInt((8 * MssHarness.windowBytes).W)))
    val mtu = Input(UInt(PacketStream.lengthBits.W))
    val patch = Output(UInt(MssHarness.patchBits.W))
    val in = Flipped(PacketStream(UInt(MssHarness.patchBits.W)))
    val out = PacketStream(UInt(MssHarness.patchBits.W))
  })
  private val parser = Module(new HeaderParser(ethernet = false, errors = true))
  parser.io.skip := 0.U.asTypeOf(parser.io.skip)
  parser.io.in.valid := io.window.valid
  parser.io.in.bits.bytes := io.window.bits
  parser.io.in.bits.length := PacketStream.maxFrameBytes.U
  private val packet = parser.io.aligned.get
  private val finder = Module(new MssFinder(packet.bits.words.length))
  finder.io.in := packet
  private val clamp = Module(new MssClamp)
  clamp.io.option := finder.io.out
  clamp.io.mtu := ShiftRegister(io.mtu, MssFinder.latency)
  io.patch := clamp.io.patch.asUInt
  MssClamp.rewrite(io.out, io.in)(_.asTypeOf(new MssPatch))
}

private object MssHarness {
  val windowBytes: Int = HeaderParser.windowBytes(ethernet = false)
  val patchBits: Int = 1 + 1 + MssOption.atBits + 16 + 16
}

class MssClampSpec extends AnyFunSuite with CompiledOnce {

  private case class Case(mtu: Int, packet: Seq[Byte], expected: Seq[Byte])
  private def hex(digits: String): Seq[Byte] = digits.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
  private val cases = Source
    .fromResource("mss_packets.txt")
    .getLines()
    .filterNot(_.startsWith("#"))
    .map { line =>
      val Array(mtu, packet, expected) = line.split(" ")
      Case(mtu.toInt, hex(packet), hex(if (expected == "-") packet else expected))
    }
    .toSeq

  test("a SYN's maximum segment size becomes the path's, with scapy's checksum, wherever it is; a packet a cycle") {
    simulate(new MssHarness) { dut =>
      val latency = MssFinder.latency + MssClamp.latency
      dut.io.in.valid.poke(false)
      val patches = Iterator.range(0, cases.size + latency).flatMap { cycle =>
        val here = cases.lift(cycle)
        dut.io.window.valid.poke(here.isDefined)
        for (c <- here) {
          dut.io.window.bits.poke(Packet.littleEndian(c.packet.take(MssHarness.windowBytes)))
          dut.io.mtu.poke(c.mtu)
        }
        val patch = Option.when(cycle >= latency)(dut.io.patch.peek().litValue)
        dut.clock.step()
        patch
      }.toSeq
      assert(patches.size == cases.size)

      dut.io.out.ready.poke(true)
      dut.io.in.valid.poke(true)
      for ((c, patch) <- cases.zip(patches)) {
        val beats = c.packet.grouped(PacketStream.dataBytes).toSeq
        val out = beats.zipWithIndex.flatMap { case (beat, i) =>
          dut.io.in.bits.data.poke(Packet.littleEndian(beat))
          dut.io.in.bits.last.poke(i == beats.size - 1)
          dut.io.in.bits.bytes.poke(beat.size)
          dut.io.in.bits.meta.poke(patch)
          val bytes = Packet.bytesOf(dut.io.out.bits.data.peek().litValue, beat.size)
          dut.clock.step()
          bytes
        }
        assert(out == c.expected, s"mtu ${c.mtu}: ${c.packet.map(b => f"$b%02x").mkString}")
      }
      assert(cases.count(c => c.packet != c.expected) >= 400 && cases.count(c => c.packet == c.expected) >= 100)
    }
  }
}
