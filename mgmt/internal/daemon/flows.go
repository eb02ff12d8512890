// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"sallyport/mgmt/internal/answers"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// keepWaiting has packets to hosts at a port wait for their Ethernet addresses, until ctx ends or
// the chips fail. The senders of packets to no host straight behind the port are told. `tunnel`
// says that the packets came protected.
func (d *Daemon) keepWaiting(ctx context.Context, frames <-chan answers.Punted, dev string, tunnel bool) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			v, err := d.view()
			if err != nil {
				return err
			}
			host, length, ok := punt.Destination(frame.Bytes)
			vrf, known := v.VRFOf(frame.Network)
			_, resolves := v.Resolves(dev, vrf, host)
			switch {
			case !ok || !known || uint32(length) > v.Model().Mtu(dev):
				// Its network is gone, or Linux would have to cut it.
			case !resolves:
				err = d.teller.TellFault(frame, answers.NoRouteBy(dev), d.towards(dev, tunnel))
			case dev == xfrm.Red || readable(v, frame.Bytes):
				d.host.waiting.Keep(waiting.Packet{Frame: frame.Bytes, To: waiting.Host{Dev: dev, VRF: vrf, IP: host}, Tunnel: tunnel}, d.now())
				d.seek(model.NextHop{Dev: dev, IP: host, Network: frame.Network})
			}
			if err != nil {
				return err
			}
		}
	}
}

// readable says whether policies can tell what a packet is: of a later fragment they cannot.
func readable(v *session.View, frame []byte) bool {
	_, ok := punt.ReadPacket(frame, v.Skipped())
	return ok
}

// mayLeave says whether a packet that waited may leave by a port. Its policy may have changed
// meanwhile, and must still let it out of black in clear. That of a later fragment is not known.
func mayLeave(v *session.View, dev string, frame []byte) bool {
	packet, ok := punt.ReadPacket(frame, v.Skipped())
	return dev == xfrm.Red || ok && v.Bypasses(packet)
}

// towards answers the senders of packets that were to leave by a port.
func (d *Daemon) towards(dev string, tunnel bool) answers.Way {
	if dev == xfrm.Black {
		return d.towardsRed()
	}
	return d.towardsBlack(tunnel)
}

// seek has Linux look for a host.
func (d *Daemon) seek(host model.NextHop) {
	select {
	case d.host.unresolved[host.Dev] <- host:
	default: // its next packets tell again
	}
}

// forward sends packets that have waited for one host, now that its Ethernet address is known, if
// it is still one at its port, in their VRF. While a change is made they wait on, for the host's
// VLAN may be another VRF's meanwhile, and the policies of clear packets others. The inner chip has
// lowered the TTL of packets for black.
func (d *Daemon) forward(packets []waiting.Packet, to xfrm.MAC) error {
	if len(packets) == 0 {
		return nil
	}
	v, err := d.view()
	if err != nil {
		return err
	}
	at := packets[0].To
	tags, resolves := v.Resolves(at.Dev, at.VRF, at.IP)
	onward := punt.Forward
	if at.Dev == xfrm.Black {
		onward = punt.Deliver
	}
	for _, packet := range packets {
		if frame, ok := onward(packet.Frame, to, tags); ok && resolves && mayLeave(v, at.Dev, packet.Frame) {
			sent, err := d.session.SendBy(v, func() error { return d.host.frames.Send(portOf[at.Dev], frame) })
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
		if err := d.teller.TellFault(answers.Punted{Bytes: packet.Frame, Network: number}, answers.NoHost, d.towards(packet.To.Dev, packet.Tunnel)); err != nil {
			return err
		}
	}
	return nil
}

// towardsRed answers the senders of packets in clear for black.
func (d *Daemon) towardsRed() answers.Way {
	unknown := func(station model.NextHop, message []byte) {
		select {
		case d.host.told <- told{station, message}:
		default: // a further packet is answered again
		}
	}
	red := answers.ToStations(func(frame []byte) error { return d.host.frames.Send(transport.PortRed, frame) }, unknown)
	return answers.ToSource(answers.ToLinux(d.host.devices.DeliverTunnels), red)
}

// towardsBlack answers the senders of packets that came protected, or of those in clear.
func (d *Daemon) towardsBlack(protected bool) answers.Way {
	byPolicy := func(frame []byte) error { return d.host.frames.Send(transport.ByPolicy, frame) }
	if protected {
		return answers.ToTunnel(byPolicy)
	}
	return answers.ToBlack(byPolicy)
}

// betweenTunnels answers the senders of packets out of a tunnel for another one, which may be too
// long for that one.
func (d *Daemon) betweenTunnels() answers.Way {
	to := d.towardsBlack(true)
	to.MTU = (*session.View).TooLong
	return to
}
