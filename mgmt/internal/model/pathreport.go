// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

const (
	// leastTold4 is the least path MTU over IPv4 that is believed: what each host takes (RFC 791).
	// Over IPv6 it is [xfrm.MinMTU6] (RFC 8201, 4).
	leastTold4 = 576
	// PathAge is how long a path MTU holds unless the configuration says otherwise; then longer
	// packets are tried again (RFC 1191, 6.3; RFC 8201, 4).
	PathAge = 10 * time.Minute
)

// PathReport is what ICMP says about an ESP packet of the box: it was too long for its path.
type PathReport struct {
	Src, Dst     netip.Addr
	SPI, Number  uint32 // Number is the low half of an extended one
	Encap        bool   // in UDP, with these ports
	SPort, DPort uint16
	Length       uint32 // of the packet
	MTU          uint32 // of the path
}

// LearnedMTU is a path MTU that ICMP told, and when it is forgotten, in seconds since the epoch.
type LearnedMTU struct {
	MTU   uint32 `json:"mtu"`
	Until int64  `json:"until"`
}

// Reported is the outbound SA that a report is about, and to be believed for: SPI, addresses and
// ports are those of a tunnel, and the path MTU is plausible. That is no less than each host takes,
// less than the SA's path MTU, and less than the packet's length (RFC 4301, 6.1.1 and 8.2.1). Nil
// otherwise.
func (m *Model) Reported(r PathReport) *SA {
	sa := m.SAs.Find(xfrm.ID{Dst: r.Dst, Proto: "esp", SPI: r.SPI})
	if sa == nil || sa.Way != xfrm.DirOut || sa.Mode != xfrm.ModeTunnel || sa.Src != r.Src || r.Encap != (sa.Encap != nil) {
		return nil
	}
	if sa.Encap != nil && (sa.Encap.SPort != r.SPort || sa.Encap.DPort != r.DPort) {
		return nil
	}
	least := uint32(leastTold4)
	if r.Dst.Is6() {
		least = xfrm.MinMTU6
	}
	if r.MTU < least || r.MTU >= m.PathMTU(sa) || r.MTU >= r.Length {
		return nil
	}
	return sa
}

// mostAsked is how many SAs of two endpoints a new one is compared with.
const mostAsked = 16

// NewPaths gives the path MTUs that change as some are told, by the ages of their SAs, each for a
// time, and as that of others is over, which are nil.
func (m *Model) NewPaths(told map[uint64]uint32, holds time.Duration, now int64) map[uint64]*LearnedMTU {
	changed := map[uint64]*LearnedMTU{}
	for sa := range values(m.SAs.told) {
		if sa.Path.Until <= now {
			changed[sa.Age] = nil
		}
	}
	for age, mtu := range told {
		if sa := m.SAs.OfAge(age); sa != nil && mtu < m.PathMTU(sa) {
			changed[age] = &LearnedMTU{mtu, now + int64(holds/time.Second)}
		}
	}
	return changed
}

// SetPaths has SAs keep to such path MTUs, and gives these SAs, the oldest first.
func (m *Model) SetPaths(paths map[uint64]*LearnedMTU) []*SA {
	for age, path := range paths {
		m.EditSA(m.SAs.OfAge(age), func(sa *SA) { sa.Path = path })
		m.Changes.Paths[age] = m.SAs.OfAge(age)
	}
	return m.Changes.OtherPaths()
}

// inheritPath gives a new SA the lowest path MTU of those with its endpoints and reqid, as IKE
// rekeys one of them: the path is the same, and so is the time when it is forgotten. It asks the
// youngest of them, so that its cost has a bound.
func (m *Model) inheritPath(sa *SA) {
	key, left := ends{sa.Src, sa.Dst, sa.ReqID}, mostAsked
	m.SAs.ends.Descend(ended{ends: key, age: math.MaxUint64}, func(e ended) bool {
		if e.ends != key {
			return false
		}
		if path := e.sa.Path; path != nil && (sa.Path == nil || path.MTU < sa.Path.MTU) {
			sa.Path = path
		}
		left--
		return left > 0
	})
}

// PathsOver says whether the time of some path MTU is over.
func (m *Model) PathsOver(now int64) bool {
	for sa := range values(m.SAs.told) {
		if sa.Path.Until <= now {
			return true
		}
	}
	return false
}

// TunnelMTU is the MTU of an SA's path: that of its route, 0 for none, or what ICMP told if that
// is lower.
func (m *Model) TunnelMTU(sa *SA, mtu uint32) uint32 {
	if path := sa.Path; path != nil && (mtu == 0 || path.MTU < mtu) {
		return path.MTU
	}
	return mtu
}
