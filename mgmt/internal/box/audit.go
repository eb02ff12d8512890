package box

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

// auditTime is RFC 3339 with microseconds: a chip's time is read over a bus.
const auditTime = "2006-01-02T15:04:05.000000Z07:00"

// Audit takes the events of packets of inbound SAs that were dropped for their ICV, their number or their selectors, in the order of their times.
func (s *Session) Audit() (out []Event, err error) {
	err = s.taking(func(m *Model, at map[xfrm.Dir]map[int]*SA) error {
		clocks, now, err := s.readClocks()
		if err != nil {
			return err
		}
		var events []audited
		for _, q := range auditQueues {
			taken, lost, err := s.takeAudit(q)
			if err != nil {
				return err
			}
			events = append(events, taken...)
			if lost {
				s.note("audit events were lost: %s tell of all", q.counters)
			}
		}
		for i, e := range events {
			events[i].at = now.Add(duration(e.cycles, clocks[e.chip]))
		}
		slices.SortStableFunc(events, func(a, b audited) int { return a.at.Compare(b.at) })
		for _, e := range events {
			if sa := at[xfrm.DirIn][e.row]; sa != nil {
				out = append(out, e.event(m, sa))
			}
		}
		return nil
	})
	return out, err
}

// uptime prints a time since reset in seconds.
func uptime(cycles uint64) string {
	return fmt.Sprintf("%d.%09d", cycles/cyclesPerSec, cycles%cyclesPerSec*uint64(time.Second)/cyclesPerSec)
}

// allowed prints the selectors of an inbound SA: what policies say that it carries, the first of them first.
func (m *Model) allowed(sa *SA) string {
	var sets []set
	find := newFinder(m.SAs)
	for _, p := range m.Policies {
		if p.Dir == xfrm.DirOut || p.Template == nil || !slices.Contains(find.named(p, xfrm.DirIn), sa) {
			continue
		}
		sel := sa.Carried(p.Selector)
		sel.Dev = ""
		sets = withSet(sets, set{sel, p})
	}
	// What could not be narrowed was refused when it was written.
	sets, _ = narrowed(sa, sets)
	slices.SortFunc(sets, func(a, b set) int {
		if a.policy.before(b.policy) {
			return -1
		}
		return 1
	})
	var texts []string
	for _, s := range sets {
		texts = append(texts, s.sel.String())
	}
	return strings.Join(texts, ", ")
}

// forgetAudit discards what waits, if there is a new inbound SA, for its row may be that of another. It says so: a log must not have gaps that nobody
// hears of.
func (s *Session) forgetAudit(m *Model) error {
	if !slices.ContainsFunc(m.SAs, func(sa *SA) bool { return sa.fresh && sa.Way == xfrm.DirIn }) {
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
		s.note("%d audit events that waited may be of SAs that are gone, and were discarded: take them before a change of inbound SAs", count)
	}
	return nil
}

func (s *Session) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
