// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.NetworkRow
import sallyport.common.table.{TableAccess, TablePort}

/** The network of a frame from red. */
class FrameNetwork extends Bundle {

  /** 0 without a valid row. */
  val number = UInt(NetworkRow.network.width.W)

  /** Its row says that no policy takes the frame. */
  val blocked = Bool()

  /** All may be wrong, for the row has a flipped bit. */
  val upset = Bool()
}

/**
 * Tells the network of a frame from red by the VLAN ID of its outer tag (table `network`). Networks
 * keep hosts, routes and policies apart (docs/explanation/networks.md).
 *
 * Latency [[Networks.latency]] cycles, a frame every second cycle at most; software has the memory
 * in the other cycles. A row has a bit of even parity. Until `ready` software waits, and the
 * answers mean nothing.
 */
class Networks extends Module {
  val io = IO(new Bundle {

    /** VLAN ID, 0 without a tag. */
    val vlan = Flipped(Valid(UInt(Networks.vlanBits.W)))

    /** Registers, behind a sum of parity. */
    val network = Output(new FrameNetwork)

    /** A look-up met a row with a flipped bit. */
    val rowUpset = Output(Bool())
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })

  private val rows = 1 << Networks.vlanBits
  private val readLatency = 2
  private val access = Module(new TableAccess(rows, NetworkRow.bits, rows, writeOnly = false, readLatency))
  access.io.table <> io.table
  access.io.clear := false.B
  io.ready := access.io.ready

  /** A row with its parity above it, as the memory answers: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  // One port for all: a frame comes first, and leaves the next cycle to software.
  private val memory = SyncReadMem(rows, UInt((NetworkRow.bits + 1).W))
  private val software = access.io.memory
  private val takes = access.io.clearing || !io.vlan.valid
  software.ready := takes
  private val row = software.bits.row
  private val index = Mux(takes, software.bits.index, io.vlan.bits)
  private val word = RegNext(answered(
    memory.readWrite(
      index,
      Mux(access.io.clearing, 0.U, row.xorR) ## row,
      software.valid || io.vlan.valid,
      takes && software.bits.write
    )
  ))
  access.io.data := word.tail(1)

  private val asked = ShiftRegister(io.vlan.valid && access.io.ready, Networks.latency, false.B, true.B)
  io.network.number := Mux(NetworkRow.valid(word).asBool, NetworkRow.network(word), 0.U)
  io.network.blocked := NetworkRow.blocked(word).asBool
  io.network.upset := word.xorR
  io.rowUpset := RegNext(asked && word.xorR, false.B)
}

object Networks {
  val vlanBits: Int = 12

  /** The memory and its output register. */
  val latency: Int = 2
}
