// SPDX-License-Identifier: Apache-2.0

package model

import (
	"reflect"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// Replace makes the configuration that of some commands, which add and set (xfrm.ParseConfig). SAs
// stay, and so do next hops and path MTUs that were learned, and policies that are wanted as they
// are: their packets are not interrupted, and their counts go on.
func (m *Model) Replace(commands []xfrm.Command) error {
	before := m.Interfaces
	if err := m.PutBack(commands); err != nil {
		return err
	}
	m.Changes.Asked = true
	return m.checkReplaced(before)
}

// PutBack is Replace by the configuration of before: SAs that have come since follow their XFRM
// interface to the VRF that it was in, for refused it would leave a box that cannot be reached.
func (m *Model) PutBack(commands []xfrm.Command) error {
	m.Changes.Network = true
	m.replacing = true
	m.resetNetwork()
	var policies []xfrm.PolicyAdd
	for _, command := range commands {
		if p, is := command.(xfrm.PolicyAdd); is {
			policies = append(policies, p)
		} else if _, err := m.Apply(command, Listing{}); err != nil {
			return err
		}
	}
	m.forgetApart()
	m.replacing = false
	return m.replacePolicies(policies)
}

// resetNetwork makes everything but SAs and policies as it is after a reset. A bucket that was set
// keeps an entry, with which it is written anew.
func (m *Model) resetNetwork() {
	old := m.Network
	m.Network = NewModel().Network
	m.Learned, m.NextAge, m.LastIndex, m.LastNetwork = old.Learned, old.NextAge, old.LastIndex, old.LastNetwork
	for _, b := range Buckets {
		if _, set := old.Punt[b.Dev][b.Group]; set {
			m.setBucket(b, b.reset)
		}
	}
}

// rank is what policies are ordered in by their age.
type rank struct {
	dir      xfrm.Dir
	priority uint32
}

// replacePolicies makes the SPD that of some commands. Of two policies of one priority that share
// packets the first in the list is asked first.
func (m *Model) replacePolicies(commands []xfrm.PolicyAdd) error {
	wanted := map[*Policy]bool{}
	for i := range commands {
		c := &commands[i]
		if err := m.bind(&c.Policy.Selector, c.Policy.IfID, c.Pos); err != nil {
			return err
		}
		wanted[m.Policies.Find(c.Policy.Selector, c.Policy.Dir, c.Policy.IfID)] = true
	}
	m.removePolicies(slices.DeleteFunc(slices.Collect(m.Policies.All()), func(p *Policy) bool { return wanted[p] }))
	lastKept, fresh := map[rank]uint64{}, map[rank][]*Policy{}
	for _, c := range commands {
		of := rank{c.Policy.Dir, c.Policy.Priority}
		old := m.Policies.Find(c.Policy.Selector, c.Policy.Dir, c.Policy.IfID)
		if old != nil && !wanted[old] {
			old = nil // of this list, or kept for it: a second one is refused
		}
		if old != nil {
			delete(wanted, old)
			behind := slices.ContainsFunc(fresh[of], func(p *Policy) bool { return p.Overlaps(old.Selector) })
			if sameAs(old, c.Policy) && old.Age > lastKept[of] && !behind {
				lastKept[of] = old.Age
				continue
			}
			m.removePolicies([]*Policy{old})
		}
		c.Update = false
		if err := m.addPolicy(c); err != nil {
			return err
		}
		fresh[of] = append(fresh[of], m.Policies.Find(c.Policy.Selector, c.Policy.Dir, c.Policy.IfID))
	}
	return nil
}

// sameAs says whether a policy is as one that is written, whose index is any if it has none.
func sameAs(old *Policy, written xfrm.Policy) bool {
	if written.Index == 0 {
		written.Index = old.Index
	}
	return reflect.DeepEqual(old.Policy, written)
}
