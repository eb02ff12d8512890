// SPDX-License-Identifier: Apache-2.0

package session

import "sallyport/mgmt/internal/model"

// LearnPaths takes path MTUs that ICMP told, by the ages of outbound SAs, and forgets those whose
// time is over (RFC 4301, 8.2). It gives the SAs whose path MTU is another, in the model of after.
func (s *Session) LearnPaths(told map[uint64]uint32) (changed []*model.SA, m *model.Model, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	state, found, err := s.load()
	if err != nil || found.tables != tablesKnown {
		return nil, nil, err
	}
	paths, ages := state.Model.FollowPaths(told, s.now().Unix())
	if len(ages) == 0 {
		return nil, state.Model, nil
	}
	state = state.Begin()
	state.Model.Paths, state.Model.Changes.Network = paths, true
	for _, age := range ages {
		if sa := state.Model.SAs.OfAge(age); sa != nil {
			changed = append(changed, sa)
		}
	}
	return changed, state.Model, s.change(state, found)
}
