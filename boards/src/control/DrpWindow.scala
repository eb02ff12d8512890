// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.registers.{RegisterPort, RegisterRequest, RegisterResponse}
import sallyport.common.registers.map.ShellRegs

/**
 * The registers DRP_SELECT, DRP_DATA, DRP_COMMAND and DRP_STATE (regs/shell.rdl). Software starts
 * an access and then polls until it has ended: a target may take microseconds, and the host should
 * not wait for it in a read.
 */
class DrpWindow extends Module {
  val io = IO(new Bundle {
    val select = Input(UInt(32.W))
    val data = Input(UInt(32.W))
    val command = Input(UInt(32.W))
    val state = Output(UInt(32.W))
    val port = new RegisterPort(DrpManager.addressBits)
  })

  private val busy = RegInit(false.B)
  private val asks = RegInit(false.B)
  private val request = Reg(new RegisterRequest(DrpManager.addressBits))
  private val answer = RegEnable(io.port.response.bits, 0.U.asTypeOf(new RegisterResponse), io.port.response.valid)
  private val write = ShellRegs.DrpCommand.write(io.command).asBool

  io.port.request.valid := asks
  io.port.request.bits := request
  when(io.port.request.ready) { asks := false.B }
  when(io.port.response.valid) { busy := false.B }
  when(!busy && (write || ShellRegs.DrpCommand.read(io.command).asBool)) {
    busy := true.B
    asks := true.B
    request.write := write
    request.address := io.select(DrpManager.addressBits - 1, 0)
    request.data := io.data
    request.strobes := 3.U
  }
  io.state := busy ## answer.error ## 0.U(14.W) ## answer.data(15, 0)
}
