// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{DscpMapRow, PuntReason, TunnelRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet
import sallyport.common.table.TablePort
import sallyport.iface.identifiers.IdentifierSource

import scala.collection.mutable
import scala.util.Random

/** The encrypt path with a counter behind each event. */
class OuterEncryptHarness(config: OuterConfig) extends Module {
  private val dut = Module(new OuterEncrypt(config))
  val io = IO(chiselTypeOf(dut.io))
  io <> dut.io

  private val events = io.events
  private val named: Seq[(String, UInt)] = Seq(
    "tx_disabled" -> (events.fault.txDisabled +& events.clearFault.txDisabled),
    "no_identifier" -> (events.fault.noIdentifier +& events.clearFault.noIdentifier),
    "no_tunnel" -> (events.fault.noTunnel +& events.clearFault.noTunnel),
    "no_next_hop" -> (events.fault.noNextHop +& events.clearFault.noNextHop),
    "mtu" -> (events.fault.mtu +& events.clearFault.mtu),
    "host_upset" -> events.clear.hostUpset,
    "prefix_upset" -> events.clear.prefixUpset,
    "punt_host" -> events.punt.punted(PuntReason.clearHost),
    "punt_route" -> events.punt.punted(PuntReason.clearRoute),
    "unresolved_told" -> events.unresolved.valid,
    "cut" -> events.cut,
    "further" -> events.further,
    "tx_frames" -> events.transmit.txFrames,
    "tx_bytes" -> events.transmit.txBytes
  )
  val names: Seq[String] = named.map(_._1)
  val counts = IO(Output(Vec(named.size, UInt(32.W))))
  for (((_, event), count) <- named.zip(counts)) {
    val total = RegInit(0.U(32.W))
    total := total + event
    count := total
  }
}

class OuterEncryptSpec extends AnyFunSuite with CompiledOnce {

  /** As many as there are next hops, and the last that is not there. */
  private val rows = {
    val (v6, v4) = OuterHeaderRow.all.partition(_.v6)
    val (summed, plain) = v6.partition(_.summed)
    v4.filterNot(_.bypass) ++ v4.filter(_.bypass).take(6) ++ plain.takeRight(4) ++ summed
  }.take(255)
  private val random = new Random(6040)

  private case class Sent(
      payload: Seq[Byte],
      sa: Int,
      bypass: Boolean,
      tos: Int = 0,
      df: Boolean = false,
      nextHeader: Int = 4
  )

  private class Bench(dut: OuterEncryptHarness) {
    var frames: Vector[Seq[Byte]] = Vector.empty
    var starts: Vector[Int] = Vector.empty
    var cycle = 0
    private val partial = mutable.Buffer.empty[Byte]
    private def flag(signal: Bool): Boolean = signal.peek().litToBoolean

    /** Cycles out of 8 in which the port takes a beat. */
    var willing = 8

    def step(): Unit = {
      val mac = dut.io.mac
      mac.ready.poke(random.nextInt(8) < willing)
      if (flag(mac.valid) && flag(mac.ready)) {
        if (partial.isEmpty) starts :+= cycle
        partial ++= Packet.bytesOf(mac.bits.data.peek().litValue, mac.bits.bytes.peek().litValue.toInt)
        if (flag(mac.bits.last)) {
          frames :+= partial.toVector
          partial.clear()
        }
      }
      dut.clock.step()
      cycle += 1
    }

    def send(packet: Sent): Unit = {
      val in = dut.io.in
      val beats = packet.payload.grouped(64).toSeq
      in.valid.poke(true)
      in.bits.meta.length.poke(packet.payload.length)
      in.bits.meta.sa.poke(packet.sa)
      in.bits.meta.bypass.poke(packet.bypass)
      in.bits.meta.tos.poke(packet.tos)
      in.bits.meta.df.poke(packet.df)
      in.bits.meta.nextHeader.poke(packet.nextHeader)
      in.bits.meta.sequence.poke(OuterHeaderRow.sum(packet.payload))
      for ((beat, i) <- beats.zipWithIndex) {
        in.bits.data.poke(Packet.littleEndian(beat))
        in.bits.bytes.poke(beat.length)
        in.bits.last.poke(i == beats.length - 1)
        while (!flag(in.ready)) step()
        step()
      }
      in.valid.poke(false)
    }

    def settle(): Unit = for (_ <- 0 until 300) step()

    def counts: Map[String, Int] =
      dut.names.zip(dut.counts).map { case (name, count) => name -> count.peek().litValue.toInt }.toMap

    def since(before: Map[String, Int]): Map[String, Int] =
      counts.map { case (name, count) => name -> (count - before(name)) }.filter(_._2 != 0)

