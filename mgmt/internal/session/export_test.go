// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/store"
)

// PlanOfAll is the plan that brings the tables from what they hold to what everything, computed
// anew, makes of the configuration.
func (s *Session) PlanOfAll() (*plan.Plan, error) {
	sizes, err := s.sizes()
	if err != nil {
		return nil, err
	}
	m := s.kept.Model.Begin()
	m.Changes.Network = true
	return plan.MakePlan(m, s.kept.Image, nil, sizes, &model.Report{})
}

// Image is what a session that holds its box knows of the tables.
func (s *Session) Image() *compile.Image { return s.kept.Image }

// Hops are the next hops to be learned.
func (s *Session) Hops() []model.NextHop { return s.kept.Hops }

// Standing is the session's knowledge of all rows. A change of a part leaves it where it is.
func (s *Session) Standing() *compile.Standing { return s.kept.Standing }

// Recount makes it anew.
func (s *Session) Recount() (*compile.Standing, error) {
	p, err := s.PlanOfAll()
	if err != nil {
		return nil, err
	}
	return compile.NewStanding(s.kept.Model, p.Image, p.Target, p.Roomless), nil
}

// BreakStore has the state file of a session that holds its box refuse writes until mend.
func (s *Session) BreakStore() (mend func() error) {
	_ = s.store.Close()
	return func() (err error) {
		s.store, err = store.Open(s.StatePath)
		return err
	}
}
