// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// shape is what selectors fix of a packet by a value and a mask, for a look-up of those that may
// share a packet with another one. Of a list of addresses that is the prefix around it.
type shape struct {
	version             uint8
	src, dst            int
	proto, sport, dport bool
}

func shapeOf(s xfrm.Selector) shape {
	return shape{s.Version(), s.Src.Bits(), s.Dst.Bits(), s.Proto != 0, s.SPort.Single(), s.DPort.Single()}
}

// both is what two shapes fix alike.
func (h shape) both(o shape) shape {
	return shape{h.version, min(h.src, o.src), min(h.dst, o.dst), h.proto && o.proto, h.sport && o.sport, h.dport && o.dport}
}

// of cuts a selector to a shape. Two that share a packet are the same when cut to what both fix.
func (h shape) of(s xfrm.Selector) (out xfrm.Selector) {
	out.Src, _ = s.Src.Addr().Prefix(h.src)
	out.Dst, _ = s.Dst.Addr().Prefix(h.dst)
	if h.proto {
		out.Proto = s.Proto
	}
	if h.sport {
		out.SPort = s.SPort
	}
	if h.dport {
		out.DPort = s.DPort
	}
	return out
}

// earlier finds, among tens of thousands of policies, those that are asked before the policies of
// some sets.
type earlier struct {
	shaped map[shape][]*model.Policy // in the SPD's order
	cut    map[[2]shape]map[xfrm.Selector][]*model.Policy
}

func newEarlier(all []*model.Policy) *earlier {
	e := &earlier{map[shape][]*model.Policy{}, map[[2]shape]map[xfrm.Selector][]*model.Policy{}}
	for _, p := range slices.SortedFunc(slices.Values(all), func(p, q *model.Policy) int { return model.Order(q.Before(p), p.Before(q)) }) {
		h := shapeOf(p.Selector)
		e.shaped[h] = append(e.shaped[h], p)
	}
	return e
}

// alike are the policies of a shape by what they are when cut to another.
func (e *earlier) alike(h, to shape) map[xfrm.Selector][]*model.Policy {
	key := [2]shape{h, to}
	if e.cut[key] == nil {
		e.cut[key] = map[xfrm.Selector][]*model.Policy{}
		for _, p := range e.shaped[h] {
			sel := to.of(p.Selector)
			e.cut[key][sel] = append(e.cut[key][sel], p)
		}
	}
	return e.cut[key]
}

// cuts says whether a policy that is not one of the sets' comes before one of theirs, for a packet
// that matches both.
func (e *earlier) cuts(sets []set) bool {
	for _, s := range sets {
		own := shapeOf(s.sel)
		for h := range e.shaped {
			if h.version != own.version {
				continue
			}
			to := h.both(own)
			for _, p := range e.alike(h, to)[to.of(s.sel)] {
				if !p.Before(s.policy) {
					break
				}
				if p.IfID == s.policy.IfID && p.Overlaps(s.sel) && !slices.ContainsFunc(sets, func(s set) bool { return s.policy == p }) {
					return true
				}
			}
		}
	}
	return false
}
