// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// InstalledSA is an SA with the traffic that it has carried, and without its keys.
type InstalledSA struct {
	xfrm.ID
	Dir         xfrm.Dir
	Mode, Suite string
	ReqID       uint32
	Encap       *xfrm.Encap
	Limits      Limits
	Carried
}

// Limits are the hard ones of an SA, 0 for none. Those in time are in seconds.
type Limits struct {
	ByteHard, PacketHard uint64
	Time                 xfrm.TimeLimits
}

// InstalledPolicy is a policy with the traffic that it has carried, if the chips count that.
type InstalledPolicy struct {
	Selector string
	Dir      xfrm.Dir
	Action   xfrm.Action
	Priority uint32
	Template *xfrm.Template
	Counted  bool
	Carried
}

// Installed is the present configuration: the number of SAs and policies, and the first of each.
type Installed struct {
	SAs, Policies map[xfrm.Dir]int
	FirstSAs      []InstalledSA
	FirstPolicies []InstalledPolicy
}

// Installed reads the configuration, and the counts of at most `most` SAs and as many policies. An
// inbound policy that names more SAs than that has no count, because it would need their sum.
func (v *View) Installed(most int) (out Installed, err error) {
	out.SAs, out.Policies = map[xfrm.Dir]int{}, map[xfrm.Dir]int{}
	m := v.model
	for _, dir := range []xfrm.Dir{xfrm.DirIn, xfrm.DirOut, xfrm.DirFwd} {
		if n := m.Policies.Count(dir); n > 0 {
			out.Policies[dir] = n
		}
		if n := m.SAs.Count(dir); n > 0 && dir != xfrm.DirFwd {
			out.SAs[dir] = n
		}
	}
	if out.FirstSAs, err = v.FirstSAs(most); err != nil {
		return out, err
	}
	for p := range m.Policies.All() {
		if len(out.FirstPolicies) == most {
			break
		}
		var used model.Usage
		var known bool
		if !namesMore(m, p, most) {
			var err error
			if used, known, err = m.UsageOfPolicy(p, meter{v.box}); err != nil {
				return out, err
			}
		}
		out.FirstPolicies = append(out.FirstPolicies, InstalledPolicy{
			Selector: p.Selector.String(), Dir: p.Dir, Action: p.Action, Priority: p.Priority, Template: p.Template, Counted: known,
			Carried: Carried{Bytes: used.Bytes, Packets: used.Packets, Age: p.Age},
		})
	}
	return out, nil
}

// FirstSAs reads the counts of at most `most` SAs, the oldest.
func (v *View) FirstSAs(most int) (out []InstalledSA, err error) {
	for sa := range v.model.SAs.All() {
		if len(out) == most {
			break
		}
		used, err := sa.UsageOf(meter{v.box})
		if err != nil {
			return nil, err
		}
		out = append(out, InstalledSA{
			ID: sa.ID, Dir: sa.Way, Mode: sa.Mode, Suite: sa.Suite().Name, ReqID: sa.ReqID, Encap: sa.Encap, Limits: Limits{sa.ByteHard, sa.PacketHard, sa.Time},
			Carried: Carried{Bytes: used.Bytes, Packets: used.Packets, Age: sa.Age, Added: sa.Added},
		})
	}
	return out, nil
}

// namesMore says whether an inbound policy names more than `most` SAs.
func namesMore(m *model.Model, p *model.Policy, most int) bool {
	if p.Dir == xfrm.DirOut || p.Template == nil {
		return false
	}
	return len(m.Named(p, xfrm.DirIn)) > most
}
