// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// TestResumeFull: if the new nodes do not fit beside the old ones, the table says so and stays as
// it is; once the roots are cleared they fit.
func TestResumeFull(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	s := restart{newChip(), map[netip.Prefix]Hops{}}
	old := map[netip.Prefix]Hops{}
	for _, prefix := range scattered(1000, 20, 64, true) {
		old[prefix] = hops(t, 249)
	}
	s.turn(t, r, NewTable(256), old)
	table, err := Resume(256, s.hw.read)
	if err != nil {
		t.Fatal(err)
	}
	want := map[netip.Prefix]Hops{}
	for _, prefix := range scattered(1000, 8, 32, false) {
		want[prefix] = hops(t, 250)
	}
	before := table.tree.clone()
	var full *FullError
	if _, err := table.Apply(routesOf(want)); !errors.As(err, &full) {
		t.Fatalf("all other routes: %v", err)
	}
	same(t, table.tree, before)
	for _, w := range table.Clear() {
		s.hw.write(t, w)
	}
	s.have = map[netip.Prefix]Hops{}
	s.turn(t, r, table, want)
}

// TestResumeGarbage: rows that make no tree are taken out of look-ups first. The other version's
// packets do not notice.
func TestResumeGarbage(t *testing.T) {
	field := func(lsb, width int) regs.Field { return regs.Field{LSB: lsb, Width: width} }
	for name, spoil := range map[string]func(node, below []uint32){
		"ends fall":           func(node, _ []uint32) { field(0, 64).Put(node, ^uint64(0)-1) },
		"an end is not in it": func(node, _ []uint32) { field(0, 64).Put(node, 0) },
		"node not valid":      func(node, _ []uint32) { field(1016, 1).Put(node, 0) },
		"children not valid":  func(_, below []uint32) { field(240, 1).Put(below, 0) },
		"child shared":        func(_, below []uint32) { field(0, 12).Put(below, field(16, 12).Get(below)) },
		"child out of range":  func(_, below []uint32) { field(0, 12).Put(below, 4095) },
		"no ends left": func(node, below []uint32) {
			for n := range 14 {
				field(64*n, 64).Put(node, ^uint64(0))
				field(896+8*n+8, 8).Put(node, field(896, 8).Get(node))
				field(16*n+16, 12).Put(below, field(0, 12).Get(below))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(4, 4))
			s := after(t, r, 600)
			root := s.hw.tables["prefix_root"][0]
			row := int(regs.PrefixRootRow.Node.Get(root))
			for level := int(regs.PrefixRootRow.Start.Get(root)); level < 3; level++ {
				below := s.hw.tables["prefix_child"][level<<12|row]
				row = int(field(0, 12).Get(below))
			}
			index := 3<<12 | row
			spoil(s.hw.tables["prefix"][index], s.hw.tables["prefix_child"][index])
			table, writes := s.resumed(t)
			if len(writes) < 3 || writes[0].Table != regs.InnerTablePrefixRoot || writes[0].Index != 0 ||
				regs.PrefixRootRow.Valid.Get(writes[0].Row) != 0 {
				t.Fatalf("%d writes do not begin with the root of IPv4", len(writes))
			}
			s.hw.write(t, writes[0])
			for _, w := range writes[1:] {
				if w.Table == regs.InnerTablePrefixRoot && w.Index != 0 {
					t.Error("the root of IPv6 is written")
				}
			}
			want := s.have
			s.have = maps.Clone(want)
			maps.DeleteFunc(s.have, func(prefix netip.Prefix, _ Hops) bool { return prefix.Addr().Is4() })
			s.follow(t, r, writes[1:], want)
			check(t, table.tree)
		})
	}
}

// TestResumeUnreadable: an error of the chip is the caller's to see, wherever it comes.
func TestResumeUnreadable(t *testing.T) {
	s := after(t, rand.New(rand.NewPCG(3, 3)), 300)
	reads := 0
	count := func(table regs.Table, index int) ([]uint32, error) { reads++; return s.hw.read(table, index) }
	if _, err := Resume(256, count); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the link is down")
	for good := range reads {
		left := good
		_, err := Resume(256, func(table regs.Table, index int) ([]uint32, error) {
			if left--; left < 0 {
				return nil, broken
			}
			return s.hw.read(table, index)
		})
		if !errors.Is(err, broken) {
			t.Fatalf("after %d reads: %v", good, err)
		}
	}
}
