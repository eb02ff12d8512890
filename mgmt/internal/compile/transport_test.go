// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestTransport: every row of a pair of SAs in transport mode, and those that are not there.
func TestTransport(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Hosts)
	// MTU: 9582 - 20 - 8 - 8 - 16 = 9530, down to 9528: 9526 and the header of 20.
	r.checkRow("rule", r.Fake.Table(transport.Inner, regs.InnerTableRule)[0], slices.Concat(keyed("a010001", "a020001", "0", "0", "0", "4", "0"),
		[]place{{"sa", 431, 416, "0"}, {"priority", 351, 320, "5"}, {"valid", 352, 352, "1"}, {"action", 354, 353, "2"}, {"fragment", 355, 355, "0"},
			{"mtu", 369, 356, "254a"}, {"transport", 370, 370, "1"}, {"usage", 403, 384, "1"}}, masks(ones, ones, "0", "0", "0", "f", "0")))
	sad := sadPlaces("2001", "a010001", "4", "0")
	r.checkRow("sad", r.SadRow(0x2001, "10.1.0.1"), append(sad, place{"transport", 170, 170, "1"}))
	r.checkRow("selector", r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0], slices.Concat(keyed("a020001", "a010001", "0", "0", "0", "4", "0"), []place{
		{"valid", 304, 304, "1"}, {"replay", 305, 305, "1"}, {"window_keep", 306, 306, "0"}, {"next_hop", 319, 312, "0"}, {"window_size", 335, 320, "40"},
		{"window_row0", 351, 336, "0"}, {"src_prefix", 407, 400, "80"}, {"dst_prefix", 415, 408, "80"}, {"src_port_last", 431, 416, "ffff"}, {"dst_port_last", 447, 432, "ffff"},
		{"protocol_mask", 455, 448, "0"}, {"version_mask", 459, 456, "f"}, {"upper_mask", 463, 460, "0"}}))
	out, in := regs.OutboundKeyRow, regs.InboundKeyRow
	for what, got := range map[string]uint64{
		"outbound key": out.Transport.Get(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]),
		"inbound key":  in.Transport.Get(r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey)[0]),
	} {
		if got != 1 {
			t.Errorf("%s has not transport", what)
		}
	}
	for _, table := range []struct {
		c transport.Chip
		t regs.Table
	}{{transport.Outer, regs.OuterTableTunnel}, {transport.Outer, regs.OuterTableNextHop}, {transport.Inner, regs.InnerTableNextHop}, {transport.Outer, regs.OuterTableRule}} {
		if n := len(r.Fake.Table(table.c, table.t)); n != 0 {
			t.Errorf("%d rows in %s of %s", n, table.t.Name, table.c)
		}
	}
	r.Quiet("xfrm state list mode transport\nxfrm policy list dir fwd")
	for _, want := range []string{"src 10.1.0.1 dst 10.2.0.1\n\tproto esp spi 0x00001001 reqid 1 mode transport\n", "\tdir out\n", "\tdir in\n", "tmpl src 0.0.0.0 dst 0.0.0.0\n\t\tproto esp reqid 0 mode transport\n"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("the list lacks %q:\n%s", want, r.Out)
		}
	}
}

// TestTunnelsHaveNoTransport: the bits of a routed box.
func TestTunnelsHaveNoTransport(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Tunnel)
	for what, got := range map[string]uint64{
		"flow":         regs.FlowRow.Transport.Get(r.FlowRow("10.1.0.5", "10.2.0.7", 17, 1000, 2000)),
		"rule":         regs.RuleRow.Transport.Get(r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]),
		"sad":          regs.SadRow.Transport.Get(r.SadRow(0x2001, "192.0.2.1")),
		"outbound key": regs.OutboundKeyRow.Transport.Get(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]),
		"inbound key":  regs.InboundKeyRow.Transport.Get(r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey)[0]),
		"inner bump":   uint64(r.Fake.Get(transport.Inner, regs.InnerControl) >> regs.InnerControlBump.LSB),
		"outer bump":   uint64(r.Fake.Get(transport.Outer, regs.OuterControl) >> regs.OuterControlBump.LSB),
	} {
		if got != 0 {
			t.Errorf("%s is of transport mode", what)
		}
	}
}

