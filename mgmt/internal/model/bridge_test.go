// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// controlsOf are the CONTROL registers of the three chips.
func (r *rig) controlsOf() [3]uint32 {
	return [3]uint32{r.Fake.Get(transport.Inner, regs.InnerControl), r.Fake.Get(transport.Crypto, regs.CryptoControl), r.Fake.Get(transport.Outer, regs.OuterControl)}
}

// TestBridge: CONTROL of a bridge and of a router, clear packets of both, and that the bridge is
// kept between invocations.
func TestBridge(t *testing.T) {
	r := newRig(t, fakebox.Small)
	clear := "route add default via 192.0.2.9 dev black\nneigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev black\nlink set black mtu 1500\n" +
		"xfrm policy add dst 10.1.0.0/16 dir out action allow\nxfrm policy add dst 10.1.0.0/16 dir in action allow\n"
	check := func(want [3]uint32, argument, mtu uint64) {
		t.Helper()
		if got := r.controlsOf(); got != want {
			t.Errorf("CONTROL is %v, want %v", got, want)
		}
		row, f := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0], regs.RuleRow
		if f.Action.Get(row) != regs.ActionBypass || f.Sa.Get(row) != argument || f.Mtu.Get(row) != mtu || f.Fragment.Get(row) != min(mtu, 1) || f.Transport.Get(row) != 0 {
			t.Errorf("hop %d, mtu %d, fragment %d", f.Sa.Get(row), f.Mtu.Get(row), f.Fragment.Get(row))
		}
		if row := r.Fake.Table(transport.Outer, regs.OuterTableRule)[0]; f.Action.Get(row) != regs.ActionBypass || f.Sa.Get(row) != 0 {
			t.Errorf("the outer chip's rule: action %d, hop %d", f.Action.Get(row), f.Sa.Get(row))
		}
	}
	const router, ports, bump = 7, 3, 8
	r.Quiet(clear)
	check([3]uint32{router, 7, router}, 1, 1500)
	r.Quiet(testbox.Bridged)
	check([3]uint32{ports | bump, 15, ports | bump}, 0, 0)
	// While rows change their meaning nothing is received: CONTROL without rx_enable, and then
	// with bump.
	r.Quiet("link show")
	if !strings.Contains(r.Out, "red up mtu 9582 address 02:72:00:00:00:01 master br0\n") || !strings.Contains(r.Out, "\nbr0 type bridge\n") {
		t.Errorf("the list is\n%s", r.Out)
	}
	r.Quiet("xfrm policy add dst 10.2.0.0/16 dir out action block")
	check([3]uint32{ports | bump, 15, ports | bump}, 0, 0)
	r.Quiet("link set red nomaster\nlink set black nomaster")
	check([3]uint32{router, 7, router}, 1, 1500)
	r.Quiet("link set red master br0\nlink set black master br0")
	check([3]uint32{ports | bump, 15, ports | bump}, 0, 0)
	r.Quiet("link del br0")
	check([3]uint32{router, 7, router}, 1, 1500)
}

// TestBridgeOpensTheCryptoChip: ARP passes it as clear packets do, whatever the policies are.
func TestBridgeOpensTheCryptoChip(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Hosts)
	if got, want := r.controlsOf(), [3]uint32{11, 15, 11}; got != want {
		t.Errorf("CONTROL is %v, want %v", got, want)
	}
	r.Quiet("xfrm state deleteall\nxfrm policy flush\nlink set black nomaster")
	if got, want := r.controlsOf(), [3]uint32{7, 1, 7}; got != want {
		t.Errorf("CONTROL of the router is %v, want %v", got, want)
	}
}

// TestBridgeRestsMeanwhile: a box that becomes a bridge or ceases to be one has both ports off from
// before the first row to after the last.
func TestBridgeRestsMeanwhile(t *testing.T) {
	r := newRig(t, fakebox.Small)
	policy := "xfrm policy add dst 10.1.0.0/16 dir out action allow\n"
	r.Quiet(policy)
	for _, change := range []string{testbox.Bridged, "link del br0\n"} {
		var seen []uint32
		r.Fake.OnRow = func(fakebox.Row) {
			seen = append(seen, (r.Fake.Get(transport.Inner, regs.InnerControl)|r.Fake.Get(transport.Outer, regs.OuterControl))&1)
		}
		r.Quiet(change)
		r.Fake.OnRow = nil
		if len(seen) == 0 || slices.Contains(seen, 1) {
			t.Errorf("after %q: rx_enable while rows were written: %v", change, seen)
		}
		if r.controlsOf()[0]&r.controlsOf()[2]&1 != 1 {
			t.Errorf("after %q the ports are off", change)
		}
	}
}

