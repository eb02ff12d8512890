// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{
  Chip,
  CommonRegs,
  CryptoCounters,
  CryptoRegs,
  InnerCounters,
  InnerRegs,
  OuterCounters,
  OuterRegs,
  RegisterRole,
  TableCommand
}
import sallyport.common.simulation.CompiledOnce

class RegisterBankSpec extends AnyFunSuite with CompiledOnce {
  private val params = RegisterBankParams(
    Chip.outer,
    "1.22.203",
    OuterRegs.all,
    OuterCounters.all,
    Map(CommonRegs.capabilitySaBits -> 10, CommonRegs.capabilityRules -> 32, CommonRegs.build -> 1)
  )
  private val fixed = Map(
    CommonRegs.magic -> BigInt("SLYP".getBytes),
    CommonRegs.chip -> BigInt(3),
    CommonRegs.version -> BigInt("0116cb", 16),
    CommonRegs.build -> BigInt(1),
    CommonRegs.capabilitySaBits -> BigInt(10),
    CommonRegs.capabilityRules -> BigInt(32),
    CommonRegs.capabilityCounters -> BigInt(OuterCounters.all.length)
  )

  private def withBank(registers: RegisterBankParams)(body: (RegisterBank, AxiLiteDriver) => Unit): Unit =
    simulate(new RegisterBank(registers)) { bank =>
      val driver = new AxiLiteDriver(bank.io.axil, bank.clock)
      driver.idle()
      bank.io.increments.foreach(_.poke(0.U))
      bank.io.clear.poke(false.B)
      bank.io.table.request.ready.poke(false.B)
      bank.io.table.response.valid.poke(false.B)
      registers.status.foreach(r => bank.io.status(r).poke(0.U))
      bank.reset.poke(true.B)
      bank.clock.step()
      bank.reset.poke(false.B)
      body(bank, driver)
    }

  test("registers, AXI4-Lite and counters of the outer chip") {
    withBank(params) { (bank, driver) =>
      conformsToTheRdl(bank, driver)
      protocol(bank, driver)
      counters(bank, driver)
      tableWindow(bank, driver)
    }
  }

  test("the crypto chip's zeroize bit is a pulse") {
    val crypto = RegisterBankParams(Chip.crypto, "0.1.0", CryptoRegs.all, CryptoCounters.all)
    withBank(crypto) { (bank, driver) =>
      val control = bank.io.control(CryptoRegs.control)
      driver.offerAddress(CryptoRegs.control.offset)
      driver.offerData(0x80000001L)
      val seen = (0 until 10).map { _ =>
        bank.clock.step()
        control.peek().litValue
      }
      assert(driver.takeResponse() == AxiLite.okay)
      assert(seen.count(_.testBit(31)) == 1)
      assert(seen.last == 1)
      assert(driver.read(CryptoRegs.control) == 1)
    }
  }

  test("the crypto chip's enables and SCRATCH end with a clear, and stay 0 as long as it is high") {
    val crypto = RegisterBankParams(Chip.crypto, "0.1.0", CryptoRegs.all, CryptoCounters.all)
    withBank(crypto) { (bank, driver) =>
      def write(): Unit = { driver.write(CryptoRegs.control, 15); driver.write(CommonRegs.scratch, 0x12345678) }
      def held = Seq(driver.read(CryptoRegs.control), driver.read(CommonRegs.scratch))
      write()
      assert(held == Seq(15, 0x12345678))
      bank.io.clear.poke(true.B)
      bank.clock.step()
      assert(held == Seq(0, 0))
      write()
      assert(held == Seq(0, 0))
      bank.io.clear.poke(false.B)
      assert(held == Seq(0, 0))
      write()
      assert(held == Seq(15, 0x12345678))
    }
  }

  test("refuses what cannot be built") {
    def refuses(sentence: String)(body: => Any): Unit = {
      val caught = intercept[IllegalArgumentException](body)
      assert(caught.getMessage.contains(sentence))
    }
    refuses("major.minor.patch")(params.copy(version = "1.2"))
    refuses("below 256")(params.copy(version = "1.256.0"))
    refuses("no register port_mtu")(
      RegisterBankParams(1, "0.1.0", InnerRegs.all, InnerCounters.all, Map(OuterRegs.portMtu -> 1))
    )
    refuses("scratch is not fixed")(params.copy(build = Map(CommonRegs.scratch -> 1)))
    refuses("version is the register bank's own")(params.copy(build = Map(CommonRegs.version -> 1)))
    refuses("every register of CommonRegs")(params.copy(registers = Seq(OuterRegs.portMtu), build = Map.empty))
  }

