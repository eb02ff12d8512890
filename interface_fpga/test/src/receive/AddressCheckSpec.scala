// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.iface.parse.EtherClass

import java.net.{Inet6Address, InetAddress}

/** The blocks of RFC 1812 and RFC 6890, each at its edges; the JDK knows the multicast ones. */
class AddressCheckSpec extends AnyFunSuite with CompiledOnce {
  private case class Found(
      martian: Boolean,
      linkLocal: Boolean,
      own: Boolean,
      toOwn: Boolean,
      near: Boolean,
      group: Boolean
  )

  private def number(text: String): BigInt = BigInt(1, InetAddress.getByName(text).getAddress)

  private def check(dut: AddressCheck, source: String, destination: String, network: Int = 0): Found = {
    dut.io.fields.etherClass.poke(if (source.contains(":")) EtherClass.ipv6 else EtherClass.ipv4)
    dut.io.fields.network.poke(network)
    dut.io.fields.source.poke(address(source))
    dut.io.fields.destination.poke(address(destination))
    dut.clock.step()
    def is(bit: Bool): Boolean = bit.peek().litToBoolean
    val out = dut.io.out
    Found(is(out.martian), is(out.linkLocal), is(out.own), is(out.toOwn), is(out.near), is(out.group))
  }

  /** The JDK makes an IPv4 address of one that maps it. */
  private def address(text: String): BigInt =
    if (text.startsWith("::ffff:")) (BigInt(0xffff) << 32) | number(text.drop("::ffff:".length)) else number(text)

  private val host4 = "192.0.2.9"
  private val host6 = "2001:db8::9"

  test("martians: each block at its edges, as source and as destination") {
    simulate(new AddressCheck) { dut =>
      dut.io.box.poke(0.U.asTypeOf(new BoxAddresses))
      val sources4 = Map(
        "0.0.0.0" -> true,
        "0.255.255.255" -> true,
        "1.0.0.0" -> false,
        "126.255.255.255" -> false,
        "127.0.0.0" -> true,
        "127.255.255.255" -> true,
        "128.0.0.0" -> false,
        "223.255.255.255" -> false,
        "224.0.0.0" -> true,
        "239.255.255.255" -> true,
        "240.0.0.0" -> true,
        "255.255.255.255" -> true
      )
      for ((source, martian) <- sources4) assert(check(dut, source, host4).martian == martian, source)
      val multicast4 = Seq("224.0.0.0", "239.255.255.255", "255.255.255.255")
      for ((destination, martian) <- sources4) {
        val group = multicast4.contains(destination)
        val found = check(dut, host4, destination)
        assert(found.martian == (martian && !group) && found.group == group, destination)
      }
      val sources6 = Map(
        "::" -> true,
        "::1" -> true,
        "::2" -> false,
        "::fffe:255.255.255.255" -> false,
        "::ffff:0.0.0.0" -> true,
        "::ffff:255.255.255.255" -> true,
        "::1:0:0:0" -> false,
        "2001:db8::1" -> false,
        "feff:ffff::" -> false,
        "ff00::" -> true,
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" -> true
      )
      for ((source, martian) <- sources6) assert(check(dut, source, host6).martian == martian, source)
      for ((destination, martian) <- sources6) {
        val group = InetAddress.getByName(destination) match {
          case v6: Inet6Address => v6.isMulticastAddress
          case _ => false
        }
        val found = check(dut, host6, destination)
        assert(found.martian == (martian && !group) && found.group == group, destination)
      }
    }
  }

  test("a host without an address may ask, and no other") {
    simulate(new AddressCheck) { dut =>
      dut.io.box.poke(0.U.asTypeOf(new BoxAddresses))
      val asked = Seq(
        ("0.0.0.0", "255.255.255.255", false),
        ("0.0.0.1", "255.255.255.255", true),
        ("0.0.0.0", "255.255.255.254", true),
        ("0.0.0.0", "224.0.0.1", true),
        ("::", "ff02::16", false),
        ("::", "ff05::1:3", true),
        ("::1", "ff02::16", true),
        ("::", "2001:db8::1", true)
      )
      for ((source, destination, martian) <- asked)
        assert(check(dut, source, destination).martian == martian, s"$source $destination")
    }
  }

