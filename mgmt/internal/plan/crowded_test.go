// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// crowdedFlow adds or deletes an exact 5-tuple.
func crowdedFlow(verb string, n int) string {
	rest := map[string]string{"add": " priority 5 action block"}[verb]
	return fmt.Sprintf("xfrm policy %s src 10.9.0.1 dst 10.9.0.2 proto udp sport %d dport 9 dir out%s\n", verb, n, rest)
}

// TestCrowdedLeaksNothing: in a change for which a table has no room beside its old rows, a packet
// leaves in clear at no moment if it leaves so neither before nor after.
func TestCrowdedLeaksNothing(t *testing.T) {
	const (
		base = "addr add 192.0.2.1/24 dev black\n" +
			"xfrm policy add src 10.0.0.0/8 dst 10.1.0.0/16 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n" +
			"xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir out priority 9 action allow\n"
		inside = "xfrm policy %s src 10.0.0.0/8 dst 10.1.1.0/24 dir out%s\n"
	)
	comes, goes := fmt.Sprintf(inside, "add", " priority 4 action block"), fmt.Sprintf(inside, "delete", "")
	for name, test := range map[string]struct {
		bits    uint32
		fill    func(h *heldRig) string
		changes []string
	}{
		"no row by prefix is free": {4, func(h *heldRig) string { h.Must(sites(0, 14)); return "" }, []string{comes, goes}},
		"no flow is free": {7, func(h *heldRig) string {
			n := 0
			for h.Change(crowdedFlow("add", n)) == nil {
				n++
			}
			var away string // enough of them for the one that comes
			for flow := range 20 {
				away += crowdedFlow("delete", flow)
			}
			return away + crowdedFlow("add", n)
		}, []string{comes}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeld(t, named(test.bits))
			h.Must(base)
			also := test.fill(h)
			packet := testbox.Packet{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.2.3"), Proto: 17, SPort: 1, DPort: 2}
			for _, change := range test.changes {
				rules, looks := h.RulesNow(), 0
				h.Fake.OnRow = func(w fakebox.Row) {
					look := func() {
						if looks++; h.clear(rules, packet) {
							t.Errorf("%s: its packet leaves in clear once row %d of %s is %x", change, w.Index, w.Table, w.Words)
						}
					}
					if w.Table == regs.InnerTableRule.Name {
						rules.Write(w.Index, w.Words, look)
					} else if w.Chip == transport.Inner {
						look()
					}
				}
				h.Must(also + change)
				h.Fake.OnRow = nil
				if looks < 5 || h.clear(h.RulesNow(), packet) {
					t.Errorf("%s: %d looks", change, looks)
				}
				if h.Fake.Get(transport.Crypto, regs.CryptoControl)>>regs.CryptoControlBypassEncrypt.LSB&1 == 0 {
					t.Errorf("%s: clear packets stay shut out", change)
				}
			}
		})
	}
}
