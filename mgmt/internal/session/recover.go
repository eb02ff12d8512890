// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/xfrm"
)

// Undo gives chips the configuration of before a change that was cut short. Before it does so it
// tells which SAs are lost: those that the change was about to delete or to replace. SAs that the
// change added are gone, for keys are nowhere but on the chips. Look-ups are cleared and written
// anew, with the ports closed; keys, windows and numbers of SAs that stay are left alone. False if
// no change was cut short.
func (s *Session) Undo(tell func(lost []xfrm.ID)) (undone bool, err error) {
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	state, found, err := s.compare()
	if err != nil || found.tables != tablesCut {
		return false, err
	}
	err = s.undo(state, found, tell)
	return err == nil, err
}

func (s *Session) undo(state *store.State, found comparison, tell func(lost []xfrm.ID)) error {
	state = state.Begin()
	state.Model.Changes.Network = true
	tell(found.journal.lose(state.Model))
	state.Image = found.journal.image(state.Image)
	return s.change(state, found)
}

// Restore configures chips that have lost their configuration as before, except SAs, and returns
// how many of these are lost. No other place holds their keys, and their sequence numbers would
// begin again (RFC 4303, 3.3.3). Policies stay, so that packets ask for new SAs. Restore leaves
// chips that hold the configuration alone. ErrErased if the crypto chip cannot be configured yet.
func (s *Session) Restore() (gone int, err error) {
	unlock, err := s.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	state, found, err := s.compare()
	if err != nil || found.tables == tablesKnown {
		return 0, err
	}
	if found.tables == tablesCut {
		found.tables = tablesUnknown // a caller that wants to keep SAs calls Undo first
	}
	state = state.Begin()
	state.Generation = 0 // no change that is cut short can be undone to SAs that are gone
	gone = state.Model.SAs.Len()
	state.Model.RemoveSAs(slices.Collect(state.Model.SAs.All()))
	state.Model.Renew()
	state.Image = compile.NewImage()
	return gone, s.change(state, comparison{tables: found.tables})
}