// decisions are the rules of the inner chip in order: source, destination, action, SA, in
// transport mode.
func (r *rig) decisions() (out []string) {
	f, rows := regs.RuleRow, r.Fake.Table(transport.Inner, regs.InnerTableRule)
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		row := rows[index]
		out = append(out, fmt.Sprintf("%08x %08x %d %d %d", f.SrcAddr.Get(row)&0xFFFFFFFF, f.DstAddr.Get(row)&0xFFFFFFFF, f.Action.Get(row), f.Sa.Get(row), f.Transport.Get(row)))
	}
	return out
}

// TestHostsOfOnePolicy: a policy of networks leads each pair of hosts to its SA and punts packets
// of other pairs. SAs come, are replaced by newer ones, and go.
func TestHostsOfOnePolicy(t *testing.T) {
	r := newRig(t, fakebox.Small)
	wide := "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 7" + testbox.AnyTmpl
	rest := "0a010000 0a020000 3 0 0"
	r.Must(testbox.Bridged + wide)
	if !strings.Contains(r.Notes, "no outbound SA fits the tmpl src 0.0.0.0 dst 0.0.0.0: what the policy matches is punted") {
		t.Errorf("notes %q", r.Notes)
	}
	check := func(text string, want ...string) {
		t.Helper()
		r.Quiet(text)
		if got := r.decisions(); !slices.Equal(got, want) {
			t.Errorf("after %s got\n%s", text, strings.Join(got, "\n"))
		}
	}
	first, second := "0a010001 0a020001 2 0 1", "0a010002 0a020001 2 1 1"
	check(testbox.HostSA("10.1.0.1", "10.2.0.1", 0x1001, 1, "dir out"), first, rest)
	check(testbox.HostSA("10.1.0.2", "10.2.0.1", 0x1002, 1, ""), first, second, rest)
	// Another reqid, and a host that is not of the policy: no SAs of it.
	check(testbox.HostSA("10.1.0.3", "10.2.0.1", 0x1003, 9, "dir out")+testbox.HostSA("10.3.0.1", "10.2.0.1", 0x1004, 1, "dir out"), first, second, rest)
	check(testbox.HostSA("10.1.0.1", "10.2.0.1", 0x1005, 1, "dir out"), "0a010001 0a020001 2 4 1", second, rest)
	check("xfrm state delete dst 10.2.0.1 proto esp spi 0x1005", first, second, rest)
	check("xfrm state delete dst 10.2.0.1 proto esp spi 0x1001", second, rest)
	// Ranges make several rules of each two hosts, which are one policy all the same.
	r.Must("xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out\nxfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 2-4 dir out" + testbox.AnyTmpl)
	if got, want := r.decisions(), []string{second, second, rest, rest}; !slices.Equal(got, want) {
		t.Errorf("a range: %v", got)
	}
}

// TestExactHosts: a 5-tuple is a flow, of the SA of its hosts, which its template need not name.
func TestExactHosts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Bridged + testbox.HostSA("10.1.0.1", "10.2.0.1", 0x1001, 1, "") + testbox.HostSA("fe80::1", "fe80::2", 0x1002, 1, "") +
		"xfrm policy add src 10.1.0.1 dst 10.2.0.1 proto udp sport 7 dport 9 dir out" + testbox.AnyTmpl +
		"xfrm policy add src fe80::1 dst fe80::2 proto udp sport 7 dport 9 dir out tmpl proto esp mode transport\n")
	for i, ends := range [][2]string{{"10.1.0.1", "10.2.0.1"}, {"fe80::1", "fe80::2"}} {
		row := r.FlowRow(ends[0], ends[1], 17, 7, 9)
		if row == nil || regs.FlowRow.Action.Get(row) != regs.ActionProtect || regs.FlowRow.Sa.Get(row) != uint64(i) || regs.FlowRow.Transport.Get(row) != 1 {
			t.Errorf("the flow of %v is %x", ends, row)
		}
	}
	if n := len(r.decisions()); n != 0 {
		t.Errorf("%d rules", n)
	}
}

// TestInboundHosts: the selector of an inbound SA is its policy's, between its own hosts, and
// its sel's.
func TestInboundHosts(t *testing.T) {
	for _, test := range []struct {
		sel, policy string
		keyed       []place
		rest        [5]string
	}{
		{"", "src 10.2.0.0/16 dst 10.1.0.0/16", keyed("a020001", "a010001", "0", "0", "0", "4", "0"), [5]string{"ffff", "ffff", "0", "f", "0"}},
		{"", "proto tcp dport 22", keyed("a020001", "a010001", "0", "16", "6", "4", "1"), [5]string{"ffff", "16", "ff", "f", "f"}},
		{"sel src 10.2.0.0/24 proto tcp", "src 10.0.0.0/8", keyed("a020001", "a010001", "0", "0", "6", "4", "0"), [5]string{"ffff", "ffff", "ff", "f", "0"}},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet(testbox.Bridged + testbox.HostSA("10.2.0.1", "10.1.0.1", 1, 1, test.sel+" dir in") + "xfrm policy add " + test.policy + " dir fwd" + testbox.AnyTmpl)
		r.checkSelector(test.policy, test.keyed, 128, 128, test.rest)
	}
}

