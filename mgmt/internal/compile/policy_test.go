// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestBypass: allow without tmpl opens both the rule and the crypto chip's own gate, and closes it
// with the last rule.
func TestBypass(t *testing.T) {
	r := newRig(t, fakebox.Small)
	crypto := func() uint32 { return r.Fake.Get(transport.Crypto, regs.CryptoControl) }
	r.Quiet(testbox.Tunnel + `
neigh add 192.0.2.7 lladdr 02:00:00:00:00:77 dev black
xfrm policy add dst 192.0.2.7 proto icmp dir out priority 5 action allow
xfrm policy add dst 192.0.2.7 dir out priority 6 action punt
xfrm policy add dst 192.0.2.8 dir out priority 7 action block`)
	r.Want("inner", r.Rules(transport.Inner, regs.InnerTableRule), "0:bypass/1/5 1:punt/0/6 2:discard/0/7 3:protect/0/100")
	r.Want("outer", r.Rules(transport.Outer, regs.OuterTableRule), "")
	if crypto() != 1|1<<1 {
		t.Errorf("crypto CONTROL = %#x with an out bypass", crypto())
	}
	r.Quiet("xfrm policy add src 192.0.2.7 dst 10.1.0.9 dir fwd priority 5 action allow\nxfrm policy add src 192.0.2.7 dst 10.1.0.9 dir in priority 5 action allow")
	r.Want("outer", r.Rules(transport.Outer, regs.OuterTableRule), "0:bypass/0/5") // a host on red
	if crypto() != 7 {
		t.Errorf("crypto CONTROL = %#x with both", crypto())
	}
	r.Quiet("xfrm policy delete dst 192.0.2.7 proto icmp dir out")
	if crypto() != 1|1<<2 {
		t.Errorf("crypto CONTROL = %#x with an in bypass", crypto())
	}
	r.Quiet("xfrm policy deleteall dir in\nxfrm policy deleteall dir fwd")
	if crypto() != 1 {
		t.Errorf("crypto CONTROL = %#x without any", crypto())
	}
}

// TestProtectedClear: a wide bypass on the black side does not let in what belongs in a tunnel.
func TestProtectedClear(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Tunnel + "xfrm policy add dir fwd priority 1000 action allow\n")
	r.Want("outer", r.Rules(transport.Outer, regs.OuterTableRule), "0:discard/0/100 1:bypass/1/1000")
}

func TestDirections(t *testing.T) {
	state := func(src, dst, rest string) string {
		return fmt.Sprintf("xfrm state add src %s dst %s proto esp spi 0x77 mode tunnel replay-window 64 %s aead 'rfc4106(gcm(aes))' %s 128\n", src, dst, rest, testbox.Key128)
	}
	local := "addr add 192.0.2.1/24 dev black\n"
	for _, test := range []struct{ name, text, way, note string }{
		{"given out", local + state("192.0.2.2", "192.0.2.1", "dir out"), "out", ""},
		{"given in", local + state("192.0.2.1", "192.0.2.2", "dir in"), "in", "no in or fwd policy"},
		{"policy", state("192.0.2.1", "192.0.2.2", "") + "xfrm policy add dst 10.0.0.0/8 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel", "out", ""},
		{"policy wins over address", local + state("192.0.2.2", "192.0.2.1", "") + "xfrm policy add dst 10.0.0.0/8 dir out tmpl src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel", "out", ""},
		{"policy with another reqid", state("192.0.2.1", "192.0.2.2", "reqid 1") + "xfrm policy add dst 10.0.0.0/8 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 2 mode tunnel", "in", "is taken as inbound"},
		{"local source", local + state("192.0.2.1", "192.0.2.2", ""), "out", ""},
		{"local destination", local + state("192.0.2.2", "192.0.2.1", ""), "in", "no in or fwd policy"},
		{"in policy", state("192.0.2.2", "192.0.2.1", "") + "xfrm policy add dst 10.0.0.0/8 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel", "in", ""},
		{"nothing", state("192.0.2.2", "192.0.2.1", ""), "in", "is taken as inbound"},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(test.text)
		if (test.note == "") != (r.Notes == "") || !strings.Contains(r.Notes, test.note) {
			t.Errorf("%s: notes %q, want %q", test.name, r.Notes, test.note)
		}
		r.Must("xfrm state list")
		if !strings.Contains(r.Out, "dir "+test.way) {
			t.Errorf("%s: not %s:\n%s", test.name, test.way, r.Out)
		}
		in, out := len(r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey)), len(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey))
		if (test.way == "in") != (in == 1 && out == 0) {
			t.Errorf("%s: %d inbound and %d outbound keys", test.name, in, out)
		}
	}
}

