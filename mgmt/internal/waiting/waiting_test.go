// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func names(packets []Packet) (out string) {
	for _, p := range packets {
		out += string(p.Frame)
	}
	return out
}

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}) }

// TestHost: of one host the last packets wait, in their order, each once.
func TestHost(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for count := MostPackets - 1; count <= MostPackets+1; count++ {
		var p Packets
		for n := range count {
			p.Keep(address(1), Packet{Frame: []byte{byte('a' + n)}}, now)
		}
		want := "abcd"[max(0, count-MostPackets):count]
		if got := names(p.Take(address(1))); got != want {
			t.Errorf("%d packets: %s, want %s", count, got, want)
		}
		if again := p.Take(address(1)); again != nil {
			t.Errorf("%d packets: %v came again", count, again)
		}
	}
}

// TestHosts: of too many hosts the one that has waited longest gives way.
func TestHosts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for count := MostHosts - 1; count <= MostHosts+1; count++ {
		var p Packets
		for n := range count {
			p.Keep(address(n), Packet{Frame: []byte("x")}, now)
			// A later packet gives its host no further time.
			p.Keep(address(min(n, 1)), Packet{Frame: []byte("y")}, now)
		}
		gone := max(0, count-MostHosts)
		if len(p.order) != len(p.hosts) || len(p.order) != count-gone {
			t.Errorf("%d hosts: %d and %d wait", count, len(p.order), len(p.hosts))
		}
		if got := p.Take(address(gone)); len(got) == 0 {
			t.Errorf("%d hosts: nothing of host %d", count, gone)
		}
	}
}

// TestLate: a host's packets wait together, from its first one on.
func TestLate(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var p Packets
	p.Keep(address(1), Packet{Frame: []byte("a")}, now)
	p.Keep(address(2), Packet{Frame: []byte("b"), Tunnel: true}, now.Add(1))
	p.Keep(address(1), Packet{Frame: []byte("c")}, now.Add(Patience-1))
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{Patience - 1, ""}, {Patience, "ac"}, {Patience, ""}, {Patience + 1, "b"}, {time.Hour, ""}} {
		if got := names(p.Late(now.Add(c.after))); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
	}
	if fmt.Sprint(p.order, p.hosts) != "[] map[]" {
		t.Errorf("left: %v %v", p.order, p.hosts)
	}
}
