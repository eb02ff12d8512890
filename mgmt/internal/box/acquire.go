package box

import (
	"fmt"
	"strconv"

	"sallyport/mgmt/internal/xfrm"
)

// Asking is what the box has to do with a frame that its inner chip punted by a policy.
type Asking int

const (
	AskedNothing Asking = iota // no policy speaks of it any more: it is dropped
	AskedSA                    // its policy protects, and has no SA for it: key management is asked for one
	AskedPunt                  // its policy is to punt
)

// Asked is the packet of an acquire, and the policy that it met.
type Asked struct {
	Policy string  `json:"policy"` // its selector
	SPort  *uint16 `json:"sport,omitempty"`
	DPort  *uint16 `json:"dport,omitempty"`
	Type   *uint16 `json:"type,omitempty"`
	Code   *uint16 `json:"code,omitempty"`
}

// Acquire says what the policy of a frame wants that the inner chip punted for it (RFC 4301, 5.1 step 3b); with AskedSA comes the event.
func (s *Session) Acquire(frame []byte) (asking Asking, event Event, err error) {
	err = s.querying(func(m *Model) error {
		packet, ok := readPacket(frame, m.skipped())
		if !ok {
			return nil
		}
		switch p := m.outPolicy(packet); {
		case p == nil:
		case p.Template != nil:
			asking, event = AskedSA, acquireOf(p, packet)
		case p.Action == xfrm.ActionPunt:
			asking = AskedPunt
		}
		return nil
	})
	return asking, event, err
}

// outPolicy is the out policy that decides on a packet, as the inner chip finds it: of equal priority first what is one flow.
func (m *Model) outPolicy(packet xfrm.Selector) (first *Policy) {
	before := func(p, q *Policy) bool {
		if flow := exact(p.Selector); p.Priority == q.Priority && flow != exact(q.Selector) {
			return flow
		}
		return p.before(q)
	}
	for _, p := range m.Policies {
		if p.Dir == xfrm.DirOut && p.Covers(packet) && (first == nil || before(p, first)) {
			first = p
		}
	}
	return first
}

// packet prints what an acquire is for.
func (e Event) packet() string {
	out := fmt.Sprintf("src %s dst %s proto %s", e.Src, e.Dst, e.Proto)
	for _, part := range []struct {
		name   string
		number *uint16
	}{{"sport", e.SPort}, {"dport", e.DPort}, {"type", e.Type}, {"code", e.Code}} {
		if part.number != nil {
			out += fmt.Sprintf(" %s %d", part.name, *part.number)
		}
	}
	return out
}

// acquireOf is the event of a packet.
func acquireOf(p *Policy, packet xfrm.Selector) Event {
	number := func(r xfrm.Range) *uint16 {
		if !r.Given {
			return nil
		}
		return &r.First
	}
	return Event{
		Kind: EventAcquire, Src: packet.Src.Addr(), Dst: packet.Dst.Addr(), Proto: Protocol(strconv.Itoa(int(packet.Proto))), ReqID: p.Template.ReqID,
		Asked: &Asked{p.Selector.String(), number(packet.SPort), number(packet.DPort), number(packet.Type), number(packet.Code)},
	}
}