// TestTransportMTU: the longest packet whose ESP fits, worked out by hand: its header, and the
// payload for which ESP has room, as in TestInnerMTU.
func TestTransportMTU(t *testing.T) {
	const cbc = `enc "cbc(aes)" 0x000102030405060708090a0b0c0d0e0f auth-trunc "hmac(sha256)" 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128`
	v4, v6 := [2]string{"10.1.0.1", "10.2.0.1"}, [2]string{"2001:db8::1", "2001:db8::2"}
	for _, test := range []struct {
		ends         [2]string
		keys         string
		mtu, allowed uint64
	}{
		// 1500 - 20 - 8 - 8 - 16 = 1448: 1446 and the header of 20.
		{v4, `aead "rfc4106(gcm(aes))" ` + testbox.Key128 + " 128", 1500, 1466},
		// DF is the host's own: nopmtudisc, of tunnels, clears none.
		{v4, `flag nopmtudisc aead "rfc4106(gcm(aes))" ` + testbox.Key128 + " 128", 1499, 1462},
		{v4, cbc, 1500, 1458},
		// 1500 - 40 - 8 - 16 - 16 = 1420, down to 1408: 1406 and the header of 40.
		{v6, cbc, 1500, 1446},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet(fmt.Sprintf("%slink set black mtu %d\nroute add default via 192.0.2.9 dev black mtu 1300\nxfrm state add src %s dst %s proto esp spi 1 mode transport %s\nxfrm policy add src %s dst %s dir out tmpl proto esp mode transport",
			testbox.Bridged, test.mtu, test.ends[0], test.ends[1], test.keys, test.ends[0], test.ends[1]))
		row := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]
		if got := regs.RuleRow.Mtu.Get(row); got != test.allowed {
			t.Errorf("%v %.9s, mtu %d: %d, not %d", test.ends, test.keys, test.mtu, got, test.allowed)
		}
	}
}

// TestTransportRefusals: one sentence each, and nothing is written.
func TestTransportRefusals(t *testing.T) {
	out := testbox.HostSA("10.1.0.1", "10.2.0.1", 0x1001, 1, "")
	for _, test := range []struct{ name, text, reason string }{
		{"no bridge", out, "f:1: the SA spi 0x1001 is in transport mode, as no mode means too, and that needs a bridge"},
		{"a tunnel in a bridge", testbox.Bridged + testbox.Tunnel, "f:11: the SA spi 0x1001 is in tunnel mode, whose packets are routed, but red and black are in the bridge br0"},
		{"both directions", testbox.Bridged + out + "xfrm policy add dir out" + testbox.AnyTmpl + "xfrm policy add dir in" + testbox.AnyTmpl, "f:5: the SA spi 0x1001 is named by an out policy and by an in or fwd policy"},
		{"sel", testbox.Bridged + testbox.HostSA("10.1.0.1", "10.2.0.1", 1, 1, "dir out sel proto tcp") + "xfrm policy add src 10.1.0.1 dir out" + testbox.AnyTmpl, "f:6: the policy is wider than the sel of its SA spi 0x1"},
		{"MTU of IPv6", testbox.Bridged + "link set black mtu 1279\n" + testbox.HostSA("2001:db8::1", "2001:db8::2", 1, 1, "dir out"), "f:6: the outbound SA spi 0x1 has IPv6 endpoints, which need an mtu of at least 1280"},
		{"no room", testbox.Bridged + "link set black mtu 80\n" + out + "xfrm policy add src 10.1.0.1 dst 10.2.0.1 dir out" + testbox.AnyTmpl, "f:7: the mtu of black towards 10.2.0.1, 80, leaves packets of SA spi 0x1001 46 bytes"},
	} {
		r := newRig(t, fakebox.Small)
		err := r.Run(test.text)
		if err == nil || !strings.HasPrefix(err.Error(), test.reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.name, err)
		}
		if r.Fake.Writes != 0 {
			t.Errorf("%s: something was written", test.name)
		}
	}
}