    def write(table: TablePort, index: Int, row: BigInt): Unit = {
      table.request.valid.poke(true)
      table.request.bits.write.poke(true)
      table.request.bits.index.poke(index)
      table.request.bits.row.poke(row)
      while (!flag(table.request.ready)) dut.clock.step()
      dut.clock.step()
      table.request.valid.poke(false)
      while (!flag(table.response.valid)) dut.clock.step()
      assert(!flag(table.response.bits.error))
      dut.clock.step()
    }

    /** The key of identifications. */
    def seed(): Unit = {
      dut.io.seed.valid.poke(true)
      for (n <- 0 until IdentifierSource.seedWords) {
        dut.io.seed.bits.first.poke(n == 0)
        dut.io.seed.bits.word.poke(random.nextInt(1 << IdentifierSource.seedWordBits))
        dut.clock.step()
      }
      dut.io.seed.valid.poke(false)
      while (!flag(dut.io.seeded)) dut.clock.step()
    }

    def start(): Unit = {
      dut.io.enable.poke(true)
      dut.io.portMac.poke(OuterFrames.portMac)
      dut.io.portMtu.poke(9582)
      dut.io.punt.ready.poke(true)
      while (!flag(dut.io.ready)) dut.clock.step()
      seed()
      for ((row, i) <- rows.zipWithIndex) {
        write(dut.io.clearTables.nextHop, i, row.nextHopRow)
        if (!row.bypass) write(dut.io.tunnelTable, i, row.tunnelRow(nextHop = i))
      }
    }
  }

