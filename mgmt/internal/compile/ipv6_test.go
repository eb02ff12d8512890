// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// ends6 is a tunnel with IPv4 ends and the networks around it; it carries IPv6.
const ends6 = `
addr add 2001:db8:1::1/64 dev red
addr add fe80::1/64 dev red
addr add fe80::1/64 dev black
addr add 192.0.2.1/24 dev black
neigh add 2001:db8:1::9 lladdr 02:00:00:00:00:09 dev red
neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel replay-window 64 aead "rfc4106(gcm(aes))" ` + testbox.Key128 + ` 128
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 64 aead "rfc4106(gcm(aes))" ` + testbox.Key256 + ` 128
`

const tunnel6 = ends6 + "xfrm policy add src 2001:db8:1::/48 dst 2001:db8:2::/48 dir out priority 100" + testbox.OutTmpl +
	"xfrm policy add src 2001:db8:2::/48 dst 2001:db8:1::/48 dir fwd priority 100" + testbox.InTmpl +
	"xfrm policy add src 2001:db8:2::/48 dst 2001:db8:1::/48 dir in priority 100" + testbox.InTmpl +
	"xfrm policy add src 2001:db8:1::5 dst 2001:db8:2::7 proto ipv6-icmp type 0 code 0 dir out priority 50" + testbox.OutTmpl

func (r *rig) selectorHop() uint64 {
	return regs.SelectorRow.NextHop.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0])
}

// hop is the last byte of the Ethernet address in a next-hop row; 0 if the row is not valid.
func (r *rig) hop(c transport.Chip, table regs.Table, index uint64) byte {
	if row := r.Fake.Table(c, table)[int(index)]; row != nil {
		return testbox.RowBytes(row)[5]
	}
	return 0
}

// TestTunnel6: IPv6 through a tunnel whose ends are IPv4, and how it is listed.
func TestTunnel6(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(tunnel6)
	r.Want("rules", r.Rules(transport.Inner, regs.InnerTableRule), "0:protect/0/100")
	if action, sa, priority, ok := r.Flow("2001:db8:1::5", "2001:db8:2::7", 58, 0, 0); !ok || action != regs.ActionProtect || sa != 0 || priority != 50 {
		t.Errorf("the flow has %d %d %d %t", action, sa, priority, ok)
	}
	tun := r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0]
	if hop := r.hop(transport.Outer, regs.OuterTableNextHop, regs.TunnelRow.NextHop.Get(tun)); hop != 0x22 {
		t.Errorf("the tunnel goes to %x", hop)
	}
	if hop := r.hop(transport.Inner, regs.InnerTableNextHop, r.selectorHop()); hop != 9 {
		t.Errorf("what is decrypted goes to %x", hop)
	}
	// Black's first address is IPv6, but its register and its MAC are made of the first that
	// is IPv4.
	if got := []uint32{r.Fake.Get(transport.Outer, regs.OuterLocalIpv4), r.Fake.Get(transport.Outer, regs.OuterPortMacHi)}; got[0] != 0xC0000201 || got[1] != 0x0102 {
		t.Errorf("black has %#x", got)
	}
	r.Quiet("xfrm policy list\nxfrm policy list src ::/0 proto ipv6-icmp\nxfrm policy list proto ipv6-icmp type 1\nxfrm policy list src 0.0.0.0/0\naddr show\nneigh show")
	icmp := "src 2001:db8:1::5/128 dst 2001:db8:2::7/128 proto ipv6-icmp type 0 code 0 \n"
	for text, times := range map[string]int{
		icmp: 2, "src 2001:db8:2::/48 dst 2001:db8:1::/48 \n\tdir fwd ": 1, "tmpl src 192.0.2.1 dst 192.0.2.2": 3,
		"2001:db8:1::1/64 dev red\nfe80::1/64 dev red\nfe80::1/64 dev black\n": 1, "2001:db8:1::9 dev red lladdr 02:00:00:00:00:09\n": 1,
	} {
		if n := strings.Count(r.Out, text); n != times {
			t.Errorf("%q is listed %d times, not %d:\n%s", text, n, times, r.Out)
		}
	}
	for _, line := range []string{
		"xfrm policy delete src 2001:db8:1::5 dst 2001:db8:2::7 proto ipv6-icmp type 0 dir out",
		"xfrm policy delete src 2001:db8:1::5 dst 2001:db8:2::7 proto ipv6-icmp dir out",
	} {
		if err := r.Run(line); err == nil || !strings.Contains(err.Error(), "no such policy") {
			t.Errorf("%s: %v", line, err)
		}
	}
	r.Must("xfrm policy delete src 2001:db8:1::5 dst 2001:db8:2::7 proto ipv6-icmp type 0 code 0 dir out\nxfrm policy flush\nxfrm state flush\nneigh del 2001:db8:1::9 dev red\naddr del 2001:db8:1::1/64 dev red")
	if left := r.Snapshot(); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}

