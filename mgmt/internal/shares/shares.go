// SPDX-License-Identifier: Apache-2.0

// Package shares divides answers by ICMP among those who ask for them.
package shares

import (
	"hash/maphash"
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// A source gets PerSecond answers by ICMP a second, and AtOnce after a rest. Linux's
// traceroute sends three packets at once that end here.
const (
	PerSecond  = 10
	AtOnce     = 10
	mostShares = 1024
)

// Shares divide answers by ICMP among the sources of packets, IPv4 addresses and IPv6 /64 (RFC
// 1812, 4.3.2.8; RFC 4443, 2.4 f). Equal addresses of two VRFs are two sources. A source's share is
// found by a hash that outsiders cannot compute, so no number of sources fills a memory. Two
// sources with one hash have one share.
type Shares struct {
	seed maphash.Seed
	each [mostShares]*rate.Limiter
}

// New gives full shares.
func New() *Shares {
	s := &Shares{seed: maphash.MakeSeed()}
	for i := range s.each {
		s.each[i] = rate.NewLimiter(PerSecond, AtOnce)
	}
	return s
}

// Take says whether a source in a VRF, "" in none, may have one more answer, which then counts.
func (s *Shares) Take(vrf string, source netip.Addr, now time.Time) bool {
	return s.of(vrf, source).AllowN(now, 1)
}

// of is the share of a source.
func (s *Shares) of(vrf string, source netip.Addr) *rate.Limiter {
	const network = 64
	if source.Is6() {
		prefix, _ := source.Prefix(network) // of an address of IPv6 there always is one
		source = prefix.Addr()
	}
	who := struct {
		vrf  string
		addr netip.Addr
	}{vrf, source}
	return s.each[maphash.Comparable(s.seed, who)%mostShares]
}
