package box

import (
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// dscps are the values of the field.
const dscps = 64

// choice is the outbound SAs that a policy uses between two ends, as Linux prefers them: the newest of all, or, of the packets of a DSCP, the
// newest of those for it, if there is one (RFC 4301, 4.4.2.1).
type choice struct {
	all *SA
	by  [dscps]*SA
}

// choices gives what a policy uses. The ends are the template's in tunnel mode, and so there is one; in transport mode each two hosts have
// their own.
func (f finder) choices(p *Policy) (out []choice) {
	places := map[[2]netip.Addr]int{}
	for _, sa := range f.named(p, xfrm.DirOut) {
		ends := [2]netip.Addr{sa.Src, sa.Dst}
		i, found := places[ends]
		if !found {
			i = len(out)
			places[ends] = i
			out = append(out, choice{})
		}
		newer := func(than **SA) {
			if *than == nil || sa.Age > (*than).Age {
				*than = sa
			}
		}
		if sa.ForDSCP == 0 {
			newer(&out[i].all)
		}
		for dscp := range out[i].by {
			if sa.ForDSCP>>dscp&1 != 0 {
				newer(&out[i].by[dscp])
			}
		}
	}
	return out
}

// sas are the SAs of a choice, each once.
func (c *choice) sas() (out []*SA) {
	seen := map[*SA]bool{nil: true}
	for _, sa := range append([]*SA{c.all}, c.by[:]...) {
		if !seen[sa] {
			seen[sa] = true
			out = append(out, sa)
		}
	}
	return out
}

func (c *choice) byDSCP() bool { return c.by != [dscps]*SA{} }
