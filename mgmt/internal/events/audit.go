// SPDX-License-Identifier: Apache-2.0

package events

import (
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// auditTime is RFC 3339 with microseconds: a chip's time is read over a bus.
const auditTime = "2006-01-02T15:04:05.000000Z07:00"

// Audit takes the events of packets of inbound SAs that were dropped for their ICV, their number or
// their selectors, in the order of their times.
func (s *Source) Audit(m *model.Model) (out []Event, err error) {
	clocks, now, err := s.readClocks()
	if err != nil {
		return nil, err
	}
	var events []audited
	for _, q := range auditQueues {
		taken, lost, err := s.takeAudit(q)
		if err != nil {
			return nil, err
		}
		events = append(events, taken...)
		if lost {
			s.Note("audit events were lost: %s tell of all", q.counters)
		}
	}
	for i, e := range events {
		events[i].at = now.Add(s.Box.Clock(e.chip).Time(int64(e.cycles - clocks[e.chip])))
	}
	slices.SortStableFunc(events, func(a, b audited) int { return a.at.Compare(b.at) })
	for _, e := range events {
		if sa := m.SAs.At(xfrm.DirIn, e.row); sa != nil {
			out = append(out, e.event(m, sa))
		}
	}
	return out, nil
}

// ForgetAudit discards waiting events if there is a new inbound SA, whose row may be that of
// another. It reports that, because a log must not have silent gaps.
func (s *Source) ForgetAudit(m *model.Model) error {
	if !slices.ContainsFunc(m.Changes.Added(), func(sa *model.SA) bool { return sa.Way == xfrm.DirIn }) {
		return nil
	}
	count, gap := 0, false
	for _, q := range auditQueues {
		taken, lost, err := s.takeAudit(q)
		if err != nil {
			return err
		}
		count += len(taken)
		gap = gap || lost
	}
	if count > 0 || gap {
		s.Note("%d audit events that waited may be of SAs that are gone, and were discarded: take them before a change of inbound SAs", count)
	}
	return nil
}
