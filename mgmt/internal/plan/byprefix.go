// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// policies changes the rows of policies by prefix, and the trees that lead to them. Their writes
// stand behind those of rules that come, and before those of rules that go. A policy that ceases to
// be a rule, or becomes one, is in its new place before it leaves the old one. The order is:
//
//  1. new rows, which nothing leads to yet;
//  2. rows that change in place. The row that the tree names of a destination may become the second
//     one. It still has to name its second meanwhile, so it changes in step 4;
//  3. the nodes of the trees, and then their roots;
//  4. rows that have become the second of their destination;
//  5. rows that are gone, which nothing leads to any more.
//
// So a look-up finds the decision of before or the one of after.
//
// Where rows or nodes are too few for the old and the new ones, what goes does so first.
func (w *wayWriter) policies(size int, now map[int]compile.Row) error {
	want := map[int]map[netip.Prefix][]compile.Placed{}
	of := func(network int) map[netip.Prefix][]compile.Placed {
		if want[network] == nil {
			want[network] = map[netip.Prefix][]compile.Placed{}
		}
		return want[network]
	}
	for to, policies := range w.Target.Named {
		of(to.Network)[to.Prefix] = policies
	}
	for network := 0; network <= prefixes.LastNetwork && w.Target.Part == nil; network++ {
		for dst := range w.ways.Table.Policies(network) {
			if _, wanted := of(network)[dst]; !wanted {
				want[network][dst] = nil // it goes
			}
		}
	}
	s := policyStep{wayWriter: w, size: size, now: now, made: map[int]compile.Row{}, in: phaseEarlyRemove, last: phaseEarlyClear}
	if w.removeFirst {
		if err := s.all(want, s.staying); err != nil {
			return err
		}
	}
	s.in, s.last = PhaseInsert, phaseClear
	return s.all(want, func(want map[netip.Prefix][]compile.Placed) map[netip.Prefix][]compile.Placed { return want })
}

// all gives the destinations of each network some of the policies that they are to have.
func (s *policyStep) all(want map[int]map[netip.Prefix][]compile.Placed, some func(want map[netip.Prefix][]compile.Placed) map[netip.Prefix][]compile.Placed) error {
	for _, s.to = range slices.Sorted(maps.Keys(want)) {
		dsts := slices.SortedFunc(maps.Keys(want[s.to]), learned.Compare)
		if err := s.make(dsts, some(want[s.to])); err != nil {
			return err
		}
	}
	s.clear()
	return nil
}

// policyStep leads the chip to the policies by prefix of some destinations.
type policyStep struct {
	*wayWriter
	size      int
	now, made map[int]compile.Row // rows of before, and those that are written
	in, last  phase               // of rows and trees, and of rows that are cleared
	to        int                 // the network of the packets
	gone      []int               // rows that nothing leads to any more
}

// row is what a row holds when all writes are made that there are so far.
func (s *policyStep) row(number int) compile.Row {
	if row, made := s.made[number]; made {
		return row
	}
	return s.now[number]
}

// rowsOf are the rows of a destination: the one that the tree names, and the one that this names.
func (s *policyStep) rowsOf(dst netip.Prefix) (rows []int) {
	first := s.ways.Table.PolicyOf(s.to, dst)
	if first == 0 || s.row(first) == nil {
		return nil
	}
	rows = []int{first}
	if next := int(regs.PrefixPolicyRow.Next.Get(s.row(first))); next != 0 && s.row(next) != nil {
		rows = append(rows, next)
	}
	return rows
}

// sourceOf tells the policies of a destination apart.
func sourceOf(row compile.Row) [2]uint64 {
	return [2]uint64{regs.PrefixPolicyRow.SrcPrefix.Get(row), regs.PrefixPolicyRow.SrcLength.Get(row)}
}

// staying are the rows as they are of those policies that are wanted in the end.
func (s *policyStep) staying(want map[netip.Prefix][]compile.Placed) map[netip.Prefix][]compile.Placed {
	out := map[netip.Prefix][]compile.Placed{}
	for dst, policies := range want {
		out[dst] = nil
		for _, number := range s.rowsOf(dst) {
			row := s.row(number)
			if slices.ContainsFunc(policies, func(p compile.Placed) bool { return sourceOf(p.Row) == sourceOf(row) }) {
				out[dst] = append(out[dst], compile.Placed{Row: row})
			}
		}
	}
	return out
}

// planted is the prefix of a destination whose first row is another, and the policy of that.
type planted struct {
	prefixes.Change
	policy compile.Placed
}

