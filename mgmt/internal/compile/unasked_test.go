// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/testbox"
)

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
