// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/model"
)

// Aged gives an event for each SA that has reached a limit in time. It gives a soft limit once,
// even to several sessions. It gives a hard one until the caller deletes the SA. An SA's first use
// is when Aged first sees its count.
func (s *Session) Aged() (soft, hard []events.Event, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	state, found, err := s.load()
	if err != nil || found.tables != tablesKnown {
		return nil, nil, err
	}
	base, now, changed := state, s.now().Unix(), false
	edit := func(sa *model.SA, how func(*model.SA)) {
		if !changed {
			state, changed = state.Begin(), true
		}
		state.Model.EditSA(sa, how)
	}
	for sa := range base.Model.SAs.Timed() {
		if t := sa.Time; sa.Used == 0 && (t.UseSoft != 0 || t.UseHard != 0) {
			used, err := s.carriedAny(sa)
			if err != nil {
				return nil, nil, err
			}
			if used {
				edit(sa, func(sa *model.SA) { sa.Used = now })
				sa = state.Model.SAs.OfAge(sa.Age)
			}
		}
		if limit := sa.Reached(now, sa.Time.Hard, sa.Time.UseHard); limit != "" {
			hard = append(hard, events.ExpireEvent(sa, true, limit))
		} else if limit := sa.Reached(now, sa.Time.Soft, sa.Time.UseSoft); limit != "" && !sa.Warned {
			edit(sa, func(sa *model.SA) { sa.Warned = true })
			soft = append(soft, events.ExpireEvent(sa, false, limit))
		}
	}
	if changed {
		if err := s.store.Save(state); err != nil {
			return nil, nil, disk.Failed("cannot note in the state file "+s.StatePath+" which limits in time were reached", err)
		}
		s.keep(state)
	}
	return soft, hard, nil
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
