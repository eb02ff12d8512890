// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.simulator.PeekPokeAPI
import sallyport.common.registers.map.{PeerRow, SadRow}
import sallyport.common.stream.Packet
import sallyport.common.table.{CuckooHash, FlippedCuckooTable, FlippedTernaryTable, TablePort}

import scala.collection.mutable

/** The decrypt path with a counter behind each event, and tables whose bits flip. */
class OuterDecryptHarness(config: OuterConfig) extends Module {
  val flips = IO(FlippedCuckooTable.flips(SadRow.bits))
  val peerFlips = IO(FlippedCuckooTable.flips(PeerRow.bits))
  val ruleFlips = IO(Input(UInt(FlippedTernaryTable.resultBits.W)))
  private val dut = Module(
    new OuterDecrypt(
      config,
      FlippedCuckooTable.table(flips),
      FlippedTernaryTable.results(ruleFlips),
      FlippedCuckooTable.table(peerFlips)
    )
  )
  val io = IO(chiselTypeOf(dut.io))
  io <> dut.io

  private val events = io.events
  private val named: Seq[(String, Bool)] = Seq(
    "rx_frames" -> events.path.receive.rxFrames,
    "reasm_length" -> events.path.fragments.tracking.dropLength,
    "reasm_headers" -> events.path.fragments.tracking.dropHeaders,
    "reasm_oversize" -> events.path.fragments.reassembly.dropOversize.orR,
    "reassembled" -> events.path.fragments.reassembly.reassembled,
    "rx_overflow" -> events.path.receive.dropOverflow,
    "mac_filter" -> events.drops.macFilter,
    "ip_malformed" -> events.drops.ipMalformed,
    "ip_checksum" -> events.drops.ipChecksum,
    "dispatch" -> events.drops.dispatch,
    "ttl_expired" -> events.drops.ttlExpired,
    "esp_truncated" -> events.drops.espTruncated,
    "unknown_spi" -> events.drops.unknownSpi,
    "sad_upset" -> events.drops.sadUpset,
    "policy_upset" -> events.drops.policyUpset,
    "rule_row_upset" -> events.ruleRowUpset,
    "sad_row_upset" -> events.sadRowUpset,
    "peer_row_upset" -> events.peerRowUpset,
    "encap_mismatch" -> events.drops.encapMismatch,
    "udp_malformed" -> events.drops.udpMalformed,
    "natt_keepalive" -> events.drops.nattKeepalive,
    "policy" -> events.drops.policy,
    "link_down" -> events.drops.linkDown,
    "punt_overflow" -> events.path.punt.dropOverflow,
    "punted" -> events.path.punt.punted.orR,
    "tx_esp" -> events.txEsp,
    "tx_bypass" -> events.txBypass
  )
  val names: Seq[String] = named.map(_._1)
  val counts = IO(Output(Vec(named.size, UInt(32.W))))
  for (((_, event), count) <- named.zip(counts)) {
    val total = RegInit(0.U(32.W))
    total := total + event
    count := total
  }
}

/** Drives it from the port and collects what leaves at the link and for the management CPU. */
class OuterDecryptBench(dut: OuterDecryptHarness, config: OuterConfig) extends PeekPokeAPI {
  var linked: Vector[Outcome.Link] = Vector.empty
  var punted: Vector[Outcome.Punt] = Vector.empty
  var linkCycles: Vector[Int] = Vector.empty
  var cycle = 0
  private val linkBytes = mutable.Buffer.empty[Byte]
  private val puntBytes = mutable.Buffer.empty[Byte]

  private def flag(signal: Bool): Boolean = signal.peek().litToBoolean

