// SPDX-License-Identifier: Apache-2.0

package roster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// node is one of a slot, and its command to be admitted.
func node(slot int) *Node {
	return &Node{Slot: slot, ID: fmt.Sprint("id", slot), Name: fmt.Sprint("box-", slot), Address: fmt.Sprintf("10.0.0.%d:9790", slot+1), Version: 1}
}

func admit(slot int) Command { return Command{Do: Admit, Node: node(slot)} }

func on(do Do, slot int) Command { return Command{Do: do, Slot: slot, ID: fmt.Sprint("id", slot)} }

func founded(slots int) Command { return Command{Do: Found, Cluster: "c", Slots: slots, Node: node(0)} }

// must is a state after commands, and none may be refused.
func must(t testing.TB, s *State, list ...Command) *State {
	t.Helper()
	for _, c := range list {
		next, err := s.Changed(c)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		s = next
	}
	return s
}

// shares are the buckets of each node, with those that it waits for.
func shares(s *State) map[int]int {
	count := map[int]int{}
	for _, p := range s.Places[:Buckets] {
		count[p.Owner]++
	}
	return count
}

// TestShares: with each number of nodes shares differ by one bucket at most, and a node that joins
// or leaves moves no more than its own share.
func TestShares(t *testing.T) {
	for _, slots := range []int{2, 8, 128} {
		s := must(t, New(), founded(slots), on(Up, 0))
		up := 1
		check := func(moved, most int) {
			t.Helper()
			low, high := Buckets, 0
			for slot, n := range shares(s) {
				if slot == None {
					t.Fatalf("%d buckets have no owner", n)
				}
				low, high = min(low, n), max(high, n)
			}
			if high-low > 1 || moved > most {
				t.Errorf("%d nodes have %d to %d buckets; %d moved, more than %d", up, low, high, moved, most)
			}
			if err := s.check(); err != nil {
				t.Error(err)
			}
		}
		move := func(c Command) (moved int) {
			before := *s
			s = must(t, s, c)
			for n, p := range s.Places[:Buckets] {
				if p.Owner != before.Places[n].Owner {
					moved++
				}
			}
			return moved
		}
		for slot := 1; slot < slots; slot++ {
			s = must(t, s, admit(slot))
			up++
			check(move(on(Up, slot)), Buckets/up)
			s = must(t, s, release(s)...)
		}
		for slot := slots - 1; slot > 0; slot-- {
			most := shares(s)[slot]
			up--
			check(move(on([]Do{Down, Drain}[slot%2], slot)), most)
			s = must(t, s, release(s)...)
		}
	}
}

// release has each node let go of all that it has to.
func release(s *State) (list []Command) {
	for _, n := range s.Nodes {
		if s.Releasing(n.Slot) > 0 {
			list = append(list, Command{Do: Released, Slot: n.Slot, ID: n.ID, Generation: s.Generation})
		}
	}
	return list
}

// TestTwoPhases: a living node's bucket is the next one's only once it is let go; a dead one's at
// once. An old answer frees nothing that was to be let go later.
func TestTwoPhases(t *testing.T) {
	s := must(t, New(), founded(2), on(Up, 0), admit(1), on(Up, 1))
	if s.Holds(0).Count() != 128 || s.Holds(1).Count() != 0 || s.Releasing(0) != 128 || !s.Speaks(0) || s.Speaks(1) {
		t.Fatalf("%d and %d held, %d to let go", s.Holds(0).Count(), s.Holds(1).Count(), s.Releasing(0))
	}
	old := Command{Do: Released, Slot: 0, ID: "id0", Generation: s.Generation - 1}
	if next := must(t, s, old); next != s {
		t.Error("an old answer let buckets go")
	}
	moved := must(t, s, release(s)...)
	if moved.Holds(1).Count() != 128 {
		t.Errorf("%d", moved.Holds(1).Count())
	}
	if dead := must(t, s, on(Down, 0)); dead.Holds(1).Count() != 256 || !dead.Speaks(1) {
		t.Errorf("%d", dead.Holds(1).Count())
	}
	back := must(t, s, on(Down, 1))
	if back.Holds(0).Count() != 256 || back.Releasing(0) != 0 {
		t.Errorf("%d came back", back.Holds(0).Count())
	}
	drained := must(t, moved, on(Drain, 0))
	if drained.Holds(0).Count() != 0 || drained.Speaks(1) || drained.Holds(1).Count() != 128 {
		t.Error("a node that is drained has not let go yet")
	}
	if _, err := drained.Changed(on(Remove, 0)); err == nil {
		t.Error("removed before it let go")
	}
	gone := must(t, must(t, drained, release(drained)...), on(Remove, 0))
	if gone.Holds(1).Count() != 256 || !gone.Speaks(1) || len(gone.Nodes) != 1 {
		t.Errorf("%d", gone.Holds(1).Count())
	}
	alone := must(t, gone, on(Down, 1))
	if shares(alone)[None] != Buckets || alone.Speaks(1) {
		t.Error("a dead node has buckets")
	}
}

