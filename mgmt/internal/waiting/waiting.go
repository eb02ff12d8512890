// SPDX-License-Identifier: Apache-2.0

// Package waiting keeps packets until the Ethernet address of their host is known (RFC 1122
// 2.3.2.2, RFC 4861 7.2.2).
package waiting

import (
	"net/netip"
	"sync"
	"time"

	"sallyport/mgmt/internal/fair"
)

const (
	// MostPackets of one host wait. A further one takes the place of the oldest.
	MostPackets = 3
	// MostHosts have packets that wait. A further one takes the place of the host that has waited
	// longest, of the VRF that has most. So a scan of a network holds no memory, and takes no place
	// for good.
	MostHosts = 256
	// Patience is how long a packet waits: as long as a host asks for an address (RFC 4861, 10).
	Patience = 3 * time.Second
)

// Host is one for which packets wait: of a VRF, whose name no other VRF has, or of none.
type Host struct {
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
	hosts *fair.Places[string, Host, *host] // those that have waited longest first
}

type host struct {
	since   time.Time
	packets []Packet
}

// New has no packets.
func New() *Packets {
	return &Packets{hosts: fair.New[string, Host, *host](MostHosts, func(at Host) string { return at.VRF })}
}

// Keep takes a packet to its host.
func (p *Packets) Keep(packet Packet, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, waits := p.hosts.Get(packet.To)
	if !waits {
		h = &host{since: now}
		p.hosts.Put(packet.To, h)
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
	h, waits := p.hosts.Get(at)
	if !waits {
		return nil
	}
	p.hosts.Delete(at)
	return h.packets
}

// Late gives the packets of the hosts that have waited for Patience, which wait no longer.
func (p *Packets) Late(now time.Time) (late []Packet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, h := range p.hosts.All() {
		if now.Sub(h.since) >= Patience {
			p.hosts.Delete(at)
			late = append(late, h.packets...)
		}
	}
	return late
}
