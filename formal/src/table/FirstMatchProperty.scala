// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.table

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.RowField
import sallyport.common.table.{FirstMatch, RuleMatch, TernaryTableParams}
import sallyport.formal.harness.{Bug, Claim, Property}

class FirstMatchProperty
    extends Property(
      Claim(
        proves = "Of 128 rules, the lowest that matches answers.",
        clause = "RFC 4301 4.4.1 (the SPD is ordered), FirstMatch",
        bug = Bug("FirstMatch", raw"(?s)\A(.*?)io_matches\[77\]", raw"\1io_matches[78]"),
        depth = 5,
        reach = 8
      )
    ) {
  private val params = TernaryTableParams(rows = 128, keyBits = 6, maskLsb = 8, valid = RowField(7, 1))
  private val dut = Module(new FirstMatch(params))
  private val matches = any(UInt(128.W))
  dut.io.matches := matches
  private val doubts = any(UInt((128 / RuleMatch.groupRows).W))
  dut.io.doubts := doubts.asBools
  private val latency = FirstMatch.latency(params)
  private val known = ShiftRegister(true.B, latency, false.B, true.B)
  private val asked = ShiftRegister(matches, latency)
  private val doubted = ShiftRegister(doubts, latency)
  when(known) {
    assert(dut.io.index.valid === (asked.orR || doubted.orR))
    // The row that answers matched, and none below it did.
    val row = dut.io.index.bits
    when(dut.io.index.valid && !dut.io.upset) {
      assert(asked(row) && (asked & ((1.U(128.W) << row)(127, 0) - 1.U)) === 0.U)
    }
    // No row up to that one is in a group of doubt; without any, all answers are right.
    when(!dut.io.upset) {
      for (group <- 0 until 128 / RuleMatch.groupRows)
        assert(!doubted(group) || dut.io.index.valid && row < (group * RuleMatch.groupRows).U)
    }
    when(!doubted.orR) { assert(!dut.io.upset) }
  }
  cover(known && dut.io.index.valid && dut.io.index.bits === 77.U && PopCount(asked) > 2.U)
}
