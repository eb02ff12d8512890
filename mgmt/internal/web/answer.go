// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"sync"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Box is the answer: what the box is and holds. Counts are strings, for they may be more than a
// number of JavaScript holds.
type Box struct {
	Daemon     string           `json:"daemon"` // its version
	Configured bool             `json:"configured"`
	Chips      []Chip           `json:"chips"`
	SAs        map[xfrm.Dir]int `json:"sas"`
	Policies   map[xfrm.Dir]int `json:"policies"`
	// The first of those.
	SAList     []SA     `json:"sa_list"`
	PolicyList []Policy `json:"policy_list"`
	recent
}

// Chip is a chip, with its state by its name in words.
type Chip struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Simulation   bool              `json:"simulation"`
	Ready        bool              `json:"ready"`
	Tamper       bool              `json:"tamper"`
	Links        map[string]bool   `json:"links"`  // up, by the chip at the far end
	Uptime       int64             `json:"uptime"` // in milliseconds of the chip's clock
	Capabilities chip.Capabilities `json:"capabilities"`
}

// used is what both have carried. LastUse is in seconds since the epoch, 0 if never.
type used struct {
	Packets uint64 `json:"packets,string"`
	Bytes   uint64 `json:"bytes,string"`
	LastUse int64  `json:"last_use"`
}

// SA is an SA without its keys.
type SA struct {
	Dir   xfrm.Dir `json:"dir"`
	Src   string   `json:"src"`
	Dst   string   `json:"dst"`
	SPI   string   `json:"spi"`
	ReqID uint32   `json:"reqid"`
	Mode  string   `json:"mode"`
	Suite string   `json:"suite"`
	UDP   string   `json:"udp"` // both ports of ESP in UDP
	Added int64    `json:"added"`
	used
}

// Policy is a policy; used is nil if the chips do not count its packets.
type Policy struct {
	Dir      xfrm.Dir    `json:"dir"`
	Selector string      `json:"selector"`
	Action   xfrm.Action `json:"action"`
	Priority uint32      `json:"priority"`
	Tunnel   string      `json:"tunnel"`
	*used
}

// mostListed SAs and policies are listed each: what they have carried is read from the chips one
// after the other.
const mostListed = 100

// held keeps what the box holds for as long as the chips need to rest from being read, so that many
// browsers ask no more of them than one.
type held struct {
	mu    sync.Mutex
	until time.Time
	last  daemon.Holding
}

// share of the time is the most in which the daemon reads for the page.
const share = 10

func (h *held) read(source Source) (daemon.Holding, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	began := time.Now()
	if began.Before(h.until) {
		return h.last, nil
	}
	holding, err := source.Holding(mostListed)
	if err != nil {
		return daemon.Holding{}, err
	}
	h.last = holding
	h.until = time.Now().Add(max(period/2, share*time.Since(began)))
	return holding, nil
}

func answer(h daemon.Holding, r recent) Box {
	out := Box{Daemon: h.Version, Configured: h.Configured, SAs: h.SAs, Policies: h.Policies, SAList: []SA{}, PolicyList: []Policy{}, recent: r}
	for _, c := range transport.Chips {
		id, now := h.Identity[c], r.Sample.Chips[c]
		out.Chips = append(out.Chips, Chip{
			id.Chip, id.Version, id.Simulation, now.Ready, now.Tamper, links(c, now.Health), now.Uptime().Milliseconds(), h.Capabilities[c],
		})
	}
	carried := func(c session.Carried) used { return used{c.Packets, c.Bytes, h.LastUse[c.Age]} }
	for _, sa := range h.FirstSAs {
		udp := ""
		if sa.Encap != nil {
			udp = fmt.Sprintf("%d → %d", sa.Encap.SPort, sa.Encap.DPort)
		}
		out.SAList = append(out.SAList, SA{
			sa.Dir, sa.Src.String(), sa.Dst.String(), fmt.Sprintf("0x%08x", sa.SPI), sa.ReqID, sa.Mode, sa.Suite, udp, sa.Added, carried(sa.Carried),
		})
	}
	for _, p := range h.FirstPolicies {
		shown := Policy{Dir: p.Dir, Selector: p.Selector, Action: p.Action, Priority: p.Priority}
		if t := p.Template; t != nil {
			shown.Tunnel = fmt.Sprintf("%s → %s reqid %d %s", xfrm.AddrText(t.Src), xfrm.AddrText(t.Dst), t.ReqID, t.Mode)
		}
		if p.Counted {
			u := carried(p.Carried)
			shown.used = &u
		}
		out.PolicyList = append(out.PolicyList, shown)
	}
	return out
}

// links are those that a chip has.
func links(c transport.Chip, h chip.Health) map[string]bool {
	if c == transport.Crypto {
		return map[string]bool{transport.Inner.String(): h.LinkUp, transport.Outer.String(): h.BlackLinkUp}
	}
	return map[string]bool{transport.Crypto.String(): h.LinkUp}
}
