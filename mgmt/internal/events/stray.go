// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

// Stray is an ESP packet to the box that no SA is for. Its addresses are the packet's own.
type Stray struct {
	Src, Dst  netip.Addr
	SPI, Seq  uint32
	FlowLabel uint32 // of IPv6
	Count     int    // how many of them this one stands for
}

// Event is that of such a packet, which the chip judged `uptime` seconds after its reset.
func (s Stray) Event(uptime string, now time.Time) Event {
	return Event{
		Kind: EventStray, Src: s.Src, Dst: s.Dst, Proto: "esp", SPI: s.SPI, Dir: xfrm.DirIn,
		Dropped: &Dropped{Reason: EventStray, Seq: s.Seq, Count: s.Count, Time: now.UTC(), Uptime: uptime, FlowLabel: s.FlowLabel},
	}
}

// stray is the line that sallyctl prints.
func (e Event) stray() string {
	line := fmt.Sprintf("%s punt_%s src %s dst %s proto %s spi 0x%08x seq %d uptime %s", e.Time.UTC().Format(auditTime), e.Reason, e.Src, e.Dst, e.Proto, e.SPI, e.Seq, e.Uptime)
	if e.Src.Is6() {
		line += fmt.Sprintf(" flowlabel 0x%05x", e.FlowLabel)
	}
	if e.Count > 1 {
		line += fmt.Sprintf(" count %d", e.Count)
	}
	return line
}
