// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// group is what an SA and the policies that protect by it have in common. Transport mode has no
// ends there.
type group struct {
	mode     string
	reqid    uint32
	src, dst netip.Addr
}

// directions find the policies that protect by an SA, at a cost that does not grow with the SPD. Of
// the policies of a tunnel they keep one for each direction.
type directions map[group][]*policy

func directionsOf(policies []*policy) directions {
	d := directions{}
	for _, p := range policies {
		d.add(p)
	}
	return d
}

func groupOf(mode string, reqid uint32, src, dst netip.Addr) group {
	if mode == xfrm.ModeTunnel {
		return group{mode, reqid, src, dst}
	}
	return group{mode: mode, reqid: reqid}
}

func (d directions) add(p *policy) {
	if p.action != protect {
		return
	}
	of := groupOf(p.mode, p.reqid, p.src, p.dst)
	alike := func(other *policy) bool { return other.inbound() == p.inbound() }
	if p.mode != xfrm.ModeTunnel || !slices.ContainsFunc(d[of], alike) {
		d[of] = append(d[of], p)
	}
}

// of says in which directions policies protect by an SA. A policy without a reqid takes any.
func (d directions) of(s *sa) (in, out bool) {
	for _, reqid := range []uint32{s.reqid, 0} {
		for _, p := range d[groupOf(s.mode, reqid, s.src, s.dst)] {
			if p.names(s) {
				in, out = in || p.inbound(), out || !p.inbound()
			}
		}
	}
	return in, out
}
