// SPDX-License-Identifier: Apache-2.0

// Package store keeps the configuration of a box, and what its tables hold, over the end of a
// program: without keys, in an embedded database (docs/decisions/0011). A change writes the records
// that it changes, all or none.
package store

import (
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
)

// State is the content of a state file.
type State struct {
	// Generation is also in the SCRATCH register of each chip, so that a file is never taken for
	// another box's, or for the same box's before a reset.
	Generation uint32         `json:"generation"`
	Model      *model.Model   `json:"model"`
	Image      *compile.Image `json:"image"`
	// Hops are the next hops that the image leads to and that have no written address.
	Hops []model.NextHop `json:"hops,omitempty"`

	// Standing has the facts that a change needs about all rows; nil if they have not been counted
	// yet. It is not stored.
	Standing *compile.Standing `json:"-"`
}

// NewState is that of a box after reset.
func NewState() *State { return &State{Model: model.NewModel(), Image: compile.NewImage()} }

// Begin is what a change goes on from: the state stays as it is.
func (s *State) Begin() *State {
	own := *s
	own.Model = s.Model.Begin()
	return &own
}