// TestHops6: a next hop is looked for among the routes and neighbours of its own IP version, by the
// longest prefix.
func TestHops6(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(tunnel6 + "route add default via 192.0.2.254 dev black\nroute add default via 10.1.0.254 dev red\nneigh add 192.0.2.254 lladdr 02:00:00:00:00:fe dev black\n")
	red := func() byte { return r.hop(transport.Inner, regs.InnerTableNextHop, r.selectorHop()) }
	if hop := red(); hop != 9 {
		t.Errorf("beside IPv4's default route: %x", hop)
	}
	r.Quiet("route add default via fe80::7 dev red\nneigh add fe80::7 lladdr 02:00:00:00:00:07 dev red")
	if hop := red(); hop != 7 {
		t.Errorf("by the default route: %x", hop)
	}
	r.Quiet("route add 2001:db8:1::/48 via 2001:db8:1::8 dev red\nneigh add 2001:db8:1::8 lladdr 02:00:00:00:00:08 dev red")
	if hop := red(); hop != 8 {
		t.Errorf("by the longer route: %x", hop)
	}
	// Clear packets pass to black by the routes there; one route has an IPv4 gateway.
	r.Quiet(`
neigh add 2001:db8:b::2 lladdr 02:00:00:00:00:b2 dev black
route add 2001:db8:3::/48 via 2001:db8:b::2 dev black
route add 2001:db8:4::/48 via inet 192.0.2.2 dev black
xfrm policy add dst 2001:db8:3::7 proto udp dir out priority 3
xfrm policy add src 2001:db8:1::5 dst 2001:db8:4::7 proto udp sport 5 dport 6 dir out priority 4
xfrm policy add dst 2001:db8:5::/48 dir out priority 5
xfrm policy add dst 10.9.0.0/16 dir out priority 6`)
	hops := map[uint64]byte{3: 0xb2, 5: 0, 6: 0xfe}
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableRule) {
		if want, ok := hops[regs.RuleRow.Priority.Get(row)]; ok && r.hop(transport.Outer, regs.OuterTableNextHop, regs.RuleRow.Sa.Get(row)) != want {
			t.Errorf("the rule of priority %d goes to row %d, not to %x", regs.RuleRow.Priority.Get(row), regs.RuleRow.Sa.Get(row), want)
		}
	}
	if action, hop, _, ok := r.Flow("2001:db8:1::5", "2001:db8:4::7", 17, 5, 6); !ok || action != regs.ActionBypass || r.hop(transport.Outer, regs.OuterTableNextHop, hop) != 0x22 {
		t.Errorf("the flow has %d %d %t", action, hop, ok)
	}
	r.Quiet("route add 10.7.0.0/16 via inet6 2001:db8:b::2 dev black\nroute show")
	for _, want := range []string{"::/0 via fe80::7 dev red\n", "0.0.0.0/0 via 10.1.0.254 dev red\n", "2001:db8:4::/48 via inet 192.0.2.2 dev black\n", "10.7.0.0/16 via inet6 2001:db8:b::2 dev black\n"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("routes lack %q:\n%s", want, r.Out)
		}
	}
}

// TestBothVersions: one SA for every packet of both IP versions, by a policy of each.
func TestBothVersions(t *testing.T) {
	policies := "xfrm policy add dir fwd" + testbox.InTmpl + "xfrm policy add src ::/0 dir fwd" + testbox.InTmpl + "xfrm policy add dir in" + testbox.InTmpl + "xfrm policy add src ::/0 dir in" + testbox.InTmpl
	r := newRig(t, fakebox.Small)
	r.Quiet(ends6 + policies + "addr add 10.1.0.1/24 dev red\nneigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red\n")
	f := regs.SelectorRow
	row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]
	for _, field := range []regs.Field{f.Version, f.Protocol, f.Upper, f.SrcPrefix, f.DstPrefix, f.SrcPort, f.DstPort, f.ProtocolMask, f.UpperMask} {
		if field.Get(row) != 0 {
			t.Errorf("bits %d and up are %x", field.LSB, field.Get(row))
		}
	}
	if f.VersionMask.Get(row) != 1 {
		t.Errorf("packets to groups are not left out: version mask %x", f.VersionMask.Get(row))
	}
	if f.SrcPortLast.Get(row) != 0xFFFF || f.DstPortLast.Get(row) != 0xFFFF {
		t.Errorf("the ports end at %d and %d", f.SrcPortLast.Get(row), f.DstPortLast.Get(row))
	}
	if got := testbox.FieldHex(f.SrcAddr, row) + testbox.FieldHex(f.DstAddr, row); strings.Trim(got, "0") != "" {
		t.Errorf("the addresses are %s", got)
	}
	// The next hop has an address of each version, which is one station: there is nothing to warn
	// of. Two are worth a word.
	if hop := r.hop(transport.Inner, regs.InnerTableNextHop, r.selectorHop()); hop != 9 {
		t.Errorf("what is decrypted goes to %x", hop)
	}
	r.Must("neigh replace 2001:db8:1::9 lladdr 02:00:00:00:00:19 dev red")
	if !strings.Contains(r.Notes, "for dst any there are different next hops on red") {
		t.Errorf("notes: %q", r.Notes)
	}
	r.Must("neigh del 10.1.0.9 dev red")
	if hop := r.hop(transport.Inner, regs.InnerTableNextHop, r.selectorHop()); hop != 0x19 || r.Notes != "" {
		t.Errorf("without IPv4's next hop it goes to %x: %s", hop, r.Notes)
	}
	// The SA's own sel is of one version.
	one := newRig(t, fakebox.Small)
	one.Quiet(strings.Replace(ends6, "spi 0x2001", "spi 0x2001 sel src ::/0 dst 2001:db8:1::/48", 1) + policies)
	one.checkSelectorOf(0, 6, 0, 48)
}

