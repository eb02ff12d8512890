// SPDX-License-Identifier: Apache-2.0

// Package events takes events from a box's chips, and names the SA that each concerns.
package events

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// The kinds of events.
const (
	EventAcquire  = "acquire"     // a packet waits for an SA
	EventExpire   = "expire"      // an SA has reached a limit of its lifetime
	EventLink     = "link"        // a link between chips has come up or gone down
	EventSequence = "sequence"    // an outbound SA has used its last sequence number
	EventMapping  = "mapping"     // authentic ESP in UDP came from elsewhere than the peer
	EventICV      = "icv"         // a packet's ICV was wrong
	EventAudit    = "audit"       // a packet was dropped for its number or its selectors
	EventStray    = "unknown_spi" // ESP to the box that no SA is for
	EventNoise    = "noise"       // the noise source has failed its health tests, or is good again
	EventDisk     = "disk"        // a file cannot be written, or a change was stored again
	EventTamper   = "tamper"      // a chip's tamper input was active, or the chip was reset since
	EventReady    = "ready"       // a chip clears its tables, or has cleared them
	// the chips had lost their configuration, and have it again but for SAs
	EventRestart = "restart"
	EventUpset   = "upset" // a row has a flipped bit, or the rows of its table were written anew
	// a lane of the crypto chip has left service, or is back
	EventSelfTest = "selftest"
)

// Protocol is that of an SA, as esp, or the number of a packet's, which is a number in JSON.
type Protocol string

// MarshalJSON tells them apart.
func (p Protocol) MarshalJSON() ([]byte, error) {
	if number, err := strconv.ParseUint(string(p), 10, 8); err == nil {
		return json.Marshal(number)
	}
	return json.Marshal(string(p))
}

// UnmarshalJSON takes either.
func (p *Protocol) UnmarshalJSON(text []byte) error {
	var number uint8
	if err := json.Unmarshal(text, &number); err != nil {
		return json.Unmarshal(text, (*string)(p))
	}
	*p = Protocol(strconv.Itoa(int(number)))
	return nil
}

// Event is a chip's report about an SA, or about a packet without one. Its JSON is a line of the
// daemon's monitor (docs/reference/control-socket.md); its String is the line that sallyctl prints.
type Event struct {
	Kind  string     `json:"event"`
	Src   netip.Addr `json:"src,omitzero"`
	Dst   netip.Addr `json:"dst,omitzero"`
	Proto Protocol   `json:"proto,omitempty"`
	SPI   uint32     `json:"spi,omitempty"`
	ReqID uint32     `json:"reqid,omitempty"`
	Dir   xfrm.Dir   `json:"dir,omitempty"`
	// Name of the SA, or of an acquire's policy, if it has one.
	Name string `json:"name,omitempty"`

	// Of an expire: whether the hard limit was reached, and in what: "bytes", "packets", "time",
	// "time-use", or two of them with a comma.
	Hard  *bool  `json:"hard,omitempty"`
	Limit string `json:"limit,omitempty"`

	// Of a mapping: where packets were expected from, and where one came from.
	Old netip.AddrPort `json:"old,omitzero"`
	New netip.AddrPort `json:"new,omitzero"`

	// Of a link: the chip at its other end, seen from the crypto chip.
	Link string `json:"link,omitempty"`
	Up   *bool  `json:"up,omitempty"`

	// Of a tamper, ready or upset event: the chip.
	Chip string `json:"chip,omitempty"`

	// Of an upset: the chip's table.
	Table string `json:"table,omitempty"`

	// Of a selftest: the crypto chip's path, and the lane.
	Path string `json:"path,omitempty"`
	Lane *int   `json:"lane,omitempty"`

	// Whether the thing that a noise, disk, tamper, ready, upset or selftest event tells of is as
	// it should be.
	OK *bool `json:"ok,omitempty"`

	// Of an acquire, whose src, dst and proto are the packet's.
	*Asked

	// Of an icv, audit or unknown_spi. One event may stand for many packets, and is of one of them.
	*Dropped
}

