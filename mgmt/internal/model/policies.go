// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/tidwall/btree"

	"sallyport/mgmt/internal/byprefix"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// Policies are the SPD of a model, in the order in which they were written last: trees as SAs.
type Policies struct {
	places *btree.Map[uint64, *Policy]
	keys   *btree.Map[string, *Policy]
	index  *btree.Map[uint32, *Policy]
	ends   *btree.BTreeG[template]
	fars   *btree.BTreeG[far]
	in     *btree.BTreeG[shaped]       // in and fwd policies by what they are for
	shapes map[shape]int               // of these, and how many have each
	plain  *btree.Map[uint64, *Policy] // in and fwd policies without a template
	choice map[string]*byprefix.Index  // by VRF, of out policies without if_id that are no flow
	// routed are out policies with if_id, by that and their destination, then in the SPD's order;
	// clear are those without that let packets pass, in the SPD's order.
	routed, clear *btree.BTreeG[*Policy]
	count         map[xfrm.Dir]int
	last          uint64 // place of the last
}

// template is a policy by the SAs that it names.
type template struct {
	ends
	place uint64
	p     *Policy
}

// NewPolicies is none.
func NewPolicies() Policies {
	return Policies{
		places: &btree.Map[uint64, *Policy]{}, keys: &btree.Map[string, *Policy]{}, index: &btree.Map[uint32, *Policy]{}, plain: &btree.Map[uint64, *Policy]{}, choice: map[string]*byprefix.Index{},
		ends: newTree(func(a, b template) int { return cmp.Or(a.ends.compare(b.ends), cmp.Compare(a.place, b.place)) }),
		fars: newFars(), in: newTree(shaped.compare), shapes: map[shape]int{}, count: map[xfrm.Dir]int{},
		routed: newTree(compareRouted), clear: newTree(compareSPD),
	}
}

func (s *Policies) copy() Policies {
	return Policies{s.places.Copy(), s.keys.Copy(), s.index.Copy(), s.ends.Copy(), s.fars.Copy(), s.in.Copy(), maps.Clone(s.shapes), s.plain.Copy(), s.copyChoice(), s.routed.Copy(), s.clear.Copy(), maps.Clone(s.count), s.last}
}

// copyChoice leaves out the VRFs that no longer have such policies.
func (s *Policies) copyChoice() map[string]*byprefix.Index {
	out := map[string]*byprefix.Index{}
	for vrf, index := range s.choice {
		if !index.Empty() {
			c := index.Copy()
			out[vrf] = &c
		}
	}
	return out
}

// choiceOf is the index of the VRF of a policy.
func (s *Policies) choiceOf(vrf string) *byprefix.Index {
	index := s.choice[vrf]
	if index == nil {
		fresh := byprefix.New()
		index = &fresh
		s.choice[vrf] = index
	}
	return index
}

// Len is their number.
func (s *Policies) Len() int { return s.places.Len() }

// Count is the number of a direction.
func (s *Policies) Count(dir xfrm.Dir) int { return s.count[dir] }

// All gives them in the order in which they were written.
func (s *Policies) All() iter.Seq[*Policy] { return values(s.places) }

// Plain are the in and fwd policies without a template.
func (s *Policies) Plain() iter.Seq[*Policy] { return values(s.plain) }

// Rules are the out policies that are no flow of the inner chip, and do not go by prefix (package
// byprefix).
func (s *Policies) Rules() []*Policy { return s.chosen((*byprefix.Index).Rules) }

// Named are the out policies that go by prefix.
func (s *Policies) Named() []*Policy { return s.chosen((*byprefix.Index).Named) }

// CountNamed is the number of these.
func (s *Policies) CountNamed() (n int) {
	for _, index := range s.choice {
		n += index.Len()
	}
	return n
}

// ByPrefix says whether a policy is one of these.
func (s *Policies) ByPrefix(p *Policy) bool {
	index := s.choice[p.VRF]
	return index != nil && index.Has(p.place)
}

// WasByPrefix says whether it was one when the model was begun.
func (s *Policies) WasByPrefix(p *Policy) bool {
	index := s.choice[p.VRF]
	return index != nil && index.Was(p.place)
}

// NamedFor are those of a destination in a VRF, or in none, in the order of the SPD: at most two.
func (s *Policies) NamedFor(vrf string, dst netip.Prefix) (out []*Policy) {
	if index := s.choice[vrf]; index != nil {
		out = slices.Collect(s.at(slices.Values(index.Of(dst))))
	}
	return out
}

// Moved are the policies that have come to go by prefix since the model was begun, or ceased to, in
// their order.
func (s *Policies) Moved() []*Policy { return s.chosen((*byprefix.Index).Moved) }

// chosen are those of all VRFs and of none, in their order.
func (s *Policies) chosen(of func(*byprefix.Index) iter.Seq[uint64]) (out []*Policy) {
	for _, index := range s.choice {
		out = slices.AppendSeq(out, s.at(of(index)))
	}
	return sortedPolicies(out)
}

