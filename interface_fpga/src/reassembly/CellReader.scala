// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._
import sallyport.common.stream.{PacketBeat, PacketStream, PipelineOutlet}

/** The values for the header of a packet that was put together. */
class HeaderMending(p: ReassemblyConfig) extends Bundle {
  val ipv6 = Bool()
  val ipSelect = UInt(log2Ceil(p.ipOffsets.size max 2).W)

  /** The ECN field becomes CE. */
  val congested = Bool()

  /** IPv4 total length, IPv6 payload length. */
  val lengthField = UInt(16.W)

  /** Of the IPv4 header. */
  val checksum = UInt(16.W)
}

/** What [[CellReader]] says of a packet. */
class ReplayMeta(p: ReassemblyConfig) extends Bundle {

  /** Bytes of the first row that do not belong to it. */
  val skip = UInt(6.W)

  /** Bytes of the packet. */
  val length = UInt(PacketStream.lengthBits.W)
  val mending = new HeaderMending(p)
}

/**
 * Reads whole datagrams from their cells and gives the cells back. Rows have 64 bytes; the packet
 * is `length` bytes from byte `skip` of the first row on.
 *
 * A row a cycle, datagram behind datagram; [[CellBuffer.latency]] + 4 cycles from `replay` to the
 * first row. Waits when
 * `out` does. Never drops.
 */
class CellReader(p: ReassemblyConfig) extends Module {
  private val rowBits = log2Ceil(p.pages * cellRows)
  private val latency = 1 + CellBuffer.latency

  val io = IO(new Bundle {
    val replay = Flipped(Decoupled(new DatagramReplay(p)))
    val read = Valid(UInt((p.cellBits + log2Ceil(cellRows)).W))
    val data = Input(UInt(PacketStream.dataBits.W))
    val free = Valid(UInt(p.cellBits.W))
    val out = PacketStream(new ReplayMeta(p))
  })

  private val outlet = Module(new PipelineOutlet(new PacketBeat(new ReplayMeta(p)), latency + 4))
  private val active = RegInit(false.B)
  private val replay = Reg(new DatagramReplay(p))
  private val row = Reg(UInt(rowBits.W))
  private val lastRow = Reg(UInt(rowBits.W))
  private val issue = active && outlet.io.ready
  private val ends = row === lastRow
  io.replay.ready := !active || issue && ends
  outlet.io.take := issue
  outlet.io.cancel := false.B
  when(issue) { row := row + 1.U }
  when(io.replay.ready) {
    active := io.replay.valid
    replay := io.replay.bits
    // A header of one row begins in the second of the two that it may have.
    row := io.replay.bits.notes.headerBytes <= PacketStream.dataBytes.U
    val lastByte = io.replay.bits.endBytes +& (headerBytes - 1).U
    lastRow := lastByte(rowBits + log2Ceil(PacketStream.dataBytes) - 1, log2Ceil(PacketStream.dataBytes))
  }
  private val cell = replay.pages.cells(row(rowBits - 1, log2Ceil(cellRows)))
  io.read.valid := RegNext(issue, false.B)
  io.read.bits := RegNext(Cat(cell, row(log2Ceil(cellRows) - 1, 0)))
  io.free.valid := RegNext(issue && (ends || row(log2Ceil(cellRows) - 1, 0).andR), false.B)
  io.free.bits := RegNext(cell)

  // Beside the memory: lengths, the sum with the new length and ECN field, its carry.
  private val meta1 = Reg(new ReplayMeta(p))
  private val sum1 = RegNext(replay.notes.sum)
  private val change1 = RegNext(replay.endBytes + replay.summedBytes)
  meta1.skip := 0.U - replay.notes.headerBytes(5, 0)
  meta1.length := replay.endBytes + replay.notes.headerBytes
  meta1.mending.ipv6 := replay.ipv6
  meta1.mending.ipSelect := replay.notes.ipSelect
  meta1.mending.congested := replay.congested
  meta1.mending.lengthField := replay.endBytes + replay.notes.countedBytes
  meta1.mending.checksum := DontCare
  private val meta2 = RegNext(meta1)
  private val sum2 = RegNext(sum1 +& change1)
  private val meta3 = RegNext(meta2)
  meta3.mending.checksum := ~(sum2(15, 0) + sum2(16))

  outlet.io.in.valid := ShiftRegister(issue, latency, false.B, true.B)
  outlet.io.in.bits.data := io.data
  outlet.io.in.bits.last := ShiftRegister(ends, latency)
  outlet.io.in.bits.bytes := PacketStream.dataBytes.U
  outlet.io.in.bits.error := false.B
  outlet.io.in.bits.meta := ShiftRegister(meta3, latency - 3)
  io.out <> outlet.io.out
}
