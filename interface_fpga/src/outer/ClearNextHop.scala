// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.queue.RingDelay
import sallyport.common.table.{CuckooTable, CuckooTableParams, TablePort}
import sallyport.iface.forwarding.{HostAddress, NextHopLookup, NextHopQuery, NextHopRead}
import sallyport.iface.headers.VlanTags
import sallyport.iface.prefixes.{PrefixTables, PrefixTree, PrefixTurns}
import sallyport.iface.receive.BoxAddresses

/** A clear packet, and the next-hop row that its rule names. */
class ClearQuery extends Bundle {
  val packet = new NextHopQuery
  val named = UInt(16.W)
}

/** Why a clear packet goes to no station; at most one is set. */
class ClearFault extends Bundle {
  val hostUpset = Bool()
  val prefixUpset = Bool()
  val unresolved = Bool()
  val noNextHop = Bool()

  def any: Bool = hostUpset || prefixUpset || unresolved || noNextHop
}

/** The station that a clear packet goes to. */
class ClearStation extends Bundle {

  /** First wire byte in bits 7:0. */
  val mac = UInt(48.W)
  val tags = new VlanTags
  val fault = new ClearFault
}

/** Look-ups of clear packets that met a row with a flipped bit, and next hops of all packets. */
class ClearUpsets extends Bundle {
  val host = Bool()
  val prefix = Bool()
  val nextHop = Bool()
}

/** Software's tables of [[ClearNextHop]]. */
class ClearTables extends Bundle {
  val host = Flipped(new TablePort)
  val nextHop = Flipped(new TablePort)
  val group = Flipped(new TablePort)
  val prefixes = new PrefixTables
}

/**
 * Finds the station of a clear packet that leaves by black: [[NextHopLookup]] with a tree of the
 * outer chip's own, whose routes have all its cycles.
 *
 * Each packet is answered once, [[ClearNextHop.latency]] cycles later, and has the first fault in
 * the order of [[ClearFault]]. A packet every second cycle. `direct` reads the next hops of tunnels
 * meanwhile ([[NextHopRead]]).
 *
 * @param hostTable makes the table of hosts
 */
class ClearNextHop(config: OuterConfig, hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_))
    extends Module {
  val io = IO(new Bundle {

    /** At the black port. */
    val box = Input(new BoxAddresses)
    val query = Flipped(Valid(new ClearQuery))
    val station = Valid(new ClearStation)

    /** A packet's destination was unresolved, in the cycle of its answer. */
    val unresolved = Valid(new HostAddress)
    val direct = new NextHopRead(config.chip.nextHops)
    val tables = new ClearTables
    val upsets = Output(new ClearUpsets)
    val ready = Output(Bool())
  })

  private val lookup =
    Module(new NextHopLookup(1 << config.hostBits, config.chip.nextHops, hostTable, withDirect = true))
  private val query = io.query.bits
  lookup.io.box := io.box
  lookup.io.packet.valid := io.query.valid
  lookup.io.packet.bits := query.packet
  // Black is one network.
  lookup.io.network := 0.U
  lookup.io.named := RingDelay(query.named, NextHopLookup.namedTime)
  lookup.direct.get <> io.direct
  lookup.io.hostTable <> io.tables.host
  lookup.io.nextHopTable <> io.tables.nextHop
  lookup.io.groupTable <> io.tables.group

  private val tree = Module(new PrefixTree(1 << config.prefixBits))
  tree.io.tables <> io.tables.prefixes
  tree.io.query.valid := lookup.io.route.valid
  tree.io.query.bits.policies := false.B
  tree.io.query.bits.key := lookup.io.route.bits
  private val turn = PrefixTurns.latency - PrefixTree.latency
  lookup.io.group := ShiftRegister(tree.io.group, turn)
  lookup.io.groupUpset := ShiftRegister(tree.io.upset, turn)

  private val found = lookup.io.found
  private val answers = ShiftRegister(io.query.valid, NextHopLookup.latencyWithDirect, false.B, true.B)
  private val station = Wire(new ClearStation)
  station.mac := found.mac
  station.tags := found.tags
  private val reasons = VecInit(found.hostUpset, found.prefixUpset, found.unresolved, !found.known)
  private val fault = station.fault
  Seq(fault.hostUpset, fault.prefixUpset, fault.unresolved, fault.noNextHop)
    .zip(PriorityEncoderOH(reasons)).foreach { case (to, from) => to := from }
  io.station.valid := RegNext(answers, false.B)
  io.station.bits := RegNext(station)

  private val host = Wire(new HostAddress)
  host.network := 0.U
  host.v6 := query.packet.v6
  host.address := query.packet.destination
  io.unresolved.valid := RegNext(answers && fault.unresolved, false.B)
  io.unresolved.bits := RingDelay(host, ClearNextHop.latency)

  io.upsets.host := lookup.io.hostRowUpset
  io.upsets.prefix := RegNext(lookup.io.groupRowUpset || tree.io.routeRowUpset, false.B)
  io.upsets.nextHop := lookup.io.nextHopRowUpset
  io.ready := RegNext(lookup.io.ready && tree.io.ready, false.B)
}

object ClearNextHop {

  /** The look-up, and the fault. */
  val latency: Int = NextHopLookup.latencyWithDirect + 1
}
