// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/xfrm"
)

// Config is the configuration without its SAs, as lines that Replace takes (xfrm.ParseConfig).
func (v *View) Config() []string { return v.model.Lines() }

// Replaced is what Config gives once Replace has carried these commands out.
func (v *View) Replaced(commands []xfrm.Command) ([]string, error) {
	m := v.model.Begin()
	if err := m.Replace(commands); err != nil {
		return nil, err
	}
	return m.Lines(), nil
}

// Replace makes the configuration that of some commands, or, if one of them is wrong or does not
// fit, changes nothing. SAs stay.
func (s *Session) Replace(commands []xfrm.Command) error {
	return s.replaceBy((*model.Model).Replace, commands)
}

// PutBack is Replace by the configuration of before ([model.Model.PutBack]).
func (s *Session) PutBack(commands []xfrm.Command) error {
	return s.replaceBy((*model.Model).PutBack, commands)
}

func (s *Session) replaceBy(replace func(*model.Model, []xfrm.Command) error, commands []xfrm.Command) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	state, found, err := s.begun()
	if err != nil {
		return err
	}
	if err := replace(state.Model, commands); err != nil {
		return err
	}
	return s.change(state, found)
}

// begun is a copy of the configuration for a change. One that was cut short is undone first.
func (s *Session) begun() (*store.State, comparison, error) {
	state, found, err := s.load()
	if err == nil && found.tables == tablesCut {
		state, found, err = s.undone(state, found)
	}
	if err != nil {
		return nil, found, err
	}
	return state.Begin(), found, nil
}
