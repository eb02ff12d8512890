// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{
  Chip,
  CommonRegs,
  CryptoCounters,
  CryptoRegs,
  FlowRow,
  InboundKeyRow,
  RowField,
  RuleRow
}
import sallyport.common.registers.{AxiLite, AxiLiteDriver, RegisterBank, RegisterBankParams}
import sallyport.common.simulation.CompiledOnce

/** The register window, the mux and one table of each kind, as a chip puts them together. */
class TableMuxHarness extends Module {
  val axil = IO(Flipped(new AxiLite))
  val keyLookup = IO(Flipped(chisel3.util.Valid(UInt(4.W))))
  val keyResult = IO(chisel3.util.Valid(new TableResult(InboundKeyRow.bits)))

  private val bank = Module(
    new RegisterBank(RegisterBankParams(Chip.crypto, "0.1.0", CryptoRegs.all, CryptoCounters.all))
  )
  private val flow = CuckooTable(
    64,
    FlowRow,
    Seq(FlowRow.srcAddr, FlowRow.dstAddr, FlowRow.srcPort, FlowRow.dstPort, FlowRow.protocol),
    FlowRow.valid
  )
  private val rule = TernaryTable(32)
  private val keys =
    Module(new DirectTable(DirectTableParams(16, InboundKeyRow.bits, InboundKeyRow.valid, writeOnly = true)))
  val keyLatency: Int = keys.latency
  keys.every.get := false.B
  private val mux = Module(new TableMux(3))

  bank.io.axil <> axil
  bank.io.status.elements.values.foreach(_ := 0.U)
  bank.io.status(CommonRegs.status) := keys.io.ready ## flow.io.ready ## rule.io.ready
  bank.io.increments.foreach(_ := 0.U)
  private val zeroize = CryptoRegs.Control.zeroize(bank.io.control(CryptoRegs.control)).asBool
  bank.io.clear := zeroize
  mux.io.in <> bank.io.table
  for ((table, n) <- Seq(flow.io, rule.io, keys.io).zipWithIndex) {
    table.table <> mux.io.out(n)
    table.clear := zeroize
  }
  for (table <- Seq(flow.io, rule.io)) {
    table.lookup.valid := false.B
    table.lookup.bits := 0.U
  }
  keys.io.lookup := keyLookup
  keyResult := keys.io.result
}

class TableMuxSpec extends AnyFunSuite with CompiledOnce {
  test("software reads and writes every table through the window") {
    simulate(new TableMuxHarness) { dut =>
      val driver = new AxiLiteDriver(dut.axil, dut.clock)
      driver.idle()
      dut.keyLookup.valid.poke(false.B)
      dut.keyLookup.bits.poke(5.U)
      dut.reset.poke(true.B)
      dut.clock.step()
      dut.reset.poke(false.B)

      // While the tables clear, a command waits.
      val flow = FlowRow.srcAddr.put(0x0a000001) | FlowRow.valid.put(1) | FlowRow.priority.put(0xfedcba98L)
      assert(driver.writeRow(0, 63, flow))
      assert(driver.read(CommonRegs.status) == 7)
      val rule = RuleRow.protocolMask.put(0xff) | RuleRow.valid.put(1) | RuleRow.dstMask.put(0xffffff00L)
      assert(driver.writeRow(1, 31, rule))
      val key = InboundKeyRow.key.put(BigInt("0f" * 32, 16)) | InboundKeyRow.valid.put(1) | InboundKeyRow.window.put(64)
      assert(driver.writeRow(2, 5, key))

      assert(driver.readRow(0, 63).contains(flow))
      assert(driver.readRow(0, 62).contains(BigInt(0)))
      assert(driver.readRow(1, 31).contains(rule))

      assert(driver.readRow(0, 64).isEmpty)
      assert(driver.readRow(1, 32).isEmpty)
      assert(driver.readRow(2, 5).isEmpty, "keys are not read back")
      assert((0 until 32).forall(n => driver.read(CommonRegs.tableData.offset + 4 * n) == 0))
      for (absent <- Seq(3, 4, 255)) {
        assert(driver.readRow(absent, 0).isEmpty && !driver.writeRow(absent, 0, 1), s"table $absent")
      }
      assert(driver.readRow(0, 63).contains(flow), "the tables are as they were")

      def keyNow: Option[BigInt] = {
        dut.keyLookup.valid.poke(true.B)
        dut.clock.step()
        dut.keyLookup.valid.poke(false.B)
        dut.clock.step(dut.keyLatency - 1)
        dut.keyResult.valid.expect(true.B)
        Option.when(dut.keyResult.bits.hit.peek().litToBoolean)(dut.keyResult.bits.row.peek().litValue)
      }
      assert(keyNow.contains(key))
      driver.write(CommonRegs.tableData, 0xdeadbeefL)
      driver.write(CryptoRegs.control, CryptoRegs.Control.zeroize.put(1))
      dut.clock.step(64)
      assert(keyNow.isEmpty)
      assert(driver.read(CommonRegs.tableData) == 0)
      assert(driver.readRow(0, 63).contains(BigInt(0)))
    }
  }

  test("a request that its table does not take is withdrawn and fails, and the next table is served") {
    val patience = 16
    simulate(new TableMux(2, patience)) { dut =>
      def poke(table: Int): Unit = {
        dut.io.in.request.valid.poke(true.B)
        dut.io.in.request.bits.table.poke(table.U)
      }

      /** Steps until the answer; the cycles until then, and whether it is an error. */
      def answer(): (Int, Boolean) = {
        var cycles = 0
        while (!dut.io.in.response.valid.peek().litToBoolean) {
          if (dut.io.in.request.ready.peek().litToBoolean) {
            dut.clock.step()
            dut.io.in.request.valid.poke(false.B)
          } else dut.clock.step()
          cycles += 1
          assert(cycles < 4 * patience, "no answer")
        }
        val error = dut.io.in.response.bits.error.peek().litToBoolean
        dut.clock.step()
        (cycles, error)
      }
      for (out <- dut.io.out) {
        out.request.ready.poke(false.B)
        out.response.valid.poke(false.B)
      }
      dut.io.in.request.valid.poke(false.B)
      dut.reset.poke(true.B)
      dut.clock.step()
      dut.reset.poke(false.B)
      for (_ <- 0 until 3) {
        poke(0)
        val (cycles, error) = answer()
        assert(error && cycles >= patience && cycles <= patience + 6)
        dut.io.out(0).request.valid.expect(false.B)
        dut.io.out(1).request.ready.poke(true.B)
        poke(1)
        dut.clock.step(2)
        dut.io.out(1).request.ready.poke(false.B)
        dut.io.out(1).response.bits.error.poke(false.B)
        dut.io.out(1).response.valid.poke(true.B)
        dut.clock.step()
        dut.io.out(1).response.valid.poke(false.B)
        assert(!answer()._2)
      }
    }
  }

  test("refuses what cannot be built") {
    assert(intercept[IllegalArgumentException](CuckooTableParams(
      48,
      8,
      16,
      RowField(8, 1)
    )).getMessage.contains("power of two"))
    assert(intercept[IllegalArgumentException](CuckooTableParams(
      64,
      8,
      16,
      RowField(4, 1)
    )).getMessage.contains("above the key"))
    val p = TernaryTableParams(32, 8, 20, RowField(8, 1))
    assert(p.rowBits == 28)
    for (rows <- Seq(4, 100, 2048))
      assert(intercept[IllegalArgumentException](p.copy(rows = rows)).getMessage.contains(s"not $rows"))
  }
}
