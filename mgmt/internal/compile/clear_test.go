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

// TestClearRules: a policy that lets clear packets in is a rule of both chips. The inner chip also
// has the policies that decide before it on some of its packets, and nothing else.
func TestClearRules(t *testing.T) {
	r := newRig(t, fakebox.Small)
	step := func(text, outer, inner string) {
		t.Helper()
		r.Quiet(text)
		r.Want(text+" outer", r.Rules(transport.Outer, regs.OuterTableRule), outer)
		r.Want(text+" inner", r.inboundRules(), inner)
	}
	step("xfrm policy add src 10.3.0.0/16 dir in priority 9 action block\nxfrm policy add src 10.4.0.0/16 dir in priority 9 action punt", "0:discard/0/9 1:punt/0/9", "")
	step("xfrm policy add src 10.2.0.0/16 dir in priority 20 action allow\nxfrm policy add src 10.2.0.0/16 dir fwd priority 20 action allow",
		"0:discard/0/9 1:punt/0/9 2:bypass/0/20", "bypass/0")
	step("xfrm policy add src 10.2.1.0/24 dir in priority 10 action block\nxfrm policy add src 10.2.2.0/24 dir in priority 10 action punt\nxfrm policy add src 10.2.3.0/24 dir in priority 30 action block",
		"0:discard/0/9 1:punt/0/9 2:discard/0/10 3:punt/0/10 4:bypass/0/20 5:discard/0/30", "discard/0 discard/0 bypass/0")
	step("xfrm policy delete src 10.2.0.0/16 dir in\nxfrm policy delete src 10.2.0.0/16 dir fwd",
		"0:discard/0/9 1:punt/0/9 2:discard/0/10 3:punt/0/10 5:discard/0/30", "")
}

// TestClearAndProtected: clear packets of an SA's policy are not let in by a wide one behind it,
// whether the SA has its selector in its row or as rules, or is not there yet.
func TestClearAndProtected(t *testing.T) {
	r := newRig(t, fakebox.Small)
	wide := "xfrm policy add dir in priority 1000 action allow\n"
	r.Must(setPolicy("add", "src 10.2.0.0/16 priority 20", 1) + wide)
	r.Want("no SA", r.selectedBy(0)+": "+r.inboundRules(), "none: discard/0 bypass/0")
	r.Quiet(ends6)
	r.Want("one selector", r.selectedBy(0)+": "+r.inboundRules(), "one: discard/0 bypass/0")
	r.Quiet(setPolicy("add", "src 10.3.0.0/16 priority 30", 1))
	r.Want("two", r.selectedBy(0)+": "+r.inboundRules(), "group 0: protect/0 protect/0 bypass/0")
	r.Quiet("xfrm policy update src 10.2.0.0/16 dir in priority 20 action allow\n")
	r.Want("one let in", r.selectedBy(0)+": "+r.inboundRules(), "one: bypass/0 discard/0 bypass/0")
}

// TestNoRoomForClear: each rule of a policy that lets clear packets in is one of the inner chip's
// inbound rules too. As many as there are fit.
func TestNoRoomForClear(t *testing.T) {
	r := newRig(t, testbox.WithRules(8))
	for n := range 8 {
		r.Quiet(fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir in action allow", n))
	}
	r.Want("full", r.inboundRules(), strings.TrimSpace(strings.Repeat("bypass/0 ", 8)))
	before := r.Snapshot()
	err := r.Run("xfrm policy add src 10.8.0.0/16 dir in action allow")
	if err == nil || !session.IsInput(err) || r.Snapshot() != before {
		t.Errorf("gave %v", err)
	}
}

// TestUnasked: the compiler takes policies whose packets are punted before any look-up, with a
// warning when they come. Decrypted packets are not punted.
func TestUnasked(t *testing.T) {
	for _, test := range []struct {
		words string
		warns bool
	}{
		{"src fe80::/64 dst fe80::/64 dir out", true}, {"dst fe80::1 dir out action block", true}, {"dst febf::/16 dir fwd", true}, {"dst ff02::1 dir in", true}, {"dst ff00::/8 dir out", true},
		{"src ::/0 proto ipv6-icmp type 133-137 dir out", true}, {"src ::/0 proto ipv6-icmp type 135 code 0 dir in", true},
		{"src fe80::/9 dst ::/0 dir out", false}, {"dst fec0::/16 dir out", false}, {"src ff02::/16 dir out", false}, {"dst fe00::/7 dir fwd", false},
		{"src ::/0 proto ipv6-icmp type 132-137 dir out", false}, {"src ::/0 proto ipv6-icmp type 134-138 dir out", false}, {"src ::/0 proto ipv6-icmp dir out", false},
		{"proto icmp type 135 dir out", false}, {"src ::/0 proto 135 type 135 dir out", false}, {"src 10.0.0.0/8 dir out", false},
	} {
		r := newRig(t, fakebox.Small)
		r.Must("xfrm policy add " + test.words)
		if strings.Contains(r.Notes, "f:1: the policy ") != test.warns || test.warns == (r.Notes == "") {
			t.Errorf("%s: notes %q", test.words, r.Notes)
		}
		r.Quiet("xfrm policy add src 10.9.0.0/16 dir out action punt") // once is enough
	}
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.WindowedState("add", 1, 64, "") + inPolicy("src fe80::/64 dst fe80::/64"))
}
