// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"maps"

	bolt "go.etcd.io/bbolt"

	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/plan"
)

// Sizes by which the room that a transaction may take is estimated, in bytes.
const (
	recordBytes = 768 // an SA is a little longer at times, a policy, row or rule always shorter
	fewPages    = 64  // branches and roots of a small change
)

// Room is asked for in steps, and kept for the next change if it is not much.
const (
	roomStep = 1 << 20
	mostRoom = 4 << 20
)

// Reserve makes sure that the disk has room for what a change stores at its end, when the chips
// already hold it. The plan, whose tables are those of before if `known`, leads to the state.
func (s *Store) Reserve(p *plan.Plan, state *State, known bool) error {
	from, to, err := s.need(p, state, known)
	if err == nil && to > s.reserved {
		to = (to + roomStep - 1) / roomStep * roomStep
		if err = disk.Reserve(s.db.Path(), from, to); err == nil {
			s.reserved = to
		}
	}
	return disk.Failed("there is no room for the change in the state file "+s.db.Path(), err)
}

// need is where the pages of the file end now, and where they may end then: bbolt writes each page
// that changes to a free one, or behind all others. Where all is written anew, none changes.
func (s *Store) need(p *plan.Plan, state *State, known bool) (from, to int64, err error) {
	ch := &state.Model.Changes
	records := len(p.Writes) + len(ch.SAs) + len(ch.GoneSAs) + len(ch.Policies) + len(ch.GonePolicies)
	for _, changed := range ch.Routes {
		records += len(changed)
	}
	var whole int
	if p.Target.Part == nil {
		text, err := json.Marshal(state.rest())
		if err != nil {
			return 0, 0, err
		}
		whole = len(text)
		if !known {
			records = state.Model.SAs.Len() + state.Model.Policies.Len() + p.Image.Len()
			for _, routes := range state.Model.FromLinux {
				records += routes.Len()
			}
		}
	}
	var learned int
	if !maps.Equal(s.learned, state.Model.Learned) {
		text, err := json.Marshal(state.Model.Learned)
		if err != nil {
			return 0, 0, err
		}
		learned = len(text)
	}
	page := s.db.Info().PageSize
	err = s.db.View(func(tx *bolt.Tx) error {
		if bucket := tx.Bucket(restBucket); bucket != nil {
			whole = max(whole, len(bucket.Get(restKey)))
		}
		free := s.db.Stats().FreePageN
		used := int(tx.Size())/page - free
		changed := 0
		if known {
			changed = min(records, used)
		}
		pages := changed + changed/8 + records*recordBytes/page + fewPages
		// The list of free pages, the rest, and the hosts, each take pages that follow each other.
		joined := (8*(free+pages)+whole+learned)/page + fewPages
		from = tx.Size()
		to = from + int64(page)*int64(max(pages-free, 0)+joined)
		return nil
	})
	return from, to, err
}

// trim gives back the room behind the pages of the file, if it is much.
func (s *Store) trim() {
	var end int64
	_ = s.db.View(func(tx *bolt.Tx) error { end = tx.Size(); return nil }) // never fails
	if s.reserved-end > mostRoom {
		_ = disk.Trim(s.db.Path()) // else the disk is fuller than it need be
		s.reserved = 0
	}
}