func (r *rig) checkSelectorOf(sa int, version, src, dst uint64) {
	r.T.Helper()
	f, row := regs.SelectorRow, r.Fake.Table(transport.Inner, regs.InnerTableSelector)[sa]
	if got := []uint64{f.Version.Get(row), f.SrcPrefix.Get(row), f.DstPrefix.Get(row)}; got[0] != version || got[1] != src || got[2] != dst {
		r.T.Errorf("SA %d has version and prefixes %d", sa, got)
	}
}

// TestRefusals6: each is one sentence with its line, and writes nothing.
func TestRefusals6(t *testing.T) {
	sel := func(text, words string) string { return strings.Replace(text, "reqid 1", words+" reqid 1", 1) }
	out := sel(ends6, "sel dst 10.0.0.0/8")
	for _, test := range []struct{ text, reason string }{
		{out + "xfrm policy add dst 2001:db8::/32 dir out" + testbox.OutTmpl, "wider than the sel"},
		{sel(ends6, "sel dst ::/0 proto ipv6-icmp type 0") + "xfrm policy add dst ::/0 proto ipv6-icmp dir out" + testbox.OutTmpl, "wider than the sel"},
		{strings.Replace(ends6, "spi 0x2001", "spi 0x2001 sel dst ::/0", 1) + "xfrm policy add dst 10.0.0.0/8 dir in" + testbox.InTmpl, "do not contain one another"},
		{ends6 + "xfrm policy add dst ::/0 proto ipv6-icmp type 0 dir out\nxfrm policy add dst ::/0 proto 58 type 0 dir out", "a second policy with dir out and selector src ::/0 dst ::/0 proto ipv6-icmp type 0"},
		{ends6 + "route add ::/0 via 2001:db8:1::9\nroute add default via 2001:db8:1::8 dev red", "there is a route to ::/0 on red already"},
		{ends6 + "route add default via fe80::9", "name the device"},
		{ends6 + "addr add 2001:db8:1::2/64 dev black", "different networks"},
		{ends6 + "neigh add 2001:db8:1::9 lladdr 02:00:00:00:00:23 dev red", "neigh replace"},
	} {
		r := newRig(t, fakebox.Small)
		err := r.Run(test.text)
		if err == nil || !strings.Contains(err.Error(), test.reason) || !session.IsInput(err) || !strings.HasPrefix(err.Error(), "f:") || strings.Contains(err.Error(), "\n") {
			t.Errorf("gave %v, want %q", err, test.reason)
		}
		if r.Fake.Writes != 0 {
			t.Errorf("%s: something was written", test.reason)
		}
	}
}

// TestVersionsApart: policies of the two IP versions never meet. A wide bypass of IPv4 does not
// make clear IPv6 that belongs in the tunnel need a rule; one of IPv6 does.
func TestVersionsApart(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(tunnel6 + "xfrm policy add dir fwd priority 1000 action allow\n")
	r.Want("IPv4", r.Rules(transport.Outer, regs.OuterTableRule), "0:bypass/0/1000")
	r.Quiet("xfrm policy add src ::/0 dir fwd priority 1000 action allow\n")
	r.Want("IPv6", r.Rules(transport.Outer, regs.OuterTableRule), fmt.Sprintf("0:discard/0/100 1:bypass/0/1000 2:bypass/%d/1000", r.selectorHop()))
}
