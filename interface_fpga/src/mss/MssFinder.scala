// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mss

import chisel3._
import chisel3.util._
import sallyport.common.clock.PipeClock
import sallyport.iface.headers.{IpHeader, Ipv4Header, Ipv6Header}
import sallyport.iface.parse.{EtherClass, IpWindow}

/** The maximum segment size option of a TCP header (RFC 9293 3.7.1). */
class MssOption extends Bundle {
  val v6 = Bool()

  /** Byte of the IP packet where the value begins. */
  val at = UInt(MssOption.atBits.W)
  val value = UInt(16.W)

  /** Of the TCP header. */
  val checksum = UInt(16.W)
}

object MssOption {
  val atBits: Int = 7

  /** Byte of the IP packet where the options of TCP begin. */
  val optionsV4: Int = Ipv4Header.bytes + 20
  val optionsV6: Int = Ipv6Header.bytes + 20
}

/**
 * Finds the maximum segment size in a packet that opens a TCP connection (SYN without RST), in
 * whatever order its options are. The packet is whole, and TCP stands directly behind an IPv4
 * header without options or the fixed IPv6 header. An end of the options, or an impossible length,
 * ends the search, as it does for a receiver (RFC 9293 3.1).
 *
 * A pipeline without stalls: `out` says [[MssFinder.latency]] cycles after `in` whether there is
 * one. Its clock stops while no packet is inside that may have one.
 */
class MssFinder(words: Int) extends Module {
  import MssFinder._
  require(words >= optionsAt(true) + optionWords, s"$words words do not hold all options behind IPv6")

  val io = IO(new Bundle {
    val in = Flipped(Valid(new IpWindow(words)))
    val out = Valid(new MssOption)
  })

  private val running = Wire(Clock())
  override protected def implicitClock: Clock = running
  private val packet = io.in.bits.words
  private val opens = Seq(false, true).map(v6 => isSyn(packet, v6)).reduce(_ || _)
  private val valids = PipeClock.drive(running, clock, io.in.valid && opens, awake = false.B, latency)

  // Stage 1: one bit a question, and the options.
  private val v6 = io.in.bits.etherClass === EtherClass.ipv6
  private def of(value: Boolean => UInt): UInt = Mux(v6, value(true), value(false))
  private val holds = Seq(false, true).map(v6 => RegNext(VecInit(conditions(io.in.bits, v6))).asUInt.andR)
  private val isV6 = Seq.iterate(v6, latency + 1)(RegNext(_))
  private val length = Seq.iterate(of(v6 => packet(flagsAt(v6))(31, 28)) - headerWords.U, latency + 1)(RegNext(_))
  private val checksum = ShiftRegister(of(v6 => packet(flagsAt(v6) + 1)(31, 16)), latency)
  private val options = Cat((0 until optionWords).map(i => of(v6 => packet(optionsAt(v6) + i))))
  private val bytes1 = RegNext(VecInit.tabulate(OptionWalk.maxBytes)(i =>
    options(options.getWidth - 1 - 8 * i, options.getWidth - 8 - 8 * i)
  ))

  // Stage 2: what the bytes of the first step mean. Each further stage takes a step, and drops it.
  private case class Stage(walk: OptionWalk, meanings: Seq[OptionByte], bytes: Seq[UInt])
  private def meanings(bytes: Seq[UInt]): Seq[OptionByte] = {
    val seen = bytes.padTo(OptionWalk.seenBytes, 0.U(8.W))
    Seq.tabulate(OptionWalk.stepBytes)(n => RegNext(OptionWalk.meaning(n, seen(n), seen(n + 1))))
  }
  private val before = Stage(OptionWalk.start, meanings(bytes1), bytes1.map(RegNext(_)))
  private val last = (0 until steps).foldLeft(before) { (stage, n) =>
    val seen = stage.bytes.padTo(OptionWalk.seenBytes, 0.U(8.W)).take(OptionWalk.seenBytes)
    val left = stage.bytes.drop(OptionWalk.stepBytes)
    val walk = OptionWalk.step(stage.walk, OptionWalk.stepBytes * n, stage.meanings, seen, length(2 + n))
    Stage(RegNext(walk), meanings(left), left.map(RegNext(_)))
  }

  io.out.valid := valids.last && last.walk.found && ShiftRegister(holds.reduce(_ || _), latency - 1)
  io.out.bits.v6 := isV6.last
  io.out.bits.at := RegNext(Mux(isV6(latency - 1), MssOption.optionsV6.U, MssOption.optionsV4.U)) +& last.walk.at
  io.out.bits.value := last.walk.value
  io.out.bits.checksum := checksum
}

object MssFinder {

  /** Words of a TCP header without options, and of the longest options. */
  private val headerWords: Int = 5
  private val optionWords: Int = OptionWalk.maxBytes / 4
  private val steps: Int = (OptionWalk.maxBytes + OptionWalk.stepBytes - 1) / OptionWalk.stepBytes
  val latency: Int = 2 + steps

  /** Words of the IP packet where TCP begins, where its length and flags are, and its options. */
  private def tcpAt(v6: Boolean): Int = (if (v6) Ipv6Header.bytes else Ipv4Header.bytes) / 4
  private def flagsAt(v6: Boolean): Int = tcpAt(v6) + 3
  private def optionsAt(v6: Boolean): Int = tcpAt(v6) + headerWords

  /** SYN, and no RST. */
  private def isSyn(words: Seq[UInt], v6: Boolean): Bool = words(flagsAt(v6))(18, 17) === 1.U

  private def conditions(packet: IpWindow, v6: Boolean): Seq[Bool] = {
    val words = packet.words
    val tcpBytes = Cat(words(flagsAt(v6))(31, 28), 0.U(2.W))
    val common = Seq(isSyn(words, v6), words(flagsAt(v6))(31, 28) > headerWords.U)
    if (v6)
      common ++ Seq(
        packet.etherClass === EtherClass.ipv6,
        words(1)(15, 8) === IpHeader.tcp.U,
        words(1)(31, 16) >= tcpBytes
      )
    else
      common ++ Seq(
        packet.etherClass === EtherClass.ipv4,
        words(0)(27, 24) === tcpAt(v6).U,
        words(1)(13, 0) === 0.U,
        words(2)(23, 16) === IpHeader.tcp.U,
        words(0)(15, 0) >= tcpBytes +& Ipv4Header.bytes.U
      )
  }
}
