// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.forwarding

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.queue.RingDelay
import sallyport.common.registers.VotedRegister
import sallyport.common.registers.map.{HostRow, NextHopRow, PrefixRow}
import sallyport.common.table.{CuckooTable, CuckooTableParams, DirectTable, TablePort, TableResult}
import sallyport.iface.headers.{GroupAddress, VlanTags}
import sallyport.iface.prefixes.{HopGroups, PrefixKey, PrefixTurns}
import sallyport.iface.receive.{AddressCheck, BoxAddresses}

/** An IP packet that leaves by a port. */
class NextHopQuery extends Bundle {
  val v6 = Bool()

  /** As numbers; of IPv4 with zeros above. */
  val destination = UInt(128.W)
  val source = UInt(128.W)

  /** Flow label; of IPv4 0. */
  val label = UInt(20.W)
}

object NextHopQuery {

  /** @param bytes from the first byte of an IP header on, which is in bits 7:0; at least 40 */
  def apply(bytes: UInt): NextHopQuery = {
    def at(first: Int, count: Int): UInt = WireOrder.bigEndian(bytes(8 * (first + count) - 1, 8 * first))
    val query = Wire(new NextHopQuery)
    query.v6 := bytes(7, 4) === 6.U
    query.destination := Mux(query.v6, at(24, 16), at(16, 4))
    query.source := Mux(query.v6, at(8, 16), at(12, 4))
    query.label := Mux(query.v6, at(0, 4)(19, 0), 0.U)
    query
  }
}

/** Looks up next-hop rows by number, for packets whose next hop is known. */
class NextHopRead(nextHops: Int) extends Bundle {

  /** Two cycles apart or more. */
  val row = Flipped(Valid(UInt(log2Ceil(nextHops).W)))

  /** [[sallyport.common.table.DirectTable.latency]] cycles later. */
  val found = Output(new TableResult(NextHopRow.bits))
}

/** To whom it goes. */
class NextHop extends Bundle {

  /** The Ethernet address is known. */
  val known = Bool()

  /** It goes to a host straight behind the port, whose Ethernet address is not known. */
  val unresolved = Bool()

  /** All of this may be wrong, for a row of hosts has a flipped bit. */
  val hostUpset = Bool()

  /** The same, for a row of prefixes or of their groups has one; without a host. */
  val prefixUpset = Bool()

  /** With `known`, and so are the tags. */
  val mac = UInt(48.W)
  val tags = new VlanTags

  /** With `known`: there is no station, but the encrypt path. */
  val hairpin = Bool()
}

/**
 * Finds the station that a packet goes to: the host with its destination address, if there is a row
 * of it, else a next hop of the longest prefix, else the next hop that its SA or rule names.
 *
 * A packet without a row of a host is for a host all the same if its prefix is `connected`. Without
 * a prefix it is so if its address is of the port's own network (LOCAL_PREFIX), unless routes lead
 * parts of that network to gateways (`subnet`); or if row 0 is named. It goes to the station of row
 * 0 then, which stands for all hosts that have no row, or is `unresolved`. Multicast and
 * 255.255.255.255 are for no host (RFC 1812 5.2.4.3), and no prefix leads them. A next-hop row with
 * a flipped bit leads nowhere; the copy of row 0 outlives one.
 *
 * LOCAL_PREFIX and row 0 are of network 0. In any other network no packet goes to the station of
 * row 0, and one for a host without a row is `unresolved`.
 *
 * Latency [[NextHopLookup.latency]] cycles, a packet every second cycle, as the trees take them
 * ([[PrefixTurns]]). Software waits for cycles without one. While `ready` is low nothing is found.
 *
 * `direct` reads next-hop rows as well, and never waits. A packet that needs its row in the same
 * cycle has it in the next one. So all answers take [[NextHopLookup.latencyWithDirect]] cycles.
 *
 * @param hosts     rows of the table of hosts, a power of two from 8
 * @param nextHops  rows of the table of next hops
 * @param hostTable makes the table of hosts
 * @param withDirect there is `direct`
 */
