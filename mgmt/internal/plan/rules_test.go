// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// spd is an SPD by the book: the first entry by priority and age that a packet fits decides.
type spd []spdEntry

type spdEntry struct {
	dst      netip.Prefix
	proto    byte
	ports    portSet
	action   string
	priority int
	age      int
}

// portSet is a range of destination ports and the number of its blocks.
type portSet struct{ first, last, blocks int }

var portSets = []portSet{{0, 65535, 1}, {1, 6, 4}, {0, 1023, 1}, {1000, 2000, 8}, {80, 80, 1}}

func (e spdEntry) selector() string {
	text := fmt.Sprintf("dst %s", e.dst)
	if e.proto != 0 {
		text += fmt.Sprintf(" proto %d dport %d-%d", e.proto, e.ports.first, e.ports.last)
	}
	return text
}

func (e spdEntry) decision() string { return fmt.Sprintf("%s/%d", e.action, e.priority) }

func (s spd) sort() {
	slices.SortFunc(s, func(a, b spdEntry) int { return cmp.Or(a.priority-b.priority, a.age-b.age) })
}

func (s spd) index(other spdEntry) int {
	return slices.IndexFunc(s, func(e spdEntry) bool { return e.selector() == other.selector() })
}

func (s spd) decide(dst netip.Addr, proto byte, port int) string {
	for _, e := range s {
		if e.dst.Contains(dst) && (e.proto == 0 || e.proto == proto) && e.ports.first <= port && port <= e.ports.last {
			return e.decision()
		}
	}
	return "none"
}

// rows is how many rules it takes.
func (s spd) rows() (rows int) {
	for _, e := range s {
		rows += e.ports.blocks
	}
	return rows
}

// change makes a batch of random changes, and gives it as commands.
func (s *spd) change(random *rand.Rand, dir string, age int) (commands string) {
	for n := range 1 + random.IntN(5) {
		e := spdEntry{
			dst:      netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(random.IntN(8)) << 5}), 8+random.IntN(4)).Masked(),
			proto:    []byte{0, 6, 17}[random.IntN(3)],
			ports:    portSets[0],
			action:   []string{"allow", "block", "punt"}[random.IntN(3)],
			priority: random.IntN(4), age: age + n,
		}
		if e.proto == 17 {
			e.ports = portSets[int(e.dst.Addr().As4()[1]>>5)%len(portSets)]
		}
		at := s.index(e)
		verb := "add"
		switch {
		case at >= 0 && random.IntN(2) == 0:
			*s = slices.Delete(*s, at, at+1)
			commands += fmt.Sprintf("xfrm policy delete %s dir %s\n", e.selector(), dir)
			continue
		case at >= 0:
			e.age = (*s)[at].age
			(*s)[at], verb = e, "update"
		default:
			*s = append(*s, e)
		}
		commands += fmt.Sprintf("xfrm policy %s %s dir %s priority %d action %s\n", verb, e.selector(), dir, e.priority, e.action)
	}
	s.sort()
	return commands
}

// TestRulesUnderTraffic changes policies at random, each batch an invocation. At each moment every
// packet gets the decision that it got before or the one that it gets in the end.
func TestRulesUnderTraffic(t *testing.T) {
	f := regs.RuleRow
	actions := map[uint64]string{regs.ActionBypass: "allow", regs.ActionDiscard: "block", regs.ActionPunt: "punt"}
	for seed, test := range []struct {
		dir   string
		c     transport.Chip
		table regs.Table
		rules int
	}{
		{"out", transport.Inner, regs.InnerTableRule, 8}, {"out", transport.Inner, regs.InnerTableRule, 64},
		{"fwd", transport.Outer, regs.OuterTableRule, 16}, {"fwd", transport.Outer, regs.OuterTableRule, 1024},
	} {
		r := newRig(t, testbox.WithRules(uint32(test.rules)))
		random := rand.New(rand.NewPCG(5, uint64(seed)))
		var old spd
		full := 0
		for round := range 100 {
			fresh := slices.Clone(old)
			batch := fresh.change(random, test.dir, 10*round)
			now := fakebox.Ternary(maps.Clone(r.Fake.Table(test.c, test.table)))
			before := r.Fake.Writes
			if err := r.Run(batch); err != nil {
				if full++; fresh.rows() < test.rules || !strings.Contains(err.Error(), "no room") || r.Fake.Writes != before {
					t.Fatalf("policies of %d rows for %d rules, %d writes: %v", fresh.rows(), test.rules, r.Fake.Writes-before, err)
				}
				continue
			}
			// Old rules leave first if not all fit.
			stay := slices.DeleteFunc(slices.Clone(old), func(e spdEntry) bool { return fresh.index(e) < 0 })
			tight := old.rows()+fresh.rows()-stay.rows() >= test.rules
			writes := r.Fake.LogOf(test.table)
			for n, w := range writes {
				now.Write(w.Index, w.Words, func() {
					for packet := range 32 {
						dst, proto := netip.AddrFrom4([4]byte{10, byte(packet) << 4 & 0xE0, 3, 4}), byte(6+packet%2*11)
						port := []int{3, 80, 1010, 7}[(packet/16+n)%4]
						key := make([]uint32, 10)
						regs.FlowRow.DstAddr.PutBytes(key, testbox.IpBytes(dst.String(), 16))
						regs.FlowRow.DstPort.Put(key, uint64(port))
						regs.FlowRow.Protocol.Put(key, uint64(proto))
						regs.FlowRow.Version.Put(key, 4)
						regs.FlowRow.Upper.Put(key, regs.UpperPorts)
						got := "none"
						if row := now.First(func(row []uint32) bool { return fakebox.Matches(row, key) }); row != nil {
							got = fmt.Sprintf("%s/%d", actions[f.Action.Get(row)], f.Priority.Get(row))
						}
						want := []string{old.decide(dst, proto, port), fresh.decide(dst, proto, port), stay.decide(dst, proto, port)}
						if !tight {
							want = want[:2]
						}
						if !slices.Contains(want, got) {
							t.Fatalf("round %d, write %d of %d: %s proto %d port %d sees %s, not one of %s\n%s", round, n, len(writes), dst, proto, port, got, want, batch)
						}
					}
				})
			}
			if !maps.EqualFunc(now, r.Fake.Table(test.c, test.table), slices.Equal) {
				t.Fatal("not all rows written are in the log")
			}
			var want, got []string
			for _, e := range fresh {
				want = append(want, slices.Repeat([]string{e.decision()}, e.ports.blocks)...)
			}
			for _, index := range slices.Sorted(maps.Keys(now)) {
				got = append(got, fmt.Sprintf("%s/%d", actions[f.Action.Get(now[index])], f.Priority.Get(now[index])))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: rules are\n%s, want\n%s", round, got, want)
			}
			old = fresh
		}
		if (full > 0) != (test.rules < 40) {
			t.Errorf("%d rules were full %d times", test.rules, full)
		}
	}
}

