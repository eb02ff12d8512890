// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Chip, CommonRegs, CryptoCounters, CryptoRegs}
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

class VotedRegisterSpec extends AnyFunSuite with CompiledOnce {
  private val bits = 8
  private val start = BigInt(0x5a)

  private def withRegister(body: VotedRegisterBench => Unit): Unit =
    simulate(new VotedRegisterBench(bits, start)) { dut =>
      dut.flips.poke(0)
      dut.io.write.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      body(dut)
    }

  private def flip(dut: VotedRegisterBench, copies: Seq[Int], bit: Int): Unit = {
    dut.flips.poke(copies.map(copy => BigInt(1) << (32 * copy + bit)).sum)
    dut.clock.step()
    dut.flips.poke(0)
  }

  test("a flip of each bit of each copy changes nothing, and is repaired in one cycle") {
    withRegister { dut =>
      for (copy <- 0 until 3; bit <- 0 until bits) {
        val clue = s"copy $copy, bit $bit"
        dut.io.repairs.expect(false.B, clue)
        flip(dut, Seq(copy), bit)
        dut.io.value.expect(start, clue)
        dut.io.repairs.expect(true.B, clue)
        dut.clock.step()
        dut.io.repairs.expect(false.B, clue)
      }
    }
  }

  test("two copies of a bit that flip in one cycle lose the bit: the limit") {
    withRegister { dut =>
      for ((copies, bit) <- Seq(Seq(0, 1), Seq(0, 2), Seq(1, 2)).zipWithIndex) {
        flip(dut, copies, bit)
        dut.clock.step()
        assert(dut.io.value.peek().litValue.testBit(bit) != start.testBit(bit))
      }
    }
  }

  test("writes among flips, a copy of each bit in each cycle but those after writes") {
    val random = new Random(1)
    withRegister { dut =>
      var value = start
      for (_ <- 0 until 2000) {
        val write = random.nextInt(4) == 0
        val wrong = Seq.fill(bits)(random.nextInt(3)).zipWithIndex.map { case (copy, bit) =>
          BigInt(1) << (32 * copy + bit)
        }
        val next = BigInt(bits, random)
        dut.io.write.valid.poke(write)
        dut.io.write.bits.poke(next)
        dut.flips.poke(if (write) BigInt(0) else wrong.sum)
        dut.clock.step()
        if (write) value = next
        dut.io.value.expect(value)
      }
    }
  }

  test("a bank's enables stay what they are while its clock rests, and each repair is told once") {
    val params = RegisterBankParams(Chip.crypto, "0.1.0", CryptoRegs.all, CryptoCounters.all)
    simulate(new FlippedBank(params)) { dut =>
      val driver = new AxiLiteDriver(dut.io.axil, dut.clock)
      driver.idle()
      dut.flips.poke(0)
      dut.io.increments.foreach(_.poke(0.U))
      dut.io.clear.poke(false)
      dut.io.table.request.ready.poke(false)
      dut.io.table.response.valid.poke(false)
      params.status.foreach(r => dut.io.status(r).poke(0))
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      driver.write(CryptoRegs.control, 5)
      driver.write(CommonRegs.scratch, 0x12345678)
      for (bit <- 0 until 4; copy <- 0 until 3) {
        val clue = s"copy $copy, bit $bit"
        dut.clock.step(40)
        dut.flips.poke(BigInt(1) << (32 * copy + bit))
        dut.clock.step()
        dut.flips.poke(0)
        val seen = Seq.fill(40) {
          dut.io.control(CryptoRegs.control).expect(5, clue)
          dut.io.control(CommonRegs.scratch).expect(0x12345678, clue)
          val repaired = dut.io.repaired.peek().litToBoolean
          dut.clock.step()
          repaired
        }
        assert(seen.count(identity) == 1, clue)
      }
      // Without a repair in between, the next copy's flip would win the vote.
      assert(driver.read(CryptoRegs.control) == 5)
    }
  }
}