// TestDeferredDirection: an SA that was taken as inbound on its own is not silently used for the
// other direction later.
func TestDeferredDirection(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x77 mode tunnel aead 'rfc4106(gcm(aes))' " + testbox.Key128 + " 128")
	err := r.Run("xfrm policy add dst 10.0.0.0/8 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel")
	if err == nil || !strings.Contains(err.Error(), "dir out") {
		t.Errorf("gave %v", err)
	}
}

func TestNextHops(t *testing.T) {
	r := newRig(t, fakebox.Small)
	macs := func(c transport.Chip, table regs.Table) string {
		var out []string
		for index := range 8 {
			if row := r.Fake.Table(c, table)[index]; row != nil {
				out = append(out, fmt.Sprintf("%d:%02x", index, testbox.RowBytes(row)[5]))
			}
		}
		return strings.Join(out, " ")
	}
	tunnelHop := func() uint64 {
		return regs.TunnelRow.NextHop.Get(r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0])
	}
	sa := "xfrm state add src 192.0.2.1 dst 198.51.100.2 proto esp spi 0x77 mode tunnel dir out aead 'rfc4106(gcm(aes))' " + testbox.Key128 + " 128\n"
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + sa)
	if tunnelHop() != 0 {
		t.Errorf("without a route the hop is %d", tunnelHop())
	}
	r.NextHop("red", 1)
	r.NextHop("black", 2)
	r.Want("red", macs(transport.Inner, regs.InnerTableNextHop), "0:01")
	r.Want("black", macs(transport.Outer, regs.OuterTableNextHop), "0:02")
	r.Quiet("route add default via 192.0.2.254 dev black mtu 1400")
	if tunnelHop() != 1 {
		t.Errorf("with a route the hop is %d", tunnelHop())
	}
	if mtu := regs.TunnelRow.Mtu.Get(r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0]); mtu != 1400 {
		t.Errorf("the tunnel's MTU is %d", mtu)
	}
	r.Want("gateway without neighbour", macs(transport.Outer, regs.OuterTableNextHop), "0:02 1:02")
	r.Quiet("neigh add 192.0.2.254 lladdr 02:00:00:00:00:fe dev black")
	r.Want("gateway with neighbour", macs(transport.Outer, regs.OuterTableNextHop), "0:02 1:fe")
	r.Quiet("neigh replace 192.0.2.254 lladdr 02:00:00:00:00:fd dev black\nroute add 198.51.100.0/24 via 192.0.2.253 dev black")
	r.Want("longest route", macs(transport.Outer, regs.OuterTableNextHop), "0:02 2:02")
	if tunnelHop() != 2 {
		t.Errorf("with a longer route the hop is %d", tunnelHop())
	}
	// One inbound SA for a network with two hosts, which have rows of their own.
	r.Quiet(tunnelOf("10.1.0.0/24") + "addr add 10.1.0.1/24 dev red\nneigh add 10.1.0.8 lladdr 02:00:00:00:00:08 dev red\nneigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red\n")
	r.Want("hosts", hosts(r), "10.1.0.8:08 10.1.0.9:09")
	if hop := regs.SelectorRow.NextHop.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]); hop != 0 {
		t.Errorf("the selector's hop is %d", hop)
	}
	// A new next hop leaves the anti-replay window as it is.
	r.Quiet("neigh del 10.1.0.8 dev red\nroute add 10.1.0.128/25 via 10.1.0.9 dev red")
	r.Want("hosts", hosts(r), "10.1.0.9:09")
	if rows := r.Fake.Table(transport.Inner, regs.InnerTableNextHop); regs.NextHopRow.Subnet.Get(rows[1]) != 1 {
		t.Errorf("packets to red's own network do not go to %x", rows[1])
	}
	if row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]; regs.SelectorRow.NextHop.Get(row) == 0 || regs.SelectorRow.WindowKeep.Get(row) != 1 {
		t.Errorf("the selector row is %x", row)
	}
}