// TestBridgeHasNoAddress: nothing is the box's unless it has an address; hosts' own IKE passes.
func TestBridgeHasNoAddress(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Hosts)
	if got := r.Fake.Get(transport.Outer, regs.OuterLocalIpv4); got != 0x7F000001 {
		t.Errorf("LOCAL_IPV4 is %08x", got)
	}
	r.Quiet("addr add 10.1.0.9/24 dev black")
	if got := r.Fake.Get(transport.Outer, regs.OuterLocalIpv4); got != 0x0A010009 {
		t.Errorf("LOCAL_IPV4 is %08x", got)
	}
}

// TestBridgeWarnings: of clear IPv6 of one link, neighbour discovery alone asks no policy in
// a bridge.
func TestBridgeWarnings(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Bridged + "xfrm policy add src fe80::/10 dir in action allow\nxfrm policy add dst ff02::/16 dir out action allow\n")
	r.Must("xfrm policy add src ::/0 proto ipv6-icmp type 135 dir in action allow\n")
	if !strings.Contains(r.Notes, "has no effect: neighbour discovery always passes a bridge") {
		t.Errorf("notes: %q", r.Notes)
	}
}

// TestBridgeRefusals: the bridge is whole or not there, and does not go while SAs need it.
func TestBridgeRefusals(t *testing.T) {
	for _, test := range []struct{ name, before, text, reason string }{
		{"half", "", "link add br0 type bridge\nlink set red master br0", "f:2: red is in the bridge br0 and black is not: put both into it in one batch"},
		{"other half", "", "link add br0 type bridge\nlink set black master br0\n", "f:2: black is in the bridge br0 and red is not"},
		{"out and in again", testbox.Bridged, "link set red nomaster\nlink set red master br0", "f:2: red is in the bridge br0 and black is not"},
		{"no bridge", "", "link set red master br0", "f:1: there is no bridge br0: write `link add br0 type bridge` first"},
		{"another bridge", testbox.Bridged, "link set red master br1", "f:1: there is no bridge br1"},
		{"two bridges", testbox.Bridged, "link add br1 type bridge", "f:1: there is a bridge br0 already"},
		{"the same again", testbox.Bridged, "link add br0 type bridge", "f:1: there is a bridge br0 already"},
		{"no such bridge", testbox.Bridged, "link del br1", "f:1: there is no bridge, VLAN, VRF or XFRM interface br1"},
		{"up, but what", testbox.Bridged, "link set br1 up", "f:1: unknown device \"br1\""},
		{"taken away by a port", testbox.Hosts, "addr add 10.9.0.1/24 dev red\nlink set black nomaster", "f:2: the bridge cannot go while there are SAs in transport mode, as spi 0x1001: delete them first"},
		{"taken away", testbox.Hosts, "link del br0", "f:1: the bridge cannot go while there are SAs in transport mode, as spi 0x1001"},
		{"a router with tunnels", testbox.Tunnel, testbox.Bridged, "f:3: the SA spi 0x1001 is in tunnel mode, whose packets are routed"},
	} {
		r := newRig(t, fakebox.Small)
		if test.before != "" {
			r.Must(test.before)
		}
		before, writes := r.Snapshot(), r.Fake.Writes
		err := r.Run(test.text)
		if err == nil || !strings.HasPrefix(err.Error(), test.reason) || !session.IsInput(err) {
			t.Errorf("%s: %v", test.name, err)
		}
		if r.Snapshot() != before || r.Fake.Writes != writes {
			t.Errorf("%s: something was written", test.name)
		}
	}
	// With its SAs it goes.
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Hosts)
	r.Must("xfrm state flush\nxfrm policy flush\nlink del br0")
}