class NextHopLookup(
    hosts: Int,
    nextHops: Int,
    hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_),
    withDirect: Boolean = false
) extends Module {
  val io = IO(new Bundle {

    /** At the port. */
    val box = Input(new BoxAddresses)
    val packet = Flipped(Valid(new NextHopQuery))

    /** The packet's network, a cycle later. */
    val network = Input(UInt(HostRow.network.width.W))

    /** Next-hop row that its SA or rule names, [[NextHopLookup.namedTime]] cycles later. */
    val named = Input(UInt(16.W))
    val found = Output(new NextHop)

    /** The destination's longest prefix, whose group comes [[PrefixTurns.latency]] cycles later. */
    val route = Valid(new PrefixKey)
    val group = Input(UInt(PrefixRow.group0.width.W))
    val groupUpset = Input(Bool())

    /** A look-up met a row with a flipped bit. */
    val hostRowUpset = Output(Bool())
    val groupRowUpset = Output(Bool())
    val nextHopRowUpset = Output(Bool())
    val hostTable = Flipped(new TablePort)
    val nextHopTable = Flipped(new TablePort)
    val groupTable = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  val direct = Option.when(withDirect)(IO(new NextHopRead(nextHops)))

  private val packet = io.packet.bits
  private def isGroup(packet: NextHopQuery): Bool =
    Mux(packet.v6, GroupAddress.ipv6(packet.destination), GroupAddress.ipv4(packet.destination))

  // The longest prefix first, which takes longest.
  io.route.valid := RegNext(io.packet.valid && !isGroup(packet), false.B)
  io.route.bits := RegNext(PrefixKey(0.U, packet.v6, packet.destination))
  io.route.bits.network := io.network
  private val groups = Module(new HopGroups)
  groups.io.table <> io.groupTable
  groups.io.group := io.group
  groups.io.hash := RingDelay(
    RegNext(HopGroups.hash(Cat(packet.label, packet.source, packet.destination))),
    PrefixTurns.latency
  )
  private val route = groups.io.route
  private val routeUpset = groups.io.upset || ShiftRegister(io.groupUpset, HopGroups.latency)
  private val arrives = ShiftRegister(io.packet.valid, NextHopLookup.namedTime, false.B, true.B)

  // A host's row is there with that of the next hop.
  private val key = Seq(HostRow.addr, HostRow.version, HostRow.network)
  private val rows = CuckooTable(hosts, HostRow, key, HostRow.valid, table = hostTable)
  private val hopTime = DirectTable.latency + (if (withDirect) 1 else 0)
  private val hostTime = NextHopLookup.namedTime + hopTime - CuckooTable.latency
  private val late = RingDelay(packet, hostTime)
  private val network = RingDelay(io.network, hostTime - 1)
  rows.io.table <> io.hostTable
  rows.io.clear := false.B
  rows.io.lookup.valid := ShiftRegister(io.packet.valid, hostTime, false.B, true.B)
  rows.io.lookup.bits := Cat(network, Mux(late.v6, 6.U(4.W), 4.U(4.W)), late.destination)

  private val hops = DirectTable(nextHops, NextHopRow, NextHopRow.valid)
  private val hopBits = log2Ceil(nextHops)
  private val chosen = Mux(route.hit, route.hop, io.named)
  hops.io.table <> io.nextHopTable
  hops.io.clear := false.B
  private val read = direct.fold(false.B)(_.row.valid)
  private val waits = RegNext(arrives && read, false.B)
  private val index = chosen(hopBits - 1, 0)
  hops.io.lookup.valid := arrives || waits || read
  hops.io.lookup.bits := direct.foldLeft(index)((own, direct) =>
    Mux(read, direct.row.bits, Mux(waits, RegNext(own), own))
  )
  direct.foreach(_.found := hops.io.result.bits)
  assert(!waits || !arrives && !read, "next hops of packets, and those by number, are two cycles apart")

  /** In the same cycle of all packets. */
  private def inTurn[T <: Data](answer: T): T =
    if (withDirect)
      Mux(ShiftRegister(waits, DirectTable.latency), answer, RegNext(answer))
    else answer
  private val hopFound = inTurn(hops.io.result.bits)
  private val hopUpset = inTurn(hops.upset)

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
  private val near4 = set4 && ((late.destination(31, 0) ^ io.box.own.v4) & mask4) === 0.U
  private val near6 = set6 && ((late.destination ^ io.box.own.v6) & mask6) === 0.U
  private val here = network === 0.U
  private val near = ShiftRegister(here && Mux(late.v6, near6, near4), CuckooTable.latency)
  private val foreign = ShiftRegister(!here, CuckooTable.latency)
  private val group = ShiftRegister(isGroup(late), CuckooTable.latency)
  private def whenFound[T <: Data](value: T): T = ShiftRegister(value, hopTime)
  private val led = whenFound(route.hit)
  private val connected = whenFound(route.connected)
  private val upset = whenFound(routeUpset)
  private val first = whenFound(io.named === 0.U)
  private val inRange = whenFound((chosen >> hopBits) === 0.U)
  private val isFirst = whenFound(chosen === 0.U)

  // The station without a row of hosts.
  private val hop = Wire(chiselTypeOf(default))
  hop := NextHopLookup.station(hopFound.row)
  hop.known := hopFound.hit && inRange && !(foreign && isFirst)
  private val leadsInside = hop.known && NextHopRow.subnet(hopFound.row).asBool
  private val home = Mux(led, connected, !group && (first && !foreign || near && !leadsInside && !hopUpset))
  private val other = Mux(home, default, hop)
  private val known = other.known && !(home && foreign)

  private val host = rows.io.result.bits
  io.found.known := RegNext(host.hit || known)
  io.found.unresolved := RegNext(!host.hit && !known && home)
  io.found.hostUpset := RegNext(rows.upset)
  io.found.prefixUpset := RegNext(!host.hit && upset)
  io.found.mac := RegNext(Mux(host.hit, HostRow.mac(host.row), other.mac))
  io.found.hairpin := RegNext(!host.hit && !home && NextHopRow.hairpin(hopFound.row).asBool)
  io.found.tags := RegNext(Mux(host.hit, NextHopLookup.tagsOf(host.row), other.tags))
  io.hostRowUpset := rows.rowUpset
  io.groupRowUpset := groups.io.upset
  io.nextHopRowUpset := RegNext(hops.upset, false.B)
  io.ready := RegNext(rows.io.ready && hops.io.ready && groups.io.ready, false.B)
}

object NextHopLookup {

  /** Cycles from a packet to the next-hop row that it names: a register, prefix and group. */
  val namedTime: Int = 1 + PrefixTurns.latency + HopGroups.latency

  /** Cycles from a packet to its next hop. */
  val latency: Int = namedTime + DirectTable.latency + 1

  /** The same where `direct` may take its turn. */
  val latencyWithDirect: Int = latency + 1

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
