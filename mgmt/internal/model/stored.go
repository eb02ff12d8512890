// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// written is a model as a file has it whole.
type written struct {
	SAs      []*SA     `json:"sas"`
	Policies []*Policy `json:"policies"`
	Network
}

// MarshalJSON gives SAs and policies as lists in their order.
func (m *Model) MarshalJSON() ([]byte, error) {
	out := written{SAs: []*SA{}, Policies: []*Policy{}, Network: m.Network}
	for sa := range m.SAs.All() {
		out.SAs = append(out.SAs, sa)
	}
	for p := range m.Policies.All() {
		out.Policies = append(out.Policies, p)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the lists.
func (m *Model) UnmarshalJSON(text []byte) error {
	in := written{Network: NewModel().Network}
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
