// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util.ShiftRegister
import chisel3.util.experimental.BoringUtils
import org.scalatest.TestSuite
import sallyport.common.memory.{CodedMemory, MemoryPipe, ParityMemory}
import sallyport.common.registers.map.{FlowRow, NetworkRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{FlippedCuckooTable, FlippedTernaryTable}
import sallyport.iface.chip.InterfaceConfig

/** [[InnerPaths]] alone, on a link that loses nothing. Bits of its tables flip as a spec asks. */
class InnerPathsHarness(config: InnerConfig) extends InnerHarness {
  val flowFlips = IO(FlippedCuckooTable.flips(FlowRow.bits))
  val ruleFlips = IO(Input(UInt(FlippedTernaryTable.resultBits.W)))

  /** Bits of the rows of networks. */
  val networkFlips = IO(Input(UInt((NetworkRow.bits + 1).W)))

  /** Windows of row 5 are read with one wrong bit, and those of row 7 with two. */
  val wornWindows = IO(Input(Bool()))

  private def worn(word: UInt, read: UInt): UInt = {
    val on = BoringUtils.bore(wornWindows)
    word ^ ShiftRegister(Mux(on && read === 5.U, 1.U, Mux(on && read === 7.U, 3.U, 0.U)), MemoryPipe.banks.latency)
  }

  private def windows(rowBits: Int): AntiReplay = new AntiReplay(
    rowBits,
    (rows, bits) =>
      new CodedMemory(rows, bits) {
        override protected def answered(word: UInt): UInt = worn(word, this.io.read.bits)
      },
    (rows, bits) =>
      new ParityMemory(rows, bits, ReplayRing.groupBits) {
        override protected def answered(word: UInt): UInt = worn(word, this.io.read.bits)
      }
  )

  private val paths = Module(
    new InnerPaths(
      config,
      windows,
      FlippedCuckooTable.table(flowFlips),
      FlippedTernaryTable.results(ruleFlips),
      networkTable = () =>
        new Networks {
          override protected def answered(word: UInt): UInt = word ^ BoringUtils.bore(networkFlips)
        }
    )
  )
  paths.io.macRx := io.macRx
  io.macTx <> paths.io.macTx
  io.punt <> paths.io.punt
  paths.io.inject <> io.inject
  paths.io.axil <> io.axil
  paths.io.coreKhz := 300000.U
  io.toLink <> paths.io.toLink
  paths.io.fromLink <> io.fromLink
  paths.io.linkUp := io.linkUp
  paths.io.linkLost := 0.U
  paths.io.linkResync := false.B
  io.ready := paths.io.ready
}

/** Specs of the inner chip's paths. They share one configuration, and so one model. */
trait InnerPathsModel extends CompiledOnce with InnerFrames { self: TestSuite =>
  override def brief: Boolean = false

  val config: InnerConfig =
    InnerConfig(saBits = 4, flowBits = 8, hostBits = 5, chip = InterfaceConfig(receiveBeats = 256))

  /** Simulates the paths from reset, without flipped bits. */
  def simulatePaths(body: (InnerPathsHarness, InnerBench) => Unit): Unit =
    simulateShared(config)(new InnerPathsHarness(config)) { dut =>
      dut.flowFlips.foreach(_.poke(0))
      dut.ruleFlips.poke(0)
      dut.networkFlips.poke(0)
      dut.wornWindows.poke(false)
      body(dut, new InnerBench(dut, config))
    }
}
