// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

// TestInnerMTU: the longest packet of each kind of SA, worked out by hand: MTU less headers and
// ICV, down to whole blocks, less two bytes of trailer.
func TestInnerMTU(t *testing.T) {
	const (
		gcm  = `aead "rfc4106(gcm(aes))" 0x` + "000102030405060708090a0b0c0d0e0f10111213 128"
		cbc  = `enc "cbc(aes)" 0x000102030405060708090a0b0c0d0e0f auth-trunc "hmac(sha256)" 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128`
		null = `enc "ecb(cipher_null)" "" auth-trunc "hmac(sha256)" 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128`
	)
	v4, v6 := [2]string{"192.0.2.1", "192.0.2.2"}, [2]string{"2001:db8::1", "2001:db8::2"}
	for _, test := range []struct {
		ends         [2]string
		keys, more   string
		mtu, allowed uint64
	}{
		// 1500 - 20 - 8 - 8 - 16 = 1448, a multiple of 4; 1499 leaves 1447: 1444.
		{v4, gcm, "", 1500, 1446},
		{v4, gcm, "", 1499, 1442},
		{v4, gcm, "encap espinudp 4500 4500 0.0.0.0", 1500, 1438},
		{v6, gcm, "", 1500, 1426},
		// 1500 - 20 - 8 - 16 - 16 = 1440, a multiple of 16.
		{v4, cbc, "", 1500, 1438},
		{v4, cbc, "", 1499, 1422},
		{v6, cbc, "", 1500, 1406},
		{v4, null, "", 1500, 1454},
		// DF is cleared: packets that are too long are cut behind ESP, which holds 9582 bytes:
		// 9582 - 8 - 8 - 16 = 9550, 9548, less 2; 9582 - 8 - 16 - 16 = 9542, 9536, less 2.
		{v4, gcm, "flag nopmtudisc", 1500, 9546},
		{v6, gcm, "flag nopmtudisc", 1500, 9546},
		{v4, gcm, "encap espinudp 4500 4500 0.0.0.0 flag nopmtudisc", 1500, 9546},
		{v4, cbc, "flag nopmtudisc", 1500, 9534},
		// 122 - 52 = 70: 68, less 2; 68 is the least.
		{v4, gcm, "", 124, 70},
		{v4, gcm, "", 122, 66},
	} {
		r := newRig(t, fakebox.Small)
		batch := fmt.Sprintf(`link set dev black mtu %d
xfrm state add src %s dst %s proto esp spi 0x1001 reqid 1 mode tunnel %s %s
xfrm policy add dst 10.0.0.0/8 dir out flag fragment-first tmpl src %s dst %s proto esp reqid 1 mode tunnel`,
			test.mtu, test.ends[0], test.ends[1], test.keys, test.more, test.ends[0], test.ends[1])
		if test.allowed != 0 && test.allowed < 68 {
			if err := r.Run(batch); err == nil || !strings.Contains(err.Error(), "leaves packets of SA spi 0x1001 66 bytes") {
				t.Errorf("%s %d: %v", test.keys[:10], test.mtu, err)
			}
			continue
		}
		r.Must(batch)
		row, f := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0], regs.RuleRow
		if got := f.Mtu.Get(row); got != test.allowed || f.Fragment.Get(row) != 1 {
			t.Errorf("%v %s %s, mtu %d: %d, not %d", test.ends, test.keys[:10], test.more, test.mtu, got, test.allowed)
		}
	}
}

// TestSegmentsFit: with flag mss TCP segments are to fit what the outbound SA carries, and in the
// other direction what an SA like the inbound one would, by the route to its far end.
func TestSegmentsFit(t *testing.T) {
	const gcm = `aead "rfc4106(gcm(aes))" 0x000102030405060708090a0b0c0d0e0f10111213 128`
	rows := func(flag, more string) (out, in uint64, clamps uint64) {
		r := newRig(t, fakebox.Small)
		r.Must(fmt.Sprintf(`link set dev black mtu 1500
route add 192.0.2.2/32 via 192.0.2.9 dev black mtu 1480
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel %[2]s %[3]s
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002 reqid 1 mode tunnel %[4]s
xfrm policy add dst 10.0.0.0/8 dir out %[1]s tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.0.0.0/8 dir in %[1]s tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel`,
			flag, more, gcm, strings.Replace(gcm, "0x0001", "0x0002", 1)))
		rule := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]
		selector := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]
		return regs.RuleRow.Mtu.Get(rule), regs.SelectorRow.Mtu.Get(selector), regs.RuleRow.Clamp.Get(rule)
	}
	// 1480 - 20 - 8 - 8 - 16 = 1428, less 2.
	for _, test := range []struct {
		flag, more      string
		out, in, clamps uint64
	}{
		{"", "", 1426, 0, 0},
		{"flag mss", "", 1426, 1426, 1},
		{"flag mss", "flag nopmtudisc", 9546, 1426, 1}, // the longest in one packet of ESP
	} {
		if out, in, clamps := rows(test.flag, test.more); out != test.out || in != test.in || clamps != test.clamps {
			t.Errorf("%s %s: %d, %d, %d, want %d, %d, %d", test.flag, test.more, out, in, clamps, test.out, test.in, test.clamps)
		}
	}
}

