// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import sallyport.iface.headers.GroupAddress
import sallyport.iface.parse.HeaderFields

/** What [[AddressCheck]] says of the addresses of one IP packet. */
class AddressFindings extends Bundle {

  /** Source or destination that no packet on a wire has. */
  val martian = Bool()

  /**
   * Of one link alone, so no router forwards it: from or to fe80::/10 or 169.254.0.0/16 (RFC 4291
   * 2.5.6, RFC 3927 7), or to a group of the scopes up to the link (ff00::/8 with a scope of 0 to
   * 2, RFC 4291 2.7, or 224.0.0.0/24, RFC 5771 4).
   */
  val linkLocal = Bool()

  /** From one of the box's own addresses. */
  val own = Bool()

  /** To one of them. */
  val toOwn = Bool()

  /** From the network of one of them, itself included. */
  val near = Bool()

  /** To a [[sallyport.iface.headers.GroupAddress]]. */
  val group = Bool()
}

/**
 * Judges the addresses of an IP packet, whatever its policy.
 *
 *  - martian (RFC 1812 5.3.7, 4.2.2.11): from 0.0.0.0/8, 127.0.0.0/8 or 224.0.0.0/3; to 0.0.0.0/8,
 *    127.0.0.0/8, or 240.0.0.0/4 but for 255.255.255.255
 *  - martian (RFC 4291 2.5.2, 2.5.3, 2.7, RFC 6890 2.2.3): from ::, ::1, ff00::/8 or ::ffff:0:0/96;
 *    to ::, ::1 or ::ffff:0:0/96
 *  - no martian: from 0.0.0.0 to 255.255.255.255, or from :: to a group of its link, as a host
 *    without an address asks (RFC 2131 4.1, RFC 3590 4)
 *
 * The box has no address of a version whose number is 0, and none in another network than 0.
 *
 * A pipeline without stalls: `out` belongs to the `fields` of [[AddressCheck.latency]] cycles
 * before.
 */
class AddressCheck extends Module {
  val io = IO(new Bundle {
    val box = Input(new BoxAddresses)
    val fields = Input(new HeaderFields)
    val out = Output(new AddressFindings)
  })

  private val v6 = io.fields.isV6
  private val source = io.fields.source
  private val destination = io.fields.destination
  private val limitedBroadcast = destination(31, 0).andR

  // IPv4.
  private def nowhere4(address: UInt): Bool = address(31, 24) === 0.U || address(31, 24) === 127.U
  private val asks4 = source(31, 0) === 0.U && limitedBroadcast
  private val martian4 = (nowhere4(source) || source(31, 29).andR) && !asks4 ||
    nowhere4(destination) || destination(31, 28).andR && !limitedBroadcast
  private val group4 = GroupAddress.ipv4(destination)

  // IPv6: :: and ::1, and the addresses that map IPv4's.
  private def nowhere6(address: UInt): Bool =
    address(127, 48) === 0.U && (address(47, 32).andR || address(47, 1) === 0.U)
  private val group6 = GroupAddress.ipv6(destination)
  private val linkGroup6 = group6 && destination(115, 112) <= 2.U
  private val asks6 = source === 0.U && linkGroup6
  private val martian6 = nowhere6(source) && !asks6 || source(127, 120).andR || nowhere6(destination)
  private def linkLocal4(address: UInt): Bool = address(31, 16) === 0xa9fe.U
  private def linkLocal6(address: UInt): Bool = address(127, 118) === 0x3fa.U
  private val ofLink4 = linkLocal4(source) || linkLocal4(destination) || destination(31, 8) === 0xe00000.U
  private val ofLink6 = linkLocal6(source) || linkLocal6(destination) || linkGroup6

  // The box's addresses are of network 0.
  private val home = io.fields.network === 0.U

  // Set while no traffic flows.
  private val isSetV4 = RegNext(io.box.own.v4.orR)
  private val isSetV6 = RegNext(io.box.own.v6.orR)
  private val mask4 = RegNext(AddressCheck.mask(32, io.box.prefixV4))
  private val mask6 = RegNext(AddressCheck.mask(128, io.box.prefixV6))
  private val differs4 = source(31, 0) ^ io.box.own.v4
  private val differs6 = source ^ io.box.own.v6

  io.out.martian := RegNext(Mux(v6, martian6, martian4))
  io.out.linkLocal := RegNext(Mux(v6, ofLink6, ofLink4))
  io.out.own := RegNext(home && Mux(v6, isSetV6 && differs6 === 0.U, isSetV4 && differs4 === 0.U))
  io.out.toOwn := RegNext(
    home && Mux(v6, isSetV6 && destination === io.box.own.v6, isSetV4 && destination(31, 0) === io.box.own.v4)
  )
  io.out.near := RegNext(
    home && Mux(v6, isSetV6 && (differs6 & mask6) === 0.U, isSetV4 && (differs4 & mask4) === 0.U)
  )
  io.out.group := RegNext(Mux(v6, group6, group4))
}

object AddressCheck {
  val latency: Int = 1

  /** The `prefix` highest bits of an address of `width`. */
  def mask(width: Int, prefix: UInt): UInt =
    VecInit.tabulate(width)(bit => prefix > (width - 1 - bit).U).asUInt
}
