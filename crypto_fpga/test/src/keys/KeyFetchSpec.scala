// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util.DecoupledIO
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.link.LinkMeta
import sallyport.common.registers.map.{InboundKeyRow, OutboundKeyRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.PacketBeat
import sallyport.common.table.{DirectTable, DirectTableParams, TablePort}
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.{LaneFarm, PathJob, Route}
import sallyport.crypto.suite.Suite

import scala.util.Random

/**
 * What key fetch puts into a job: the row's secrets for a packet that goes to a lane, and for
 * no other.
 */
class KeyFetchSpec extends AnyFunSuite with CompiledOnce {

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
    until(clock, ready)
    assert(write(clock, table, row, cycles = 100))
    clock.step(20)

    for ((packet, route) <- packets) {
      in.bits.last.poke(true)
      in.bits.bytes.poke(packet.length)
      // An ESP header's SPI, as a packet to decrypt has it.
      in.bits.data.poke(BigInt(java.lang.Integer.toUnsignedLong(java.lang.Integer.reverseBytes(spi.toInt))))
      in.bits.meta.sa.poke(packet.sa)
      in.bits.meta.length.poke(packet.length)
      in.bits.meta.bypass.poke(packet.bypass)
      send(clock, in, job)
      assert(job.bits.route.peek().litValue == route.litValue, s"$packet")
      val secrets = Seq(job.bits.lane.key, job.bits.lane.auth, job.bits.lane.salt).map(_.peek().litValue)
      if (route == Route.lane) assert(secrets.forall(_ != 0), s"$packet has no key")
      else assert(secrets.forall(_ == 0), s"$packet carries the key of SA $sa")
      clock.step(4)
    }
  }

  /** Asks for a row to be written, or goes on asking; whether it is written in this time. */
  private def write(clock: Clock, table: TablePort, row: BigInt, cycles: Int, sa: Int = sa): Boolean = {
    table.request.bits.write.poke(true)
    table.request.bits.table.poke(0)
    table.request.bits.index.poke(sa)
    table.request.bits.row.poke(row)
    table.request.valid.poke(true)
    (0 until cycles).exists { _ =>
      val taken = table.request.ready.peek().litToBoolean
      clock.step()
      if (taken) table.request.valid.poke(false)
      table.response.valid.peek().litToBoolean
    }
  }

  private def until(clock: Clock, condition: Bool): Unit = while (!condition.peek().litToBoolean) clock.step()

  /** The packet of one beat at `in` goes in, and its job comes out. */
  private def send(clock: Clock, in: DecoupledIO[PacketBeat[LinkMeta]], job: DecoupledIO[PathJob]): Unit = {
    in.valid.poke(true)
    until(clock, in.ready)
    clock.step()
    in.valid.poke(false)
    until(clock, job.valid)
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
      dut.io.allowFrames.poke(false)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      check(dut.clock, dut.io.in, dut.io.job, dut.io.table, dut.io.tableReady, row.outbound())
    }
  }

  test("encrypt: a flipped bit of a key harms no packet; two, or one that decides on the packet, drop it") {
    simulate(new EncryptFetch(saBits = 4, Seq(suite), memory = new WornTable(_, WornRows.outbound))) { dut =>
      reset(dut)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      until(dut.clock, dut.io.tableReady)
      for ((flips, n) <- WornRows.outbound.zipWithIndex) {
        val mask = BigInt(n + 1)
        assert(write(dut.clock, dut.io.table, row.outbound(ivMask = mask), cycles = 100, n), s"row $n")
        dut.clock.step(20)
        dut.io.in.bits.last.poke(true)
        dut.io.in.bits.bytes.poke(64)
        dut.io.in.bits.meta.sa.poke(n)
        dut.io.in.bits.meta.length.poke(64)
        send(dut.clock, dut.io.in, dut.io.job)
        assert(dut.io.job.bits.route.peek().litValue == flips.route.litValue, s"$flips")
        dut.io.upsets.keyRepaired.expect((flips.places.nonEmpty && !flips.lost).B, s"$flips")
        dut.io.upsets.keyLost.expect(flips.lost.B, s"$flips")
        dut.io.exhausted.valid.expect((flips.route == Route.upset).B, s"$flips")
        if (flips.route == Route.lane) {
          val lane = dut.io.job.bits.lane
          val whole = row.outbound(ivMask = mask)
          lane.key.expect(OutboundKeyRow.key(whole), s"$flips")
          lane.auth.expect(OutboundKeyRow.auth(whole), s"$flips")
          lane.salt.expect(OutboundKeyRow.salt(whole), s"$flips")
          lane.spi.expect(BigInt(spi), s"$flips")
          lane.iv.expect(mask ^ 1, s"$flips")
        }
        dut.io.jobTaken.poke(true)
        dut.clock.step()
        dut.io.jobTaken.poke(false)
        dut.clock.step(4)
      }
    }
  }

  test("decrypt: a packet that goes past the lanes carries no key") {
    simulate(new DecryptFetch(saBits = 4, Seq(suite), inFlight = 16)) { dut =>
      reset(dut)
      dut.io.allowBypass.poke(true)
      dut.io.allowFrames.poke(false)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      check(dut.clock, dut.io.in, dut.io.job, dut.io.table, dut.io.tableReady, row.inbound)
    }
  }

  test("decrypt: a flipped bit of a key row drops its packets, and so do two side by side") {
    simulate(
      new DecryptFetch(saBits = 5, Seq(suite), inFlight = 16, memory = new WornTable(_, WornRows.inbound))
    ) { dut =>
      reset(dut)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      until(dut.clock, dut.io.tableReady)
      dut.io.in.bits.last.poke(true)
      dut.io.in.bits.bytes.poke(64)
      dut.io.in.bits.data.poke(BigInt(java.lang.Integer.toUnsignedLong(java.lang.Integer.reverseBytes(spi.toInt))))
      dut.io.in.bits.meta.length.poke(64)
      for ((flips, n) <- WornRows.inbound.zipWithIndex) {
        assert(write(dut.clock, dut.io.table, row.inbound, cycles = 100, n), s"row $n")
        dut.clock.step(20)
        dut.io.in.bits.meta.sa.poke(n)
        send(dut.clock, dut.io.in, dut.io.job)
        assert(dut.io.job.bits.route.peek().litValue == flips.route.litValue, s"$flips")
        dut.io.jobTaken.poke(true)
        // The packet has ended: the next row may be written.
        dut.io.dropped.valid.poke(true)
        dut.io.dropped.bits.poke(dut.io.job.bits.epoch.peek())
        dut.clock.step()
        dut.io.jobTaken.poke(false)
        dut.io.dropped.valid.poke(false)
        dut.clock.step(4)
      }
    }
  }

  test("decrypt: a row waits for packets of the one before, as many as the largest build can hold") {
    val config = CryptoConfig(lanes = 16, slots = 256)
    val most = LaneFarm.packets(config.lane(encrypt = false), config.lanes)
    // A count of 12 bits took so many for none.
    val packets = 1 << 12
    assert(packets < most)
    simulate(new DecryptFetch(saBits = 4, Seq(suite), inFlight = most)) { dut =>
      reset(dut)
      dut.io.beats.ready.poke(true)
      dut.io.job.ready.poke(true)
      until(dut.clock, dut.io.tableReady)
      dut.io.in.bits.last.poke(true)
      dut.io.in.bits.bytes.poke(64)
      dut.io.in.bits.meta.length.poke(64)
      dut.io.in.valid.poke(true)
      dut.io.jobTaken.poke(false)
      var (begun, jobs) = (0, 0)
      while (jobs < packets) {
        if (dut.io.received.peek().litToBoolean) begun += 1
        val comes = dut.io.job.valid.peek().litToBoolean
        if (comes) jobs += 1
        dut.io.jobTaken.poke(comes)
        dut.clock.step()
        if (begun == packets) dut.io.in.valid.poke(false)
      }
      dut.io.jobTaken.poke(false)

      def writes(cycles: Int): Boolean = write(dut.clock, dut.io.table, row.inbound, cycles)
      assert(writes(100), "packets of no epoch before")
      dut.clock.step(4)
      assert(!writes(200), "a row was written over packets of the one before the last")
      dut.io.merged.valid.poke(true)
      dut.io.merged.bits.poke(false)
      dut.clock.step(packets)
      dut.io.merged.valid.poke(false)
      assert(writes(100), "all packets have ended")
    }
  }
}