  /** Reset values, writable bits, and SLVERR everywhere else in the 64 KiB of the port. */
  private def conformsToTheRdl(bank: RegisterBank, driver: AxiLiteDriver): Unit = {
    val writeOnly = CommonRegs.tableCommand
    for (r <- params.registers; n <- 0 until r.count; address = r.offset + 4 * n) {
      val clue = s"${r.name}($n)"
      val reset = fixed.getOrElse(r, r.reset)
      if (r == writeOnly) assert(driver.tryRead(address)._1 == AxiLite.slverr, clue)
      else assert(driver.tryRead(address) == (AxiLite.okay, reset), clue)
      val expected = if (r.writable == 0) AxiLite.slverr else AxiLite.okay
      val held = r.writable & ~r.pulse
      if (r.role != RegisterRole.Window || r.writable == 0) {
        assert(driver.tryWrite(address, 0xffffffffL) == expected, clue)
        assert(driver.read(address) == (if (r.writable == 0) reset else held), clue)
        if (r.role == RegisterRole.Control) assert(bank.io.control(r).peek().litValue == held, clue)
        if (r.writable != 0) driver.write(address, reset)
      }
    }
    for (r <- params.status) {
      bank.io.status(r).poke(0x12345678.U)
      assert(driver.read(r) == 0x12345678, r.name)
    }
    val known = params.registers.flatMap(r => Seq.tabulate(r.count)(n => r.offset + 4 * n)).toSet
    val strange = (0 until 0x400 by 4).filterNot(known) ++ Seq(0x400, 0xffc, 0x1000, 0x1010, 0x2080, 0x8000, 0xfffc)
    for (address <- strange) {
      assert(driver.tryRead(address)._1 == AxiLite.slverr, f"read 0x$address%x")
      assert(driver.tryWrite(address, 1) == AxiLite.slverr, f"write 0x$address%x")
    }
  }

  private def protocol(bank: RegisterBank, driver: AxiLiteDriver): Unit = {
    val axil = bank.io.axil
    val scratch = CommonRegs.scratch.offset

    // Data before address; the response waits for both and then for ready.
    driver.offerData(0x11223344)
    bank.clock.step(20)
    axil.b.valid.expect(false.B)
    driver.offerAddress(scratch)
    assert(driver.takeResponse(hold = 10) == AxiLite.okay)
    assert(driver.read(scratch) == 0x11223344)

    // Address long before data.
    driver.offerAddress(scratch)
    bank.clock.step(20)
    axil.b.valid.expect(false.B)
    driver.offerData(0x55667788)
    assert(driver.takeResponse() == AxiLite.okay)
    assert(driver.read(scratch) == 0x55667788)

    // Strobes, each alone and none.
    for ((strobes, value) <- Seq(1 -> 0x556677aa, 2 -> 0x5566bbaa, 4 -> 0x55ccbbaa, 8 -> 0x0dccbbaa, 0 -> 0x0dccbbaa)) {
      assert(driver.tryWrite(scratch, 0x0dccbbaa, strobes) == AxiLite.okay)
      assert(driver.read(scratch) == value, s"strobes $strobes")
    }

    // Low address bits are ignored.
    assert(driver.tryWrite(scratch + 3, 77) == AxiLite.okay)
    assert(driver.tryRead(scratch + 1) == (AxiLite.okay, BigInt(77)))

    // A second write and a second read are taken while the first answers wait, and are answered
    // in order.
    driver.offerAddress(scratch)
    driver.offerData(1)
    bank.clock.step(8)
    driver.offerAddress(0x3f0)
    driver.offerData(2)
    driver.offerRead(CommonRegs.magic.offset)
    bank.clock.step(8)
    driver.offerRead(0x3f0)
    assert(driver.takeData(hold = 5) == (AxiLite.okay, fixed(CommonRegs.magic)))
    assert(driver.takeResponse(hold = 5) == AxiLite.okay)
    assert(driver.takeResponse() == AxiLite.slverr)
    assert(driver.takeData()._1 == AxiLite.slverr)
    assert(driver.read(scratch) == 1)

    // Both channels at once.
    axil.b.ready.poke(true.B)
    axil.r.ready.poke(true.B)
    axil.ar.bits.addr.poke(scratch.U)
    axil.ar.valid.poke(true.B)
    axil.aw.bits.addr.poke(scratch.U)
    axil.aw.valid.poke(true.B)
    axil.w.bits.data.poke(3.U)
    axil.w.valid.poke(true.B)
    val answers = (0 until 64).map { _ =>
      bank.clock.step()
      if (axil.r.valid.peek().litToBoolean) {
        axil.r.bits.resp.expect(AxiLite.okay.U)
        assert(Set[BigInt](1, 3).contains(axil.r.bits.data.peek().litValue))
      }
      (axil.b.valid.peek().litToBoolean, axil.r.valid.peek().litToBoolean)
    }
    info(s"writes in 64 cycles: ${answers.count(_._1)}, reads: ${answers.count(_._2)}")
    Seq(axil.ar.valid, axil.aw.valid, axil.w.valid).foreach(_.poke(false.B))
    bank.clock.step(20)
    driver.idle()
  }

  private def counters(bank: RegisterBank, driver: AxiLiteDriver): Unit = {
    val n = OuterCounters.all.length
    // Counter i counts i + 1 each cycle for 3 cycles.
    bank.io.increments.zipWithIndex.foreach { case (port, i) => port.poke((i + 1).U) }
    bank.clock.step(3)
    bank.io.increments.foreach(_.poke(0.U))
    for (c <- OuterCounters.all) assert(driver.counter(c.index) == 3 * (c.index + 1), c.name)
    assert(driver.tryWrite(CommonRegs.counterIndex.offset, n) == AxiLite.slverr)
    assert(driver.read(CommonRegs.counterIndex) == n - 1)
    assert(driver.read(CommonRegs.counterLo) == 3 * n, "a refused index must not disturb the latch")
  }

