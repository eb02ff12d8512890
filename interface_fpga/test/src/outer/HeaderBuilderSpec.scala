// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.DfMode
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

class HeaderBuilderSpec extends AnyFunSuite with CompiledOnce {

  private val rows = OuterHeaderRow.all

  private def pokeRow(dut: HeaderBuilder, row: OuterHeaderRow): Unit = {
    val request = dut.io.request.bits
    request.meta.bypass.poke(row.bypass)
    request.meta.length.poke(row.length)
    request.meta.tos.poke(row.tos)
    request.meta.df.poke(row.df)
    request.meta.nextHeader.poke(row.nextHeader)
    request.meta.sequence.poke(if (row.summed) OuterHeaderRow.sum(OuterHeaderRow.pattern(row.length)) else BigInt(0))
    request.tunnel.valid.poke(!row.bypass)
    request.tunnel.v6.poke(row.v6)
    request.tunnel.flowLabel.poke(row.flowLabel)
    request.tunnel.source.poke(row.source)
    request.tunnel.destination.poke(row.destination)
    request.tunnel.ttl.poke(row.ttl)
    request.tunnel.dscpCopy.poke(row.dscpCopy)
    request.tunnel.dscp.poke(row.dscp)
    request.tunnel.dfMode.poke(row.dfMode)
    request.tunnel.ecnCopy.poke(row.ecnCopy)
    request.tunnel.mtu.poke(0)
    request.tunnel.encap.poke(row.encap)
    request.tunnel.sourcePort.poke(row.sourcePort)
    request.tunnel.destinationPort.poke(row.destinationPort)
    request.nextHopValid.poke(true)
    request.nextHopMac.poke(row.nextHopMac)
    dut.io.identifiers.bits.v4.poke(row.identification)
    dut.io.identifiers.bits.v6.poke(row.identification)
  }

  private def faultOf(dut: HeaderBuilder): String = {
    val fault = dut.io.built.bits.fault
    val names = Seq(
      "disabled" -> fault.txDisabled,
      "identifier" -> fault.noIdentifier,
      "template" -> fault.noTunnel,
      "nexthop" -> fault.noNextHop,
      "mtu" -> fault.mtu
    )
    names.filter(_._2.peek().litToBoolean).map(_._1).mkString(",")
  }

