// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import chisel3.util._
import sallyport.crypto.keys.EsnInference
import sallyport.formal.harness.{Bug, Claim, Property}

class EsnProperty
    extends Property(
      Claim(
        proves =
          "The highest verified number of an SA never falls but by a restart, and a packet's low half stays as it came.",
        clause = "RFC 4303 A2.2, EsnInference",
        bug = Bug("EsnInference", raw"write_bits_sa == readSa1", "1'h0"),
        assumes = Seq(
          "Requests are 2 cycles apart: PacketHeads.",
          "A restart comes while no request with ESN is under way: PacketPause."
        ),
        depth = 7,
        reach = 12
      )
    ) {
  private val dut = Module(new EsnInference(saBits = 1))
  private val request = any(chiselTypeOf(dut.io.request))
  private val update = any(Bool())
  private val verified = any(chiselTypeOf(dut.io.update.bits))
  private val restart = any(chiselTypeOf(dut.io.restart))
  dut.io.request := request
  dut.io.update.valid := update
  dut.io.update.bits := verified
  dut.io.restart := restart
  private val under = Seq.iterate(request.valid && request.bits.esn, 4)(RegNext(_, false.B)).reduce(_ || _)
  assume(!(request.valid && RegNext(request.valid, false.B)))
  assume(!restart.valid || !under)

  private val sa = some(UInt(1.W))
  private val rows = Seq.tabulate(2)(n => spy(s"dut.highest_ext.Memory[$n]", 64))
  private val highest = Mux(sa(0), rows(1), rows(0))
  private val restarted = RegNext(restart.valid && restart.bits === sa, false.B)
  private val known = ShiftRegister(true.B, 4, false.B, true.B)
  assert(!known || Mux(restarted, highest === 0.U, highest >= before(highest)))
  assert(dut.io.sequence.valid === ShiftRegister(request.valid, EsnInference.latency, false.B, true.B))
  private val asked = ShiftRegister(request.bits, EsnInference.latency)
  when(dut.io.sequence.valid) {
    assert(dut.io.sequence.bits(31, 0) === asked.low)
    assert(asked.esn || dut.io.sequence.bits(63, 32) === 0.U)
  }
  cover(running && !restarted && highest === 7.U && before(highest) === 5.U)
  cover(dut.io.sequence.valid && dut.io.sequence.bits(63, 32) === 1.U)
}
