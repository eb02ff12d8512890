// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

func TestShares(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	host, network := netip.MustParseAddr("10.1.0.2"), netip.MustParseAddr("2001:db8:1::2")
	s := New()
	for s.of("", host) == s.of("blue", host) || s.of("", network) == s.of("", host) || s.of("", network) == s.of("blue", host) {
		s = New() // in which no two of them have one share by their hash
	}
	take := func(address string, want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := s.Take("", netip.MustParseAddr(address), now); got != w {
				t.Errorf("%s, %d: %t", address, i, got)
			}
		}
	}
	all := make([]bool, AtOnce)
	for i := range all {
		all[i] = true
	}
	take("10.1.0.2", append(all, false, false)...)
	// That of a VRF is another one.
	if !s.Take("blue", host, now) {
		t.Error("a source of a VRF has no share beside one of the same address")
	}
	// A /64 is one source.
	take("2001:db8:1::2", all...)
	take("2001:db8:1::ffff", false)
	now = now.Add(time.Second / PerSecond)
	take("10.1.0.2", true, false)
	now = now.Add(time.Hour)
	take("10.1.0.2", append(all, false)...)

	// A flood of one source leaves others their shares, but for those of its hash; a flood of many
	// sources gets no more than all shares.
	s, starved := New(), 0
	flood := netip.MustParseAddr("192.0.2.66")
	for i := range 1000 {
		s.Take("", flood, now)
		if !s.Take("", netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), now) {
			starved++
		}
	}
	if starved > 20 {
		t.Errorf("%d of 1000 sources get nothing", starved)
	}
	s, taken := New(), 0
	for i := range 100_000 {
		var address [4]byte
		binary.BigEndian.PutUint32(address[:], uint32(i)|10<<24)
		if s.Take("", netip.AddrFrom4(address), now) {
			taken++
		}
	}
	if taken != mostShares*AtOnce {
		t.Errorf("%d answers at once", taken)
	}
}
