// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// Apply carries one command out on the model and returns what it prints.
func (m *Model) Apply(command xfrm.Command, l Listing) (string, error) {
	if ofNetwork(command) {
		m.Changes.Network, m.Changes.Asked = true, !m.replacing
	}
	switch c := command.(type) {
	case xfrm.StateAdd:
		return "", m.addState(c)
	case xfrm.StateSelect:
		return m.selectStates(c, l)
	case xfrm.StateFlush:
		m.RemoveSAs(slices.Collect(m.SAs.All()))
	case xfrm.StateCount:
		n := m.SAs.Len()
		return l.count(fmt.Sprintf("\t SAD count %d\n", n), map[string]int{"count": n})
	case xfrm.PolicyAdd:
		m.Changes.Asked = true
		return "", m.addPolicy(c)
	case xfrm.PolicySelect:
		return m.selectPolicies(c, l)
	case xfrm.PolicyFlush:
		m.removePoliciesAnd(c.Orphans, slices.Collect(m.Policies.All()))
	case xfrm.PolicyCount:
		in, out, fwd := m.Policies.Count(xfrm.DirIn), m.Policies.Count(xfrm.DirOut), m.Policies.Count(xfrm.DirFwd)
		return l.count(fmt.Sprintf("\t SPD IN  %d OUT %d FWD %d\n", in, out, fwd), map[string]int{"in": in, "out": out, "fwd": fwd})
	case xfrm.Addr:
		return "", m.addr(c)
	case xfrm.Link:
		return "", m.link(c)
	case xfrm.Bridge:
		return "", m.addBridge(c)
	case xfrm.VLAN:
		return "", m.addVLAN(c)
	case xfrm.Interface:
		return "", m.addInterface(c)
	case xfrm.VRF:
		return "", m.addVRF(c)
	case xfrm.LinkDelete:
		return "", m.deleteLink(c)
	case xfrm.Route:
		return "", m.route(c)
	case xfrm.Neigh:
		return "", m.neigh(c)
	case xfrm.NextHop:
		m.Links[c.Dev].Default = &c.MAC
	case xfrm.Reassembly:
		m.Reassembly.Timeout = cmp.Or(c.Timeout, m.Reassembly.Timeout)
		m.Reassembly.PerSource = cmp.Or(c.PerSource, m.Reassembly.PerSource)
	case xfrm.PuntSet:
		return "", m.setPunt(c)
	case xfrm.QoS:
		m.Priority = &c.Marked
	case xfrm.SkipHeaders:
		return "", m.setSkipped(c)
	case xfrm.Show:
		if c.What == "vrf" {
			return m.showVRFs(l)
		}
		if l.JSON {
			return jsonLine(m.object(c.What))
		}
		return m.show(c.What), nil
	default:
		// Only the parser makes commands, and every kind of them has its case above: no user can
		// come here.
		panic(fmt.Sprintf("apply has no case for %T", c))
	}
	return "", nil
}

// ofNetwork says whether a command changes anything but SAs and policies.
func ofNetwork(command xfrm.Command) bool {
	switch command.(type) {
	case xfrm.StateAdd, xfrm.StateSelect, xfrm.StateFlush, xfrm.StateCount, xfrm.PolicyAdd, xfrm.PolicySelect, xfrm.PolicyFlush, xfrm.PolicyCount, xfrm.Show:
		return false
	}
	return true
}

func (m *Model) addState(c xfrm.StateAdd) error {
	old := m.SAs.Find(c.State.ID)
	switch {
	case old != nil && !c.Update:
		where := "it is installed already"
		if old.Pos.Line > 0 {
			where = fmt.Sprintf("the first is in line %d", old.Pos.Line)
		}
		return xfrm.Errorf(c.Pos, "a second SA with dst %s proto %s spi 0x%x: %s", c.State.Dst, c.State.Proto, c.State.SPI, where)
	case old == nil && c.Update:
		return xfrm.Errorf(c.Pos, "there is no SA with dst %s proto %s spi 0x%x to update", c.State.Dst, c.State.Proto, c.State.SPI)
	}
	sa := &SA{State: c.State, Age: m.age(), Pos: c.Pos, Fresh: true}
	if m.inheritPath(sa); old != nil {
		if old.Path != nil {
			sa.Path = old.Path
		}
		m.RemoveSAs([]*SA{old})
	}
	m.insertSA(sa)
	return nil
}