// Dropped is a packet of an inbound SA that was dropped, or one that no SA is for.
type Dropped struct {
	Reason string `json:"reason"`          // as in the counter drop_…
	Seq    uint32 `json:"seq"`             // in the ESP header
	Count  int    `json:"count,omitempty"` // how many events, or packets, it stands for
	// Time is when the packet was judged, by this machine's clock; Uptime the same in seconds since
	// the chip's reset.
	Time    time.Time `json:"time"`
	Uptime  string    `json:"uptime"`
	Packet  string    `json:"packet,omitempty"`  // the packet's selectors, if they were the reason
	Allowed string    `json:"allowed,omitempty"` // the SA's

	FlowLabel uint32 `json:"flowlabel,omitempty"` // of IPv6, of unknown_spi
}

// eventOf is an event of an SA.
func eventOf(kind string, sa *model.SA) Event {
	return Event{Kind: kind, Src: sa.Src, Dst: sa.Dst, Proto: Protocol(sa.Proto), SPI: sa.SPI, ReqID: sa.ReqID, Dir: sa.Way, Name: sa.Name}
}

// ExpireEvent is that of an SA that has reached a limit.
func ExpireEvent(sa *model.SA, hard bool, limit string) Event {
	e := eventOf(EventExpire, sa)
	e.Hard, e.Limit = &hard, limit
	return e
}

// String is the line that sallyctl prints, in the words of `ip xfrm monitor` where it has
// such events.
func (e Event) String() string {
	of := fmt.Sprintf("src %s dst %s proto %s spi 0x%08x reqid %d dir %s", e.Src, e.Dst, e.Proto, e.SPI, e.ReqID, e.Dir)
	switch e.Kind {
	case EventAcquire:
		return fmt.Sprintf("Acquire %s policy %s reqid %d", e.packet(), e.Policy, e.ReqID)
	case EventExpire:
		limit := "soft"
		if e.Hard != nil && *e.Hard {
			limit = "hard"
		}
		if e.Limit != "" {
			limit += " limit " + e.Limit
		}
		return fmt.Sprintf("Expired %s %s", of, limit)
	case EventMapping:
		return fmt.Sprintf("Mapping change %s -> %s %s", e.Old, e.New, of)
	case EventSequence:
		return "Sequence numbers used up " + of
	case EventLink:
		state := "down"
		if *e.Up {
			state = "up"
		}
		return fmt.Sprintf("Link crypto %s %s", e.Link, state)
	case EventNoise:
		if *e.OK {
			return "Noise source good"
		}
		return "Noise source failed"
	case EventDisk:
		if *e.OK {
			return "Stored again"
		}
		return "A file cannot be written"
	case EventTamper:
		if *e.OK {
			return "Tamper input of the " + e.Chip + " chip quiet since its reset"
		}
		return "Tamper input of the " + e.Chip + " chip was active"
	case EventReady:
		if *e.OK {
			return "Ready: the " + e.Chip + " chip"
		}
		return "Not ready: the " + e.Chip + " chip clears its tables"
	case EventUpset:
		if *e.OK {
			return "Rewritten: table " + e.Table + " of the " + e.Chip + " chip"
		}
		return "Upset: a flipped bit in table " + e.Table + " of the " + e.Chip + " chip"
	case EventStray:
		return e.stray()
	case EventSelfTest:
		if *e.OK {
			return fmt.Sprintf("Self-test: lane %d of the %s path is back in service", *e.Lane, e.Path)
		}
		return fmt.Sprintf("Self-test: lane %d of the %s path has left service", *e.Lane, e.Path)
	case EventRestart:
		return "Restart: the SAs are gone"
	}
	if e.Dropped == nil {
		return e.Kind
	}
	line := fmt.Sprintf("%s drop_%s %s seq %d uptime %s", e.Time.UTC().Format(auditTime), e.Reason, of, e.Seq, e.Uptime)
	if e.Packet != "" {
		line += fmt.Sprintf(" packet %s allowed %s", e.Packet, e.Allowed)
	}
	return line
}

// event is that of an SA for what a queue had.
func (e *audited) event(m *model.Model, sa *model.SA) Event {
	out := eventOf(EventAudit, sa)
	out.Dropped = &Dropped{Reason: regs.AuditReasonNames[e.reason], Seq: e.sequence, Time: e.at.UTC(), Uptime: e.uptime}
	switch e.reason {
	case regs.AuditReasonDecIcv:
		out.Kind = EventICV
	case regs.AuditReasonSelectorMismatch:
		out.Packet, out.Allowed = e.packet.String(), compile.Allowed(m, sa)
	}
	return out
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
