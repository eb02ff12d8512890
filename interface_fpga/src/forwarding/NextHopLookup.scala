// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.forwarding

import chisel3._
import chisel3.util._
import sallyport.common.registers.VotedRegister
import sallyport.common.registers.map.{HostRow, NextHopRow}
import sallyport.common.table.{CuckooTable, CuckooTableParams, DirectTable, TablePort}
import sallyport.iface.headers.{GroupAddress, VlanTags}
import sallyport.iface.receive.{AddressCheck, BoxAddresses}

/** An IP packet that leaves by a port. */
class NextHopQuery extends Bundle {
  val v6 = Bool()

  /** As a number; of IPv4 with zeros above. */
  val destination = UInt(128.W)

  /** Next-hop row that its SA or rule names. */
  val named = UInt(16.W)
}

/** To whom it goes. */
class NextHop extends Bundle {

  /** The Ethernet address is known. */
  val known = Bool()

  /** It goes to a host straight behind the port, whose Ethernet address is not known. */
  val unresolved = Bool()

  /** All of this may be wrong, for a row of hosts has a flipped bit. */
  val upset = Bool()

  /** With `known`, and so are the tags. */
  val mac = UInt(48.W)
  val tags = new VlanTags
}

/**
 * Finds the station that a packet goes to: the host with its destination address, if there is a row
 * of it, else the next hop that its SA or rule names.
 *
 * A packet without such a row is for a host all the same if its address is of the port's own
 * network (LOCAL_PREFIX), unless routes lead parts of that network to gateways (`subnet`); or if
 * row 0 is named. It goes to the station of row 0 then, which stands for all hosts that have no
 * row, or is `unresolved`. Multicast and 255.255.255.255 are for no host (RFC 1812 5.2.4.3). A
 * named row with a flipped bit leads nowhere; the copy of row 0 outlives one.
 *
 * Latency [[NextHopLookup.latency]] cycles, a packet a cycle. While `ready` is low nothing
 * is found.
 *
 * @param hosts     rows of the table of hosts, a power of two from 8
 * @param nextHops  rows of the table of next hops
 * @param hostTable makes the table of hosts
 */
class NextHopLookup(hosts: Int, nextHops: Int, hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_))
    extends Module {
  val io = IO(new Bundle {

    /** At the port. */
    val box = Input(new BoxAddresses)
    val packet = Flipped(Valid(new NextHopQuery))
    val found = Output(new NextHop)

    /** A look-up met a row of hosts, or of next hops, with a flipped bit. */
    val hostRowUpset = Output(Bool())
    val nextHopRowUpset = Output(Bool())
    val hostTable = Flipped(new TablePort)
    val nextHopTable = Flipped(new TablePort)
    val ready = Output(Bool())
  })

  private val packet = io.packet.bits
  private val key = Seq(HostRow.addr, HostRow.version)
  private val rows = CuckooTable(hosts, HostRow, key, HostRow.valid, table = hostTable)
  rows.io.table <> io.hostTable
  rows.io.clear := false.B
  rows.io.lookup.valid := io.packet.valid
  rows.io.lookup.bits := Cat(Mux(packet.v6, 6.U(4.W), 4.U(4.W)), packet.destination)

  private val hops = DirectTable(nextHops, NextHopRow, NextHopRow.valid)
  private val hopBits = log2Ceil(nextHops)
  hops.io.table <> io.nextHopTable
  hops.io.clear := false.B
  hops.io.lookup.valid := io.packet.valid
  hops.io.lookup.bits := packet.named(hopBits - 1, 0)

  // Row 0, which a packet may need beside the row that it names: as the memory takes it.
  private val request = io.nextHopTable.request
  private val written = RegEnable(NextHopLookup.station(request.bits.row), request.fire)
  private val copy = Module(new VotedRegister(written.getWidth, 0))
  copy.io.write.valid := RegNext(hops.written.valid && hops.written.bits === 0.U, false.B)
  copy.io.write.bits := written.asUInt
  private val default = RegNext(copy.io.value.asTypeOf(written), 0.U.asTypeOf(written))

  // Whether the address is of a host at the port. Software sets addresses while no traffic flows.
  private val set4 = RegNext(io.box.own.v4.orR)
  private val set6 = RegNext(io.box.own.v6.orR)
  private val mask4 = RegNext(AddressCheck.mask(32, io.box.prefixV4))
  private val mask6 = RegNext(AddressCheck.mask(128, io.box.prefixV6))
  private val near4 = set4 && ((packet.destination(31, 0) ^ io.box.own.v4) & mask4) === 0.U
  private val near6 = set6 && ((packet.destination ^ io.box.own.v6) & mask6) === 0.U
  private def whenFound[T <: Data](value: T): T = ShiftRegister(value, DirectTable.latency)
  private val near = whenFound(Mux(packet.v6, near6, near4))
  private val group = whenFound(
    Mux(packet.v6, GroupAddress.ipv6(packet.destination), GroupAddress.ipv4(packet.destination))
  )
  private val first = whenFound(packet.named === 0.U)
  private val inRange = whenFound((packet.named >> hopBits) === 0.U)

  // The station without a row of hosts.
  private val hop = Wire(chiselTypeOf(default))
  hop := NextHopLookup.station(hops.io.result.bits.row)
  hop.known := hops.io.result.bits.hit && inRange
  private val leadsInside = hop.known && NextHopRow.subnet(hops.io.result.bits.row).asBool
  private val home = !group && (first || near && !leadsInside && !hops.upset)
  private val rest = CuckooTable.latency - DirectTable.latency
  private val other = ShiftRegister(Mux(home, default, hop), rest)
  private val forHost = ShiftRegister(home, rest)

  private val host = rows.io.result.bits
  io.found.known := RegNext(host.hit || other.known)
  io.found.unresolved := RegNext(!host.hit && !other.known && forHost)
  io.found.upset := RegNext(rows.upset)
  io.found.mac := RegNext(Mux(host.hit, HostRow.mac(host.row), other.mac))
  io.found.tags := RegNext(Mux(host.hit, NextHopLookup.tagsOf(host.row), other.tags))
  io.hostRowUpset := rows.rowUpset
  io.nextHopRowUpset := RegNext(hops.upset, false.B)
  io.ready := RegNext(rows.io.ready && hops.io.ready, false.B)
}

object NextHopLookup {

  /** Cycles from a packet to its next hop. */
  val latency: Int = CuckooTable.latency + 1

  /** What a next-hop row says of a station. */
  private class Station extends Bundle {
    val known = Bool()
    val mac = UInt(48.W)
    val tags = new VlanTags
  }

  private def station(row: UInt): Station = {
    val station = Wire(new Station)
    station.known := NextHopRow.valid(row)
    station.mac := NextHopRow.mac(row)
    station.tags := VlanTags.of(row)
    station
  }

  private def tagsOf(host: UInt): VlanTags = {
    val tags = Wire(new VlanTags)
    tags.count := HostRow.tags(host)
    tags.bytes := HostRow.tagBytes(host)
    tags
  }
}
