// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

const (
	near6, far6 = "2001:db8:b::1", "2001:db8:c::2"
	out6        = " tmpl src " + near6 + " dst " + far6 + " proto esp mode tunnel reqid "
	in6         = " tmpl src " + far6 + " dst " + near6 + " proto esp mode tunnel reqid "
)

// mixed has tunnels of both IP versions that carry both: 6 in 6 and 4 in 6 between near6 and far6,
// 6 in 4 as ends6 has it. One SPI is of an outbound SA of each version.
var mixed = ends6 + `
addr add 10.1.0.1/24 dev red
addr add ` + near6 + `/64 dev black
route add 2001:db8:c::/48 via fe80::fe dev black mtu 1280
neigh add fe80::fe lladdr 02:00:00:00:00:fe dev black
neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red
` + testbox.Sa6(near6, far6, 0x1001, 66, "") + testbox.Sa6(far6, near6, 0x2066, 66, "") +
	testbox.Sa6(near6, far6, 0x1046, 46, "flag noecn nopmtudisc extra-flag dont-encap-dscp") + testbox.Sa6(far6, near6, 0x2046, 46, "") +
	"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 46" + out6 + "46\n" +
	"xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd" + in6 + "46\n" +
	"xfrm policy add src 2001:db8:1::/48 dst 2001:db8:3::/48 dir out priority 64" + testbox.OutTmpl +
	"xfrm policy add src 2001:db8:3::/48 dst 2001:db8:1::/48 dir fwd" + testbox.InTmpl +
	"xfrm policy add src 2001:db8:1::/48 dst 2001:db8:2::/48 dir out priority 66" + out6 + "66\n" +
	"xfrm policy add src 2001:db8:2::/48 dst 2001:db8:1::/48 dir fwd" + in6 + "66\n"

// sadPlaces and tunnelPlaces are whole rows.
func sadPlaces(spi, dst, version, sa string) []place {
	return []place{
		{"spi", 31, 0, spi}, {"dst_addr", 159, 32, dst}, {"version", 167, 160, version}, {"valid", 168, 168, "1"}, {"encap", 169, 169, "0"}, {"sa", 191, 176, sa},
	}
}

func tunnelPlaces(src, dst, v6, dscpCopy, ecnCopy, dfMode, hop, mtu, label string) []place {
	return []place{
		{"src_addr", 127, 0, src}, {"dst_addr", 255, 128, dst}, {"valid", 256, 256, "1"}, {"v6", 257, 257, v6}, {"dscp_copy", 258, 258, dscpCopy},
		{"ecn_copy", 259, 259, ecnCopy}, {"df_mode", 261, 260, dfMode}, {"encap", 262, 262, "0"}, {"dscp", 269, 264, "0"}, {"ttl", 279, 272, "40"},
		{"next_hop", 287, 280, hop}, {"mtu", 301, 288, mtu}, {"src_port", 335, 320, "0"}, {"dst_port", 351, 336, "0"}, {"flow_label", 371, 352, label},
	}
}

// TestMixedTunnels: every tunnel and SAD row field by field, and that each policy leads to its
// tunnel, whether the lines come in one batch or one by one.
func TestMixedTunnels(t *testing.T) {
	whole, single := newRig(t, fakebox.Small), newRig(t, fakebox.Small)
	whole.Quiet(mixed)
	for _, line := range strings.Split(strings.TrimSpace(mixed), "\n") {
		single.Must(line)
	}
	whole.checkMixed()
	single.checkMixed()
}

