// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"hash/maphash"
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// A source gets sharePerSecond answers by ICMP a second, and shareAtOnce after a rest. Linux's
// traceroute sends three packets at once that end here.
const (
	sharePerSecond = 10
	shareAtOnce    = 10
	mostShares     = 1024
)

// shares divide answers by ICMP among the sources of packets, IPv4 addresses and IPv6 /64 (RFC
// 1812, 4.3.2.8; RFC 4443, 2.4 f). A source's share is found by a hash that outsiders cannot
// compute, so no number of sources fills a memory; two sources with one hash have one share.
type shares struct {
	seed maphash.Seed
	each [mostShares]*rate.Limiter
}

func newShares() *shares {
	s := &shares{seed: maphash.MakeSeed()}
	for i := range s.each {
		s.each[i] = rate.NewLimiter(sharePerSecond, shareAtOnce)
	}
	return s
}

// take says whether a source may have one more answer, which then counts.
func (s *shares) take(source netip.Addr, now time.Time) bool {
	const network = 64
	if source.Is6() {
		prefix, _ := source.Prefix(network) // of an address of IPv6 there always is one
		source = prefix.Addr()
	}
	return s.each[maphash.Comparable(s.seed, source)%mostShares].AllowN(now, 1)
}
