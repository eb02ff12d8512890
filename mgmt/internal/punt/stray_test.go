// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"testing"
	"time"

	"sallyport/mgmt/internal/transport"
)

// Frames of scapy: ESP(spi=0xbabe, seq=7…9, data=…) in IPv4, in UDP behind a tag, in IPv6 with a
// flow label, and behind an option of IPv4, where nothing but SPI and number is.
const (
	stray4       = "0262c00002010200000000990800450000340001000040327c8ccb007109c00002010000babe00000007787878787878787878787878787878787878787878787878"
	strayUDP     = "0262c00002010200000000998100000708004500003c0001000040117ca5cb007109c00002011194119400287dfe0000babe00000008787878787878787878787878787878787878787878787878"
	stray6       = "0262c000020102000000009986dd600123450020324020010db800770000000000000000000920010db800c0000000000000000000010000babe00000009787878787878787878787878787878787878787878787878"
	strayOption  = "0262c00002010200000000990800470000240001000040326f95cb007109c00002010707040000000000ffffffffffffffff"
	tooShort     = "0262c00002010200000000990800450000230001000040117cbecb007109c000020111941194000f4d6f61626364656667"
	laterPiece   = "0262c00002010200000000990800450000340001000140327c8bcb007109c00002010000babe00000007787878787878787878787878787878787878787878787878"
	ofV4         = "src 203.0.113.9 dst 192.0.2.1 proto esp spi "
	judged       = "2023-11-14T22:13:20.000250Z punt_unknown_spi "
	uptimeOfStep = " uptime 2.000000003"
)

// TestStrays: a line has what RFC 4303 3.4.2 asks for. Further ones come once a second and say how
// many they stand for.
func TestStrays(t *testing.T) {
	header := transport.PuntHeader{Port: transport.PortBlack, Cycles: 600_000_001}
	now := time.Unix(1_700_000_000, 250_000)
	s := NewStrays(300_000)
	told := func(frame string) string {
		e, ok := s.Event(header, unhex(t, frame), now)
		if !ok {
			return ""
		}
		return e.String()
	}
	for _, test := range []struct{ frame, want string }{
		{stray4, judged + ofV4 + "0x0000babe seq 7" + uptimeOfStep},
		{strayUDP, judged + ofV4 + "0x0000babe seq 8" + uptimeOfStep},
		{stray6, judged + "src 2001:db8:77::9 dst 2001:db8:c0::1 proto esp spi 0x0000babe seq 9" + uptimeOfStep + " flowlabel 0x12345"},
		{strayOption, judged + ofV4 + "0xffffffff seq 4294967295" + uptimeOfStep},
		{tooShort, ""}, {laterPiece, ""}, {"", ""},
	} {
		if got := told(test.frame); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	lines := 0
	for range 1000 {
		if told(stray4) != "" {
			lines++
		}
	}
	if lines != StraysAtOnce-4 {
		t.Errorf("%d lines of a flood, want %d", lines, StraysAtOnce-4)
	}
	now = now.Add(time.Second)
	if got, want := told(stray4), "2023-11-14T22:13:21.000250Z punt_unknown_spi "+ofV4+"0x0000babe seq 7"+uptimeOfStep+" count 989"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := told(stray4); got != "" {
		t.Errorf("a second line in a second: %q", got)
	}
}
