// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// LoadSA adds an SA that is on the chips.
func (m *Model) LoadSA(sa *SA) { m.SAs.put(sa) }

// LoadPolicy adds a policy that was in its place.
func (m *Model) LoadPolicy(place uint64, p *Policy) {
	p.place = place
	m.Policies.put(p)
}

// UnmarshalJSON reads a model as files of format 7 have it: SAs and policies are lists in
// their order.
func (m *Model) UnmarshalJSON(text []byte) error {
	in := struct {
		SAs      []*SA     `json:"sas"`
		Policies []*Policy `json:"policies"`
		Network
	}{Network: NewModel().Network}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*m = *NewModel()
	m.Network = in.Network
	for _, sa := range in.SAs {
		m.SAs.put(sa)
	}
	for _, p := range in.Policies {
		m.Policies.put(p)
	}
	return nil
}
