// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/answers"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/rib"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// host is Linux behind the ports of the box: two devices, and the way to them.
type host struct {
	devices *punt.Devices
	frames  punt.Frames
	ports   [2]punt.Device                 // what the devices are
	queues  map[uint32]chan answers.Punted // frames that the chip of red punted, by their reasons
	own     map[uint32]chan answers.Punted // and Linux's own
	hairpin map[uint32]chan answers.Punted // and those out of tunnels for others
	black   map[uint32]chan answers.Punted // and frames that the black port's chip punted
	paths   chan model.PathReport
	strays  *punt.Strays
	// hosts that packets went to and that have no row, by port, and packets to them
	unresolved map[string]chan model.NextHop
	waiting    *waiting.Packets
	told       chan told                // to stations that the chips do not know
	routes     map[string]*rib.Follower // by set; none if its chip has no tree of prefixes
	apart      *rib.VRFs                // those of VRFs; nil likewise
}

// kept is where a punted frame is seen to in this process; nil if it is Linux's. Linux never gets
// its own back, so that none goes round. Nor does it get one out of a tunnel for another one, which
// it could send on in clear.
func (h *host) kept(header transport.PuntHeader) chan<- answers.Punted {
	if header.Port != transport.PortRed {
		return h.black[header.Reason]
	}
	queues := h.own
	switch {
	case header.Hairpin:
		queues = h.hairpin
	case !header.Injected:
		return h.queues[header.Reason]
	}
	if queue := queues[header.Reason]; queue != nil {
		return queue
	}
	return queues[regs.PuntReasonPolicy]
}

// apart says whether a frame out of a tunnel of a VRF would be Linux's, whose devices are in none.
func apart(header transport.PuntHeader) bool {
	return header.Port == transport.PortRed && header.Network != 0 && header.Reason == regs.PuntReasonTunnel
}

// OpenHost makes a device with the given name for each port, and takes the frames of the management
// CPU. With a third name there is a device for packets out of tunnels; without, Linux gets none of
// them but at devices of XFRM interfaces, which have the interfaces' names. Only OpenHost needs
// rights (CAP_NET_ADMIN). The caller must then call Relay, which carries frames.
func (d *Daemon) OpenHost(frames punt.Frames, redName, blackName, tunnelsName string, interfaces []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	red, black, err := punt.Of(d.session.Box, redName, blackName)
	if err != nil {
		return err
	}
	devices, err := punt.Open(red, black)
	if err != nil {
		return err
	}
	if tunnelsName != "" {
		if err := devices.OpenTunnels(punt.Tunnels(tunnelsName, black)); err != nil {
			return errors.Join(err, devices.Close())
		}
		d.log.Info("Linux is the host behind the tunnels", "device", tunnelsName)
	}
	var tunnels []punt.Device
	for _, name := range interfaces {
		tunnels = append(tunnels, punt.Tunnels(name, black))
		d.log.Info("Linux is the host behind an XFRM interface", "device", name)
	}
	if err := devices.OpenInterfaces(tunnels, d.toward); err != nil {
		return errors.Join(err, devices.Close())
	}
	d.host = &host{
		devices: devices, frames: frames, ports: [2]punt.Device{red, black}, queues: map[uint32]chan answers.Punted{}, own: map[uint32]chan answers.Punted{}, hairpin: map[uint32]chan answers.Punted{}, black: map[uint32]chan answers.Punted{},
		paths: make(chan model.PathReport, answers.MostAsking), strays: punt.NewStrays(d.session.Box.Clock(transport.Outer)), unresolved: map[string]chan model.NextHop{}, waiting: waiting.New(), told: make(chan told, answers.MostAsking),
	}
	for _, dev := range model.Devices {
		d.host.unresolved[dev] = make(chan model.NextHop, answers.MostAsking)
	}
	d.host.routes = map[string]*rib.Follower{}
	pace := rib.NewPace()
	for dev, chip := range map[string]transport.Chip{xfrm.Red: transport.Inner, xfrm.Black: transport.Outer} {
		if rows := d.session.Box.Capabilities[chip].PrefixRows; rows > 0 {
			d.host.routes[dev] = rib.New(router{d, dev, new(string)}, dev, prefixes.MostRoutes(rows), pace, d.log)
		}
	}
	// Without interfaces there are none, and those of an earlier daemon go.
	if rows := d.session.Box.Capabilities[transport.Inner].PrefixRows; rows > 0 {
		d.host.apart = rib.NewVRFs(&networks{d: d}, prefixes.MostRoutes(rows), pace, d.log)
		d.host.routes[learned.Steering] = rib.New(router{d, learned.Steering, new(string)}, learned.Steering, prefixes.MostRoutes(rows), pace, d.log)
	}
	for _, device := range d.host.ports {
		d.log.Info("Linux is the host behind a port", "device", device.Name, "address", device.MAC.String(), "mtu", device.MTU)
	}
	return nil
}

