// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import chisel3.util.DecoupledIO
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.link.LinkMeta
import sallyport.common.stream.PacketBeat
import sallyport.common.table.TablePort
import sallyport.crypto.dispatch.{PathJob, Route}
import sallyport.crypto.suite.Suite

import scala.util.Random

/** What key fetch puts into a job: the row's secrets for a packet that goes to a lane, and for no other. */
class KeyFetchSpec extends AnyFunSuite with ChiselSim {

  private val suite = Suite.named("aes256gcm16")
  private val sa = 3
  private val spi = 0x12345678L
  private val row = SaKeys(EspKeys.random(new Random(5), suite), spi)

  /** A packet's SA, length and bypass mark. */
  private case class Sent(sa: Int, length: Int, bypass: Boolean)
  private val packets = Seq(
    Sent(sa, 64, bypass = false) -> Route.lane,
    Sent(sa, 64, bypass = true) -> Route.bypass,
    Sent(sa, 6, bypass = true) -> Route.bypass,
    Sent(sa + 1, 64, bypass = false) -> Route.noKey,
    Sent(sa, 64, bypass = false) -> Route.lane
  )

  private def check(
      clock: Clock,
      in: DecoupledIO[PacketBeat[LinkMeta]],
      job: DecoupledIO[PathJob],
      table: TablePort,
      ready: Bool,
      row: BigInt
  ): Unit = {
    def until(condition: Bool): Unit = while (!condition.peek().litToBoolean) clock.step()
    until(ready)
    table.request.bits.write.poke(true)
    table.request.bits.table.poke(0)
    table.request.bits.index.poke(sa)
    table.request.bits.row.poke(row)
    table.request.valid.poke(true)
    until(table.request.ready)
    clock.step()
    table.request.valid.poke(false)
    until(table.response.valid)
    clock.step(20)

    for ((packet, route) <- packets) {
      in.bits.last.poke(true)
      in.bits.bytes.poke(packet.length)
      // An ESP header's SPI, as a packet to decrypt has it.
      in.bits.data.poke(BigInt(java.lang.Integer.toUnsignedLong(java.lang.Integer.reverseBytes(spi.toInt))))
      in.bits.meta.sa.poke(packet.sa)
      in.bits.meta.length.poke(packet.length)
      in.bits.meta.bypass.poke(packet.bypass)
      in.valid.poke(true)
      until(in.ready)
      clock.step()
      in.valid.poke(false)
      until(job.valid)
      assert(job.bits.route.peek().litValue == route.litValue, s"$packet")
      val secrets = Seq(job.bits.lane.key, job.bits.lane.auth, job.bits.lane.salt).map(_.peek().litValue)
      if (route == Route.lane) assert(secrets.forall(_ != 0), s"$packet has no key")
      else assert(secrets.forall(_ == 0), s"$packet carries the key of SA $sa")
      clock.step(4)
    }
  }

  private def reset(module: Module): Unit = {
    module.reset.poke(true)
    module.clock.step(2)
    module.reset.poke(false)
  }

  test("encrypt: a packet that goes past the lanes carries no key") {
    simulate(new EncryptFetch(saBits = 4, Seq(suite))) { dut =>
      reset(dut)
      dut.io.allowBypass.poke(true)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      check(dut.clock, dut.io.in, dut.io.job, dut.io.table, dut.io.tableReady, row.outbound())
    }
  }

  test("decrypt: a packet that goes past the lanes carries no key") {
    simulate(new DecryptFetch(saBits = 4, Seq(suite))) { dut =>
      reset(dut)
      dut.io.allowBypass.poke(true)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      check(dut.clock, dut.io.in, dut.io.job, dut.io.table, dut.io.tableReady, row.inbound)
    }
  }
}
