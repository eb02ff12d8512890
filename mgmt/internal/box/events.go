package box

import (
	"fmt"
	"strings"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Events takes the events of lifetimes and of peers that have moved and prints each.
func (s *Session) Events() error {
	return s.taking(func(m *Model, at map[xfrm.Dir]map[int]*SA) error {
		if err := s.printMoved(at[xfrm.DirIn]); err != nil {
			return err
		}
		return s.lifetimes(m, at)
	})
}

// taking locks the configuration, so that no other takes events or moves SAs, and gives it to `take`, with the SA of each row.
func (s *Session) taking(take func(m *Model, at map[xfrm.Dir]map[int]*SA) error) error {
	lock, err := lockStore(s.StatePath)
	if err != nil {
		return err
	}
	defer lock.Close()
	state, _, err := s.load()
	if err != nil {
		return err
	}
	at := map[xfrm.Dir]map[int]*SA{xfrm.DirIn: {}, xfrm.DirOut: {}}
	for _, sa := range state.Model.SAs {
		at[sa.Way][sa.Row] = sa
	}
	return take(state.Model, at)
}

// lifetimes takes the events of lifetimes from the inner chip and prints each; if some were lost, every SA that has reached a limit.
func (s *Session) lifetimes(m *Model, at map[xfrm.Dir]map[int]*SA) error {
	lost := false
	for {
		value, err := s.Box.Read32(transport.Inner, regs.InnerLifetimeEvent)
		if err != nil {
			return err
		}
		event := []uint32{value}
		has := func(f regs.Field) bool { return f.Get(event) != 0 }
		lost = lost || has(regs.InnerLifetimeEventLost)
		if !has(regs.InnerLifetimeEventValid) {
			break
		}
		if err := s.lifetimeControl(regs.InnerLifetimeControlPop); err != nil {
			return err
		}
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
		s.printExpired(at[way][int(regs.InnerLifetimeEventSa.Get(event))], has(regs.InnerLifetimeEventHard), strings.Join(of, ","))
	}
	if !lost {
		return nil
	}
	if err := s.lifetimeControl(regs.InnerLifetimeControlClearLost); err != nil {
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
			s.printExpired(sa, hard, "")
		}
	}
	return nil
}

func (s *Session) lifetimeControl(bit regs.Field) error {
	return s.Box.Write32(transport.Inner, regs.InnerLifetimeControl, 1<<bit.LSB)
}

// printExpired prints an event. Its SA may be gone: then nobody waits for it.
func (s *Session) printExpired(sa *SA, hard bool, of string) {
	if sa == nil {
		return
	}
	limit := "soft"
	if hard {
		limit = "hard"
	}
	if of != "" {
		of = " limit " + of
	}
	fmt.Fprintf(s.Out, "Expired src %s dst %s proto %s spi 0x%08x reqid %d dir %s %s%s\n", sa.Src, sa.Dst, sa.Proto, sa.SPI, sa.ReqID, sa.Way, limit, of)
}
