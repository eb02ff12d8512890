// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.simulator.PeekPokeAPI
import sallyport.common.registers.map.{CommonRegs, RegisterDesc, TableCommand}
import sallyport.common.simulation.Exchange

/**
 * Software's view of a chip in a test: drives the manager's side of an AXI4-Lite port.
 *
 * Checks on the way that a response comes within `limit` cycles and only after its request.
 */
class AxiLiteDriver(axil: AxiLite, clock: Clock, limit: Int = 1000) extends PeekPokeAPI {
  private def until(what: String)(port: Bool): Unit =
    assert(Exchange.stepUntil(clock, port, limit) < limit, s"$what took $limit cycles")

  def idle(): Unit = {
    Seq(axil.aw.valid, axil.w.valid, axil.ar.valid, axil.b.ready, axil.r.ready).foreach(_.poke(false.B))
    axil.aw.bits.prot.poke(0.U)
    axil.ar.bits.prot.poke(0.U)
    axil.w.bits.strb.poke(15.U)
  }

  def offerAddress(address: Int): Unit = {
    axil.aw.bits.addr.poke(address.U)
    axil.aw.valid.poke(true.B)
    until("the write address")(axil.aw.ready)
    clock.step()
    axil.aw.valid.poke(false.B)
  }

  def offerData(data: BigInt, strobes: Int = 15): Unit = {
    axil.w.bits.data.poke(data.U)
    axil.w.bits.strb.poke(strobes.U)
    axil.w.valid.poke(true.B)
    until("the write data")(axil.w.ready)
    clock.step()
    axil.w.valid.poke(false.B)
  }

  /** The response of a write; held off for `hold` cycles, in which it must stand still. */
  def takeResponse(hold: Int = 0): Int = {
    until("the write response")(axil.b.valid)
    val response = axil.b.bits.peek().litValue.toInt
    for (_ <- 0 until hold) {
      clock.step()
      assert(axil.b.valid.peek().litToBoolean && axil.b.bits.peek().litValue.toInt == response, "response not stable")
    }
    axil.b.ready.poke(true.B)
    clock.step()
    axil.b.ready.poke(false.B)
    response
  }

  def offerRead(address: Int): Unit = {
    axil.ar.bits.addr.poke(address.U)
    axil.ar.valid.poke(true.B)
    until("the read address")(axil.ar.ready)
    clock.step()
    axil.ar.valid.poke(false.B)
  }

  def takeData(hold: Int = 0): (Int, BigInt) = {
    def seen = {
      val Seq(response, data) = Exchange.peek(axil.r.bits.resp, axil.r.bits.data)
      (response.toInt, data)
    }
    until("the read data")(axil.r.valid)
    val answer = seen
    for (_ <- 0 until hold) {
      clock.step()
      assert(axil.r.valid.peek().litToBoolean && seen == answer, "read data not stable")
    }
    axil.r.ready.poke(true.B)
    clock.step()
    axil.r.ready.poke(false.B)
    answer
  }

  def tryWrite(address: Int, data: BigInt, strobes: Int = 15): Int = {
    offerAddress(address)
    offerData(data, strobes)
    takeResponse()
  }

  def tryRead(address: Int): (Int, BigInt) = {
    offerRead(address)
    takeData()
  }

  def write(address: Int, data: BigInt): Unit =
    assert(tryWrite(address, data) == AxiLite.okay, f"write of 0x$address%x answers an error")

  def read(address: Int): BigInt = {
    val (response, data) = tryRead(address)
    assert(response == AxiLite.okay, f"read of 0x$address%x answers an error")
    data
  }

  def write(register: RegisterDesc, data: BigInt): Unit = write(register.offset, data)
  def read(register: RegisterDesc): BigInt = read(register.offset)

  def counter(index: Int): BigInt = {
    write(CommonRegs.counterIndex, index)
    read(CommonRegs.counterLo) | (read(CommonRegs.counterHi) << 32)
  }

  /** Starts a command on a row and waits for its end; true if it succeeded. */
  def command(table: Int, index: Int, number: Int): Boolean = {
    startCommand(table, index, number)
    endCommand()
  }

  def startCommand(table: Int, index: Int, number: Int): Unit = {
    write(CommonRegs.tableSelect, table)
    write(CommonRegs.tableIndex, index)
    write(CommonRegs.tableCommand, number)
  }

  def endCommand(): Boolean = {
    var cycles = 0
    while (CommonRegs.TableStatus.busy(read(CommonRegs.tableStatus)).testBit(0)) {
      clock.step()
      cycles += 1
      assert(cycles < limit, s"the table command took $limit cycles")
    }
    CommonRegs.TableStatus.error(read(CommonRegs.tableStatus)) == 0
  }

  /** Writes some words of the window's row. */
  def writeWords(row: BigInt, words: Range): Unit =
    for (n <- words) write(CommonRegs.tableData.offset + 4 * n, (row >> (32 * n)) & 0xffffffffL)

  /**
   * Begins a row with word 0 and writes the others that are not zero: the window starts from a row
   * of zeros.
   */
  def writeRow(table: Int, index: Int, row: BigInt): Boolean = {
    val words = 0 until CommonRegs.tableData.count
    for (n <- words) if (n == 0 || ((row >> (32 * n)) & 0xffffffffL) != 0) writeWords(row, n to n)
    command(table, index, TableCommand.write)
  }

  def readRow(table: Int, index: Int, words: Int = CommonRegs.tableData.count): Option[BigInt] = {
    val good = command(table, index, TableCommand.read)
    val row = (0 until words).map(n => read(CommonRegs.tableData.offset + 4 * n) << (32 * n)).sum
    for (n <- 0 until CommonRegs.tableData.count if row != 0) write(CommonRegs.tableData.offset + 4 * n, 0)
    Option.when(good)(row)
  }
}