  private def payload(length: Int): Seq[Byte] = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    bytes.toSeq
  }

  /** What a row's header was made for. */
  private def payload(row: OuterHeaderRow): Seq[Byte] =
    if (row.summed) OuterHeaderRow.pattern(row.length) else payload(row.length)

  test("the DSCP that an array makes of the inner one is what scapy puts where the tunnel has it; others are copied") {
    simulate(new OuterEncryptHarness(OuterConfig())) { dut =>
      val bench = new Bench(dut)
      bench.start()
      // Every packet's DSCP is an array's: of those that are copied the array has no entry.
      val arrays = Array.fill(TunnelTemplate.dscpArrays)(mutable.Map.empty[Int, Option[Int]])
      var mapped, copied = 0
      for ((row, i) <- rows.zipWithIndex if !row.bypass) {
        val (inner, outer) = (row.tos >> 2, Option.when(!row.dscpCopy)(row.dscp))
        val array = arrays.indexWhere(_.getOrElse(inner, outer) == outer)
        if (array >= 0) {
          arrays(array)(inner) = outer
          if (outer.isDefined) mapped += 1 else copied += 1
          val tunnel = row.copy(dscpCopy = i % 2 == 0, dscp = array | (i % 4) << 4).tunnelRow(nextHop = i)
          bench.write(dut.io.tunnelTable, i, tunnel | TunnelRow.dscpMap.put(1))
        }
      }
      assert(mapped >= 30 && copied >= 20)
      for ((array, i) <- arrays.zipWithIndex; (inner, outer) <- array; dscp <- outer)
        bench.write(dut.io.dscpMapTable, 64 * i + inner, DscpMapRow.valid.put(1) | DscpMapRow.dscp.put(dscp))
      for ((row, i) <- rows.zipWithIndex) {
        val payloads = payload(row)
        bench.send(Sent(payloads, i, row.bypass, row.tos, row.df, row.nextHeader))
        bench.settle()
        assert(bench.frames.last == (row.as(bench.frames.last) ++ payloads).padTo(60, 0.toByte), s"row $i")
      }
      assert(bench.frames.size == rows.size)
    }
  }

  test("packets get the headers that scapy makes, faults go under their counters, at the rate of the port") {
    simulate(new OuterEncryptHarness(OuterConfig())) { dut =>
      val bench = new Bench(dut)
      bench.start()

      // One packet a row, with a port that stalls now and then.
      val sent = rows.zipWithIndex.map { case (row, i) =>
        Sent(payload(row), i, row.bypass, row.tos, row.df, row.nextHeader)
      }
      for ((packet, i) <- sent.zipWithIndex) {
        bench.willing = if (i % 3 == 0) 4 else 8
        bench.send(packet)
      }
      bench.willing = 8
      (1 to 3).foreach(_ => bench.settle())
      assert(bench.frames.size == rows.size)
      for (((packet, row), i) <- sent.zip(rows).zipWithIndex)
        assert(bench.frames(i) == (row.as(bench.frames(i)) ++ packet.payload).padTo(60, 0.toByte), s"row $i")
      val bytes = bench.frames.map(_.length + 4).sum
      assert(bench.counts.filter(_._2 != 0) == Map("tx_frames" -> rows.size, "tx_bytes" -> bytes))

      // Each fault alone.
      val tunnel = rows.indexWhere(!_.bypass)
      val natt = rows.indexWhere(_.encap)
      bench.write(dut.io.tunnelTable, 1000, rows(tunnel).tunnelRow(nextHop = 255))
      bench.write(dut.io.tunnelTable, 1001, rows(tunnel).tunnelRow(nextHop = tunnel, mtu = 576))
      bench.write(dut.io.tunnelTable, 1002, rows(tunnel).copy(dfMode = 1).tunnelRow(nextHop = tunnel, mtu = 576))
      bench.write(dut.io.tunnelTable, 1003, rows(natt).copy(dfMode = 1).tunnelRow(nextHop = natt))
      val v6 = rows.lastIndexWhere(row => row.v6 && !row.encap)
      bench.write(dut.io.tunnelTable, 1004, rows(v6).copy(dfMode = 2).tunnelRow(nextHop = v6, mtu = 1280))
      bench.write(dut.io.tunnelTable, 1005, rows(v6).copy(dfMode = 2).tunnelRow(nextHop = v6, mtu = 1279))
      // Frames of these bytes, FCS included.
      def cutInto(frames: Int*): Map[String, Int] = Map(
        "cut" -> 1,
        "further" -> (frames.size - 1),
        "tx_frames" -> frames.size,
        "tx_bytes" -> frames.sum
      )
      val faults = Seq(
        Sent(payload(80), 999, bypass = false) -> Map("no_tunnel" -> 1),
        Sent(payload(80), tunnel + 1024, bypass = false) -> Map("no_tunnel" -> 1),
        Sent(payload(80), 1000, bypass = false) -> Map("no_next_hop" -> 1),
        Sent(payload(80), 255, bypass = true) -> Map("punt_route" -> 1),
        Sent(payload(80), tunnel + 256, bypass = true) -> Map("punt_route" -> 1),
        Sent(payload(556), 1001, bypass = false) -> Map("tx_frames" -> 1, "tx_bytes" -> (576 + 18)),
        Sent(payload(557), 1001, bypass = false) -> cutInto(590, 64),
        Sent(payload(557), 1001, bypass = false, df = true) -> Map("mtu" -> 1),
        Sent(payload(557), 1002, bypass = false) -> Map("mtu" -> 1),
        Sent(payload(9563), tunnel, bypass = false) -> cutInto(9598, 64),
        Sent(payload(1241), 1004, bypass = false) -> cutInto(1298, 75),
        Sent(payload(1241), 1005, bypass = false) -> Map("mtu" -> 1),
        Sent(payload(9554), natt, bypass = false) -> Map("tx_frames" -> 1, "tx_bytes" -> 9600),
        Sent(payload(9555), 1003, bypass = false) -> Map("mtu" -> 1),
        Sent(payload(9582), tunnel, bypass = true) -> Map("tx_frames" -> 1, "tx_bytes" -> 9600),
        Sent(payload(9583), tunnel, bypass = true) -> Map("mtu" -> 1)
      )
      for ((packet, expected) <- faults) {
        val before = bench.counts
        bench.send(packet)
        bench.settle()
        assert(bench.since(before) == expected, s"SA ${packet.sa}, ${packet.payload.length} B")
      }

      // Latency: first beat in to first beat out.
      for ((length, name) <- Seq(80 -> "114 B", 1464 -> "1498 B")) {
        bench.starts = Vector.empty
        val start = bench.cycle
        bench.send(Sent(payload(length), tunnel, bypass = false))
        val end = bench.cycle - 1
        bench.settle()
        info(
          s"frame of $name: ${bench.starts.head - start} cycles from first beat to first beat, ${bench.starts.head - end} from the last"
        )
      }

      // The port takes 114 B frames every 3.3 cycles, with UDP 122 B every 3.5; 65 B ones, the
      // worst of a 512-bit bus, every 2.1.
      for (
        (name, packet, wire) <- Seq(
          ("ESP, 114 B", Sent(payload(80), tunnel, bypass = false), (118 + 20) * 8 * 0.003),
          ("ESP in UDP, 122 B", Sent(payload(80), natt, bypass = false), (126 + 20) * 8 * 0.003),
          ("bypass, 61 B", Sent(payload(47), tunnel, bypass = true), (65 + 20) * 8 * 0.003),
          ("bypass, 65 B", Sent(payload(51), tunnel, bypass = true), (69 + 20) * 8 * 0.003)
        )
      ) {
        bench.starts = Vector.empty
        for (_ <- 0 until 200) bench.send(packet)
        bench.settle()
        assert(bench.starts.length == 200)
        val interval = (bench.starts.last - bench.starts.head) / 199.0
        info(f"$name: a frame every $interval%.2f cycles; the wire takes one every $wire%.2f")
        assert(interval <= wire)
      }

      dut.io.enable.poke(false)
      val disabled = bench.counts
      bench.send(Sent(payload(80), tunnel, bypass = false))
      bench.send(Sent(payload(80), 999, bypass = false))
      bench.settle()
      assert(bench.since(disabled) == Map("tx_disabled" -> 2))
    }
  }
}
