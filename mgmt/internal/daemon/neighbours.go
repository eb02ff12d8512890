// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/netip"
	"strconv"
	"time"

	"sallyport/mgmt/internal/hostrows"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

var portOf = map[string]uint8{xfrm.Red: transport.PortRed, xfrm.Black: transport.PortBlack}

// neighbours bring the chips' next hops and hosts to what Linux knows of them.
type neighbours struct {
	daemon *Daemon
	linux  seeker
	known  map[heard]xfrm.MAC             // by Linux
	rows   map[model.NextHop]xfrm.MAC     // on the chips
	failed map[model.NextHop]bool         // of those, the ones that Linux has looked for in vain
	asked  *hostrows.ByNetwork[time.Time] // that packets went to, until when they are sought
	seen   map[model.NextHop]time.Time    // when Linux last looked for a host on the chips
	probes map[model.NextHop]probe        // of those that it does not know
	left   budget                         // of this second
	turn   int                            // the wanted host that is looked for first
	last   time.Time                      // of the last change of the chips
	full   map[string]bool                // by device: there was no room for some host

	model   *model.Model           // as the chips last had it
	insides map[int]*model.Model   // of its networks
	written map[model.NextHop]bool // hosts of neighbour lines
}

// seeker is Linux as what looks for hosts.
type seeker interface {
	// Fits says whether a VLAN of red has a device in Linux that is in the same VRF as in the box.
	Fits(id uint16) bool
	Probe(port uint8, host netip.Addr)
	ProbeVLAN(id uint16, host netip.Addr)
}

func newNeighbours(d *Daemon, linux seeker) *neighbours {
	return &neighbours{
		daemon: d, linux: linux, known: map[heard]xfrm.MAC{}, failed: map[model.NextHop]bool{}, asked: hostrows.PlacesOf[time.Time](mostWaited),
		seen: map[model.NextHop]time.Time{}, left: perSecond, full: map[string]bool{},
	}
}

// heard is a host as Linux knows it: at a port, or in a VLAN of red.
type heard struct {
	dev  string
	vlan uint16 // 0: none
	tag  uint16 // EtherType of its tag; 0: none
	ip   netip.Addr
}

// see takes the configuration.
func (n *neighbours) see(m *model.Model) {
	if m != n.model {
		n.model, n.insides, n.written = m, m.Insides(), map[model.NextHop]bool{}
		for network, own := range n.insides {
			for _, line := range own.Neighs {
				n.written[model.NextHop{Dev: line.Dev, IP: line.IP, Network: network}] = true
			}
		}
	}
}

// hopOf is a host that Linux knows in its network; false if its VLAN is in no VRF of the box.
func (n *neighbours) hopOf(at heard) (model.NextHop, bool) {
	if at.vlan == 0 {
		return model.NextHop{Dev: at.dev, IP: at.ip}, true
	}
	if n.model == nil {
		return model.NextHop{}, false
	}
	hop := model.NextHop{Dev: at.dev, IP: at.ip, Network: n.model.NetworkOf(n.model.VRFOf(at.vlan))}
	if hop.IP.IsLinkLocalUnicast() {
		hop.IP = hop.IP.WithZone(strconv.Itoa(int(at.vlan)))
	}
	return hop, hop.Network != 0
}

// heardAt is where Linux has a host of a network; false if it has no device there.
func (n *neighbours) heardAt(hop model.NextHop) (heard, bool) {
	if hop.Network == 0 {
		return heard{dev: hop.Dev, ip: hop.IP}, true
	}
	own := n.insides[hop.Network]
	if own == nil {
		return heard{}, false
	}
	id, tag := own.VLANID(own.HopVLAN(hop.Dev, hop.IP))
	return heard{hop.Dev, id, tag, hop.IP.WithZone("")}, id != 0 && n.linux.Fits(id)
}

// mac is the address of a host of a network as Linux knows it.
func (n *neighbours) mac(hop model.NextHop) (mac xfrm.MAC, known bool) {
	if at, reached := n.heardAt(hop); reached {
		mac, known = n.known[at]
	}
	return mac, known
}

