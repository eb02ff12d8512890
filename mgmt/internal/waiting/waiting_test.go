// SPDX-License-Identifier: Apache-2.0

package waiting

import (
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

func address(n int) Host { return Host{IP: netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)})} }

// TestHost: of one host the last packets wait, in their order, each once.
func TestHost(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for count := MostPackets - 1; count <= MostPackets+1; count++ {
		p := New()
		for n := range count {
			p.Keep(Packet{To: address(1), Frame: []byte{byte('a' + n)}}, now)
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
		p := New()
		for n := range count {
			p.Keep(Packet{To: address(n), Frame: []byte("x")}, now)
			// A later packet gives its host no further time.
			p.Keep(Packet{To: address(min(n, 1)), Frame: []byte("y")}, now)
		}
		gone := max(0, count-MostHosts)
		if p.hosts.Len() != count-gone {
			t.Errorf("%d hosts: %d wait", count, p.hosts.Len())
		}
		if got := p.Take(address(gone)); len(got) == 0 {
			t.Errorf("%d hosts: nothing of host %d", count, gone)
		}
	}
}

// TestLate: a host's packets wait together, from its first one on.
func TestLate(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	p := New()
	p.Keep(Packet{To: address(1), Frame: []byte("a")}, now)
	p.Keep(Packet{To: address(2), Frame: []byte("b"), Tunnel: true}, now.Add(1))
	p.Keep(Packet{To: address(1), Frame: []byte("c")}, now.Add(Patience-1))
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{Patience - 1, ""}, {Patience, "ac"}, {Patience, ""}, {Patience + 1, "b"}, {time.Hour, ""}} {
		if got := names(p.Late(now.Add(c.after))); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
	}
	if p.hosts.Len() != 0 {
		t.Errorf("%d hosts are left", p.hosts.Len())
	}
}

// TestNetworks: hosts of the same address in two VRFs and in none are three.
func TestNetworks(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	p := New()
	for _, vrf := range []string{"", "blue", "green"} {
		p.Keep(Packet{To: Host{vrf, address(1).IP}, Frame: []byte("of " + vrf)}, now)
	}
	if got := names(p.Take(Host{"blue", address(1).IP})); got != "of blue" {
		t.Errorf("%q", got)
	}
	if got := names(p.Late(now.Add(Patience))); got != "of of green" && got != "of greenof " {
		t.Errorf("late: %q", got)
	}
	// A scan in one takes no place of the others.
	for n := range 2 * MostHosts {
		p.Keep(Packet{To: Host{"blue", address(n).IP}, Frame: []byte("x")}, now)
		if n < MostHosts/2 {
			p.Keep(Packet{To: Host{"green", address(n).IP}, Frame: []byte("y")}, now)
		}
	}
	for n := range MostHosts / 2 {
		if len(p.Take(Host{"green", address(n).IP})) != 1 {
			t.Errorf("no packet waits for host %d of green", n)
		}
	}
	oldest := Host{"blue", address(2*MostHosts - MostHosts/2).IP}
	if len(p.Take(oldest)) != 1 || p.hosts.Len() != MostHosts/2-1 {
		t.Errorf("%d other hosts of blue wait", p.hosts.Len())
	}
}