// Relay carries frames between the ports and their devices until ctx ends or the box fails. Packets
// that wait for an SA, are too long for it or for red, or have no TTL, host or route, do not reach
// Linux.
func (d *Daemon) Relay(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	answer := answers.ToRed(func(frame []byte) error { return d.host.frames.Send(transport.PortRed, frame) })
	own := answers.ToLinux(d.host.devices.DeliverTunnels)
	tunnel, clear := d.towardsBlack(true), d.towardsBlack(false)
	serve := func(queues map[uint32]chan answers.Punted, reason uint32, each func(frames <-chan answers.Punted) error) {
		frames := make(chan answers.Punted, answers.MostAsking)
		queues[reason] = frames
		group.Go(func() error { return each(frames) })
	}
	serve(d.host.queues, regs.PuntReasonPolicy, func(frames <-chan answers.Punted) error {
		deliver := func(frame []byte) error { return d.host.devices.Deliver(transport.PortRed, frame) }
		return d.teller.AnswerAsking(ctx, frames, deliver, answer)
	})
	back := d.betweenTunnels()
	// A policy that punts to Linux would give it its own frames, or those for a tunnel alone.
	lost := func([]byte) error { d.host.devices.Refuse(); return nil }
	asking := func(to answers.Way) func(frames <-chan answers.Punted) error {
		return func(frames <-chan answers.Punted) error { return d.teller.AnswerAsking(ctx, frames, lost, to) }
	}
	serve(d.host.own, regs.PuntReasonPolicy, asking(own))
	serve(d.host.hairpin, regs.PuntReasonPolicy, asking(back))
	tooLong := func(to answers.Way) func(frames <-chan answers.Punted) error {
		return func(frames <-chan answers.Punted) error { return d.teller.TellSenders(ctx, frames, to) }
	}
	serve(d.host.queues, regs.PuntReasonMtu, tooLong(answer))
	serve(d.host.own, regs.PuntReasonMtu, tooLong(own))
	serve(d.host.hairpin, regs.PuntReasonMtu, tooLong(back))
	serve(d.host.queues, regs.PuntReasonTunnelMtu, tooLong(tunnel))
	serve(d.host.queues, regs.PuntReasonClearMtu, tooLong(clear))
	faults := func(fault answers.Judge, to answers.Way) func(frames <-chan answers.Punted) error {
		return func(frames <-chan answers.Punted) error { return d.teller.TellFaults(ctx, frames, fault, to) }
	}
	serve(d.host.queues, regs.PuntReasonTtl, faults(answers.Expired, answer))
	serve(d.host.queues, regs.PuntReasonTunnelTtl, faults(answers.Expired, tunnel))
	serve(d.host.queues, regs.PuntReasonClearTtl, faults(answers.Expired, clear))
	serve(d.host.queues, regs.PuntReasonTunnelRoute, faults(answers.NoRoute, tunnel))
	serve(d.host.queues, regs.PuntReasonClearRoute, faults(answers.NoRoute, clear))
	serve(d.host.black, regs.PuntReasonClearRoute, faults(answers.NoRouteBlack, d.towardsRed()))
	hosts := func(dev string, ofTunnel bool) func(frames <-chan answers.Punted) error {
		return func(frames <-chan answers.Punted) error { return d.keepWaiting(ctx, frames, dev, ofTunnel) }
	}
	serve(d.host.queues, regs.PuntReasonTunnelHost, hosts(xfrm.Red, true))
	serve(d.host.queues, regs.PuntReasonClearHost, hosts(xfrm.Red, false))
	serve(d.host.black, regs.PuntReasonClearHost, hosts(xfrm.Black, false))
	group.Go(func() error { return d.followPaths(ctx, d.host.paths) })
	group.Go(func() error { return d.followNeighbours(ctx) })
	for dev, routes := range d.host.routes {
		group.Go(func() error { return routes.Follow(ctx, source{d.host.devices, dev}) })
	}
	if d.host.apart != nil {
		group.Go(func() error { return d.host.apart.Follow(ctx, d.host.devices) })
	}
	group.Go(func() error {
		return punt.Relay(ctx, d.host.frames, d.host.devices, func(header transport.PuntHeader, frame []byte) bool {
			d.hear(header, frame)
			if header.Reason == regs.PuntReasonUnknownSpi {
				if e, ok := d.host.strays.Event(header, frame, d.now()); ok {
					d.tell(e)
				}
			}
			if apart(header) {
				d.host.devices.Refuse()
				return true
			}
			queue := d.host.kept(header)
			if queue == nil {
				return false
			}
			select {
			case queue <- answers.Punted{Bytes: frame, Network: header.Network}:
			default: // its sender will send another
			}
			return true
		})
	})
	return group.Wait()
}

// toward names the XFRM interface to which packets to an address are routed.
func (d *Daemon) toward(addr netip.Addr) string {
	v, err := d.view()
	if err != nil {
		return "" // the box has failed, and the daemon ends
	}
	return steer.Interface(v.Model(), addr)
}

// hostChanged gives the devices the addresses that their ports have after a change. An MTU takes
// rights that the daemon has given up.
func (d *Daemon) hostChanged() error {
	if d.host == nil {
		return nil
	}
	ports := &d.host.ports
	red, black, err := punt.Of(d.session.Box, ports[0].Name, ports[1].Name)
	if err != nil {
		return err
	}
	for port, device := range []punt.Device{red, black} {
		if before := ports[port].MAC; device.MAC != nil && !bytes.Equal(device.MAC, before) {
			if err := d.host.devices.Address(uint8(port), device.MAC); err != nil {
				return err
			}
			d.log.Info("a device has its port's new address", "device", device.Name, "address", device.MAC.String())
		}
		if device.MTU != ports[port].MTU {
			d.log.Warn("the MTU of a port has changed, that of its device is root's to change: ip link set "+device.Name+" mtu N", "mtu", device.MTU)
		}
		ports[port] = device
	}
	return nil
}
