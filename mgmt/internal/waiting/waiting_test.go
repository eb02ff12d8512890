// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

func names(packets []Packet) (out string) {
	for _, p := range packets {
		out += string(p.Frame)
	}
	return out
}

func address(n int) Host { return in("", n) }

// in is a host of a VRF, at red.
func in(vrf string, n int) Host {
	return Host{xfrm.Red, vrf, netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)})}
}

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
		if p.ports[xfrm.Red].Len() != count-gone {
			t.Errorf("%d hosts: %d wait", count, p.ports[xfrm.Red].Len())
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
	if p.ports[xfrm.Red].Len() != 0 {
		t.Errorf("%d hosts are left", p.ports[xfrm.Red].Len())
	}
}

// TestNetworks: hosts of the same address in two VRFs and in none are three.
func TestNetworks(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	p := New()
	for _, vrf := range []string{"", "blue", "green"} {
		p.Keep(Packet{To: in(vrf, 1), Frame: []byte("of " + vrf)}, now)
	}
	if got := names(p.Take(in("blue", 1))); got != "of blue" {
		t.Errorf("%q", got)
	}
	if got := names(p.Late(now.Add(Patience))); got != "of of green" && got != "of greenof " {
		t.Errorf("late: %q", got)
	}
	// A scan in one takes no place of the others.
	for n := range 2 * MostHosts {
		p.Keep(Packet{To: in("blue", n), Frame: []byte("x")}, now)
		if n < MostHosts/2 {
			p.Keep(Packet{To: in("green", n), Frame: []byte("y")}, now)
		}
	}
	for n := range MostHosts / 2 {
		if len(p.Take(in("green", n))) != 1 {
			t.Errorf("no packet waits for host %d of green", n)
		}
	}
	oldest := in("blue", 2*MostHosts-MostHosts/2)
	if len(p.Take(oldest)) != 1 || p.ports[xfrm.Red].Len() != MostHosts/2-1 {
		t.Errorf("%d other hosts of blue wait", p.ports[xfrm.Red].Len())
	}
}

// TestPorts: hosts of the same address at red and at black are two, and packets to one port,
// however many, take no place of the other.
func TestPorts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	at := func(dev string, n int) Host { return Host{dev, "", address(n).IP} }
	for dev, other := range map[string]string{xfrm.Red: xfrm.Black, xfrm.Black: xfrm.Red} {
		p := New()
		for n := range MostHosts {
			p.Keep(Packet{To: at(dev, n), Frame: []byte("of " + dev)}, now)
		}
		for n := range 4 * MostHosts {
			p.Keep(Packet{To: at(other, n), Frame: []byte("of " + other)}, now)
		}
		if got := names(p.Take(at(dev, 0))); got != "of "+dev {
			t.Errorf("%s: %q", dev, got)
		}
		for n := 1; n < MostHosts; n++ {
			if len(p.Take(at(dev, n))) != 1 {
				t.Errorf("no packet waits for host %d of %s", n, dev)
			}
		}
		if late := p.Late(now.Add(Patience)); len(late) != MostHosts || late[0].To.Dev != other {
			t.Errorf("%d packets to %s are late", len(late), other)
		}
	}
}
