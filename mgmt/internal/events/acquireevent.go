// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strconv"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Asked is the packet of an acquire, and the policy that it met.
type Asked struct {
	Policy string  `json:"policy"` // its selector
	SPort  *uint16 `json:"sport,omitempty"`
	DPort  *uint16 `json:"dport,omitempty"`
	Type   *uint16 `json:"type,omitempty"`
	Code   *uint16 `json:"code,omitempty"`
}

// AcquireOf is the event of a packet.
func AcquireOf(p *model.Policy, packet xfrm.Selector) Event {
	number := func(r xfrm.Range) *uint16 {
		if !r.Given {
			return nil
		}
		return &r.First
	}
	return Event{
		Kind: EventAcquire, Src: packet.Src.Addr(), Dst: packet.Dst.Addr(), Proto: Protocol(strconv.Itoa(int(packet.Proto))), ReqID: p.Template.ReqID, Name: p.Name,
		Asked: &Asked{p.Selector.String(), number(packet.SPort), number(packet.DPort), number(packet.Type), number(packet.Code)},
	}
}