// make adds the writes that give destinations their policies.
func (s *policyStep) make(dsts []netip.Prefix, want map[netip.Prefix][]compile.Placed) error {
	type numbered struct {
		number int
		row    compile.Row
	}
	var fresh, inPlace, behind []numbered
	var gone []int
	var trees []planted
	for _, dst := range dsts {
		policies, have := want[dst], s.rowsOf(dst)
		rows, err := s.place(policies, have)
		if err != nil {
			return err
		}
		change := planted{Change: prefixes.Change{Prefix: dst}}
		for i, policy := range policies {
			row := numbered{rows[i], slices.Clone(policy.Row)}
			regs.PrefixPolicyRow.Next.Put(row.row, 0)
			if i == 0 {
				change.Row, change.policy = uint16(rows[0]), policy
				if len(rows) > 1 {
					regs.PrefixPolicyRow.Next.Put(row.row, uint64(rows[1]))
				}
			}
			switch {
			case !slices.Contains(have, row.number):
				fresh = append(fresh, row)
			case slices.Equal(row.row, s.row(row.number)):
			case i > 0 && row.number == have[0]:
				behind = append(behind, row)
			default:
				inPlace = append(inPlace, row)
			}
		}
		for _, number := range have {
			if !slices.Contains(rows, number) {
				gone = append(gone, number)
			}
		}
		if s.ways.Table.PolicyOf(s.to, dst) != int(change.Row) {
			trees = append(trees, change)
		}
	}
	write := func(rows []numbered) {
		for _, row := range rows {
			s.made[row.number] = row.row
			s.add(Write{Phase: s.in, Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Index: row.number, Row: row.row})
		}
	}
	write(fresh)
	write(inPlace)
	// No two prefixes of a tree may hold each other, so those that go do so first.
	slices.SortStableFunc(trees, func(a, b planted) int { return model.Order(a.Row != 0, b.Row != 0) })
	if err := s.plant(trees); err != nil {
		return err
	}
	write(behind)
	s.gone = append(s.gone, gone...)
	return nil
}

// clear frees the rows that are gone, of all networks, so that none gets one of another meanwhile.
func (s *policyStep) clear() {
	for _, number := range s.gone {
		s.made[number] = nil
		s.ways.Rows.Remove(number)
		s.add(Write{Phase: s.last, Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Index: number})
	}
	s.gone = nil
}

// place gives the policies of a destination their rows: those that they have, or else free ones.
func (s *policyStep) place(policies []compile.Placed, have []int) (rows []int, err error) {
	rows = make([]int, len(policies))
	for i, policy := range policies {
		for _, number := range have {
			if sourceOf(policy.Row) == sourceOf(s.row(number)) && !slices.Contains(rows, number) {
				rows[i] = number
			}
		}
		if rows[i] != 0 {
			continue
		}
		free := s.ways.Rows.Free(1)
		if free >= s.size {
			return nil, &compile.FullError{Err: xfrm.Errorf(policy.Pos, "no room for the policy %s: it goes by prefix, and all %d of the %d rows of the inner chip's table prefix_policy for such policies are in use", policy.Owner, s.ways.Rows.Len(), s.size-1)}
		}
		rows[i] = free
		s.ways.Rows.Add(free)
	}
	return rows, nil
}

// plant changes the trees, all at once if there is room. Routes of Linux give way.
func (s *policyStep) plant(trees []planted) error {
	if len(trees) == 0 {
		return nil
	}
	changes := make([]prefixes.Change, len(trees))
	for i, tree := range trees {
		changes[i] = tree.Change
	}
	writes, err := s.ways.Table.ApplyPolicies(s.to, changes)
	switch {
	case err == nil:
		s.write(s.in, writes)
		return nil
	case !isFull(err):
		return err
	case len(trees) > 1:
		if err := s.plant(trees[:len(trees)/2]); err != nil {
			return err
		}
		return s.plant(trees[len(trees)/2:])
	case s.giveWay():
		return s.plant(trees)
	}
	return &compile.FullError{Err: xfrm.Errorf(trees[0].policy.Pos, "no room for the policy %s: it goes by prefix, and %v", trees[0].policy.Owner, err)}
}

// leastGivingWay is how many routes of Linux leave the tree at once. Each time there are twice as
// many.
const leastGivingWay = 16

// giveWay takes some routes of Linux out of the ports' trees. False if there are none to take.
func (s *policyStep) giveWay() bool { return s.giveWayZero() || s.giveWayApart(0, 0) }

// giveWayZero takes some of network 0, or all routes if they are not known yet. The latter come
// back where there is room.
func (s *policyStep) giveWayZero() bool {
	if !s.stands {
		s.stands = true
		s.clearRoutes()
		return true
	}
	var going []compile.Way
	left := map[netip.Prefix]bool{}
	for r := range s.m.FromLinux[xfrm.Red].All() {
		if len(going) >= max(leastGivingWay, len(s.refused)) {
			break
		}
		way, is := s.m.WayOf(xfrm.Red, r.Prefix)
		if _, has := s.ways.Hops[r.Prefix]; has && is && way.Linux {
			left[r.Prefix] = true
			going = append(going, compile.Way{Route: prefixes.Route{Prefix: r.Prefix}, Linux: true})
		}
	}
	if len(going) == 0 || s.apply(going) != nil {
		return false
	}
	s.changes = slices.DeleteFunc(s.changes, func(way compile.Way) bool { return left[way.Prefix] })
	s.refused = slices.AppendSeq(s.refused, maps.Keys(left))
	return true
}
