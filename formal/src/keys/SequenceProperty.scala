// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import chisel3.util._
import sallyport.common.memory.{CodedMemory, Secded}
import sallyport.crypto.keys.SequenceAuthority
import sallyport.formal.harness.{Bug, Claim, Property}

/** A memory without check bits: sums of many bits are hard for a solver. */
private class PlainMemory(rows: Int, dataBits: Int) extends CodedMemory(rows, dataBits) {
  override protected def encode(data: UInt): UInt = data
  override protected def syndrome(word: UInt): UInt = 0.U(code.checkBits.W)
}

/** Two SAs and numbers of 16 bits; without ESN 8 of them count. */
class SequenceProperty
    extends Property(
      Claim(
        proves =
          "Numbers of an SA rise by one, or to the next block, which has one for each node, within every limit; none follows a refusal.",
        clause = "RFC 4303 3.3.3, RFC 4106 3.1, SequenceAuthority",
        bug =
          Bug("SequenceAuthority", raw"matches_0\s+\? results_0_counter_last", "matches_1 ? results_0_counter_last"),
        assumes = Seq(
          "Rows are read as they were written: SecdedSpec.",
          "Requests are 2 cycles apart: PacketHeads.",
          "Restart and raise come while no request that takes a number is under way, and apart: PacketPause."
        ),
        depth = 13,
        reach = 22
      )
    ) {
  private val dut = Module(new SequenceAuthority(saBits = 1, bits = 16, new PlainMemory(_, _)))
  private val request = any(chiselTypeOf(dut.io.request))
  private val restart = any(chiselTypeOf(dut.io.restart))
  private val raise = any(chiselTypeOf(dut.io.raise))
  dut.io.next.valid := request.valid
  dut.io.next.bits := request.bits.sa
  dut.io.request := ShiftRegister(request, SequenceAuthority.ahead, 0.U.asTypeOf(request), true.B)
  dut.io.restart := restart
  dut.io.raise := raise

  // From the announcement of a request, which the environment chooses whole.
  private val latency = SequenceAuthority.ahead + SequenceAuthority.latency
  private def history(event: Bool, cycles: Int): Seq[Bool] = Seq.iterate(event, cycles + 1)(RegNext(_, false.B))
  private val asked = history(request.valid, 1)
  private val taking = history(request.valid && request.bits.take, latency).reduce(_ || _)
  private val raises = history(raise.valid, SequenceAuthority.raiseLatency)
  assume(!(request.valid && asked(1)))
  assume(!restart.valid || !taking)
  assume(!raises.reduce(_ || _) || !taking && !restart.valid)
  assume(!(raise.valid && raises.tail.reduce(_ || _)))

  // Any SA, and what it has been given.
  private val sa = some(UInt(1.W))
  private val last = RegInit(0.U(16.W))
  private val refused = RegInit(false.B)
  private val since = RegInit(false.B)
  private val granted = ShiftRegister(request.bits, latency)
  private val grant = dut.io.grant
  private val mine = grant.valid && granted.sa === sa && granted.take
  when(mine) {
    when(grant.bits.granted) { last := grant.bits.sequence }.otherwise { refused := true.B }
  }
  when(restart.valid && restart.bits === sa) {
    last := 0.U
    refused := false.B
    since := true.B
  }
  private val raised = ShiftRegister(raise.bits, SequenceAuthority.raiseLatency)
  when(raises.last && raised.sa === sa && raised.number > last) { last := raised.number }

  private val number = grant.bits.sequence
  assert(grant.valid === ShiftRegister(request.valid, latency, false.B, true.B))
  when(since && mine && grant.bits.granted) {
    val mask = VecInit.tabulate(SequenceAuthority.mostNodeBits)(granted.nodeBits > _.U).asUInt
    assert((number & mask) === (granted.node & mask))
    assert((number | mask) === (last | mask) +& 1.U + mask && !refused)
    assert(granted.hardLimit === 0.U || number <= granted.hardLimit)
    assert(granted.esn || number < (1 << 8).U)
  }
  assert(!grant.valid || grant.bits.granted || number === 0.U)
  when(grant.valid && !granted.take) { assert(!grant.bits.granted) }

  // Which states are possible: registers and memory agree on the SA.
  private val lastNow = Mux(mine && grant.bits.granted, number, last)
  private val refusedNow = refused || mine && !grant.bits.granted
  private def agrees(state: UInt, last: UInt): Bool =
    last === lastNow && state(1) === refusedNow && state =/= 3.U
  private val results = Seq.tabulate(4) { n =>
    val valid = spy(s"dut.resultValids_$n") && spy(s"dut.results_${n}_sa", 1) === sa
    (valid, agrees(spy(s"dut.results_${n}_counter_state", 2), spy(s"dut.results_${n}_counter_last", 16)))
  }
  private val rows = Seq.tabulate(2)(n => spy(s"dut.counters.memory.banks_0.memory_ext.Memory[$n]", Secded(18).bits))
  private val row = Mux(sa(0), rows(1), rows(0))
  // A written counter passes the register in front of the memory.
  private val writing = spy("dut.took6") && results.head._1
  private val sets = restart.valid && restart.bits === sa || raises.last && raised.sa === sa
  private val writes = writing || RegNext(writing || sets, false.B)
  when(since) {
    assert(PriorityMux(results :+ (true.B -> true.B)))
    when(!writes) { assert(agrees(row(17, 16), row(15, 0))) }
  }
  cover(since && mine && grant.bits.granted && number === 2.U)
  cover(since && mine && refused)
  cover(since && mine && grant.bits.granted && number === 0x1234.U)
  cover(since && mine && grant.bits.granted && granted.nodeBits === 7.U && granted.node === 5.U && last(6, 0) === 9.U)
}