// TestRefusals: what cannot be is refused in one sentence and changes nothing.
func TestRefusals(t *testing.T) {
	s := must(t, New(), founded(2), on(Up, 0))
	with := func(edit func(*Node)) Command {
		n := node(1)
		edit(n)
		return Command{Do: Admit, Node: n}
	}
	for _, c := range []struct {
		command Command
		want    string
	}{
		{founded(2), "founded already"},
		{Command{Do: Admit}, "names none"},
		{Command{Do: "dance", ID: "id0"}, `there is no command "dance"`},
		{Command{Do: Up, Slot: 1, ID: "id1"}, "slot 1 is not the node's"},
		{Command{Do: Up, Slot: 0, ID: "other"}, "slot 0 is not the node's"},
		{with(func(n *Node) { n.Slot = 2 }), "slot 2 is not one of the cluster's 2"},
		{with(func(n *Node) { n.Slot = -1 }), "-1 is no slot"},
		{with(func(n *Node) { n.Slot, n.Witness = 128, true }), "128 is no slot"},
		{with(func(n *Node) { n.Slot = 0 }), "slot 0 is that of box-0: give box-1 another id, or remove box-0"},
		{with(func(n *Node) { n.Slot, n.Name = 0, "box-0" }), "slot 0 is that of another box-0, which is alive"},
		{with(func(n *Node) { n.Name = "box-0" }), "box-0 has slot 0 already"},
		{with(func(n *Node) { n.ID = "id0" }), "box-0 has slot 0 already"},
		{with(func(n *Node) { n.Address = "box-1" }), `"box-1" is not the address`},
		{with(func(n *Node) { n.ID = "" }), "needs a name and an identity"},
	} {
		next, err := s.Changed(c.command)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || next != s {
			t.Errorf("%+v: %v, want %q", c.command, err, c.want)
		}
	}
	for _, slots := range []int{0, 1, 3, 256} {
		if _, err := New().Changed(founded(slots)); err == nil {
			t.Errorf("founded with %d slots", slots)
		}
	}
	if _, err := New().Changed(admit(1)); err == nil || !strings.Contains(err.Error(), "not founded") {
		t.Error(err)
	}
	// The same box with a new disk has its slot again once the one before is dead.
	again := with(func(n *Node) { n.Slot, n.Name, n.ID = 0, "box-0", "new" })
	if n, _ := must(t, s, on(Down, 0), again).At(0); n.ID != "new" || n.Up {
		t.Errorf("%+v", n)
	}
	// A witness has a slot beyond those of numbers, and no bucket.
	if w := must(t, s, with(func(n *Node) { n.Slot, n.Witness = 5, true }), Command{Do: Up, Slot: 5, ID: "id1"}); w.Holds(5).Count() != 0 || w.Releasing(0) != 0 {
		t.Error("a witness has buckets")
	}
}

// TestDetermined: the same commands give the same state, also through bytes and a snapshot.
func TestDetermined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a, b := New(), New()
	for n := range 3000 {
		c := randomly(r, a)
		a, _ = a.Changed(c)
		decoded, err := Decode(c.Encode())
		if err != nil {
			t.Fatal(err)
		}
		b, _ = b.Changed(decoded)
		if n%100 == 0 {
			if b, err = Restore(b.Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.check(); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := json.Marshal(a)
	other, _ := json.Marshal(b)
	if string(one) != string(other) || a.Generation < 500 {
		t.Errorf("%s\n%s", one, other)
	}
}

func randomly(r *rand.Rand, s *State) Command {
	slot := r.IntN(8)
	switch r.IntN(8) {
	case 0:
		return founded(8)
	case 1:
		return admit(slot)
	case 2, 3:
		return on(Up, slot)
	case 4:
		return on(Down, slot)
	case 5:
		return on([]Do{Drain, Remove}[r.IntN(2)], slot)
	}
	c := on(Released, slot)
	c.Generation = s.Generation - min(s.Generation, r.Uint64N(3))
	return c
}

// FuzzDecode: no bytes of a command or snapshot end the program, or make a state that is none.
func FuzzDecode(f *testing.F) {
	f.Add(founded(8).Encode())
	f.Add(admit(3).Encode())
	f.Add(New().Snapshot())
	f.Add(must(f, New(), founded(8), on(Up, 0), admit(1), on(Up, 1)).Snapshot())
	f.Fuzz(func(t *testing.T, text []byte) {
		s := must(t, New(), founded(8), on(Up, 0), admit(1), on(Up, 1))
		if c, err := Decode(text); err == nil {
			s, _ = s.Changed(c)
			if err := s.check(); err != nil {
				t.Error(err)
			}
		}
		if s, err := Restore(text); err == nil {
			for _, c := range []Command{on(Up, 0), on(Down, 0), admit(2)} {
				s, _ = s.Changed(c)
			}
			if err := s.check(); err != nil {
				t.Error(err)
			}
		}
	})
}
