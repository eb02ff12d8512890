// SPDX-License-Identifier: Apache-2.0

// Package vrf has the rules of networks apart (type vrf): a policy of a VRF is for the packets of
// its VLANs alone, and an SA belongs to one VRF, or to none.
package vrf

import (
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Check refuses policies of VRFs that there are not, or that the chip could not ask as the SPD has
// them, and SAs whose policies are of two networks.
func Check(m *model.Model) error {
	for _, p := range m.Touched() {
		if err := checkPolicy(m, p); err != nil {
			return err
		}
	}
	if len(m.VRFs) == 0 {
		return nil
	}
	for _, sa := range touchedSAs(m) {
		if err := checkSA(m, sa); err != nil {
			return err
		}
	}
	return nil
}

func checkPolicy(m *model.Model, p *model.Policy) error {
	if p.VRF == "" {
		return nil
	}
	i := slices.IndexFunc(m.VRFs, func(v model.VRF) bool { return v.Name == p.VRF })
	if i < 0 {
		return xfrm.Errorf(p.Pos, "there is no VRF %s, which the policy %s dir %s is of: write `link add %s type vrf table N` first", p.VRF, p.Selector, p.Dir, p.VRF)
	}
	own := slices.ContainsFunc(m.VRFs[i].Addrs, func(a model.Address) bool { return a.Prefix.Addr() == p.Dst.Addr() })
	if p.Dir == xfrm.DirOut && p.Priority == 0 && own && model.Exact(p.Selector) {
		return xfrm.Errorf(p.Pos, "the policy %s dir out is for packets to the box's own address, which come before all policies of a VRF: give it a priority from 1", p.Selector)
	}
	return nil
}

// touchedSAs are those that the change may concern, each once.
func touchedSAs(m *model.Model) (out []*model.SA) {
	seen := map[uint64]bool{}
	add := func(sa *model.SA) {
		if !seen[sa.Age] {
			seen[sa.Age] = true
			out = append(out, sa)
		}
	}
	for sa := range m.TouchedSAs() {
		add(sa)
	}
	if !m.Changes.Network {
		for _, p := range m.Changes.AddedPolicies() {
			if p.Template != nil {
				for _, sa := range m.Named(p, "") {
					add(sa)
				}
			}
		}
	}
	return out
}

func checkSA(m *model.Model, sa *model.SA) error {
	var first *model.Policy
	for _, p := range m.Naming(sa) {
		switch {
		case first == nil:
			first = p
		case p.VRF != first.VRF:
			return xfrm.Errorf(p.Pos, "the SA spi 0x%x has policies of two networks, %s and %s: tell their SAs apart by the reqid of the tmpl", sa.SPI, first.Selector, p.Selector)
		}
	}
	return nil
}