  def step(): Unit = {
    val out = dut.io.out
    if (flag(out.valid) && flag(out.ready)) {
      if (linkBytes.isEmpty) linkCycles :+= cycle
      linkBytes ++= Packet.bytesOf(out.bits.data.peek().litValue, out.bits.bytes.peek().litValue.toInt)
      if (flag(out.bits.last)) {
        val meta = out.bits.meta
        assert(!flag(out.bits.error))
        assert(meta.length.peek().litValue == linkBytes.length)
        val tos = meta.tos.peek().litValue.toInt
        linked :+= Outcome.Link(meta.sa.peek().litValue.toInt, flag(meta.bypass), tos, linkBytes.toVector)
        linkBytes.clear()
      }
    }
    val punt = dut.io.punt
    if (flag(punt.valid) && flag(punt.ready)) {
      puntBytes ++= Packet.bytesOf(punt.bits.data.peek().litValue, punt.bits.bytes.peek().litValue.toInt)
      if (flag(punt.bits.last)) {
        punted :+= Outcome.Punt(puntBytes.toVector)
        puntBytes.clear()
      }
    }
    dut.clock.step()
    cycle += 1
  }

  def send(frame: Seq[Byte], interval: Int = 0): Unit = {
    val beats = frame.grouped(64).toSeq
    dut.io.mac.valid.poke(true)
    for ((beat, i) <- beats.zipWithIndex) {
      dut.io.mac.bits.data.poke(Packet.littleEndian(beat))
      dut.io.mac.bits.bytes.poke(beat.length)
      dut.io.mac.bits.last.poke(i == beats.length - 1)
      step()
    }
    dut.io.mac.valid.poke(false)
    for (_ <- beats.length until interval) step()
  }

  def settle(): Unit = for (_ <- 0 until 400) step()

  def counts: Map[String, Int] =
    dut.names.zip(dut.counts).map { case (name, count) => name -> count.peek().litValue.toInt }.toMap

  /** What becomes of a frame that comes alone. */
  def outcomes(name: String): Seq[Outcome] = {
    val (links, punts) = (linked.length, punted.length)
    send(OuterFrames.named(name).bytes)
    for (_ <- 0 until 80) step()
    linked.drop(links) ++ punted.drop(punts)
  }

  /** What the counters say has happened since `before`, without those that did not move. */
  def since(before: Map[String, Int]): Map[String, Int] =
    counts.map { case (name, count) => name -> (count - before(name)) }.filter(_._2 != 0)

  def start(): Unit = {
    dut.flips.foreach(_.poke(0))
    dut.peerFlips.foreach(_.poke(0))
    dut.ruleFlips.poke(0)
    dut.io.receive.enable.poke(true)
    dut.io.receive.portMac.poke(OuterFrames.portMac)
    dut.io.local.v4.poke(OuterFrames.localIpv4)
    dut.io.local.v6.poke(OuterFrames.localIpv6)
    dut.io.receive.own.v4.poke(OuterFrames.localIpv4)
    dut.io.receive.own.v6.poke(OuterFrames.localIpv6)
    dut.io.linkUp.poke(true)
    dut.io.receive.skip.hopByHop.poke(true)
    dut.io.receive.skip.routing.poke(true)
    dut.io.receive.skip.destinationOptions.poke(true)
    dut.io.receive.fragmentLimits.timeout.poke(1000)
    dut.io.receive.fragmentLimits.perSource.poke(64)
    dut.io.out.ready.poke(true)
    dut.io.punt.ready.poke(true)
    while (!flag(dut.io.ready)) dut.clock.step()
    OuterFrames.sadRows((1 << config.sadBits) / CuckooHash.ways).foreach((writeSad _).tupled)
    OuterFrames.peerRows((1 << config.peerBits) / CuckooHash.ways).foreach((writePeer _).tupled)
    for ((index, row) <- OuterFrames.ruleRows) write(dut.io.ruleTable, index, row)
  }

  def writePeer(index: Int, row: BigInt): Unit = write(dut.io.peerTable, index, row)

  def writeSad(index: Int, row: BigInt): Unit = write(dut.io.sadTable, index, row)

  private def write(table: TablePort, index: Int, row: BigInt): Unit = {
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
}
