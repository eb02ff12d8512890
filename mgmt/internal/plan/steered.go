// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// steered changes the trees of routes to XFRM interfaces, of network 0 and of VRFs, and the rows of
// `prefix_policy` that they lead to. The order is:
//
//  1. new rows, which nothing leads to yet, and rows that change in place;
//  2. the nodes of the trees, and then their roots, all at once if there is room;
//  3. rows that are gone.
//
// No row lets clear packets pass. So while rows change, a packet to an interface leaves protected
// or not at all. The crypto chip lets no clear packet pass while the tree changes in parts, for
// some route may be gone before another comes. It lets none pass either while rows get another
// priority, for a policy that lets clear packets pass may come before them.
func (w *wayWriter) steered(size int, now map[int]compile.Row) error {
	want := w.Target.Steering
	s := steerStep{wayWriter: w, size: size, now: now}
	if w.Target.Part == nil {
		w.Shut = w.Shut || w.steersZero() != (len(want.Trees[0]) > 0)
		if w.removeFirst || w.ways.Steered == nil {
			s.adopt(want)
		}
	}
	if err := s.rows(want.Rows); err != nil {
		return err
	}
	if w.Target.Part == nil {
		s.clearTrees(PhaseInsert, want.Trees)
	}
	for _, s.to = range s.turns(want.Trees) {
		if err := s.tree(want.Trees[s.to]); err != nil {
			return err
		}
	}
	s.clear(want)
	return nil
}

// steersZero says whether the chip has a tree of routes to XFRM interfaces for network 0. While one
// comes or goes, rules and the tree are of two times, and a clear packet may find the wrong pair.
func (w *wayWriter) steersZero() bool { return w.m.Changes.Interfaces && w.ways.Table.HasPolicies(0) }

// clearTrees takes the trees of policies from the chip but for those of some networks: beside XFRM
// interfaces other policies are rules.
func (w *wayWriter) clearTrees(in phase, but map[int]steer.Tree) {
	for network := range prefixes.LastNetwork + 1 {
		if _, stays := but[network]; !stays && w.ways.Table.HasPolicies(network) {
			w.write(in, w.ways.Table.ClearPolicies(network))
		}
	}
}

// steerStep leads the chip to the rows of routes to XFRM interfaces.
type steerStep struct {
	*wayWriter
	size    int
	now     map[int]compile.Row // rows of before
	gone    []int               // rows that are cleared behind the trees
	resumed bool                // the trees of a daemon of before are replaced
	to      int                 // the network of the packets
}

// adopt finds out which rows of before are those of leads, where that is not known: rows that say
// the same already. All others are gone, those of policies by prefix among them. Where everything
// that goes has to go first, all are gone.
func (s *steerStep) adopt(want *compile.Steering) {
	s.ways.Steered = map[steer.Lead][]int{}
	if s.removeFirst {
		s.clearTrees(phaseEarlyRemove, nil)
		for number := range s.now {
			s.ways.Rows.Remove(number)
			s.add(Write{Phase: phaseEarlyClear, Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Index: number})
		}
		s.now = nil
		return
	}
	taken := map[int]bool{}
	take := func(lead steer.Lead, number int) {
		all := s.saying(want.Rows[lead], number)
		if all == nil || taken[number] || s.ways.Steered[lead] != nil {
			return
		}
		s.ways.Steered[lead] = all
		for _, n := range all {
			taken[n] = true
		}
	}
	numbers := slices.Sorted(maps.Keys(s.now))
	if s.resumed = s.m.Changes.Interfaces; s.resumed {
		for network, tree := range want.Trees {
			for p, entry := range tree {
				for _, addr := range []netip.Addr{p.Addr(), netipx.PrefixLastIP(p)} {
					if len(want.Rows[entry]) > 0 && longest(tree, addr) == p {
						take(entry, s.ways.Table.PolicyAt(network, addr))
					}
				}
			}
		}
		alike := map[string][]int{}
		seconds := map[int]bool{}
		for _, number := range numbers {
			seconds[nextOf(s.now[number])] = true
		}
		for _, number := range numbers {
			if seconds[number] {
				continue // a lead starts with no such row
			}
			alike[textOf(s.now[number])] = append(alike[textOf(s.now[number])], number)
		}
		for _, lead := range slices.SortedFunc(maps.Keys(want.Rows), steer.Compare) {
			for _, number := range alike[textOf(want.Rows[lead][0].Row)] {
				take(lead, number)
			}
		}
	}
	for _, number := range numbers {
		if !taken[number] {
			s.gone = append(s.gone, number)
		}
	}
}

// longest is the longest prefix of a tree that holds an address.
func longest(tree steer.Tree, addr netip.Addr) (out netip.Prefix) {
	for bits := addr.BitLen(); bits >= 0; bits-- {
		p, _ := addr.Prefix(bits) // has so many bits
		if _, has := tree[p]; has {
			return p
		}
	}
	return out
}

