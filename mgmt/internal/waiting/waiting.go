// SPDX-License-Identifier: Apache-2.0

// Package waiting keeps packets until the Ethernet address of their host is known (RFC 1122
// 2.3.2.2, RFC 4861 7.2.2).
package waiting

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// MostPackets of one host wait. A further one takes the place of the oldest.
	MostPackets = 3
	// MostHosts have packets that wait. A further one takes the place of the host that has waited
	// longest, of those of the VRF that has most. So a scan of a network holds no memory, and takes
	// no place for good, nor any of a VRF that has fewer.
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

// Packets are those of all hosts. The zero value has none. Its methods may run at once.
type Packets struct {
	mu    sync.Mutex
	hosts map[Host]*host
	order []*host // by the time of their first packets
}

type host struct {
	at      Host
	since   time.Time
	packets []Packet
}

// Keep takes a packet to its host.
func (p *Packets) Keep(packet Packet, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := packet.To
	h, waits := p.hosts[at]
	if !waits {
		if len(p.order) >= MostHosts {
			p.remove(p.crowded(at))
		}
		if p.hosts == nil {
			p.hosts = map[Host]*host{}
		}
		h = &host{at: at, since: now}
		p.hosts[at] = h
		p.order = append(p.order, h)
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
	for i, h := range p.order {
		if h.at == at {
			return p.remove(i)
		}
	}
	return nil
}

// Late gives the packets of the hosts that have waited for Patience, which wait no longer.
func (p *Packets) Late(now time.Time) (late []Packet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && now.Sub(p.order[0].since) >= Patience {
		late = append(late, p.remove(0)...)
	}
	return late
}

// crowded is the place of the host that has waited longest, of those of the VRF that has most with
// a further one.
func (p *Packets) crowded(further Host) int {
	of, most := map[string]int{further.VRF: 1}, further.VRF
	for _, h := range p.order {
		of[h.at.VRF]++
	}
	for _, h := range p.order {
		if of[h.at.VRF] > of[most] {
			most = h.at.VRF
		}
	}
	return max(0, slices.IndexFunc(p.order, func(h *host) bool { return h.at.VRF == most }))
}

func (p *Packets) remove(i int) []Packet {
	h := p.order[i]
	p.order = append(p.order[:i], p.order[i+1:]...)
	delete(p.hosts, h.at)
	return h.packets
}
