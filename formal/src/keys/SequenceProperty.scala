// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import chisel3.util._
import sallyport.crypto.keys.SequenceAuthority
import sallyport.formal.harness.{Bug, Claim, Property}

/** Two SAs and numbers of 16 bits, of which 8 count without ESN. */
class SequenceProperty
    extends Property(
      Claim(
        proves =
          "Numbers of an SA are one above the last between two restarts, within every limit, and none follows a refusal.",
        clause = "RFC 4303 3.3.3, RFC 4106 3.1, SequenceAuthority",
        bug = Bug("SequenceAuthority", raw"matchNewest \? newest_last", "matchOlder ? newest_last"),
        assumes = Seq(
          "Requests are 2 cycles apart: PacketHeads.",
          "Restart and raise come while no request that takes a number is under way, and 3 cycles apart: PacketPause."
        ),
        depth = 8,
        reach = 14
      )
    ) {
  private val dut = Module(new SequenceAuthority(saBits = 1, bits = 16))
  private val request = any(chiselTypeOf(dut.io.request))
  private val restart = any(chiselTypeOf(dut.io.restart))
  private val raise = any(chiselTypeOf(dut.io.raise))
  dut.io.request := request
  dut.io.restart := restart
  dut.io.raise := raise

  private def history(event: Bool, cycles: Int): Seq[Bool] = Seq.iterate(event, cycles + 1)(RegNext(_, false.B))
  private val asked = history(request.valid, 1)
  private val taking = history(request.valid && request.bits.take, SequenceAuthority.latency).reduce(_ || _)
  private val raises = history(raise.valid, 3)
  assume(!(request.valid && asked(1)))
  assume(!restart.valid || !taking)
  assume(!raises.reduce(_ || _) || !taking && !restart.valid)
  assume(!(raise.valid && raises.tail.reduce(_ || _)))

  // Any SA, and what it has been given.
  private val sa = some(UInt(1.W))
  private val last = RegInit(0.U(16.W))
  private val refused = RegInit(false.B)
  private val since = RegInit(false.B)
  private val granted = ShiftRegister(request.bits, SequenceAuthority.latency)
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
  private val raised = ShiftRegister(raise.bits, 3)
  when(raises(3) && raised.sa === sa && raised.number > last) { last := raised.number }

  private val number = grant.bits.sequence
  assert(grant.valid === ShiftRegister(request.valid, SequenceAuthority.latency, false.B, true.B))
  when(since && mine && grant.bits.granted) {
    assert(number === last +& 1.U && !refused)
    assert(granted.hardLimit === 0.U || number <= granted.hardLimit)
    assert(granted.esn || number < (1 << 8).U)
  }
  assert(!grant.valid || grant.bits.granted || number === 0.U)
  when(grant.valid && !granted.take) { assert(!grant.bits.granted) }

  // Which states are possible: registers and memory agree on the SA.
  private val lastNow = Mux(mine && grant.bits.granted, number, last)
  private val refusedNow = refused || mine && !grant.bits.granted
  private val newest = spy("dut.newestValid") && spy("dut.newestSa", 1) === sa
  private val older = spy("dut.olderValid") && spy("dut.olderSa", 1) === sa
  private val rows = Seq.tabulate(2)(n => spy(s"dut.counters_ext.Memory[$n]", 18))
  private val row = Mux(sa(0), rows(1), rows(0))
  private val writes = spy("dut.took4") && newest
  when(since) {
    when(newest) { assert(spy("dut.newest_last", 16) === lastNow && spy("dut.newest_exhausted") === refusedNow) }
    when(!newest && older) {
      assert(spy("dut.older_last", 16) === lastNow && spy("dut.older_exhausted") === refusedNow)
    }
    when(!writes) { assert(row(15, 0) === lastNow && row(17) === refusedNow) }
  }
  cover(since && mine && grant.bits.granted && number === 2.U)
  cover(since && mine && refused)
  cover(since && mine && grant.bits.granted && number === 0x1234.U)
}
