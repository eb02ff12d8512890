// SPDX-License-Identifier: Apache-2.0

// Package waiting keeps packets until the Ethernet address of their host is known (RFC 1122
// 2.3.2.2, RFC 4861 7.2.2).
package waiting

import (
	"net/netip"
	"sync"
	"time"

	"sallyport/mgmt/internal/fair"
	"sallyport/mgmt/internal/xfrm"
)

const (
	// MostPackets of one host wait. A further one takes the place of the oldest.
	MostPackets = 3
	// MostHosts of a port have packets that wait. A further one takes the place of the host that
	// has waited longest, of the VRF that has most. So a scan of a network holds no memory, and
	// takes no place for good, nor any of the other port.
	MostHosts = 256
	// Patience is how long a packet waits: as long as a host asks for an address (RFC 4861, 10).
	Patience = 3 * time.Second
)

// Host is one for which packets wait, behind a port: of a VRF, whose name no other VRF has, or of
// none.
type Host struct {
	Dev string
	VRF string
	IP  netip.Addr
}

// Packet is one that waits.
type Packet struct {
	Frame []byte // as it was punted
	To    Host
	// Tunnel says that the packet came protected, so no message about it may leave in clear.
	Tunnel bool
}

// Packets are those of all hosts. Their methods may run at once.
type Packets struct {
	mu    sync.Mutex
	ports map[string]hosts
}

// hosts are those of a port, the ones that have waited longest first.
type hosts = *fair.Places[string, Host, *host]

type host struct {
	since   time.Time
	packets []Packet
}

// New has no packets.
func New() *Packets {
	p := &Packets{ports: map[string]hosts{}}
	for _, dev := range []string{xfrm.Red, xfrm.Black} {
		p.ports[dev] = fair.New[string, Host, *host](MostHosts, func(at Host) string { return at.VRF })
	}
	return p
}

// Keep takes a packet to its host.
func (p *Packets) Keep(packet Packet, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.ports[packet.To.Dev]
	h, waits := all.Get(packet.To)
	if !waits {
		h = &host{since: now}
		all.Put(packet.To, h)
	}
	if len(h.packets) >= MostPackets {
		h.packets = append(h.packets[:0], h.packets[1:]...)
	}
	h.packets = append(h.packets, packet)
}

// Take gives the packets of a host, oldest first, which wait no longer.
func (p *Packets) Take(at Host) []Packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, waits := p.ports[at.Dev].Get(at)
	if !waits {
		return nil
	}
	p.ports[at.Dev].Delete(at)
	return h.packets
}

// Late gives the packets of the hosts that have waited for Patience, which wait no longer.
func (p *Packets) Late(now time.Time) (late []Packet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.ports {
		for at, h := range all.All() {
			if now.Sub(h.since) >= Patience {
				all.Delete(at)
				late = append(late, h.packets...)
			}
		}
	}
	return late
}
