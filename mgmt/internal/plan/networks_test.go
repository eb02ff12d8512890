// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// threeTunnels are three tunnels, of reqid 1 to 3 and in rows 0 to 2.
func threeTunnels() string {
	text := "addr add 192.0.2.1/24 dev black\nlink add link red name red.7 type vlan id 7\n"
	for reqid := 1; reqid <= 3; reqid++ {
		text += testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1000+reqid, reqid, "dir out") + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2000+reqid, reqid, "dir in")
	}
	return text
}

// to is a change of an out policy that leads to the SA of a reqid.
func to(verb, words string, reqid int) string {
	return fmt.Sprintf("xfrm policy %s %s dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel\n", verb, words, reqid)
}

// fate is what becomes of a packet: "drop", or the action of its row and to what.
func fate(r *rig, rules fakebox.Ternary, p testbox.Packet) string {
	row, err := r.Decide(rules, p)
	if err != nil {
		r.T.Fatal(err)
	}
	f := regs.FlowRow
	if row == nil || f.Action.Get(row) == regs.ActionDiscard {
		return "drop"
	}
	return fmt.Sprintf("%s %d", regs.ActionNames[uint32(f.Action.Get(row))], f.Sa.Get(row))
}

// TestVLANChangesNetwork: while a VLAN goes into a VRF, out of one, or from one to another, its
// packets meet the policies of before, those of behind, or none, whatever else the batch changes.
func TestVLANChangesNetwork(t *testing.T) {
	const vrfs = "link add blue type vrf table 10\nlink add green type vrf table 20\n"
	const nets = "src 10.1.0.0/16 dst 10.2.0.0/16"
	open := "xfrm policy %s src 10.0.0.0/8 dst 10.0.0.0/8 dir out priority 1\n"
	for what, test := range map[string]struct{ before, change, was, is string }{
		"into a VRF, and others may leave in clear": {
			to("add", nets, 1), "link set red.7 master blue\n" + to("add", nets+" dev blue", 2) + fmt.Sprintf(open, "add"), "protect 0", "protect 1",
		},
		"out of a VRF, and no others may leave in clear": {
			"link set red.7 master blue\n" + to("add", nets, 1) + to("add", nets+" dev blue", 2) + fmt.Sprintf(open, "add"),
			"link set red.7 nomaster\nxfrm policy delete " + nets + " dev blue dir out\n" + strings.Replace(fmt.Sprintf(open, "delete"), " priority 1", "", 1), "protect 1", "protect 0",
		},
		"from one VRF to another, which gets other policies": {
			"link set red.7 master blue\n" + to("add", nets+" dev blue", 1) + to("add", "src 10.0.0.0/8 dst 10.0.0.0/8 dev green", 2),
			"link set red.7 master green\n" + to("add", nets+" dev green", 3) + "xfrm policy update " + nets + " dev green dir out priority 1 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 3 mode tunnel\nxfrm policy delete " + nets + " dev blue dir out\n",
			"protect 0", "protect 2",
		},
		"into a VRF alone": {to("add", nets, 1) + to("add", nets+" dev blue", 2), "link set red.7 master blue\n", "protect 0", "protect 1"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, fakebox.Small)
			r.Must(threeTunnels() + vrfs + test.before)
			packet := testbox.Packet{Src: netip.MustParseAddr("10.1.0.9"), Dst: netip.MustParseAddr("10.2.0.9"), Proto: 17, SPort: 1, DPort: 2, VLAN: 7}
			rules, looks := r.RulesNow(), 0
			r.Want("before", fate(r, rules, packet), test.was)
			r.Fake.OnRow = func(w fakebox.Row) {
				look := func() {
					looks++
					if got := fate(r, rules, packet); !slices.Contains([]string{test.was, test.is, "drop"}, got) {
						t.Errorf("%s once row %d of %s is %x", got, w.Index, w.Table, w.Words)
					}
				}
				if w.Table == regs.InnerTableRule.Name {
					rules.Write(w.Index, w.Words, look)
				} else if w.Chip == transport.Inner {
					look()
				}
			}
			r.Must(test.change)
			r.Fake.OnRow = nil
			r.Want("behind", fate(r, r.RulesNow(), packet), test.is)
			if looks == 0 {
				t.Error("nothing was written")
			}
			if writes := len(r.Fake.LogOf(regs.InnerTableNetwork)); what == "into a VRF alone" && writes != 1 {
				t.Errorf("%d rows of network were written", writes)
			}
		})
	}
}