func (r *rig) checkMixed() {
	r.T.Helper()
	const near, far = "20010db8000b00000000000000000001", "20010db8000c00000000000000000002"
	tunnels := r.Fake.Table(transport.Outer, regs.OuterTableTunnel)
	hop := func(sa int) string { return fmt.Sprintf("%x", regs.TunnelRow.NextHop.Get(tunnels[sa])) }
	// Labels are the first 20 bits of SHA-256 over both addresses and the SPI, by Python's hashlib.
	r.checkRow("tunnel of IPv4", tunnels[0], tunnelPlaces("c0000201", "c0000202", "0", "1", "1", "0", hop(0), "0", "0"))
	r.checkRow("tunnel of IPv6", tunnels[1], tunnelPlaces(near, far, "1", "1", "1", "0", hop(1), "500", "6ac8e"))
	r.checkRow("tunnel of IPv6 with flags", tunnels[2], tunnelPlaces(near, far, "1", "0", "0", "2", hop(1), "500", "258ee"))
	for sa, want := range []byte{0x22, 0xfe, 0xfe} {
		if got := r.hop(transport.Outer, regs.OuterTableNextHop, regs.TunnelRow.NextHop.Get(tunnels[sa])); got != want {
			r.T.Errorf("tunnel %d goes to %x, not %x", sa, got, want)
		}
	}
	r.checkRow("SAD, IPv4", r.SadRow(0x2001, "192.0.2.1"), sadPlaces("2001", "c0000201", "4", "0"))
	r.checkRow("SAD, IPv6", r.SadRow(0x2066, near6), sadPlaces("2066", near, "6", "1"))
	r.checkRow("SAD, IPv6, second", r.SadRow(0x2046, near6), sadPlaces("2046", near, "6", "2"))
	for _, dst := range []string{"192.0.2.2", far6, "::c000:201"} {
		if r.SadRow(0x2001, dst) != nil {
			r.T.Errorf("the SAD has %s", dst)
		}
	}
	r.Want("rules", r.Rules(transport.Inner, regs.InnerTableRule), "0:protect/2/46 1:protect/0/64 2:protect/1/66")
	r.checkSelectorOf(0, 6, 48, 48)
	r.checkSelectorOf(1, 6, 48, 48)
	r.checkSelectorOf(2, 4, 112, 112)
}

// TestMixedLists: SAs of both IP versions are listed, named, updated and go, one by one and
// at once.
func TestMixedLists(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(mixed)
	r.Quiet("xfrm state list\nxfrm state list src ::/0\nxfrm state list src 192.0.2.0/24\nxfrm state get dst " + near6 + " proto esp spi 0x2066\nxfrm policy list src 10.1.0.0/16")
	for text, times := range map[string]int{
		"src " + near6 + " dst " + far6 + "\n\tproto esp spi 0x00001001 reqid 66 mode tunnel\n": 2, "src " + far6 + " dst " + near6 + "\n\tproto esp spi 0x00002066 ": 3,
		"src 192.0.2.1 dst 192.0.2.2\n\tproto esp spi 0x00001001 ": 2, "anti-replay esn context": 1, "\ttmpl src " + near6 + " dst " + far6 + "\n\t\tproto esp reqid 46 mode tunnel\n": 1,
	} {
		if n := strings.Count(r.Out, text); n != times {
			t.Errorf("%q is listed %d times, not %d:\n%s", text, n, times, r.Out)
		}
	}
	r.Must("xfrm state delete dst " + near6 + " proto esp spi 0x2066")
	if r.SadRow(0x2066, near6) != nil || r.SadRow(0x2001, "192.0.2.1") == nil {
		t.Error("not the IPv6 SA alone is gone")
	}
	r.Must(strings.Replace(testbox.Sa6(far6, near6, 0x2046, 46, "dir in"), "add", "update", 1))
	if sa, ok := r.Sad(0x2046, near6); !ok || sa != 1 {
		t.Errorf("after the update the SAD leads to %d, %t", sa, ok)
	}
	r.Must("xfrm state deleteall src ::/0")
	if sad := r.Fake.Table(transport.Outer, regs.OuterTableSad); len(sad) != 1 || r.SadRow(0x2001, "192.0.2.1") == nil {
		t.Errorf("%d SAs are left", len(sad))
	}
	r.Must("xfrm state flush\nxfrm policy flush\nneigh del 10.1.0.9 dev red\nneigh del 2001:db8:1::9 dev red")
	if left := r.Snapshot(); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}