  test("headers are scapy's: checksum, DSCP, ECN and DF matrices, one a cycle; faults in order") {
    simulate(new HeaderBuilder) { dut =>
      dut.io.portMac.poke(OuterFrames.portMac)
      dut.io.portMtu.poke(9582)
      dut.io.enable.poke(true)
      dut.io.identifiers.valid.poke(true)
      dut.clock.step()
      val answers = Iterator.range(0, rows.size + HeaderBuilder.latency).flatMap { cycle =>
        val valid = cycle < rows.size
        dut.io.request.valid.poke(valid)
        if (valid) {
          pokeRow(dut, rows(cycle))
          dut.io.identifiers.ready.expect(!rows(cycle).bypass)
        }
        val answered = dut.io.built.valid.peek().litToBoolean
        assert(answered == cycle >= HeaderBuilder.latency, s"cycle $cycle")
        val answer = Option.when(answered)((
          dut.io.built.bits.bytes.peek().litValue,
          dut.io.built.bits.select.peek().litValue.toInt,
          faultOf(dut)
        ))
        dut.clock.step()
        answer
      }.toSeq
      assert(answers.size == rows.size)
      for (((bytes, select, fault), row) <- answers.zip(rows)) {
        assert(select == (if (row.bypass) 0 else 1 + (if (row.v6) 2 else 0) + (if (row.encap) 1 else 0)))
        assert(fault == "", row)
        assert(Packet.bytesOf(bytes, HeaderBuilder.lengths(select)) == row.header, row)
      }
      assert(rows.count(_.encap) >= 15 && rows.count(_.v6) >= 20 && rows.count(_.summed) >= 10)

      // (bypass, length, template valid, next hop valid, template MTU, port MTU) → fault; plain
      // ESP, ESP in UDP, ESP over IPv6
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
      val encapFaults = Seq(
        (false, 1472, true, true, 0, 1500) -> "",
        (false, 1473, true, true, 0, 1500) -> "mtu",
        (false, 1252, true, true, 1280, 1500) -> "",
        (false, 1253, true, true, 1280, 1500) -> "mtu",
        (false, 9554, true, true, 0, 16383) -> "",
        (false, 9555, true, true, 0, 16383) -> "mtu",
        (false, 80, false, true, 0, 1500) -> "template",
        (true, 1500, true, true, 576, 1500) -> ""
      )
      val v6Faults = Seq(
        (false, 1460, true, true, 0, 1500) -> "",
        (false, 1461, true, true, 0, 1500) -> "mtu",
        (false, 1240, true, true, 1280, 1500) -> "",
        (false, 1241, true, true, 1280, 1500) -> "mtu",
        (false, 9542, true, true, 0, 16383) -> "",
        (false, 9543, true, true, 0, 16383) -> "mtu",
        (true, 1500, true, true, 576, 1500) -> "",
        (true, 1501, true, true, 576, 1500) -> "mtu"
      )
      val encapV6Faults = Seq(
        (false, 1452, true, true, 0, 1500) -> "",
        (false, 1453, true, true, 0, 1500) -> "mtu",
        (false, 9534, true, true, 0, 16383) -> "",
        (false, 9535, true, true, 0, 16383) -> "mtu"
      )
      for (
        (row, cases) <- Seq(
          rows.head -> faults,
          rows.find(_.encap).get -> encapFaults,
          rows.find(_.v6).get -> v6Faults,
          rows.find(_.summed).get -> encapV6Faults
        );
        ((bypass, length, template, nextHop, mtu, portMtu), expected) <- cases
      ) {
        pokeRow(dut, row)
        dut.io.portMtu.poke(portMtu)
        dut.clock.step()
        dut.io.request.valid.poke(true)
        dut.io.request.bits.meta.bypass.poke(bypass)
        dut.io.request.bits.meta.length.poke(length)
        dut.io.request.bits.tunnel.valid.poke(template)
        dut.io.request.bits.tunnel.mtu.poke(mtu)
        dut.io.request.bits.tunnel.dfMode.poke(DfMode.set)
        dut.io.request.bits.nextHopValid.poke(nextHop)
        dut.clock.step()
        dut.io.request.valid.poke(false)
        dut.clock.step(HeaderBuilder.latency - 1)
        dut.io.built.valid.expect(true)
        assert(faultOf(dut) == expected, s"length $length, MTU $mtu, port MTU $portMtu")
      }
      // DF clear: (row, length, template MTU, port MTU) → payload units of a fragment, 0 whole,
      // none too long to be cut.
      val (v4, inUdp, v6, inUdpV6) =
        (rows.head, rows.find(_.encap).get, rows.find(_.v6).get, rows.find(_.summed).get)
      val cuts = Seq(
        (v4, 1480, 0, 1500) -> Some(0),
        (v4, 1481, 0, 1500) -> Some(185),
        (v4, 9600, 0, 9582) -> Some(1195),
        (v4, 9600, 68, 1500) -> Some(6),
        (v4, 9600, 67, 1500) -> None,
        (v4, 47, 67, 1500) -> Some(0),
        (v4, 1400, 1400, 9000) -> Some(172),
        (inUdp, 1472, 0, 1500) -> Some(0),
        (inUdp, 1473, 0, 1500) -> Some(185),
        (v6, 1460, 0, 1500) -> Some(0),
        (v6, 1461, 0, 1500) -> Some(181),
        (v6, 1461, 1280, 1500) -> Some(154),
        (v6, 1461, 1279, 1500) -> None,
        (inUdpV6, 1452, 0, 1500) -> Some(0),
        (inUdpV6, 1453, 0, 1500) -> Some(181)
      )
      for (((row, length, mtu, portMtu), units) <- cuts) {
        pokeRow(dut, row)
        dut.io.portMtu.poke(portMtu)
        dut.clock.step()
        dut.io.request.valid.poke(true)
        dut.io.request.bits.meta.length.poke(length)
        dut.io.request.bits.meta.df.poke(false)
        dut.io.request.bits.tunnel.mtu.poke(mtu)
        dut.io.request.bits.tunnel.dfMode.poke(DfMode.copy)
        dut.clock.step()
        dut.io.request.valid.poke(false)
        dut.clock.step(HeaderBuilder.latency - 1)
        assert(faultOf(dut) == (if (units.isEmpty) "mtu" else ""), s"length $length, MTU $mtu, port MTU $portMtu")
        for (u <- units) dut.io.built.bits.cut.units.expect(u, s"length $length, MTU $mtu, port MTU $portMtu")
        dut.io.built.bits.cut.v6.expect(row.v6)
      }

      // Without an identification ESP does not go, and packets that need none do.
      dut.io.identifiers.valid.poke(false)
      for (row <- Seq(v4, inUdp, v6, inUdpV6, rows.find(_.bypass).get)) {
        pokeRow(dut, row)
        dut.io.request.valid.poke(true)
        dut.clock.step(HeaderBuilder.latency)
        assert(faultOf(dut) == (if (row.bypass) "" else "identifier"), row)
      }

      dut.io.enable.poke(false)
      pokeRow(dut, v4)
      dut.clock.step(HeaderBuilder.latency)
      assert(faultOf(dut) == "disabled")
    }
  }
}
