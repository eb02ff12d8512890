// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// lifetimes takes the events of lifetimes from the inner chip; if some were lost, every SA that has
// reached a limit has one more.
func (s *Source) lifetimes(m *model.Model, found func(Event)) error {
	expired := func(sa *model.SA, hard bool, of string) {
		if sa == nil {
			return // the SA is gone: no client waits for its event
		}
		found(ExpireEvent(sa, hard, of))
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
		expired(m.SAs.At(way, int(regs.InnerLifetimeEventSa.Get(event))), has(regs.InnerLifetimeEventHard), strings.Join(of, ","))
		return nil
	})
	if err != nil || !lost {
		return err
	}
	s.Note("events were lost: these are all SAs that have reached a limit")
	for sa := range m.SAs.All() {
		row, err := s.Box.ReadRow(transport.Inner, compile.UsageTable(sa.Way), sa.Row)
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
