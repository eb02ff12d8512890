// SPDX-License-Identifier: Apache-2.0

package model

import (
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// Dscps are the values of the field.
const Dscps = 64

// Choice is the outbound SAs that a policy uses between two ends, as Linux prefers them: the newest
// of all, or, of the packets of a DSCP, the newest of those for it, if there is one (RFC
// 4301, 4.4.2.1).
type Choice struct {
	All *SA
	By  [Dscps]*SA
}

// Choices gives what a policy uses. The ends are the template's in tunnel mode, and so there is
// one; in transport mode each two hosts have their own.
func (m *Model) Choices(p *Policy) (out []Choice) {
	places := map[[2]netip.Addr]int{}
	for _, sa := range m.Named(p, xfrm.DirOut) {
		ends := [2]netip.Addr{sa.Src, sa.Dst}
		i, found := places[ends]
		if !found {
			i = len(out)
			places[ends] = i
			out = append(out, Choice{})
		}
		newer := func(than **SA) {
			if *than == nil || sa.Age > (*than).Age {
				*than = sa
			}
		}
		if sa.ForDSCP == 0 {
			newer(&out[i].All)
		}
		for dscp := range out[i].By {
			if sa.ForDSCP>>dscp&1 != 0 {
				newer(&out[i].By[dscp])
			}
		}
	}
	return out
}

// Sas are the SAs of a choice, each once.
func (c *Choice) Sas() (out []*SA) {
	seen := map[*SA]bool{nil: true}
	for _, sa := range append([]*SA{c.All}, c.By[:]...) {
		if !seen[sa] {
			seen[sa] = true
			out = append(out, sa)
		}
	}
	return out
}

func (c *Choice) ByDSCP() bool { return c.By != [Dscps]*SA{} }
