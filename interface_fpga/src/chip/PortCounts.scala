// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.chip

import chisel3._
import sallyport.common.registers.CounterBank
import sallyport.common.registers.map.{PuntGroup, PuntReason}
import sallyport.iface.cpu.{InjectorEvents, PuntEvents}
import sallyport.iface.mac.{MacReceiveEvents, MacTransmitEvents}
import sallyport.iface.receive.{FragmentEvents, ReceiveDrops, ReceivePathEvents}

/** The events of the counters that both interface chips have, by the counters' names. */
object PortCounts {

  def apply(
      io: PathsIO,
      path: ReceivePathEvents,
      drops: ReceiveDrops,
      transmit: MacTransmitEvents,
      inject: InjectorEvents
  ): Map[String, UInt] =
    received(path.receive) ++ judged(drops) ++ fragmented(path.fragments) ++ punted(path.punt) ++
      linked(io) ++ sent(transmit, inject)

  private def received(rx: MacReceiveEvents) = Map(
    "rx_frames" -> rx.rxFrames,
    "rx_bytes" -> rx.rxBytes,
    "rx_priority" -> rx.priority,
    "drop_rx_bad_fcs" -> rx.dropBadFcs,
    "drop_rx_undersize" -> rx.dropUndersize,
    "drop_rx_oversize" -> rx.dropOversize,
    "drop_rx_overflow" -> rx.dropOverflow,
    "drop_rx_priority_overflow" -> rx.dropPriorityOverflow,
    "drop_not_ready" -> rx.dropNotReady
  )

  private def judged(drops: ReceiveDrops) = Map(
    "drop_mac_filter" -> drops.macFilter,
    "drop_mac_source" -> drops.macSource,
    "drop_mac_group" -> drops.macGroup,
    "drop_martian" -> drops.martian,
    "drop_own_source" -> drops.ownSource,
    "drop_ip_malformed" -> drops.ipMalformed,
    "drop_ip_checksum" -> drops.ipChecksum,
    "drop_dispatch" -> drops.dispatch,
    "drop_policy" -> drops.policy,
    "drop_transport_header" -> drops.transportHeader,
    "drop_link_down" -> drops.linkDown
  )

  private def fragmented(events: FragmentEvents) = whole(events) ++ Map(
    "drop_frag_conflict" -> events.tracking.dropConflict,
    "drop_frag_overlap" -> events.tracking.dropOverlap,
    "drop_frag_orphan" -> events.tracking.dropOrphan,
    "drop_frag_full" -> events.tracking.dropFull,
    "drop_reasm_overflow" -> RegNext(events.reassembly.dropOverflow +& events.tracking.dropOverflow, 0.U),
    "drop_reasm_length" -> RegNext(events.reassembly.dropLength +& events.tracking.dropLength, 0.U),
    "drop_reasm_headers" -> RegNext(events.reassembly.dropHeaders +& events.tracking.dropHeaders, 0.U),
    "reasm_held" ->
      RegNext(events.reassembly.held +& events.tracking.held, 0.S).pad(CounterBank.incrementBits).asUInt
  )

  private def whole(events: FragmentEvents) = {
    val reassembly = events.reassembly
    Map(
      "drop_reasm_full" -> reassembly.dropFull,
      "drop_reasm_source" -> reassembly.dropSource,
      "drop_reasm_oversize" -> reassembly.dropOversize,
      "drop_reasm_memory" -> reassembly.dropMemory,
      "drop_reasm_end" -> reassembly.dropEnd,
      "drop_reasm_duplicate" -> reassembly.dropDuplicate,
      "drop_reasm_ecn" -> reassembly.dropEcn,
      "drop_reasm_overlap" -> reassembly.dropOverlap,
      "drop_reasm_timeout" -> reassembly.dropTimeout,
      "reasm_merged" -> reassembly.merged,
      "reasm_datagrams" -> reassembly.reassembled
    )
  }

  private def punted(punt: PuntEvents) = Map(
    "drop_punt_overflow" -> punt.dropOverflow,
    "drop_punt_other" -> punt.refused(PuntGroup.other),
    "drop_punt_arp" -> punt.refused(PuntGroup.arp),
    "drop_punt_nd" -> punt.refused(PuntGroup.nd),
    "drop_punt_link_local" -> punt.refused(PuntGroup.linkLocal),
    "drop_punt_resolution" -> punt.refused(PuntGroup.resolution),
    "punt_arp" -> punt.punted(PuntReason.arp),
    "punt_nd" -> punt.punted(PuntReason.nd),
    "punt_link_local" -> punt.punted(PuntReason.linkLocal),
    "punt_resolution" -> punt.punted(PuntReason.resolution),
    "punt_vlan" -> punt.punted(PuntReason.vlan),
    "punt_fragment" -> punt.punted(PuntReason.fragment),
    "punt_extension_headers" -> punt.punted(PuntReason.extensionHeaders),
    "punt_policy" -> punt.punted(PuntReason.policy),
    "punt_other" -> punt.punted(PuntReason.other)
  )

  private def linked(io: PathsIO) = Map(
    "link_rx_packets" -> RegNext(io.fromLink.fire && io.fromLink.bits.last, false.B),
    "link_rx_lost" -> io.linkLost,
    "link_resyncs" -> io.linkResync
  )

  private def sent(transmit: MacTransmitEvents, inject: InjectorEvents) = Map(
    "inject_frames" -> inject.frames,
    "drop_inject_disabled" -> inject.dropDisabled,
    "drop_inject_length" -> inject.dropLength,
    "tx_frames" -> transmit.txFrames,
    "tx_bytes" -> transmit.txBytes
  )
}
