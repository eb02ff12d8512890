package box

import (
	"strings"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// Events takes the events of peers that have moved, of lifetimes and of sequence numbers. If it fails, what it had taken by then comes with the error.
func (s *Session) Events() (events []Event, err error) {
	err = s.taking(func(m *Model, at map[xfrm.Dir]map[int]*SA) error {
		found := func(e Event) { events = append(events, e) }
		if err := s.moved(at[xfrm.DirIn], found); err != nil {
			return err
		}
		if err := s.exhausted(at[xfrm.DirOut], found); err != nil {
			return err
		}
		return s.lifetimes(m, at, found)
	})
	return events, err
}

// taking gives the configuration to `take`, with the SA of each row.
func (s *Session) taking(take func(m *Model, at map[xfrm.Dir]map[int]*SA) error) error {
	return s.reading(func(state *stored) error {
		at := map[xfrm.Dir]map[int]*SA{xfrm.DirIn: {}, xfrm.DirOut: {}}
		for _, sa := range state.Model.SAs {
			at[sa.Way][sa.Row] = sa
		}
		return take(state.Model, at)
	})
}

// reading locks the configuration, so that no other takes events or moves SAs, and gives it to `use`, which changes nothing.
func (s *Session) reading(use func(*stored) error) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	state, _, err := s.load()
	if err != nil {
		return err
	}
	return use(state)
}

// lifetimes takes the events of lifetimes from the inner chip; if some were lost, every SA that has reached a limit has one more.
func (s *Session) lifetimes(m *Model, at map[xfrm.Dir]map[int]*SA, found func(Event)) error {
	expired := func(sa *SA, hard bool, of string) {
		if sa == nil {
			return // it is gone: nobody waits for its event
		}
		found(expireEvent(sa, hard, of))
	}
	lost, err := s.takeQueue(lifetimeQueue, func(event []uint32) error {
		has := func(f regs.Field) bool { return f.Get(event) != 0 }
		way := xfrm.DirOut
		if has(regs.InnerLifetimeEventInbound) {
			way = xfrm.DirIn
		}
		var of []string
		if has(regs.InnerLifetimeEventBytes) {
			of = append(of, "bytes")
		}
		if has(regs.InnerLifetimeEventPackets) {
			of = append(of, "packets")
		}
		expired(at[way][int(regs.InnerLifetimeEventSa.Get(event))], has(regs.InnerLifetimeEventHard), strings.Join(of, ","))
		return nil
	})
	if err != nil || !lost {
		return err
	}
	s.note("events were lost: these are all SAs that have reached a limit")
	for _, sa := range m.SAs {
		row, err := s.readUsage(usageTable(sa.Way), sa.Row)
		if err != nil {
			return err
		}
		hard := regs.SaUsageRow.Expired.Get(row) != 0
		if hard || regs.SaUsageRow.Warned.Get(row) != 0 {
			expired(sa, hard, "")
		}
	}
	return nil
}