// TestSegmentsFitTwins: of a policy written for in and again for fwd either may have the flag, and
// the row follows when it goes.
func TestSegmentsFitTwins(t *testing.T) {
	const policy = "xfrm policy %s src 10.0.0.0/8 dir %s %s tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel\n"
	for _, flagged := range []string{"in", "fwd"} {
		r := newRig(t, fakebox.Small)
		mtu := func() uint64 {
			return regs.SelectorRow.Mtu.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0])
		}
		r.Must(`link set dev black mtu 1500
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002 reqid 1 mode tunnel aead "rfc4106(gcm(aes))" 0x000102030405060708090a0b0c0d0e0f10111213 128`)
		for _, dir := range []string{"in", "fwd"} {
			r.Must(fmt.Sprintf(policy, "add", dir, map[bool]string{true: "flag mss"}[dir == flagged]))
		}
		if mtu() != 1446 {
			t.Errorf("the flag on %s: %d", flagged, mtu())
		}
		r.Must(fmt.Sprintf(policy, "update", flagged, ""))
		if mtu() != 0 {
			t.Errorf("no flag on %s any more: %d", flagged, mtu())
		}
	}
}

// TestBypassMTU: clear packets are held to the route's MTU or the port's, and cut if they may be.
func TestBypassMTU(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(`link set dev black mtu 1500
route add 10.1.0.0/16 via 192.0.2.9 dev black mtu 1400
xfrm policy add dst 10.1.0.0/16 dir out priority 1 action allow
xfrm policy add dst 10.2.0.0/16 dir out priority 2 action allow
xfrm policy add dst 10.3.0.0/16 dir out priority 3 action block
xfrm policy add src 10.2.0.0/16 dir in action allow`)
	f := regs.RuleRow
	for index, want := range []uint64{1400, 1500, 0} {
		row := r.Fake.Table(transport.Inner, regs.InnerTableRule)[index]
		if f.Mtu.Get(row) != want || f.Fragment.Get(row) != min(want, 1) {
			t.Errorf("rule %d: %d", index, f.Mtu.Get(row))
		}
	}
	if row := r.Fake.Table(transport.Outer, regs.OuterTableRule)[0]; f.Mtu.Get(row) != 0 {
		t.Errorf("a rule of the outer chip has an MTU")
	}
}

// TestRedMTU: red keeps to an MTU of its own; with IPv6 addresses to none below that of IPv6, and
// the old one stays.
func TestRedMTU(t *testing.T) {
	const v6 = "addr add 2001:db8:1::1/64 dev red\n"
	for _, test := range []struct {
		name, before, text, reason string
		mtu                        uint32
	}{
		{"none", "", "addr add 10.1.0.1/24 dev red", "", 9582},
		{"IPv4", "", "addr add 10.1.0.1/24 dev red\nlink set dev red mtu 68", "", 68},
		{"IPv6", "", v6 + "link set dev red mtu 1280", "", 1280},
		{"black's is another's", "", v6 + "link set dev black mtu 1279\nlink set dev red mtu 1500", "", 1500},
		{"too short", v6 + "link set dev red mtu 1500", "link set dev red mtu 1279", "f:1: red has the IPv6 address 2001:db8:1::1/64, which needs an mtu of at least 1280 (RFC 8200, 5), but that of red is 1279", 1500},
		{"an address that comes later", "link set dev red mtu 1279", "addr add 10.1.0.1/24 dev red\n" + v6, "f:2: red has the IPv6 address 2001:db8:1::1/64, which needs an mtu of at least 1280", 1279},
		{"of one link", "link set dev red mtu 1279", "addr add fe80::1/64 dev red", "f:1: red has the IPv6 address fe80::1/64", 1279},
		{"both at once", v6, "addr del 2001:db8:1::1/64 dev red\nlink set dev red mtu 576", "", 576},
		{"no MTU at all", "", "link set dev red mtu 67", "f:1: mtu must be 68 to 9582, not 67", 9582},
	} {
		r := newRig(t, fakebox.Small)
		if test.before != "" {
			r.Must(test.before)
		}
		before, writes := r.Snapshot(), r.Fake.Writes
		err := r.Run(test.text)
		if test.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		} else if err == nil || !strings.HasPrefix(err.Error(), test.reason) || !session.IsInput(err) || r.Snapshot() != before || r.Fake.Writes != writes {
			t.Errorf("%s: %v, %d writes", test.name, err, r.Fake.Writes-writes)
		}
		if got := r.Fake.Get(transport.Inner, regs.InnerPortMtu); got != test.mtu {
			t.Errorf("%s: PORT_MTU is %d", test.name, got)
		}
	}
}
