// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.pcie

import chisel3._
import chisel3.util._
import sallyport.boards.registers.{CardMap, RegisterPort}
import sallyport.common.stream.RegisterSlice

/**
 * Makes register accesses of the host's reads and writes of BAR0, and answers its other requests as
 * PCI Express asks. 250 MHz, 256 bits, no straddling, payload behind the descriptor (PG213,
 * "DWORD aligned").
 *
 * | request | |
 * |---|---|
 * | memory read of a word, all bytes | a read; completion with the data |
 * | memory read of a word, no byte | no access, all writes done; completion with 0 (flush, 2.2.5) |
 * | memory write of a word | a write with its byte enables; none if no byte is enabled |
 * | any other memory read | Completer Abort: only whole registers can be read |
 * | any other memory write, one whose payload the block found damaged, messages | dropped |
 * | I/O, atomic and locked requests | Unsupported Request |
 *
 * The last three toggle `refused` once each. A read of a register that answers an error completes
 * successfully with all ones, as a read of an absent device does. On some hosts Completer Abort
 * would become a machine check or a fatal AER event, for a wrong address of a debugging tool. (The
 * shell counts them.)
 *
 * One request at a time, in order; a write is done before the next request is looked at. About 10
 * cycles a request and the access's own. Stalls `cq` meanwhile, and while `cc` does; the block
 * stores what waits.
 */
class PcieBridge extends Module {
  val io = IO(new Bundle {
    val cq = Flipped(Decoupled(new PcieBeat(PciePort.cqUserBits)))
    val cc = Decoupled(new PcieBeat(PciePort.ccUserBits))
    val registers = new RegisterPort(CardMap.boxBits)

    /** Changes with each refused request. */
    val refused = Output(Bool())
  })

  private val idle :: looks :: acts :: asks :: waits :: answers :: Nil = Enum(6)
  private val state = RegInit(idle)
  private val cq = RegisterSlice(io.cq)

  // The first beat of a request; the others are of refused ones and go by.
  private val rest = RegInit(false.B)
  private val begins = cq.fire && !rest
  cq.ready := state === idle
  when(cq.fire) { rest := !cq.bits.last }
  private val request = RegEnable(cq.bits.data(CompleterRequest.bits - 1, 0).asTypeOf(new CompleterRequest), begins)
  private val payload = RegEnable(cq.bits.data(CompleterRequest.bits + 31, CompleterRequest.bits), begins)
  private val firstEnables = RegEnable(CompleterRequestUser.firstEnables(cq.bits.user), begins)
  private val lastEnables = RegEnable(CompleterRequestUser.lastEnables(cq.bits.user), begins)
  private val damaged = RegEnable(CompleterRequestUser.discontinue(cq.bits.user), begins)

  // The request's kind; registered while the state is `looks`.
  private val single = request.words === 1.U
  private val memoryRead = request.kind === CompleterRequest.memoryRead.U
  private val memoryWrite = request.kind === CompleterRequest.memoryWrite.U
  private val isRead = RegNext(memoryRead)
  private val isWrite = RegNext(memoryWrite)
  private val isPosted = RegNext(memoryWrite || request.kind >= CompleterRequest.firstMessage.U)
  private val isAccess =
    RegNext(single && (memoryRead && firstEnables.andR || memoryWrite && firstEnables.orR && !damaged))
  private val isFlush = RegNext(single && memoryRead && !firstEnables.orR)
  private val isNothing = RegNext(single && memoryWrite && !firstEnables.orR && !damaged)
  private val refused = RegInit(false.B)
  io.refused := refused

  // The access and its answer.
  private val status = Reg(UInt(3.W))
  private val data = Reg(UInt(32.W))
  private val response = io.registers.response
  io.registers.request.valid := state === asks
  io.registers.request.bits.write := isWrite
  io.registers.request.bits.address := request.address(CardMap.boxBits - 3, 0) ## 0.U(2.W)
  io.registers.request.bits.data := payload
  io.registers.request.bits.strobes := firstEnables
  when(state === acts) {
    data := 0.U
    status := Mux(isRead, CompleterCompletion.completerAbort.U, CompleterCompletion.unsupportedRequest.U)
    when(isAccess || isFlush) { status := CompleterCompletion.successful.U }.elsewhen(!isNothing) {
      refused := !refused
    }
  }
  when(response.valid) { data := response.bits.data | Fill(32, response.bits.error) }

  private val completion = Wire(Decoupled(new PcieBeat(PciePort.ccUserBits)))
  switch(state) {
    is(idle) { when(begins) { state := looks } }
    is(looks) { state := acts }
    is(acts) { state := Mux(isAccess, asks, Mux(isPosted, idle, answers)) }
    is(asks) { when(io.registers.request.ready) { state := waits } }
    is(waits) { when(response.valid) { state := Mux(isPosted, idle, answers) } }
    is(answers) { when(completion.ready) { state := idle } }
  }

  // The completion. Its bytes and address are, by 2.2.9, those of a memory read from the first
  // enabled byte to the last, and of others 4 and 0.
  private val skipped = RegNext(Mux(firstEnables.orR, PriorityEncoder(firstEnables), 0.U(2.W)))
  private val ending = Mux(single, firstEnables, lastEnables)
  private val unused = RegNext(Mux(ending.orR, PriorityEncoder(Reverse(ending)), 3.U(2.W)))
  private val descriptor = WireInit(0.U.asTypeOf(new CompleterCompletion))
  private val withData = status === CompleterCompletion.successful.U
  descriptor.attributes := request.attributes
  descriptor.trafficClass := request.trafficClass
  descriptor.function := request.function
  descriptor.tag := request.tag
  descriptor.requester := request.requester
  descriptor.status := status
  descriptor.words := withData
  descriptor.locked := request.kind === CompleterRequest.lockedRead.U
  descriptor.bytes := RegNext(Mux(isRead, (request.words ## 0.U(2.W)) - skipped - unused, 4.U))
  descriptor.addressType := request.addressType
  descriptor.lowAddress := Mux(isRead, request.address(4, 0) ## skipped, 0.U)

  completion.valid := state === answers
  completion.bits.data := data ## descriptor.asUInt
  completion.bits.keep := withData ## Fill(CompleterCompletion.words, 1.U(1.W))
  completion.bits.last := true.B
  completion.bits.user := 0.U
  io.cc <> RegisterSlice(completion)
}