/** A table whose row n has the bits of `flips(n)` flipped. */
private class WornTable(p: DirectTableParams, flips: Seq[Flips]) extends DirectTable(p) {
  override protected def stored(index: UInt, word: UInt): UInt =
    word ^ VecInit(flips.map(_.places.map(BigInt(1) << _).sum.U(word.getWidth.W)))(index)
}

/** @param places of the bits; check bits are above the row's */
private case class Flips(places: Seq[Int], route: Route.Type) {
  val lost: Boolean = route != Route.lane
}

private object WornRows {
  private def repaired(place: Int) = Flips(Seq(place), Route.lane)
  private def lost(places: Int*) = Flips(places, Route.upset)

  val outbound: Seq[Flips] = {
    import OutboundKeyRow._
    Seq(
      Flips(Nil, Route.lane),
      repaired(key.lsb),
      repaired(auth.msb),
      repaired(salt.lsb),
      repaired(spi.lsb + 7),
      repaired(ivMask.msb),
      repaired(bits),
      repaired(bits + 11),
      lost(key.lsb, key.msb),
      lost(salt.lsb, bits),
      lost(esn.lsb),
      lost(softLimit.lsb),
      lost(hardLimit.msb),
      Flips(Seq(valid.lsb), Route.noKey),
      Flips(Seq(transport.lsb), Route.wrongMode),
      lost(ivMask.lsb, hardLimit.lsb)
    )
  }

  val inbound: Seq[Flips] = {
    import InboundKeyRow._
    val ofFields = Seq(key, auth, salt, window, esn, icv).flatMap(field => Seq(field.lsb, field.msb)).distinct
    Flips(Nil, Route.lane) +: ofFields.map(lost(_)) :++
      Seq(0, 1, 2).map(check => lost(bits + check)) :++
      Seq(lost(key.lsb, key.lsb + 1), lost(auth.msb - 1, auth.msb), lost(key.msb, bits + 1)) :++
      Seq(valid, spi).map(field => Flips(Seq(field.lsb), Route.noKey)) :+
      Flips(Seq(transport.lsb), Route.wrongMode)
  }
}