// textOf tells rows apart, whatever their next rows are.
func textOf(row compile.Row) string {
	row = slices.Clone(row)
	regs.PrefixPolicyRow.Next.Put(row, 0)
	return fmt.Sprint(row)
}

// saying are the rows of before from a number on, if they say what some rows are to say.
func (s *steerStep) saying(want []compile.Placed, number int) (all []int) {
	for _, row := range want {
		if number == 0 || textOf(s.now[number]) != textOf(row.Row) {
			return nil
		}
		all = append(all, number)
		number = nextOf(s.now[number])
	}
	if number != 0 {
		return nil
	}
	return all
}

// rows gives leads their rows: those that they have, or else free ones. The second row of a lead is
// there before the first one names it.
func (s *steerStep) rows(want map[steer.Lead][]compile.Placed) error {
	for _, lead := range slices.SortedFunc(maps.Keys(want), steer.Compare) {
		have := s.ways.Steered[lead]
		numbers := slices.Clone(have[:min(len(have), len(want[lead]))])
		for len(numbers) < len(want[lead]) {
			policy := want[lead][len(numbers)]
			free := s.ways.Rows.Free(1)
			if free >= s.size {
				return &compile.FullError{Err: xfrm.Errorf(policy.Pos, "no room for the policy %s of an XFRM interface: all %d of the %d rows of the inner chip's table prefix_policy are in use", policy.Owner, s.ways.Rows.Len(), s.size-1)}
			}
			s.ways.Rows.Add(free)
			numbers = append(numbers, free)
		}
		next := 0
		for i := len(numbers) - 1; i >= 0; i-- {
			row := slices.Clone(want[lead][i].Row)
			regs.PrefixPolicyRow.Next.Put(row, uint64(next))
			if old := s.now[numbers[i]]; i >= len(have) || !slices.Equal(row, old) {
				s.Shut = s.Shut || lead.Network == 0 && i < len(have) && priorityOf(old) != priorityOf(row)
				s.add(Write{Phase: PhaseInsert, Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Index: numbers[i], Row: row})
			}
			next = numbers[i]
		}
		s.gone = append(s.gone, have[min(len(have), len(numbers)):]...)
		s.ways.Steered[lead] = numbers
	}
	return nil
}

func nextOf(row compile.Row) int { return int(regs.PrefixPolicyRow.Next.Get(row)) }

func priorityOf(row compile.Row) uint64 { return regs.PrefixPolicyRow.Priority.Get(row) }

// fork is a prefix of the tree whose row is another.
type fork = prefixes.Change

func (s *steerStep) forkOf(p netip.Prefix, entry steer.Lead) fork {
	f := fork{Prefix: p}
	switch entry.Kind {
	case steer.Unsaid:
	case steer.Elsewhere:
		f.Row = prefixes.Cut
	default:
		f.Row = uint16(s.ways.Steered[entry][0])
	}
	return f
}

// plant makes changes of the tree, all at once; those that leave it come first. Where one root is
// written twice, packets may meet the tree between.
func (s *steerStep) plant(gone, come []fork) error {
	var changes []prefixes.Change
	for _, forks := range [][]fork{gone, come} {
		slices.SortFunc(forks, func(a, b fork) int { return learned.Compare(a.Prefix, b.Prefix) })
		changes = append(changes, forks...)
	}
	writes, err := s.ways.Table.ApplyPolicies(s.to, changes)
	if err != nil {
		return err
	}
	roots := map[int]bool{}
	for _, write := range writes {
		if write.Table.Name == regs.InnerTablePrefixRoot.Name {
			s.Shut = s.Shut || s.to == 0 && roots[write.Index]
			roots[write.Index] = true
		}
	}
	s.write(PhaseInsert, writes)
	return nil
}

// clear frees the rows that nothing leads to any more.
func (s *steerStep) clear(want *compile.Steering) {
	if s.Target.Part == nil {
		for lead, rows := range s.ways.Steered {
			if want.Rows[lead] == nil {
				s.gone = append(s.gone, rows...)
				delete(s.ways.Steered, lead)
			}
		}
	}
	slices.Sort(s.gone)
	for _, number := range s.gone {
		s.ways.Rows.Remove(number)
		s.add(Write{Phase: phaseClear, Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Index: number})
	}
}

// unsteer takes the trees of routes to XFRM interfaces from the chip, with their rows: there are no
// interfaces any more. Policies without if_id are rules until now, and come to the trees again.
func (w *wayWriter) unsteer(now map[int]compile.Row) {
	w.Shut = w.Shut || w.steersZero()
	w.clearTrees(PhaseInsert, nil)
	for _, number := range slices.Sorted(maps.Keys(now)) {
		w.ways.Rows.Remove(number)
		w.add(Write{Phase: PhaseInsert, Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Index: number})
	}
	w.ways.Steered = nil
}
