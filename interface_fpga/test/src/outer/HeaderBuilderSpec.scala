package sallyport.iface

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite
import scala.io.Source

class HeaderBuilderSpec extends AnyFunSuite with ChiselSim {

  private val portMac = "025a00000001"

  /** One request and, for packets that may go, the header scapy made. */
  private case class Row(fields: Seq[String]) {
    val Seq(bypass, length, tos, df) = fields.take(4).map(_.toInt)
    val Seq(source, destination) = fields.slice(4, 6).map(BigInt(_, 16))
    val Seq(ttl, dscpCopy, dscp, dfMode, ecnCopy) = fields.slice(6, 11).map(_.toInt)
    val nextHopMac: BigInt = wire(fields(11))
    val header: BigInt = wire(fields(12))
  }

  /** Hex text of bytes in wire order, byte 0 lowest. */
  private def wire(hex: String): BigInt = BigInt(hex.grouped(2).toSeq.reverse.mkString, 16)

  private val rows: Seq[Row] = {
    val lines = Source.fromResource("outer_headers.txt").getLines().filterNot(_.startsWith("#"))
    lines.map(line => Row(line.split(" ").toSeq)).toSeq
  }

  private def pokeRow(dut: HeaderBuilder, row: Row): Unit = {
    val request = dut.io.request.bits
    request.meta.bypass.poke(row.bypass != 0)
    request.meta.length.poke(row.length)
    request.meta.tos.poke(row.tos)
    request.meta.df.poke(row.df != 0)
    request.tunnel.valid.poke(row.bypass == 0)
    request.tunnel.source.poke(row.source)
    request.tunnel.destination.poke(row.destination)
    request.tunnel.ttl.poke(row.ttl)
    request.tunnel.dscpCopy.poke(row.dscpCopy != 0)
    request.tunnel.dscp.poke(row.dscp)
    request.tunnel.dfMode.poke(row.dfMode)
    request.tunnel.ecnCopy.poke(row.ecnCopy != 0)
    request.tunnel.mtu.poke(0)
    request.nextHopValid.poke(true)
    request.nextHopMac.poke(row.nextHopMac)
  }

  private def faultOf(dut: HeaderBuilder): String = {
    val fault = dut.io.built.bits.fault
    val names = Seq(
      "disabled" -> fault.txDisabled,
      "template" -> fault.noTunnel,
      "nexthop" -> fault.noNextHop,
      "mtu" -> fault.mtu
    )
    names.filter(_._2.peek().litToBoolean).map(_._1).mkString(",")
  }

  test("headers are scapy's: checksum, DSCP, ECN and DF matrices, one a cycle; faults in order") {
    simulate(new HeaderBuilder) { dut =>
      dut.io.portMac.poke(wire(portMac))
      dut.io.portMtu.poke(9582)
      dut.io.enable.poke(true)
      dut.clock.step()
      val answers = Iterator.range(0, rows.size + HeaderBuilder.latency).flatMap { cycle =>
        val valid = cycle < rows.size
        dut.io.request.valid.poke(valid)
        if (valid) pokeRow(dut, rows(cycle))
        val answered = dut.io.built.valid.peek().litToBoolean
        assert(answered == cycle >= HeaderBuilder.latency, s"cycle $cycle")
        val answer = Option.when(answered)((
          dut.io.built.bits.bytes.peek().litValue,
          dut.io.built.bits.bypass.peek().litToBoolean,
          faultOf(dut)
        ))
        dut.clock.step()
        answer
      }.toSeq
      assert(answers.size == rows.size)
      for (((bytes, bypass, fault), row) <- answers.zip(rows)) {
        val length = if (bypass) HeaderBuilder.bypassBytes else HeaderBuilder.tunnelBytes
        assert(bypass == (row.bypass != 0))
        assert(fault == "", s"row ${row.fields}")
        assert((bytes & ((BigInt(1) << (8 * length)) - 1)) == row.header, s"row ${row.fields}")
      }

      // (bypass, length, template valid, next hop valid, template MTU, port MTU) → fault
      val faults = Seq(
        (false, 80, true, true, 0, 1500) -> "",
        (false, 80, false, false, 0, 1500) -> "template",
        (false, 9600, true, false, 1500, 1500) -> "nexthop",
        (false, 1480, true, true, 0, 1500) -> "",
        (false, 1481, true, true, 0, 1500) -> "mtu",
        (false, 1260, true, true, 1280, 1500) -> "",
        (false, 1261, true, true, 1280, 1500) -> "mtu",
        (false, 1481, true, true, 9000, 1500) -> "mtu",
        (false, 9600, true, true, 0, 9582) -> "mtu",
        (false, 9562, true, true, 0, 16383) -> "",
        (false, 9563, true, true, 0, 16383) -> "mtu",
        (true, 1500, false, true, 576, 1500) -> "",
        (true, 1501, false, true, 576, 1500) -> "mtu",
        (true, 1500, false, false, 0, 1500) -> "nexthop"
      )
      for (((bypass, length, template, nextHop, mtu, portMtu), expected) <- faults) {
        pokeRow(dut, rows.head)
        dut.io.portMtu.poke(portMtu)
        dut.clock.step()
        dut.io.request.valid.poke(true)
        dut.io.request.bits.meta.bypass.poke(bypass)
        dut.io.request.bits.meta.length.poke(length)
        dut.io.request.bits.tunnel.valid.poke(template)
        dut.io.request.bits.tunnel.mtu.poke(mtu)
        dut.io.request.bits.nextHopValid.poke(nextHop)
        dut.clock.step()
        dut.io.request.valid.poke(false)
        dut.clock.step(HeaderBuilder.latency - 1)
        dut.io.built.valid.expect(true)
        assert(faultOf(dut) == expected, s"length $length, MTU $mtu, port MTU $portMtu")
      }
      dut.io.enable.poke(false)
      dut.io.request.valid.poke(true)
      dut.clock.step(HeaderBuilder.latency)
      assert(faultOf(dut) == "disabled")
    }
  }
}
