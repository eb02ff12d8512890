package box

import (
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// checkTimeless refuses new SAs with limits in time, which the chips do not keep.
func (m *Model) checkTimeless() error {
	for _, sa := range m.SAs {
		if sa.fresh && sa.Time.Given() {
			return xfrm.Errorf(sa.pos, "the SA spi 0x%x has a limit in time, which sallyportd keeps: load it through sallyportd, or leave the limit out", sa.SPI)
		}
	}
	return nil
}

// Aged gives an event for each SA that has reached a limit in time. A soft limit is given once, also if another session asks again; a hard one until
// the SA is deleted, which is for the caller to do. An SA that carries its first packet has done so when this first sees it.
func (s *Session) Aged() (soft, hard []Event, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	state, known, err := s.load()
	if err != nil || !known {
		return nil, nil, err
	}
	now, changed := s.now().Unix(), false
	for _, sa := range state.Model.SAs {
		if t := sa.Time; sa.Used == 0 && (t.UseSoft != 0 || t.UseHard != 0) {
			used, err := s.carriedAny(sa)
			if err != nil {
				return nil, nil, err
			}
			if used {
				sa.Used, changed = now, true
			}
		}
		if limit := sa.reached(now, sa.Time.Hard, sa.Time.UseHard); limit != "" {
			hard = append(hard, expireEvent(sa, true, limit))
		} else if limit := sa.reached(now, sa.Time.Soft, sa.Time.UseSoft); limit != "" && !sa.Warned {
			sa.Warned, changed = true, true
			soft = append(soft, expireEvent(sa, false, limit))
		}
	}
	if changed {
		err = saveStore(s.StatePath, state)
	}
	return soft, hard, err
}

// reached says which of two limits, in seconds since the SA was added and first used, are reached. A clock that was set back to before then has
// run for no time.
func (sa *SA) reached(now int64, sinceAdded, sinceUsed uint64) string {
	after := func(start int64, limit uint64) bool {
		return start != 0 && limit != 0 && now >= start && uint64(now-start) >= limit
	}
	var of []string
	if after(sa.Added, sinceAdded) {
		of = append(of, "time")
	}
	if after(sa.Used, sinceUsed) {
		of = append(of, "time-use")
	}
	return strings.Join(of, ",")
}

// expired is the limit that an SA has reached, in time or in what it has carried: "soft", "hard" or "".
func (s *Session) expired(sa *SA, used usage) string {
	switch now := s.now().Unix(); {
	case used.expired || sa.reached(now, sa.Time.Hard, sa.Time.UseHard) != "":
		return "hard"
	case used.warned || sa.reached(now, sa.Time.Soft, sa.Time.UseSoft) != "":
		return "soft"
	}
	return ""
}

// carriedAny says whether an SA has carried a packet.
func (s *Session) carriedAny(sa *SA) (bool, error) {
	m := Model{reader: s.readUsage}
	used, err := m.usageOfSA(sa)
	return used.packets != 0, err
}

func expireEvent(sa *SA, hard bool, limit string) Event {
	e := eventOf(EventExpire, sa)
	e.Hard, e.Limit = &hard, limit
	return e
}