  private def tableWindow(bank: RegisterBank, driver: AxiLiteDriver): Unit = {
    val table = bank.io.table
    def words = (0 until 32).map(n => driver.read(CommonRegs.tableData.offset + 4 * n))
    def status = driver.read(CommonRegs.tableStatus)
    val row = (0 until 32).map(n => BigInt(0x01010101L * n + 1) << (32 * n)).sum

    for (n <- 0 until 32) driver.write(CommonRegs.tableData.offset + 4 * n, (row >> (32 * n)) & 0xffffffffL)
    assert(words.zipWithIndex.forall { case (w, n) => w == 0x01010101L * n + 1 })
    driver.write(CommonRegs.tableSelect, 0x1a5)
    driver.write(CommonRegs.tableIndex, 0xffabcdefL)
    assert(driver.read(CommonRegs.tableSelect) == 0xa5 && driver.read(CommonRegs.tableIndex) == 0xabcdef)

    table.request.valid.expect(false.B)
    driver.write(CommonRegs.tableCommand, TableCommand.write)
    assert(status == 1)
    // Busy: the row cannot be changed under the command, nor a second one started.
    for (r <- Seq(CommonRegs.tableData, CommonRegs.tableSelect, CommonRegs.tableIndex, CommonRegs.tableCommand))
      assert(driver.tryWrite(r.offset, 1) == AxiLite.slverr, r.name)
    table.request.valid.expect(true.B)
    table.request.bits.table.expect(0xa5.U)
    table.request.bits.index.expect(0xabcdef.U)
    table.request.bits.write.expect(true.B)
    assert(table.request.bits.row.peek().litValue == row)
    table.request.ready.poke(true.B)
    bank.clock.step()
    table.request.ready.poke(false.B)
    table.request.valid.expect(false.B)
    assert(status == 1)
    respond(bank, error = true, 0)
    assert(status == 2)
    assert(words.forall(_ == 0), "the shadow row is cleared after a write")

    driver.write(CommonRegs.tableCommand, TableCommand.read)
    table.request.bits.write.expect(false.B)
    table.request.ready.poke(true.B)
    bank.clock.step()
    table.request.ready.poke(false.B)
    respond(bank, error = false, row)
    assert(status == 0)
    assert(words.zipWithIndex.forall { case (w, n) => w == 0x01010101L * n + 1 })
    bank.io.clear.poke(true.B)
    bank.clock.step()
    bank.io.clear.poke(false.B)
    assert(words.forall(_ == 0), "clear empties the shadow row")
    tornRow(bank, driver)

    for (unknown <- Seq(0, 3)) {
      driver.write(CommonRegs.tableCommand, unknown)
      assert(status == 2)
      table.request.valid.expect(false.B)
    }
  }

  /** A clear among the words of a row: no write of it goes out until word 0 is written again. */
  private def tornRow(bank: RegisterBank, driver: AxiLiteDriver): Unit = {
    val table = bank.io.table
    def status = driver.read(CommonRegs.tableStatus)
    def clear(): Unit = {
      bank.io.clear.poke(true.B)
      bank.clock.step()
      bank.io.clear.poke(false.B)
    }
    def take(): Unit = {
      table.request.ready.poke(true.B)
      bank.clock.step()
      table.request.ready.poke(false.B)
    }
    driver.writeWords(1, 0 to 0)
    clear()
    driver.writeWords(BigInt(5) << 32, 1 to 31)
    for (_ <- 0 until 2) {
      driver.write(CommonRegs.tableCommand, TableCommand.write)
      table.request.valid.expect(false.B)
      assert(status == 2)
      assert(driver.read(CommonRegs.tableData.offset + 4) == 0, "what was left of the row is gone")
    }
    driver.write(CommonRegs.tableCommand, TableCommand.read)
    take()
    respond(bank, error = false, 7)
    assert(status == 0, "a read is no row of software's")
    driver.writeWords(9, 0 to 0)
    driver.write(CommonRegs.tableCommand, TableCommand.write)
    assert(table.request.bits.row.peek().litValue == 9)
    take()
    clear()
    respond(bank, error = false, 0)
    assert(status == 2, "a clear while the write was under way")
    bank.io.clear.poke(true.B)
    driver.writeWords(9, 0 to 0)
    driver.write(CommonRegs.tableCommand, TableCommand.write)
    table.request.valid.expect(false.B)
    bank.io.clear.poke(false.B)
    driver.writeWords(0, 0 to 0)
  }

  private def respond(bank: RegisterBank, error: Boolean, row: BigInt): Unit = {
    val response = bank.io.table.response
    response.bits.error.poke(error.B)
    response.bits.row.poke(row.U)
    response.valid.poke(true.B)
    bank.clock.step()
    response.valid.poke(false.B)
  }
}