// numbered adds or updates one of many policies that do not meet, and gone deletes it.
func numbered(verb string, i, priority int) string {
	return fmt.Sprintf("xfrm policy %s src 10.%d.%d.0/24 dir out priority %d action block\n", verb, i/256, i%256, priority)
}

func gone(i int) string {
	return fmt.Sprintf("xfrm policy delete src 10.%d.%d.0/24 dir out\n", i/256, i%256)
}

// TestManyRules fills the largest table, to just below its end, to its end and beyond.
func TestManyRules(t *testing.T) {
	const size = 1024
	r := newRig(t, testbox.WithRules(size))
	load := func(from, to int) (text string) {
		for i := from; i < to; i++ {
			text += numbered("add", i, 10*(i/2))
		}
		return text
	}
	count := func(rules, writes int) {
		t.Helper()
		rows := r.Fake.Table(transport.Inner, regs.InnerTableRule)
		log := r.Fake.LogOf(regs.InnerTableRule)
		if len(rows) != rules || writes >= 0 && len(log) != writes {
			t.Errorf("%d rules after %d writes, want %d after %d", len(rows), len(log), rules, writes)
		}
		last := 0
		for _, index := range slices.Sorted(maps.Keys(rows)) {
			priority := int(regs.RuleRow.Priority.Get(rows[index]))
			if priority < last {
				t.Fatalf("row %d has priority %d, below %d", index, priority, last)
			}
			last = priority
		}
	}
	refused := func(text, reason string) {
		t.Helper()
		before, writes := r.Snapshot(), r.Fake.Writes
		if err := r.Run(text); err == nil || !strings.Contains(err.Error(), reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, reason)
		}
		if r.Fake.Writes != writes || r.Snapshot() != before {
			t.Error("something was written")
		}
	}
	r.Quiet(load(0, 100))
	count(100, 100)
	r.Quiet(numbered("add", 2000, 255))
	r.Quiet(numbered("add", 2001, 20000))
	r.Quiet(numbered("add", 2002, 0))
	count(103, 1) // there is room between rules and at both ends
	r.Quiet(gone(2000) + gone(2001) + gone(2002))
	count(100, 3)
	r.Quiet(load(100, size-1))
	count(size-1, -1)
	r.Quiet(numbered("update", 7, 9000))
	count(size-1, -1) // one free row is enough to move through
	r.Quiet(numbered("update", 7, 30))
	r.Quiet(load(size-1, size))
	count(size, -1)

	refused(numbered("add", 2000, 77), "f:1: no room for the policy src 10.7.208.0/24 dst 0.0.0.0/0: it needs 1 of the 1024 rules of the inner chip, and 0 are free")
	refused(load(size, size+1), "f:1: no room for the policy")
	refused(numbered("update", 7, 9000), "f:1: no room to move the policy src 10.0.7.0/24 dst 0.0.0.0/0 to its new place: the table of 1024 rules of the inner chip is full")
	r.Quiet(strings.Replace(numbered("update", 7, 31), "block", "punt", 1))
	count(size, 1)
	r.Quiet(gone(512) + numbered("update", 7, 9000))
	count(size-1, -1)
	r.Quiet("xfrm policy flush")
	count(0, size-1)
	refused(load(0, size+1), "f:1025: no room for the policy")
	r.Quiet(load(0, size))
	count(size, size)
}

// TestUnfinishedShift: a change that broke off while rules stood in two rows leaves them in their
// order, each once.
func TestUnfinishedShift(t *testing.T) {
	r := newRig(t, testbox.WithRules(64))
	r.Quiet(numbered("add", 1, 1) + numbered("add", 2, 2) + numbered("add", 3, 3))
	r.Fake.FailAfter = 150
	if err := r.Run(numbered("add", 0, 0)); err == nil || !strings.Contains(err.Error(), "did not finish") {
		t.Fatal(err)
	}
	if writes := len(r.Fake.LogOf(regs.InnerTableRule)); writes < 1 || writes > 3 {
		t.Fatalf("the bus failed after %d rows", writes)
	}
	r.Fake.FailAfter = 0
	r.Must(numbered("add", 4, 4))
	r.Want("rules", r.Rules(transport.Inner, regs.InnerTableRule), "0:discard/0/1 1:discard/0/2 2:discard/0/3 3:discard/0/4")
}