// hosts are the hosts of red and the last bytes of their Ethernet addresses.
func hosts(r *rig) string {
	var out []string
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableHost) {
		if regs.HostRow.Valid.Get(row) == 1 {
			bytes := testbox.RowBytes(row)
			slices.Reverse(bytes[:16])
			addr := netip.AddrFrom16([16]byte(bytes))
			if regs.HostRow.Version.Get(row) == 4 {
				addr = netip.AddrFrom4([4]byte(bytes[12:]))
			}
			out = append(out, fmt.Sprintf("%s:%02x", addr, bytes[18+5]))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestHosts: a host that is straight behind red has a row, whatever route lies around it; one
// behind a gateway, of black, of one link alone or of a bridge has none.
func TestHosts(t *testing.T) {
	const addrs = "addr add 10.1.0.1/24 dev red\naddr add 2001:db8:1::1/64 dev red\naddr add 192.0.2.1/24 dev black\n"
	neigh := func(ip, dev string) string { return "neigh add " + ip + " lladdr 02:00:00:00:00:09 dev " + dev + "\n" }
	for _, test := range []struct{ text, want string }{
		{addrs + neigh("10.1.0.9", "red"), "10.1.0.9:09"},
		{addrs + neigh("2001:db8:1::9", "red") + neigh("10.1.0.255", "red"), "10.1.0.255:09 2001:db8:1::9:09"},
		{addrs + neigh("192.0.2.9", "black"), ""},
		{addrs + neigh("10.1.1.9", "red"), ""},
		{addrs + neigh("10.1.1.9", "red") + "route add 10.1.1.0/24 dev red\n", "10.1.1.9:09"},
		{addrs + neigh("10.1.0.9", "red") + "route add 10.1.0.9/32 via 10.1.0.7 dev red\n", ""},
		{addrs + neigh("10.1.0.9", "red") + "route add 10.1.0.0/16 via 10.1.0.7 dev red\n", "10.1.0.9:09"},
		{addrs + neigh("10.1.0.9", "red") + "route add 10.2.0.0/16 via 10.1.0.9 dev red\n", "10.1.0.9:09"},
		{addrs + neigh("fe80::9", "red") + "addr add fe80::1/64 dev red\n", ""},
		{"link add br0 type bridge\nlink set red master br0\nlink set black master br0\naddr add 10.1.0.1/24 dev black\n", ""},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet(test.text)
		r.Want(test.text, hosts(r), test.want)
	}
}

// TestHostsFull: hosts that were written and do not fit are refused, and the others stay.
func TestHostsFull(t *testing.T) {
	r := newRig(t, fakebox.Small)
	text := "addr add 10.1.0.1/24 dev red\n"
	for n := range 40 {
		text += fmt.Sprintf("neigh add 10.1.0.%d lladdr 02:00:00:00:00:%02x dev red\n", 10+n, n)
	}
	r.Quiet(text)
	before, more := hosts(r), ""
	for n := range 25 {
		more += fmt.Sprintf("neigh add 10.1.0.%d lladdr 02:00:00:00:00:%02x dev red\n", 100+n, n)
	}
	err := r.Run(more)
	if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), "no room for the host 10.1.0.1") || !strings.Contains(err.Error(), "the host table of 64 rows is full (") {
		t.Errorf("gave %v", err)
	}
	r.Want("hosts", hosts(r), before)
}

func tunnelOf(to string) string {
	return "xfrm state add src 198.51.100.2 dst 192.0.2.1 proto esp spi 0x78 mode tunnel dir in replay-window 64 aead 'rfc4106(gcm(aes))' " + testbox.Key256 + " 128\n" +
		"xfrm policy add dst " + to + " dir fwd tmpl src 198.51.100.2 dst 192.0.2.1 proto esp mode tunnel\n"
}

// TestSel: an SA's own selector narrows its policy's, and a policy may not be wider than its
// outbound SA's.
func TestSel(t *testing.T) {
	r := newRig(t, fakebox.Small)
	in := strings.Replace(tunnelOf("10.1.0.0/16"), " dir in", " dir in sel dst 10.1.5.0/24 proto tcp", 1)
	r.Quiet(in)
	row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]
	f := regs.SelectorRow
	got := []uint64{f.DstPrefix.Get(row), f.Protocol.Get(row), f.ProtocolMask.Get(row)}
	if dst := testbox.FieldHex(f.DstAddr, row); dst != testbox.Low("0005010a") || !slices.Equal(got, []uint64{120, 6, 0xFF}) {
		t.Errorf("selector %s %d", dst, got)
	}
	err := r.Run("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x79 mode tunnel dir out sel dst 10.2.0.0/24 aead 'rfc4106(gcm(aes))' " + testbox.Key128 +
		" 128\nxfrm policy add dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel")
	if err == nil || !strings.Contains(err.Error(), "wider than the sel") {
		t.Errorf("gave %v", err)
	}
}
