// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/xfrm"
)

// Undo gives chips the configuration of before a change that was cut short. It returns the SAs that
// are lost: those that the change was about to delete or to replace. SAs that the change added are
// gone, for keys are nowhere but on the chips. Look-ups are cleared and written anew, with the
// ports closed; keys, windows and numbers of SAs that stay are left alone. False if no change was
// cut short.
func (s *Session) Undo() (undone bool, lost []xfrm.ID, err error) {
	unlock, err := s.lock()
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	state, found, err := s.compare()
	if err != nil || found.tables != tablesCut {
		return false, nil, err
	}
	lost, err = s.undo(state, found)
	return err == nil, lost, err
}

func (s *Session) undo(state *store.State, found comparison) (lost []xfrm.ID, err error) {
	state = state.Begin()
	state.Model.Changes.Network = true
	lost = found.journal.lose(state.Model)
	state.Image = found.journal.image(state.Image)
	return lost, s.change(state, found)
}