// resolves says whether the box looks for a host of a network.
func (n *neighbours) resolves(hop model.NextHop) bool {
	own := n.insides[hop.Network]
	return own != nil && own.Resolves(hop)
}

// probe has Linux look for a host of a network.
func (n *neighbours) probe(hop model.NextHop) {
	at, reached := n.heardAt(hop)
	switch {
	case !reached:
	case at.vlan != 0:
		n.linux.ProbeVLAN(at.vlan, at.ip)
	default:
		n.linux.Probe(portOf[hop.Dev], hop.IP)
	}
}

// hosts are those that the box is to know: those that rows lead to, and those that are to have rows
// of their own.
func (n *neighbours) hosts(m *model.Model, before map[model.NextHop]xfrm.MAC, wanted []model.NextHop) (map[model.NextHop]xfrm.MAC, hostrows.Tally) {
	learned, out, room := map[model.NextHop]xfrm.MAC{}, hostrows.NewTally(), map[string]int{}
	for _, dev := range model.Devices {
		room[dev] = n.daemon.session.HostRoom(m, dev)
	}
	for _, hop := range wanted {
		mac, known := n.mac(hop)
		if !known {
			mac, known = before[hop]
		}
		if !known {
			continue
		}
		if learned[hop] = mac; n.resolves(hop) {
			room[hop.Dev]--
			out.Installed[hostrows.PlaceOf(hop)]++
		}
	}
	had, further := n.candidates(learned, before)
	for _, dev := range model.Devices {
		hostrows.Share(learned, had[dev], further[dev], room[dev], out)
	}
	n.warn(out)
	return learned, out
}

// candidates are, by device, the hosts that have rows of their own, unless they do not answer, and
// further ones that Linux knows. Written hosts are none: they have rows anyhow, and what Linux
// knows of them is learned at once.
func (n *neighbours) candidates(learned, before map[model.NextHop]xfrm.MAC) (had, further map[string][]hostrows.Candidate) {
	had, further = map[string][]hostrows.Candidate{}, map[string][]hostrows.Candidate{}
	add := func(to map[string][]hostrows.Candidate, hop model.NextHop, mac xfrm.MAC) {
		switch _, has := learned[hop]; {
		case has || !n.resolves(hop):
		case n.written[hop]:
			learned[hop] = mac
		default:
			to[hop.Dev] = append(to[hop.Dev], hostrows.Candidate{Hop: hop, MAC: mac, Seen: n.seen[hop]})
		}
	}
	for hop, mac := range before {
		if n.failed[hop] {
			continue
		}
		if now, known := n.mac(hop); known {
			mac = now
		}
		add(had, hop, mac)
	}
	for at, mac := range n.known {
		hop, ours := n.hopOf(at)
		if _, has := before[hop]; has && !n.failed[hop] {
			continue
		}
		if place, reached := n.heardAt(hop); ours && reached && place == at {
			add(further, hop, mac)
		}
	}
	return had, further
}

// warn writes into the log once that a table of hosts is full, as long as it is.
func (n *neighbours) warn(out hostrows.Tally) {
	full := map[string]bool{}
	for _, counts := range []map[hostrows.Place]int{out.Gone, out.Refused} {
		for at := range counts {
			full[at.Dev] = true
		}
	}
	for dev := range full {
		if !n.full[dev] {
			most := out.Most(dev)
			n.daemon.log.Warn("no room for all hosts on "+dev+": the network that has most of them gives way", "network", most.Name(n.insides), "hosts", out.Installed[most])
		}
	}
	n.full = full
}

// told is a message for a station at red that the chips do not know.
type told struct {
	to    model.NextHop
	frame []byte
}

// deliver sends a message to a station at red, if Linux knows it.
func (n *neighbours) deliver(message told) error {
	mac, known := n.mac(message.to)
	frame, ok := punt.Deliver(message.frame, mac, nil)
	if !known || !ok {
		return nil
	}
	return n.daemon.host.frames.Send(transport.PortRed, frame)
}