  test("link-local addresses, of either end, and groups of the link") {
    simulate(new AddressCheck) { dut =>
      dut.io.box.poke(0.U.asTypeOf(new BoxAddresses))
      val edges = Map("fe7f:ffff::" -> false, "fe80::" -> true, "febf:ffff::" -> true, "fec0::" -> false)
      for ((address, local) <- edges) {
        assert(check(dut, address, host6).linkLocal == local, address)
        assert(check(dut, host6, address).linkLocal == local, address)
      }
      val edges4 =
        Map("169.253.255.255" -> false, "169.254.0.0" -> true, "169.254.255.255" -> true, "169.255.0.0" -> false)
      for ((address, local) <- edges4) {
        assert(check(dut, address, host4).linkLocal == local, address)
        assert(check(dut, host4, address).linkLocal == local, address)
      }
      // No address is of both versions.
      for (address <- Seq("::a9fe:1", "::e000:5")) assert(!check(dut, host6, address).linkLocal, address)
      val groups = Map(
        "223.255.255.255" -> false,
        "224.0.0.0" -> true,
        "224.0.0.255" -> true,
        "224.0.1.0" -> false,
        "239.255.255.255" -> false,
        "255.255.255.255" -> false,
        "ff00::1" -> true,
        "ff01::1" -> true,
        "ff12::1" -> true,
        "ff02:ffff::1" -> true,
        "ff03::1" -> false,
        "ff05::2" -> false,
        "ff0e::1" -> false,
        "fe02::1" -> false
      )
      for ((group, local) <- groups)
        assert(check(dut, if (group.contains(':')) host6 else host4, group).linkLocal == local, group)
    }
  }

  test("the box's own addresses and their networks, of every length of prefix") {
    simulate(new AddressCheck) { dut =>
      def box(v4: String, prefix4: Int, v6: String, prefix6: Int): Unit = {
        dut.io.box.own.v4.poke(number(v4))
        dut.io.box.own.v6.poke(number(v6))
        dut.io.box.prefixV4.poke(prefix4)
        dut.io.box.prefixV6.poke(prefix6)
        dut.clock.step()
      }
      def all(width: Int, own: String, other: BigInt => String): Unit = for (prefix <- 0 to width) {
        box(if (width == 32) own else "0.0.0.0", prefix, if (width == 128) own else "::", prefix)
        val end = if (width == 32) host4 else host6
        val same = check(dut, own, end)
        assert(same.own && same.near && !same.toOwn, s"/$prefix")
        for (network <- Seq(1, 32)) {
          val elsewhere = check(dut, own, own, network)
          assert(!elsewhere.own && !elsewhere.near && !elsewhere.toOwn, s"/$prefix in network $network")
        }
        assert(check(dut, end, own).toOwn && !check(dut, end, other(1)).toOwn, s"/$prefix")
        // The last bit of the prefix flipped, and the first behind it.
        if (prefix > 0) assert(!check(dut, other(BigInt(1) << (width - prefix)), end).near, s"/$prefix")
        if (prefix < width) {
          val beside = check(dut, other(BigInt(1) << (width - prefix - 1)), end)
          assert(beside.near && !beside.own, s"/$prefix")
        }
      }
      def flipped(own: String, bytes: Int)(bit: BigInt): String = {
        val digits = (number(own) ^ bit).toByteArray.reverse.padTo(bytes, 0.toByte).take(bytes).reverse
        InetAddress.getByAddress(digits).getHostAddress
      }
      all(32, "198.18.0.1", flipped("198.18.0.1", 4))
      all(128, "2001:db8:5::1", flipped("2001:db8:5::1", 16))
      // Without an address nothing is near, with whatever prefix.
      box("0.0.0.0", 0, "::", 0)
      for (source <- Seq(host4, host6)) {
        val found = check(dut, source, source)
        assert(!found.near && !found.own && !found.toOwn)
      }
    }
  }
}
