package box

import (
	"fmt"
	"time"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Audit takes the events of authentic packets that were dropped for their number or their selectors, and prints a line of the log for each.
func (s *Session) Audit() error {
	return s.taking(func(_ *Model, at map[xfrm.Dir]map[int]*SA) error {
		lost, err := s.takeAudit(func(row int, reason, sequence uint32) {
			if sa := at[xfrm.DirIn][row]; sa != nil {
				fmt.Fprintf(s.Out, "%s drop_%s src %s dst %s proto %s spi 0x%08x reqid %d dir %s seq %d\n", s.now().UTC().Format(time.RFC3339),
					regs.AuditReasonNames[reason], sa.Src, sa.Dst, sa.Proto, sa.SPI, sa.ReqID, sa.Way, sequence)
			}
		})
		if lost {
			s.note("audit events were lost: the counters drop_replayed, drop_too_old, drop_selector_mismatch and drop_no_selector of the inner chip tell of all")
		}
		return err
	})
}

// takeAudit takes all events that wait, and says whether some were lost.
func (s *Session) takeAudit(take func(row int, reason, sequence uint32)) (lost bool, err error) {
	for {
		value, err := s.Box.Read32(transport.Inner, regs.InnerAuditEvent)
		if err != nil {
			return lost, err
		}
		event := []uint32{value}
		valid, loss := regs.InnerAuditEventValid.Get(event), regs.InnerAuditEventLost.Get(event)
		if valid|loss == 0 {
			return lost, nil
		}
		lost = lost || loss != 0
		sequence, err := s.Box.Read32(transport.Inner, regs.InnerAuditSequence)
		if err != nil {
			return lost, err
		}
		control := valid<<regs.InnerAuditControlPop.LSB | loss<<regs.InnerAuditControlClearLost.LSB
		if err := s.Box.Write32(transport.Inner, regs.InnerAuditControl, uint32(control)); err != nil {
			return lost, err
		}
		if valid != 0 {
			take(int(regs.InnerAuditEventSa.Get(event)), uint32(regs.InnerAuditEventReason.Get(event)), sequence)
		}
	}
}

// forgetAudit discards what waits, if there is a new inbound SA, for its row may be that of another. It says so: a log must not have gaps that nobody
// hears of.
func (s *Session) forgetAudit(m *Model) error {
	for _, sa := range m.SAs {
		if !sa.fresh || sa.Way != xfrm.DirIn {
			continue
		}
		count := 0
		lost, err := s.takeAudit(func(int, uint32, uint32) { count++ })
		if count > 0 || lost {
			s.note("%d audit events that waited may be of SAs that are gone, and were discarded: take them before a change of inbound SAs", count)
		}
		return err
	}
	return nil
}

func (s *Session) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
