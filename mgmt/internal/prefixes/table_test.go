// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// TestRefused: the tree refuses what it cannot hold, with a sentence, and stays as it is.
func TestRefused(t *testing.T) {
	tree := New(256)
	good := Change{netip.MustParsePrefix("10.0.0.0/8"), 1}
	for text, want := range map[string]string{
		"2001:db8::/65": "prefix 2001:db8::/65 is longer than /64",
		"10.1.0.0/8":    "prefix 10.1.0.0/8 has bits behind its length: it must be 10.0.0.0/8",
	} {
		before := tree.clone()
		_, err := tree.Apply(Routes, []Change{good, {netip.MustParsePrefix(text), 1}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		same(t, tree, before)
	}
	if _, err := tree.Apply(Routes, []Change{{netip.Prefix{}, 1}}); err == nil {
		t.Error("no prefix at all was taken")
	}
}

// TestEnds: prefixes whose ends are the first or the last of all addresses, alone and together.
func TestEnds(t *testing.T) {
	tree, hw, want := New(256), newChip(), table{}
	for n, text := range []string{
		"0.0.0.0/0", "::/0", "::/64", "0.0.0.0/32", "255.255.255.255/32", "128.0.0.0/1", "0.0.0.0/1", "8000::/1",
		"ffff:ffff:ffff:ffff::/64", "ffff:ffff:ffff:fffe::/64", "224.0.0.0/4", "ff00::/8",
	} {
		for _, group := range []uint16{1, 0, uint16(n + 2)} {
			change := []Change{{netip.MustParsePrefix(text), group}}
			writes, err := tree.Apply(Routes, change)
			if err != nil {
				t.Fatal(err)
			}
			want.apply(change)
			for _, w := range writes {
				hw.write(t, w)
			}
			for prefix := range want {
				for _, addr := range probes(rand.New(rand.NewPCG(1, 1)), []netip.Prefix{prefix}) {
					if got, now := uint16(hw.lookup(addr)), want.longest(addr); got != now {
						t.Fatalf("%s to %d: %v goes to %d, must be %d", text, group, addr, got, now)
					}
				}
			}
			check(t, tree)
		}
	}
}

// TestNothingChanges: a change to the same is not written, and the last prefix takes the tree with
// it.
func TestNothingChanges(t *testing.T) {
	tree, prefix := New(256), netip.MustParsePrefix("2001:db8::/32")
	if writes, err := tree.Apply(Routes, []Change{{prefix, 0}}); len(writes) > 0 || err != nil {
		t.Errorf("an absent prefix is removed by %v, %v", writes, err)
	}
	if writes, err := tree.Apply(Routes, []Change{{prefix, 9}}); len(writes) != 2 || err != nil {
		t.Errorf("a first prefix takes %d rows, %v", len(writes), err)
	}
	if writes, err := tree.Apply(Routes, []Change{{prefix, 9}}); len(writes) > 0 || err != nil {
		t.Errorf("the same again takes %v, %v", writes, err)
	}
	writes, err := tree.Apply(Routes, []Change{{prefix, 0}})
	if len(writes) != 1 || err != nil || writes[0].Table != regs.InnerTablePrefixRoot || writes[0].Index != 1 ||
		regs.PrefixRootRow.Valid.Get(writes[0].Row) != 0 {
		t.Errorf("the last prefix goes by %v, %v", writes, err)
	}
	if used(tree) != [levels]int{} {
		t.Errorf("rows in use after it: %v", used(tree))
	}
}

// hops makes those of some rows of next_hop.
func hops(t *testing.T, rows ...uint8) Hops {
	t.Helper()
	h, err := Via(rows...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// says is what a chip's row of hop_group has, in the registers' own words.
func says(row []uint32) string {
	f := regs.HopGroupRow
	return fmt.Sprint(f.Hop0.Get(row), f.Hop1.Get(row), f.Hop2.Get(row), f.Hop3.Get(row),
		" last ", f.Last.Get(row), " connected ", f.Connected.Get(row), " valid ", f.Valid.Get(row))
}

func TestHops(t *testing.T) {
	for want, h := range map[string]Hops{
		"7 0 0 0 last 0 connected 0 valid 1": hops(t, 7),
		"1 5 5 9 last 3 connected 0 valid 1": hops(t, 5, 9, 1, 5),
		"0 0 0 0 last 0 connected 1 valid 1": Connected(),
	} {
		if got := says(h.encode()); got != want {
			t.Errorf("the row says %s, not %s", got, want)
		}
		if decode(h.encode()) != h {
			t.Errorf("%s is read as something else", want)
		}
	}
	if decode(make([]uint32, 2)) != (Hops{}) {
		t.Error("a row that is not valid goes somewhere")
	}
	for _, rows := range [][]uint8{nil, {1, 2, 3, 4, 5}} {
		if _, err := Via(rows...); err == nil || !strings.Contains(err.Error(), "give 1 to 4") {
			t.Errorf("Via(%v): %v", rows, err)
		}
	}
}

// TestSharedGroups: prefixes with the same next hops share a row, which is free once the last has
// gone.
func TestSharedGroups(t *testing.T) {
	table, hw := NewTable(256), newChip()
	apply := func(routes ...Route) error {
		writes, err := table.Apply(routes)
		for n, w := range writes {
			if hw.write(t, w); w.Table == regs.InnerTableHopGroup && (n == 0 || writes[n-1].Table == regs.InnerTablePrefixRoot) {
				t.Errorf("write %d of %d: a group is written when nodes of before are just left", n, len(writes))
			}
		}
		return err
	}
	at := func(addr string) string {
		row, _ := hw.read(regs.InnerTableHopGroup, int(hw.lookup(netip.MustParseAddr(addr))))
		return says(row)
	}
	net := func(n int) netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n)}), 16) }
	for n := range lastGroup {
		if err := apply(Route{net(n), hops(t, uint8(n))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(Route{net(255), hops(t, 3)}); err != nil {
		t.Errorf("a second prefix with the hops of another: %v", err)
	}
	tree, groups := table.tree.clone(), *table.groups
	var full *FullError
	err := apply(Route{net(0), Connected()}, Route{net(9), hops(t, 3)})
	if !errors.As(err, &full) || !strings.Contains(err.Error(), "prefix 10.0.0.0/16: all 255 groups") {
		t.Errorf("one set of next hops too many: %v", err)
	}
	err = apply(Route{net(9), hops(t, 3)}, Route{net(3), hops(t, 3)}, Route{netip.MustParsePrefix("::/128"), hops(t, 3)})
	if err == nil {
		t.Error("a prefix of 128 bits was taken")
	}
	same(t, table.tree, tree)
	if table.groups.uses != groups.uses || table.groups.hops != groups.hops || len(table.groups.row) != 256 {
		t.Error("changes that failed left something in the groups")
	}
	if err := apply(Route{net(3), Hops{}}, Route{net(4), hops(t, 4)}, Route{net(5), hops(t, 3)}); err != nil {
		t.Fatal(err)
	}
	if got := at("10.5.1.1") + at("10.255.1.1"); got != strings.Repeat("3 0 0 0 last 0 connected 0 valid 1", 2) {
		t.Error(got)
	}
	// 5's row is free now, from the next change on.
	if err := apply(Route{net(0), Connected()}); err != nil {
		t.Error(err)
	}
	if got := at("10.0.1.1"); got != "0 0 0 0 last 0 connected 1 valid 1" {
		t.Error(got)
	}
	if err := apply(Route{net(0), hops(t, 3)}); err != nil {
		t.Error(err)
	}
	*tree, groups = *table.tree.clone(), *table.groups
	known := len(table.groups.row)
	if err := apply(Route{net(1), hops(t, 98, 99)}, Route{netip.MustParsePrefix("::/128"), hops(t, 3)}); err == nil {
		t.Error("a prefix of 128 bits was taken")
	}
	same(t, table.tree, tree)
	if table.groups.uses != groups.uses || table.groups.hops != groups.hops || len(table.groups.row) != known {
		t.Errorf("changes that failed left something in the %d groups", len(table.groups.row))
	}
	// A batch that names a prefix twice counts its groups once.
	if err := apply(Route{net(0), hops(t, 1)}, Route{net(0), Hops{}}, Route{net(0), hops(t, 2)}); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, uses := range table.groups.uses[1:] {
		total += uses
	}
	if total != len(table.tree.roots[0].leads.to) {
		t.Errorf("%d uses of groups by %d prefixes", total, len(table.tree.roots[0].leads.to))
	}
}
