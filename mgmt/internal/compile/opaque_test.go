// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"slices"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestOpaqueRows: OPAQUE ports and types in rules, flows and selectors: `upper` is 0 under its
// whole mask.
func TestOpaqueRows(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.WindowedState("add", 1, 64, "") + inPolicy("src 10.2.0.0/16 dst 10.1.0.0/16 proto udp sport opaque") + `
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto tcp sport opaque dport opaque dir out priority 9 action punt
xfrm policy add src 10.1.0.1 dst 10.2.0.2 proto tcp dport opaque dir out priority 7 action block
xfrm policy add src 2001:db8::1 dst 2001:db8::2 proto ipv6-icmp type opaque dir out action punt
xfrm policy add src ::/0 sport opaque dir in priority 9 action block`)
	rule := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]
	wide := "ffffffffffffffffffffffff"
	r.checkRow("rule", rule, slices.Concat(keyed("a010000", "a020000", "0", "0", "6", "4", "0"), decided("0", "9", "1", "3", "1"),
		masks(wide+"ffff0000", wide+"ffff0000", "0", "0", "ff", "f", "f")))
	r.checkRow("rule of any protocol", r.Fake.Table(transport.Outer, regs.OuterTableRule)[0], slices.Concat(keyed("0", "0", "0", "0", "0", "6", "0"),
		decided("0", "9", "1", "0", "0"), masks("0", "0", "0", "0", "0", "f", "f")))
	r.checkSelector("selector", keyed("a020000", "a010000", "0", "0", "11", "4", "0"), 112, 112, [5]string{"ffff", "ffff", "ff", "f", "f"})
	if n := len(r.Fake.Table(transport.Inner, regs.InnerTableFlow)); n != 2 {
		t.Errorf("%d flows", n)
	}
	key := func(src, dst string, proto, last byte) []byte {
		return slices.Concat(testbox.IpBytes(src, 16), testbox.IpBytes(dst, 16), testbox.Le16(0), testbox.Le16(0), []byte{proto, last, 0})
	}
	size := 1 << r.Fake.Get(transport.Inner, regs.CommonCapabilityFlowBits)
	for what, k := range map[string][]byte{"TCP": key("10.1.0.1", "10.2.0.2", 6, 4), "ICMPv6": key("2001:db8::1", "2001:db8::2", 58, 6)} {
		if testbox.Find(r.Fake.Table(transport.Inner, regs.InnerTableFlow), size, k) == nil {
			t.Errorf("there is no flow of opaque %s", what)
		}
	}
}
