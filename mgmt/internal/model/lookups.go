// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"

	"sallyport/mgmt/internal/xfrm"
)

// OutPolicy is the first out policy without if_id that is for a packet, as the inner chip finds it.
// At equal priority a flow comes first.
func (m *Model) OutPolicy(packet xfrm.Selector) (first *Policy) {
	before := func(p, q *Policy) bool {
		if flow := Exact(p.Selector); p.Priority == q.Priority && flow != Exact(q.Selector) {
			return flow
		}
		return p.Before(q)
	}
	for p := range m.Policies.All() {
		if p.Dir == xfrm.DirOut && p.IfID == 0 && p.Covers(packet) && (first == nil || before(p, first)) {
			first = p
		}
	}
	return first
}

// Exact reports whether a selector is one row of the flow table. Such a selector names both
// addresses, the protocol, and the numbers that the chips read of that protocol, or says that there
// are none to read. "Any port" is more than one row, because it includes packets without readable
// numbers.
func Exact(s xfrm.Selector) bool {
	numbers := true
	switch {
	case s.Opaque:
	case xfrm.HasPorts(s.Proto):
		numbers = s.SPort.Single() && s.DPort.Single()
	case xfrm.HasType(s.Proto, s.Version()):
		numbers = s.Type.Single() && (s.Code.Single() || !xfrm.HasCode(s.Proto, s.Version()))
	}
	return s.Src.IsSingleIP() && s.Dst.IsSingleIP() && s.Proto != 0 && numbers
}

// Before says whether a policy is asked before another one.
func (p *Policy) Before(q *Policy) bool {
	return cmp.Or(cmp.Compare(p.Priority, q.Priority), cmp.Compare(p.Age, q.Age)) < 0
}

// Order puts false before true.
func Order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