// TestEndpointRefusals: each is one sentence with its line, and writes nothing.
func TestEndpointRefusals(t *testing.T) {
	out := testbox.Sa6(near6, far6, 0x1001, 1, "")
	for _, test := range []struct{ text, reason string }{
		{testbox.Sa6(near6, "192.0.2.2", 1, 1, ""), "f:1: src and dst of an SA must be of one IP version"},
		{testbox.Sa6(near6, far6, 1, 1, "encap espinudp 4500 4500 0.0.0.0"), "f:1: the original address of encap must be of one IP version with the SA's endpoints"},
		{out + testbox.Sa6("2001:db8:d::1", far6, 0x1001, 1, ""), "f:2: a second SA with dst " + far6 + " proto esp spi 0x1001: the first is in line 1"},
		{ends6 + out + testbox.Sa6(far6, near6, 0x2001, 1, "dir in"), "f:11: the SPI 0x2001 is in use by the inbound SA src 192.0.2.2 dst 192.0.2.1: a router finds inbound SAs by their SPI alone, so give this one another"},
		{out + "xfrm state delete dst " + near6 + " proto esp spi 0x1001", "f:2: there is no SA with dst " + near6 + " proto esp spi 0x1001"},
		{"addr add " + near6 + "/64 dev black\nlink set dev black mtu 1279\n" + out, "f:3: the outbound SA spi 0x1001 has IPv6 endpoints, which need an mtu of at least 1280 (RFC 8200, 5), but that of black is 1279"},
	} {
		r := newRig(t, fakebox.Small)
		if err := r.Run(test.text); err == nil || !strings.Contains(err.Error(), test.reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("gave %v, want %q", err, test.reason)
		}
		if r.Fake.Writes != 0 {
			t.Errorf("%s: something was written", test.reason)
		}
	}
	// The route's own mtu counts, and IPv4 needs less.
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add " + near6 + "/64 dev black\nlink set dev black mtu 600\nroute add 2001:db8:c::/48 dev black mtu 1300\n" + out + testbox.Sa6("192.0.2.1", "192.0.2.2", 1, 1, "dir out"))
}

// local6 is what the registers hold of black's addresses, the IPv6 one as it is written.
func (r *rig) local6() string {
	words := []uint32{}
	for _, register := range []regs.Register{regs.OuterLocalIpv63, regs.OuterLocalIpv62, regs.OuterLocalIpv61, regs.OuterLocalIpv60} {
		words = append(words, r.Fake.Get(transport.Outer, register))
	}
	return fmt.Sprintf("%x %x", r.Fake.Get(transport.Outer, regs.OuterLocalIpv4), words)
}

// TestLocalAddresses: the first of each IP version, by a line or by an outbound SA; link-local ones
// are not taken.
func TestLocalAddresses(t *testing.T) {
	const none, six = "[0 0 0 0]", "[20010db8 b0000 0 1]"
	for _, test := range []struct{ text, want string }{
		{"addr add fe80::1/64 dev black\n", "0 " + none},
		{"addr add 2001:db8:b::1/64 dev red\n", "0 " + none},
		{"addr add fe80::1/64 dev black\naddr add 2001:db8:b::1/64 dev black\naddr add 2001:db8:b::2/64 dev black\n", "0 " + six},
		{"addr add 192.0.2.1/24 dev black\naddr add 2001:db8:b::1/64 dev black\n", "c0000201 " + six},
		{"addr add fd00:1:2:3:4:5:6:7/64 dev black\n", "0 [fd000001 20003 40005 60007]"},
		{testbox.Sa6(near6, far6, 1, 1, "dir out"), "0 " + six},
		{testbox.Sa6(far6, near6, 1, 1, "dir in"), "0 " + none},
		{"addr add 192.0.2.1/24 dev black\n" + testbox.Sa6(near6, far6, 1, 1, "dir out"), "c0000201 " + six},
		{"addr add 2001:db8:b::1/64 dev black\n" + testbox.Sa6("192.0.2.1", "192.0.2.2", 1, 1, "dir out"), "c0000201 " + six},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(test.text)
		r.Want(test.text, r.local6(), test.want)
	}
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 2001:db8:b::1/64 dev black")
	r.Quiet("addr del 2001:db8:b::1/64 dev black")
	r.Want("after addr del", r.local6(), "0 "+none)
	// Wherever the bus fails, in the middle of an address too, the next load makes up for it.
	halves := map[string]bool{}
	for after := 68; after < 144; after++ {
		r := newRig(t, fakebox.Small)
		r.Fake.FailAfter = after
		if err := r.Run(mixed); err == nil || session.IsInput(err) {
			t.Fatalf("after %d: %v", after, err)
		}
		halves[r.local6()] = true
		r.Fake.FailAfter = 0
		r.Must(mixed)
		r.Want("after a failure", r.local6(), "c0000201 "+six)
	}
	if !halves["0 "+none] || !halves["c0000201 [0 0 0 1]"] || !halves["c0000201 "+six] {
		t.Errorf("the bus failed at %v alone", halves)
	}
}

