// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.fragmentation

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.stream.{PacketStream, RegisterSlice}
import sallyport.iface.headers.Ipv4Header

/**
 * Cuts IP packets into fragments (RFC 791 3.2, RFC 8200 4.5), in the order of the stream.
 *
 * A packet with `units` of 0 passes as it is. Of any other every fragment but the last has `units`
 * times 8 bytes of payload. Its IPv4 header has no options and DF clear, its IPv6 header no
 * extension headers: payload begins behind the fixed header. It may be a fragment of IPv4. The
 * stream's packet ends where the IP packet does, and is whole (`error` low).
 *
 * The bytes that leave are the packet's own with the headers put over the 20 or 48 bytes in front
 * of each piece of payload, so each beat is a window on two beats of the packet, in lanes of
 * 8 bytes.
 *
 * A beat a cycle; a fragment takes [[FragmentHeader.latency]] + 2 cycles at least. Latency of what
 * passes: 2 cycles; registered both ways.
 *
 * @param meta    what travels beside a packet, and beside each of its fragments
 * @param ipAt    byte of the packet where its IP header starts
 * @param cut     how a packet is cut, from its metadata
 * @param resized metadata of a fragment, from the packet's and the fragment's bytes on the stream
 */
class Fragmenter[M <: Data](meta: M, ipAt: Int)(cut: M => FragmentCut)(resized: (M, UInt) => M = (m: M, _: UInt) => m)
    extends Module {
  import Fragmenter._

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)

    /** A packet is being cut. */
    val cuts = Output(Bool())

    /** A fragment has left that is not the first of its packet. */
    val further = Output(Bool())
  })

  private val in = RegisterSlice(io.in)
  private val slice = Module(new RegisterSlice(chiselTypeOf(io.out.bits)))
  io.out <> slice.io.out
  private val out = slice.io.in

  private object State extends ChiselEnum { val pass, prepare, send = Value }
  import State._
  private val state = RegInit(pass)

  // The packet that is being cut: its headers, the parameters of the cut, and the bytes left.
  private val whole = Reg(UInt((8 * FragmentHeader.headerBytes(ipAt, v6 = true)).W))
  private val how = Reg(new FragmentCut)
  private val wholeMeta = Reg(meta.cloneType)
  private val left = Reg(UInt(PacketStream.lengthBits.W))
  private val offset = Reg(UInt(13.W))
  private def ipWord(bytes: UInt, at: Int): UInt =
    WireOrder.bigEndian(bytes(8 * (ipAt + at) + 15, 8 * (ipAt + at)))

  private val next = Module(new FragmentHeader(ipAt))
  next.io.v6 := how.v6
  next.io.units := how.units
  next.io.left := left
  next.io.offset := offset
  next.io.begins := Mux(how.v6, 0.U, ipWord(whole, 6)(12, 0))
  next.io.more := !how.v6 && ipWord(whole, 6)(13)
  next.io.checksum := ipWord(whole, 10)
  next.io.totalLength := ipWord(whole, 2)
  private val age = RegInit(0.U(log2Ceil(FragmentHeader.latency + 1).W))
  private val known = age === FragmentHeader.latency.U

  // The fragment under way.
  private val piece = Reg(new FragmentPiece)
  private val first = RegInit(true.B)
  private val beats = Reg(UInt((PacketStream.lengthBits - 6).W))
  private val lastBeat = Reg(Bool())
  private val lastBytes = Reg(UInt(7.W))

  // The window: it starts `at` lanes behind the start of beat `held`, whose successor is the input.
  // Negative: in front of it, where headers come.
  private val held = Reg(UInt(PacketStream.dataBits.W))
  private val heldLast = Reg(Bool())
  private val at = Reg(SInt(5.W))
  private val before = at < 0.S
  private val rotation = at.asUInt(2, 0)
  private val lanes = (0 until lanesPerBeat).map { i =>
    def lane(of: UInt): UInt = of(8 * laneBytes * (i + 1) - 1, 8 * laneBytes * i)
    Mux(i.U < rotation && !before, lane(in.bits.data), lane(held))
  }
  private val window = VecInit.tabulate(lanesPerBeat)(r =>
    VecInit.tabulate(lanesPerBeat)(i => lanes((i + r) % lanesPerBeat)).asUInt
  )(rotation)

  private val header = FragmentHeader(whole, ipAt, how.v6, how.identification, piece)
  private val bytes = Mux(lastBeat, lastBytes, PacketStream.dataBytes.U)
  private val cutData = VecInit.tabulate(PacketStream.dataBytes) { i =>
    def isHeader(v6: Boolean): Bool = (i < FragmentHeader.headerBytes(ipAt, v6)).B
    val byte = window(8 * i + 7, 8 * i)
    val fromHeader = first && Mux(how.v6, isHeader(true), isHeader(false))
    val here = if (8 * i < header.getWidth) Mux(fromHeader, header(8 * i + 7, 8 * i), byte) else byte
    Mux(!lastBeat || i.U < lastBytes, here, 0.U)
  }.asUInt

  private val needsInput = !before && !heldLast
  private val sends = state === send && (!needsInput || in.valid)
  private val passes = state === pass && (!first || cut(in.bits.meta).units === 0.U)
  out.valid := sends || passes && in.valid
  out.bits := in.bits
  when(state === send) {
    out.bits.data := cutData
    out.bits.last := lastBeat
    out.bits.bytes := bytes
    out.bits.error := false.B
    out.bits.meta := resized(wholeMeta, piece.packetBytes)
  }
  io.cuts := RegNext(state === pass && !passes && in.valid, false.B)
  io.further := RegNext(out.fire && state === send && lastBeat && !piece.first, false.B)

  // Where the next fragment's window starts, if this beat is a fragment's last and another comes:
  // never its only one.
  private def headerBytes(v6: Boolean): SInt = FragmentHeader.headerBytes(ipAt, v6).S(8.W)
  private val ahead = RegNext((lastBytes.zext - Mux(how.v6, headerBytes(true), headerBytes(false)))(7, 3).asSInt)
  private val following = at + ahead
  private val advances = Mux(lastBeat, Mux(piece.last, !heldLast, following >= lanesPerBeat.S), !before)
  private val takes = sends && out.ready && advances
  in.ready := Mux(state === pass, !passes || out.ready, takes && !heldLast)

  when(!known)(age := age + 1.U)
  switch(state) {
    is(pass) {
      when(in.fire) {
        first := in.bits.last
        when(!passes) {
          state := prepare
          first := true.B
          age := 0.U
          whole := in.bits.data(whole.getWidth - 1, 0)
          how := cut(in.bits.meta)
          wholeMeta := in.bits.meta
          held := in.bits.data
          heldLast := in.bits.last
          offset := 0.U
          val v6 = cut(in.bits.meta).v6
          at := Mux(v6, (-FragmentCut.v6HeaderBytes / laneBytes).S, 0.S)
          val ipLength = Mux(v6, ipWord(in.bits.data, 4), ipWord(in.bits.data, 2) - Ipv4Header.bytes.U)
          left := ipLength(PacketStream.lengthBits - 1, 0)
        }
      }
    }
    is(prepare) {
      when(known) {
        state := send
        first := true.B
        piece := next.io.piece
        left := left - next.io.piece.bytes
        offset := offset + how.units
        age := 0.U
        val fullBeats = (next.io.piece.packetBytes - 1.U) >> 6
        beats := fullBeats
        lastBeat := fullBeats === 0.U
        lastBytes := Cat(0.U(1.W), (next.io.piece.packetBytes - 1.U)(5, 0)) + 1.U
      }
    }
    is(send) {
      when(sends && out.ready) {
        first := false.B
        beats := beats - 1.U
        lastBeat := beats === 1.U
        when(advances) {
          held := in.bits.data
          heldLast := in.bits.last
        }
        when(lastBeat) {
          state := Mux(piece.last, pass, prepare)
          first := true.B
          at := Mux(following >= lanesPerBeat.S, following - lanesPerBeat.S, following)
        }.elsewhen(before) {
          at := at + lanesPerBeat.S
        }
      }
    }
  }

  private val cutsNow = state === pass && in.valid && first && !passes
  assert(!cutsNow || cut(in.bits.meta).units >= minUnits.U, "a fragment has less payload than any MTU allows")
  assert(!(takes && !piece.last) || !heldLast, "a packet ends before its IP length")
  assert(!(takes && piece.last && lastBeat) || in.bits.last, "a packet goes on behind its IP length")
  assert(!(state =/= pass && in.fire && in.bits.last && in.bits.error), "a broken packet is cut")
}

object Fragmenter {
  private val laneBytes: Int = 8
  private val lanesPerBeat: Int = PacketStream.dataBytes / laneBytes

  /** Payload under the shortest MTU. */
  private val minUnits: Int = (FragmentCut.minMtuV4 - Ipv4Header.bytes) / laneBytes
}
