// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestRoutesLeakNothing changes batches of written routes and policies, and some policies let clear
// packets pass. Some trees are all but full, and so are some tables of rules. No packet leaves in
// clear meanwhile that leaves in clear neither before nor after.
func TestRoutesLeakNothing(t *testing.T) {
	changes, opened := 0, 0
	for seed := range uint64(12) {
		sizes := sized(8, 6)
		if seed%4 == 2 { // what goes has to go first, again and again
			sizes.Rules, sizes.PolicyBits = 8, 3
		}
		b := newBox(t, sizes)
		c := &changer{Rand: rand.New(rand.NewPCG(seed, 4301))}
		b.Must(network + "xfrm policy add dir out priority 9 action allow\nxfrm policy add src ::/0 dir out priority 9 action allow\n")
		for n := range 3 {
			b.Must("xfrm policy add dir out" + tunnel(n+1))
		}
		full := seed%2 == 1
		if full { // other routes fill the nodes that both trees share
			var filling strings.Builder
			for n := range 1100 {
				fmt.Fprintf(&filling, "route add 20.%d.%d.0/24 dev ipsec%d\n", n/100, n%100*2, 1+n%2)
			}
			b.Must(filling.String())
		}
		for round := range 40 {
			rules, packets := b.RulesNow(), c.packets()
			before, leaks := map[testbox.Packet]bool{}, map[testbox.Packet]string{}
			for _, p := range packets {
				before[p] = b.clear(rules, p)
			}
			b.Fake.OnRow = func(w fakebox.Row) {
				look := func() {
					for _, p := range packets {
						if b.clear(rules, p) {
							leaks[p] = fmt.Sprintf("once row %d of %s is %x", w.Index, w.Table, w.Words)
						}
					}
				}
				if w.Table == regs.InnerTableRule.Name {
					rules.Write(w.Index, w.Words, look)
				} else if w.Chip == transport.Inner {
					look()
				}
			}
			text, err := "", error(nil)
			if round%4 == 3 {
				for range 1 + c.IntN(4) {
					text += c.policy()
				}
				err = b.Change(text)
			} else {
				for range 1 + c.IntN(3) {
					text += c.written()
				}
				err = b.Change(text)
			}
			b.Fake.OnRow = nil
			if err != nil {
				continue
			}
			changes++
			for p, when := range leaks {
				if opened++; !before[p] && !b.clear(b.RulesNow(), p) {
					t.Fatalf("seed %d round %d: %v leaves in clear %s\n%s%s", seed, round, p, when, text, listed(b.model()))
				}
			}
		}
	}
	if t.Log("changes", changes, "packets in clear", opened); changes < 100 || opened < 50 {
		t.Error("too few to show anything")
	}
}

// TestInterfacesComeAndGo: the first interface makes rules of policies by prefix, and the last one
// leaves the tree to them again. No packet leaves in clear meanwhile that a policy protects before
// and after.
func TestInterfacesComeAndGo(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must("addr add 192.0.2.1/24 dev black\nroute add default via 192.0.2.2 dev black\nxfrm policy add dir out priority 9 action allow\n")
	b.Must("xfrm policy add dst 10.2.0.0/16 dir out priority 3" + tunnel(0) + state(1, 0) + "xfrm policy add dst 10.3.0.0/16 dir out priority 3" + tunnel(0))
	packet := testbox.Packet{Src: netip.MustParseAddr("10.1.0.9"), Dst: netip.MustParseAddr("10.2.0.9"), Proto: 6, SPort: 7, DPort: 80}
	rules := b.RulesNow()
	looks := 0
	b.Fake.OnRow = func(w fakebox.Row) {
		look := func() {
			if looks++; b.clear(rules, packet) {
				t.Errorf("it leaves in clear once row %d of %s is %x", w.Index, w.Table, w.Words)
			}
		}
		if w.Table == regs.InnerTableRule.Name {
			rules.Write(w.Index, w.Words, look)
		} else if w.Chip == transport.Inner {
			look()
		}
	}
	for n := range 3 {
		b.Must("link add ipsec1 type xfrm dev black if_id 1\nroute add 10.2.9.0/24 dev ipsec1\nxfrm policy add dir out" + tunnel(1) + state(9+n, 1))
		b.wants("10.2.0.9", "0x1001")
		b.wants("10.2.9.9", "0x1001") // a policy without if_id that protects comes first
		b.wants("10.9.0.9", "clear")
		b.Restart()
		b.Must("xfrm policy flush\nroute del 10.2.9.0/24\nlink delete ipsec1\nxfrm state deleteall reqid 1\nxfrm policy add dir out priority 9 action allow\n" +
			"xfrm policy add dst 10.2.0.0/16 dir out priority 3" + tunnel(0))
		b.wants("10.2.0.9", "0x1001")
		if len(rules) != 1 {
			t.Errorf("%d rules are left", len(rules))
		}
		if rows := len(b.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy)); rows != 1 {
			t.Errorf("%d rows by prefix", rows)
		}
	}
	if looks < 10 {
		t.Error("too few looks")
	}
}

// TestTreeComesAndGoes: a packet that an interface drops, whose policies come and go with it, does
// not leave in clear meanwhile by a policy of the same batch.
func TestTreeComesAndGoes(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must("addr add 192.0.2.1/24 dev black\nroute add default via 192.0.2.2 dev black\n")
	packet := testbox.Packet{Src: netip.MustParseAddr("10.1.0.9"), Dst: netip.MustParseAddr("10.2.0.9"), Proto: 6, SPort: 7, DPort: 80}
	for n := range 2 {
		for _, batch := range []string{
			"link add ipsec1 type xfrm dev black if_id 1\nroute add 10.2.0.0/16 dev ipsec1\nxfrm policy add dst 10.0.0.0/8 dir out priority 9 action allow\n",
			"xfrm policy delete dst 10.0.0.0/8 dir out\nroute del 10.2.0.0/16 dev ipsec1\nlink delete ipsec1\n",
		} {
			rules := b.RulesNow()
			b.Fake.OnRow = func(w fakebox.Row) {
				look := func() {
					if b.clear(rules, packet) {
						t.Errorf("round %d: it leaves in clear once row %d of %s is %x", n, w.Index, w.Table, w.Words)
					}
				}
				if w.Table == regs.InnerTableRule.Name {
					rules.Write(w.Index, w.Words, look)
				} else if w.Chip == transport.Inner {
					look()
				}
			}
			b.Must(batch)
			b.Fake.OnRow = nil
		}
		b.Restart()
	}
}