// at are the policies of some places, as far as they are there.
func (s *Policies) at(places iter.Seq[uint64]) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		for place := range places {
			if p, is := s.places.Get(place); is && !yield(p) {
				return
			}
		}
	}
}

// toChoose is what the choice looks at of an out policy that is no flow. In transport mode each two
// hosts may have an SA of their own, and so a row. In a VRF the box's own addresses are rules of
// priority 0, which come before policies of that priority.
func toChoose(p *Policy) byprefix.Policy {
	oneRow := (p.Template == nil || p.Template.Mode == xfrm.ModeTunnel) && (p.VRF == "" || p.Priority > 0)
	return byprefix.Policy{Selector: p.Selector, Priority: p.Priority, Age: p.Age, Place: p.place, OneRow: oneRow}
}

// keyOfPolicy is what Linux knows a policy by. A device does not tell policies apart: each
// direction has one.
func keyOfPolicy(sel xfrm.Selector, dir xfrm.Dir, ifID uint32) string {
	sel.Dev = ""
	return fmt.Sprint(dir, " ", ifID, " ", sel)
}

// compareSPD puts policies into the order of the SPD.
func compareSPD(a, b *Policy) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Age, b.Age), cmp.Compare(a.place, b.place))
}

func compareRouted(a, b *Policy) int {
	return cmp.Or(cmp.Compare(a.IfID, b.IfID), learned.Compare(a.Dst, b.Dst), compareSPD(a, b))
}

// OfInterface are the out policies of an if_id, by destination and then in the order of the SPD.
func (s *Policies) OfInterface(ifID uint32) iter.Seq[*Policy] {
	return s.OfInterfaceTo(ifID, netip.Prefix{})
}

// OfInterfaceTo are those from a destination on, in the order of prefixes.
func (s *Policies) OfInterfaceTo(ifID uint32, from netip.Prefix) iter.Seq[*Policy] {
	first := &Policy{Policy: xfrm.Policy{IfID: ifID, Selector: xfrm.Selector{Dst: from}}}
	return func(yield func(*Policy) bool) {
		s.routed.Ascend(first, func(p *Policy) bool { return p.IfID == ifID && yield(p) })
	}
}

// FirstClear is the first out policy without if_id that lets packets pass, or nil.
func (s *Policies) FirstClear() *Policy {
	p, _ := s.clear.Min()
	return p
}

// Find is the policy of a selector, a direction and an if_id.
func (s *Policies) Find(sel xfrm.Selector, dir xfrm.Dir, ifID uint32) *Policy {
	p, _ := s.keys.Get(keyOfPolicy(sel, dir, ifID))
	return p
}

// put adds a policy behind the others, or replaces the one that has its place.
func (s *Policies) put(p *Policy) {
	if p.place == 0 {
		s.last++
		p.place = s.last
	}
	s.last = max(s.last, p.place)
	if _, twice := s.places.Set(p.place, p); !twice {
		s.count[p.Dir]++
		switch {
		case p.Dir != xfrm.DirOut:
			s.shapes[shapeOf(p.Selector)]++
		case p.IfID == 0 && !Exact(p.Selector):
			s.choiceOf(p.VRF).Put(toChoose(p))
		}
	}
	s.keys.Set(keyOfPolicy(p.Selector, p.Dir, p.IfID), p)
	switch {
	case p.Dir != xfrm.DirOut:
	case p.IfID != 0:
		s.routed.Set(p)
	case p.Template == nil && p.Action == xfrm.ActionAllow:
		s.clear.Set(p)
	}
	s.index.Set(p.Index, p)
	if p.Template != nil {
		s.ends.Set(template{endsOf(p), p.place, p})
	}
	if addr := p.FarEnd(); addr.IsValid() {
		s.fars.Set(far{addr, p.place})
	}
	if p.Dir != xfrm.DirOut {
		s.in.Set(shapedOf(p))
		if p.Template == nil {
			s.plain.Set(p.place, p)
		}
	}
}

func (s *Policies) remove(p *Policy) {
	s.places.Delete(p.place)
	s.keys.Delete(keyOfPolicy(p.Selector, p.Dir, p.IfID))
	s.index.Delete(p.Index)
	if p.Template != nil {
		s.ends.Delete(template{ends: endsOf(p), place: p.place})
	}
	s.fars.Delete(far{p.FarEnd(), p.place})
	s.plain.Delete(p.place)
	s.routed.Delete(p)
	s.clear.Delete(p)
	switch s.count[p.Dir]--; {
	case p.Dir == xfrm.DirOut && p.IfID == 0 && !Exact(p.Selector):
		s.choiceOf(p.VRF).Remove(toChoose(p))
	case p.Dir != xfrm.DirOut:
		s.in.Delete(shapedOf(p))
		if h := shapeOf(p.Selector); s.shapes[h] == 1 {
			delete(s.shapes, h)
		} else {
			s.shapes[h]--
		}
	}
}

// sortedPolicies puts policies in their order, each once.
func sortedPolicies(list []*Policy) []*Policy {
	slices.SortFunc(list, func(a, b *Policy) int { return cmp.Compare(a.place, b.place) })
	return slices.Compact(list)
}
