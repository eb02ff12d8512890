// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import chisel3.util._
import sallyport.common.memory.RowForward
import sallyport.crypto.keys.EsnInference
import sallyport.formal.harness.{Bug, Claim, Property}

class EsnProperty
    extends Property(
      Claim(
        proves =
          "The highest verified number of an SA never falls but by a restart, and a packet's low half stays as it came.",
        clause = "RFC 4303 A2.2, EsnInference, RowForward",
        bug = Bug("RowForward", raw"follows <= io_update_valid.*;", "follows <= 1'h0;"),
        assumes = Seq(
          "Requests are 2 cycles apart: PacketHeads.",
          "A restart comes while no request with ESN is under way, and is over before the next is told: PacketPause."
        ),
        depth = 13,
        reach = 24
      )
    ) {
  import EsnInference.ahead
  private val dut = Module(new EsnInference(saBits = 1))
  private val request = any(chiselTypeOf(dut.io.request))
  private val next = any(UInt(1.W))
  private val update = any(Bool())
  private val verified = any(chiselTypeOf(dut.io.update.bits))
  private val restart = any(chiselTypeOf(dut.io.restart))
  dut.io.next.valid := request.valid
  dut.io.next.bits := next
  dut.io.request := ShiftRegister(request, ahead, 0.U.asTypeOf(request), true.B)
  dut.io.update.valid := update
  dut.io.update.bits := verified
  dut.io.restart := restart

  // From the announcement of a request, which the environment chooses whole.
  private val latency = ahead + EsnInference.latency
  private val under = Seq.iterate(request.valid && request.bits.esn, latency)(RegNext(_, false.B))
  private val restarts = Seq.iterate(restart.valid, 2)(RegNext(_, false.B))
  assume(!(request.valid && RegNext(request.valid, false.B)))
  assume(!restart.valid || !under.reduce(_ || _))
  assume(!under.head || !restarts.reduce(_ || _))

  // The highest number of any SA since its restart, as it was written last.
  private val sa = some(UInt(1.W))
  private val last = RegInit(0.U(64.W))
  private val since = RegInit(false.B)
  private def forward(name: String, width: Int): UInt = spy(s"dut.highest.$name", width)
  private val writes = forward("io_write_valid_REG", 1).asBool && forward("io_write_bits_index_REG", 1) === sa
  private val written = forward("io_write_bits_data_REG", 64)
  private val restarted = RegNext(restart.valid && restart.bits === sa, false.B)
  when(writes) { last := written }
  when(restarted) { since := true.B }
  when(since && writes && !restarted) { assert(written > last) }
  when(restarted) { assert(writes && written === 0.U) }

  // Which states are possible: results and memory agree with it, but while a write passes the
  // registers in front of the memory.
  private val lastNow = Mux(writes, written, last)
  private val results = Seq.tabulate(RowForward.results(ahead)) { n =>
    (forward(s"results_${n}_valid", 1).asBool && forward(s"results_${n}_row", 1) === sa) ->
      (forward(s"results_${n}_state", 64) === lastNow)
  }
  private val rows = Seq.tabulate(2)(n => spy(s"dut.memory.banks_0.memory_ext.Memory[$n]", 64))
  private val row = Mux(sa(0), rows(1), rows(0))
  when(since) {
    assert(PriorityMux(results :+ (true.B -> true.B)))
    when(!writes && !RegNext(writes, false.B)) { assert(row === last) }
  }

  assert(dut.io.sequence.valid === ShiftRegister(request.valid, latency, false.B, true.B))
  private val asked = ShiftRegister(request.bits, latency)
  when(dut.io.sequence.valid) {
    assert(dut.io.sequence.bits(31, 0) === asked.low)
    assert(asked.esn || dut.io.sequence.bits(63, 32) === 0.U)
  }
  cover(since && writes && written === 7.U && last === 5.U)
  cover(dut.io.sequence.valid && dut.io.sequence.bits(63, 32) === 1.U)
}