// TestMACOfIPv6: a port without an IPv4 address has a MAC of its own all the same.
func TestMACOfIPv6(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add fe80::9/64 dev black\naddr add 2001:db8:b::203:405/64 dev black\nlink show")
	if got := []uint32{r.Fake.Get(transport.Outer, regs.OuterPortMacLo), r.Fake.Get(transport.Outer, regs.OuterPortMacHi)}; !slices.Equal(got, []uint32{0x03026202, 0x0504}) {
		t.Errorf("black's MAC is %x", got)
	}
	if !strings.Contains(r.Out, "address 02:62:02:03:04:05") || !strings.Contains(r.Out, "address 02:72:00:00:00:01") {
		t.Error(r.Out)
	}
}

// TestOneSPIOnce: in a router a second inbound SA of one SPI is refused and leaves what there was;
// as an update or in place of the first it comes, and outbound SAs may well share one. Hosts at
// both ends of a bump in the wire may give out the same SPI.
func TestOneSPIOnce(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Sa6(far6, near6, 0x2001, 1, "dir in"))
	before := r.Snapshot()
	second := testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2001, 2, "dir in")
	err := r.Run(second)
	if want := "f:1: the SPI 0x2001 is in use by the inbound SA src " + far6 + " dst " + near6 + ": "; err == nil || !session.IsInput(err) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("gave %v, want %q", err, want)
	}
	if r.Snapshot() != before || r.Fake.Writes == 0 {
		t.Error("the refusal changed something")
	}
	r.Must(testbox.Sa6(near6, far6, 0x2001, 3, "dir out") + testbox.Sa6("192.0.2.1", "192.0.2.2", 0x2001, 4, "dir out"))
	r.Must(strings.Replace(testbox.Sa6(far6, near6, 0x2001, 1, "dir in"), "add", "update", 1))
	r.Must("xfrm state delete dst " + near6 + " proto esp spi 0x2001\n" + second)
	if sa, ok := r.Sad(0x2001, "192.0.2.1"); !ok || sa != 0 || r.SadRow(0x2001, near6) != nil || len(r.Fake.Table(transport.Outer, regs.OuterTableSad)) != 1 {
		t.Errorf("the SAD leads to %d, %t", sa, ok)
	}
	hosts := testbox.HostSA("10.2.0.1", "10.1.0.1", 0x2001, 1, "dir in") + testbox.HostSA("10.2.0.1", "10.1.0.2", 0x2001, 1, "dir in")
	r.Must("xfrm state flush\n" + testbox.Bridged + hosts)
	for sa, host := range []string{"10.1.0.1", "10.1.0.2"} {
		if got, ok := r.Sad(0x2001, host); !ok || got != uint64(sa+1) {
			t.Errorf("SPI 0x2001 at %s leads to %d, %t", host, got, ok)
		}
	}
	r.Must("xfrm state flush\nlink del br0\n" + second)
	if sa, ok := r.Sad(0x2001, "192.0.2.1"); !ok || sa != 0 || len(r.Fake.Table(transport.Outer, regs.OuterTableSad)) != 1 {
		t.Errorf("a router again: %d, %t", sa, ok)
	}
}
