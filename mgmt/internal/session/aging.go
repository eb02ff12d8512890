// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/store"
)

// Aged gives an event for each SA that has reached a limit in time. It gives a soft limit once,
// even to several sessions. It gives a hard one until the caller deletes the SA. An SA's first use
// is when Aged first sees its count. If the state file cannot be written, the events come with the
// error: a session that holds its box remembers what it gave, and the next Aged stores it.
func (s *Session) Aged() (soft, hard []events.Event, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	before, found, err := s.load()
	if err != nil || found.tables != tablesKnown {
		return nil, nil, err
	}
	state, now := before.Begin(), s.now().Unix()
	for age := range s.unsaved {
		if sa := before.Model.SAs.OfAge(age); sa != nil {
			state.Model.EditSA(sa, func(*model.SA) {})
		}
	}
	for sa := range before.Model.SAs.Timed() {
		if t := sa.Time; sa.Used == 0 && (t.UseSoft != 0 || t.UseHard != 0) {
			used, err := s.carriedAny(sa)
			if err != nil {
				return nil, nil, err
			}
			if used {
				state.Model.EditSA(sa, func(sa *model.SA) { sa.Used = now })
				sa = state.Model.SAs.OfAge(sa.Age)
			}
		}
		if limit := sa.Reached(now, sa.Time.Hard, sa.Time.UseHard); limit != "" {
			hard = append(hard, events.ExpireEvent(sa, true, limit))
		} else if limit := sa.Reached(now, sa.Time.Soft, sa.Time.UseSoft); limit != "" && !sa.Warned {
			state.Model.EditSA(sa, func(sa *model.SA) { sa.Warned = true })
			soft = append(soft, events.ExpireEvent(sa, false, limit))
		}
	}
	return soft, hard, s.noteAges(state)
}

// noteAges stores which SAs have reached what, where Aged has changed that.
func (s *Session) noteAges(state *store.State) error {
	changed := state.Model.Changes.SAs
	s.unsaved = nil
	if len(changed) == 0 {
		return nil
	}
	err := s.store.Save(state)
	if err != nil {
		s.unsaved = map[uint64]bool{}
		for age := range changed {
			s.unsaved[age] = true
		}
	}
	s.keep(state)
	return disk.Failed("cannot note in the state file "+s.StatePath+" which limits in time were reached", err)
}

// expired is the limit that an SA has reached, in time or in packets and bytes: "soft", "hard"
// or "".
func (v *View) expired(sa *model.SA, used model.Usage) string {
	switch now := v.now().Unix(); {
	case used.Expired || sa.Reached(now, sa.Time.Hard, sa.Time.UseHard) != "":
		return "hard"
	case used.Warned || sa.Reached(now, sa.Time.Soft, sa.Time.UseSoft) != "":
		return "soft"
	}
	return ""
}

// carriedAny says whether an SA has carried a packet.
func (s *Session) carriedAny(sa *model.SA) (bool, error) {
	used, err := sa.UsageOf(meter{s.Box})
	return used.Packets != 0, err
}
