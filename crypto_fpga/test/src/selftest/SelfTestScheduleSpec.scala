// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.CryptoRegs
import sallyport.common.simulation.CompiledOnce

class SelfTestScheduleSpec extends AnyFunSuite with CompiledOnce {
  override def brief = false

  test("runs begin on command and a period after the last, and are counted and timed") {
    simulate(new SelfTestSchedule(2)) { dut =>
      val fields = CryptoRegs.SelfTestStatus
      def running(encrypt: Boolean, decrypt: Boolean): Unit = {
        dut.io.encrypt.running.poke(encrypt)
        dut.io.decrypt.running.poke(decrypt)
      }
      def runs: BigInt = fields.runs(dut.io.status.peek().litValue)

      /** Cycles until a run is asked for. */
      def asked(limit: Int): Option[Int] = (0 until limit).find { _ =>
        val run = dut.io.run.peek().litToBoolean
        if (!run) dut.clock.step()
        run
      }
      dut.reset.poke(true)
      dut.io.command.poke(false)
      dut.io.period.poke(0)
      dut.io.encrypt.failed.poke(2)
      dut.io.decrypt.failed.poke(1)
      running(encrypt = true, decrypt = true)
      dut.clock.step(2)
      dut.reset.poke(false)
      dut.clock.step(100)
      running(encrypt = false, decrypt = true)
      dut.clock.step(100)
      assert(runs == 0 && fields.running(dut.io.status.peek().litValue) == 1)
      running(encrypt = false, decrypt = false)
      dut.clock.step(3)
      assert(runs == 1 && fields.running(dut.io.status.peek().litValue) == 0)
      dut.io.cycles.expect(200)
      dut.io.failed.expect(BigInt(0x00010002))

      // No period: on command alone.
      dut.clock.step((1 << 20) + 100)
      dut.io.run.expect(false)
      dut.io.command.poke(true)
      dut.clock.step()
      dut.io.command.poke(false)
      dut.io.run.expect(true)
      dut.clock.step()
      dut.io.run.expect(false)

      // Of one unit: as long after the end of a run, which the command's is not.
      running(encrypt = true, decrypt = true)
      dut.clock.step(10)
      running(encrypt = false, decrypt = false)
      dut.io.period.poke(1)
      dut.clock.step((1 << 20) - 10)
      dut.io.run.expect(false)
      assert(asked(30).isDefined)
      assert(runs == 2)

      // While both run a command is ignored. A path that does not come to its end keeps the other
      // from no run, on command or after the period.
      running(encrypt = true, decrypt = true)
      dut.clock.step(10)
      dut.io.command.poke(true)
      dut.clock.step(3)
      dut.io.run.expect(false)
      dut.io.command.poke(false)
      running(encrypt = true, decrypt = false)
      dut.clock.step(3)
      dut.io.command.poke(true)
      dut.clock.step()
      dut.io.command.poke(false)
      dut.io.run.expect(true)
      dut.clock.step((1 << 20) - 10)
      dut.io.run.expect(false)
      assert(asked(30).isDefined)
      assert(runs == 2)
    }
  }
}
