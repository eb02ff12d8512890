// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
)

const drainSetup = `addr add 192.0.2.1/24 dev black
neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black
xfrm state add src 192.0.2.1 dst 198.51.100.1 proto esp spi 0x101 reqid 1 mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x0000000000000000000000000000000100000000 128
xfrm state add src 198.51.100.1 dst 192.0.2.1 proto esp spi 0x201 reqid 1 mode tunnel dir in replay-window 64 aead 'rfc4106(gcm(aes))' 0x0000000000000000000000000000000200000000 128
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 198.51.100.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd tmpl src 198.51.100.1 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.1.0.1 dst 203.0.113.1 proto udp sport 1 dport 2 dir out action allow
route add 203.0.113.1 via 192.0.2.2 dev black
`

const (
	newOut = "xfrm state add src 192.0.2.1 dst 198.51.100.1 proto esp spi 0x102 reqid 1 mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x0000000000000000000000000000000300000000 128\n"
	oldOut = "xfrm state delete src 192.0.2.1 dst 198.51.100.1 proto esp spi 0x101\n"
	newIn  = "xfrm state add src 198.51.100.1 dst 192.0.2.1 proto esp spi 0x202 reqid 1 mode tunnel dir in replay-window 64 aead 'rfc4106(gcm(aes))' 0x0000000000000000000000000000000400000000 128\n"
	oldIn  = "xfrm state delete src 198.51.100.1 dst 192.0.2.1 proto esp spi 0x201\n"
)

// TestDrain: packets under way have time to leave before the rows go that flows and rules sent them
// to, and nothing waits otherwise: a rekey in the order of RFC 7296, 2.8, needs no wait.
func TestDrain(t *testing.T) {
	outKey, outerHop := regs.CryptoTableOutboundKey.Name, regs.OuterTableNextHop.Name
	for _, test := range []struct {
		name, before, change string
		// the table that loses a row after the wait; none without a wait
		cleared string
	}{
		{"a new inbound SA", "", newIn, ""},
		{"a new outbound SA", "", newOut, ""},
		{"an SA that no rule leads to any more", newIn + newOut, oldOut + oldIn, ""},
		{"an SA and its successor at once", "", newOut + oldOut, outKey},
		{"an SA for good", "", oldOut, outKey},
		{"all SAs", "", "xfrm state flush\n", outKey},
		{"another way for what bypasses", "", "route del 203.0.113.1 dev black\n", outerHop},
		{"a policy alone", "", "xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out\n", ""},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(drainSetup)
		if test.before != "" {
			r.Must(test.before)
		}
		r.Must(test.change)
		if (test.cleared != "") != (len(r.Fake.Waits) == 1) || len(r.Fake.Waits) > 1 {
			t.Errorf("%s: waits %v", test.name, r.Fake.Waits)
			continue
		}
		if test.cleared == "" {
			continue
		}
		clears := func(row fakebox.Row) bool { return row.Table == test.cleared && testbox.IsZero(row.Words) }
		decides := func(row fakebox.Row) bool { return row.Table == "flow" || row.Table == "rule" }
		first, rest := r.Fake.Log[:r.Fake.Waits[0]], r.Fake.Log[r.Fake.Waits[0]:]
		if !slices.ContainsFunc(first, decides) || slices.ContainsFunc(rest, decides) {
			t.Errorf("%s: decisions change behind the wait, or never", test.name)
		}
		if slices.ContainsFunc(first, clears) || !slices.ContainsFunc(rest, clears) {
			t.Errorf("%s: a row of %s goes before the wait, or never", test.name, test.cleared)
		}
	}
}
