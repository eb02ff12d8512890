// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// keepWaiting has packets to hosts at red wait for their Ethernet addresses, until ctx ends or the
// chips fail. The senders of packets to no host straight behind red are told. `tunnel` says that
// the packets came protected.
func (d *Daemon) keepWaiting(ctx context.Context, frames <-chan punted, tunnel bool) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			v, err := d.view()
			if err != nil {
				return err
			}
			host, length, ok := punt.Destination(frame.bytes)
			vrf, known := v.VRFOf(frame.network)
			_, resolves := v.Resolves(vrf, host)
			switch {
			case !ok || !known || uint32(length) > v.RedMTU(xfrm.Selector{}):
				// Its network is gone, or Linux would have to cut it.
			case resolves:
				d.host.waiting.Keep(waiting.Packet{Frame: frame.bytes, To: waiting.Host{VRF: vrf, IP: host}, Tunnel: tunnel}, d.now())
				d.seek(model.NextHop{Dev: xfrm.Red, IP: host, Network: frame.network})
			default:
				err = d.tellFault(frame, noRoute, d.towardsBlack(tunnel))
			}
			if err != nil {
				return err
			}
		}
	}
}

// seek has Linux look for a host.
func (d *Daemon) seek(host model.NextHop) {
	select {
	case d.host.unresolved <- host:
	default: // its next packets tell again
	}
}

// forward sends packets that have waited for one host, now that its Ethernet address is known, if
// it is still one at red, in their VRF. While a change is made they wait on, for the host's VLAN
// may be another VRF's meanwhile.
func (d *Daemon) forward(packets []waiting.Packet, to xfrm.MAC) error {
	if len(packets) == 0 {
		return nil
	}
	v, err := d.view()
	if err != nil {
		return err
	}
	tags, resolves := v.Resolves(packets[0].To.VRF, packets[0].To.IP)
	for _, packet := range packets {
		if frame, ok := punt.Forward(packet.Frame, to, tags); ok && resolves {
			sent, err := d.session.SendBy(v, func() error { return d.host.frames.Send(transport.PortRed, frame) })
			if err != nil {
				return err
			}
			if !sent {
				d.host.waiting.Keep(packet, d.now())
			}
		}
	}
	return nil
}

// giveUp tells the senders of packets that their host does not answer.
func (d *Daemon) giveUp(packets []waiting.Packet) error {
	v, err := d.view()
	if err != nil {
		return err
	}
	for _, packet := range packets {
		number := v.Model().NetworkOf(packet.To.VRF)
		if packet.To.VRF != "" && number == 0 {
			continue // it is gone
		}
		if err := d.tellFault(punted{packet.Frame, number}, noHost, d.towardsBlack(packet.Tunnel)); err != nil {
			return err
		}
	}
	return nil
}

// serveWaiting sends the packets that wait for a host, or tells their senders that Linux has looked
// for it in vain.
func (n *neighbours) serveWaiting(change punt.Neighbour) error {
	at := heard{xfrm.Red, change.VLAN, change.Protocol, change.IP}
	hop, ours := n.hopOf(at)
	if change.Port == transport.PortBlack || !ours {
		return nil
	}
	if place, reached := n.heardAt(hop); !reached || place != at {
		return nil // another VLAN of the VRF has a station of that address
	}
	switch host := n.waited(hop); {
	case change.MAC != nil:
		return n.daemon.forward(n.daemon.host.waiting.Take(host), xfrm.MAC(change.MAC))
	case change.Failed:
		return n.daemon.giveUp(n.daemon.host.waiting.Take(host))
	}
	return nil
}

// waited is a host of a network as packets wait for it.
func (n *neighbours) waited(hop model.NextHop) waiting.Host {
	host := waiting.Host{IP: hop.IP}
	if own := n.insides[hop.Network]; own != nil {
		host.VRF = own.VRFName()
	}
	return host
}

// serveLate sees to packets that have waited long: their hosts may be known since.
func (n *neighbours) serveLate(packets []waiting.Packet) (err error) {
	for _, p := range packets {
		late := []waiting.Packet{p}
		network := 0
		if n.model != nil {
			network = n.model.NetworkOf(p.To.VRF)
		}
		mac, known := n.mac(model.NextHop{Dev: xfrm.Red, IP: p.To.IP, Network: network})
		if known && (network != 0 || p.To.VRF == "") {
			err = n.daemon.forward(late, mac)
		} else {
			err = n.daemon.giveUp(late)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
