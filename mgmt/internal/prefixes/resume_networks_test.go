// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// TestResumeTall: a tree of an older daemon has nodes without ends above its leaf. Look-ups go on,
// and it starts at its leaf from the first change of its ends on.
func TestResumeTall(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	s := restart{newChip(), map[netip.Prefix]Hops{}}
	s.turn(t, r, NewTable(256), map[netip.Prefix]Hops{netip.MustParsePrefix("0.0.0.0/0"): hops(t, 3), netip.MustParsePrefix("10.0.0.0/8"): hops(t, 1)})
	below := uint16(regs.PrefixRootRow.Node.Get(s.hw.tables["prefix_root"][0]))
	for level := leaf - 1; level >= 0; level-- {
		n := node{}
		n.child[0] = below
		below = uint16(level + 1)
		for _, w := range n.encode(Routes, level, below) {
			s.hw.write(t, w)
		}
	}
	s.hw.write(t, (&root{top: top{row: below, valid: true}}).write(0))
	table, writes := s.resumed(t)
	s.follow(t, r, writes, s.have)
	s.turn(t, r, table, map[netip.Prefix]Hops{netip.MustParsePrefix("10.1.0.0/16"): hops(t, 2)})
	if used(table.tree) != [levels]int{leaf: 1} {
		t.Errorf("rows in use: %v", used(table.tree))
	}
}

// TestResumeNetworks: a new daemon changes the trees of networks one after another. Groups of those
// that are still to come stay as they are meanwhile.
func TestResumeNetworks(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	all, hw := NewTable(256), newChip()
	nets := apart(40)
	write := func(writes Writes, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range writes {
			hw.write(t, w)
			for network := 1; network < networks && w.Table != regs.InnerTablePrefix; network++ {
				group, _ := hw.find(4*network, nets[0].Addr())
				if group == 0 {
					continue
				}
				if got := decode(hw.tables["hop_group"][int(group)]); got != hops(t, uint8(network)) {
					t.Fatalf("network %d goes to %v by the group %d", network, got, group)
				}
			}
		}
	}
	order := r.Perm(networks)
	for _, network := range order {
		write(all.ApplyIn(network, []Route{{nets[0], hops(t, uint8(network))}}))
	}
	all, err := Resume(256, hw.read)
	if err != nil {
		t.Fatal(err)
	}
	for network := range networks {
		routes := []Route{{nets[0], hops(t, uint8(network))}}
		for _, p := range nets[1:3] {
			routes = append(routes, Route{p, hops(t, uint8(network), 99)})
		}
		write(all.ApplyIn(network, routes))
	}
	check(t, all.tree)
	write(all.ApplyIn(0, []Route{{nets[0], hops(t, 98)}}))
	uses := 0
	for row := 1; row <= lastGroup; row++ {
		if h := all.groups.hops[row]; all.groups.uses[row] > 0 != (h != Hops{}) {
			t.Errorf("the group %d of %v has %d uses", row, h, all.groups.uses[row])
		}
		uses += all.groups.uses[row]
	}
	if uses != 3*networks {
		t.Errorf("%d uses of groups", uses)
	}
}