func (m *Model) selectStates(c xfrm.StateSelect, l Listing) (string, error) {
	found := m.matching(c)
	if len(found) == 0 && c.Verb <= xfrm.Get {
		return "", xfrm.Errorf(c.Pos, "there is no SA with dst %s proto %s spi 0x%x", c.Filter.Dst.Addr(), c.Filter.Proto, c.Filter.SPI)
	}
	if c.Verb.Removes() {
		m.RemoveSAs(found)
		return "", nil
	}
	if c.Verb != xfrm.Get {
		l.Sequence = nil
	}
	return printAll(l, slices.Values(found), m.DescribeSA, m.stateObject)
}

// matching are the SAs that a command is about. One that is named by destination, protocol and SPI
// is found at once.
func (m *Model) matching(c xfrm.StateSelect) (found []*SA) {
	if c.Verb <= xfrm.Get {
		if sa := m.SAs.Find(c.Filter.ID()); sa != nil && c.Filter.Match(&sa.State) {
			found = append(found, sa)
		}
		return found
	}
	return passing(m.SAs.All(), func(sa *SA) bool { return c.Filter.Match(&sa.State) })
}

// passing are those that a filter lets pass.
func passing[V any](all iter.Seq[V], match func(V) bool) (found []V) {
	for v := range all {
		if match(v) {
			found = append(found, v)
		}
	}
	return found
}

// kernelDir is the number that Linux has for a direction; the low bits of a policy's index hold it.
var kernelDir = map[xfrm.Dir]uint32{xfrm.DirIn: 0, xfrm.DirOut: 1, xfrm.DirFwd: 2}

func (m *Model) addPolicy(c xfrm.PolicyAdd) error {
	p := &Policy{Policy: c.Policy, Age: m.age(), Pos: c.Pos, Fresh: true}
	if p.VRF != "" && m.vrf(p.VRF) == nil {
		return m.noVRF(p.VRF, c.Pos)
	}
	if err := m.bind(&p.Selector, p.IfID, c.Pos); err != nil {
		return err
	}
	old := m.Policies.Find(p.Selector, p.Dir, p.IfID)
	if old != nil && !c.Update {
		where := "it is installed already"
		if old.Pos.Line > 0 {
			where = fmt.Sprintf("the first is in line %d", old.Pos.Line)
		}
		return xfrm.Errorf(c.Pos, "a second policy with dir %s and selector %s: %s", p.Dir, p.Selector, where)
	}
	if p.Index != 0 && p.Index&7 != kernelDir[p.Dir] {
		return xfrm.Errorf(c.Pos, "index %d does not fit dir %s: its three low bits must be %d, as in Linux", p.Index, p.Dir, kernelDir[p.Dir])
	}
	taken := func() bool {
		other, _ := m.Policies.index.Get(p.Index)
		return other != nil && other != old
	}
	if p.Index == 0 {
		p.Index = m.LastIndex&^7 | kernelDir[p.Dir]
		if old != nil {
			p.Index = old.Index
		}
		for p.Index < 8 || taken() {
			p.Index += 8
		}
		m.LastIndex = max(m.LastIndex, p.Index)
	}
	if taken() {
		return xfrm.Errorf(c.Pos, "a second policy with index %d", p.Index)
	}
	if old != nil {
		p.Age = old.Age
		m.removePolicies([]*Policy{old})
	}
	m.insertPolicy(p)
	if old != nil && c.Orphans.Delete {
		m.removeOrphans([]*Policy{old})
	}
	return nil
}

func (m *Model) selectPolicies(c xfrm.PolicySelect, l Listing) (string, error) {
	found, err := m.matchingPolicies(c)
	if err != nil {
		return "", err
	}
	if len(found) == 0 && c.Verb <= xfrm.Get {
		return "", xfrm.Errorf(c.Pos, "there is no such policy with dir %s", c.Filter.Dir)
	}
	if c.Verb.Removes() {
		m.removePoliciesAnd(c.Orphans, found)
		return "", nil
	}
	return printAll(l, slices.Values(found), l.policyText(m), m.policyObject)
}

// matchingPolicies are those that a command is about. One that is named by selector or index is
// found at once.
func (m *Model) matchingPolicies(c xfrm.PolicySelect) (found []*Policy, err error) {
	if c.Verb <= xfrm.Get {
		p, _ := m.Policies.index.Get(c.Filter.Index)
		if c.Filter.HasSel {
			if p, err = m.FindPolicy(c.Filter, c.Pos); err != nil {
				return nil, err
			}
		}
		if p != nil && p.Dir == c.Filter.Dir && p.IfID == c.Filter.IfID {
			found = append(found, p)
		}
		return found, nil
	}
	return passing(m.Policies.All(), func(p *Policy) bool { return c.Filter.Match(&p.Policy) }), nil
}
