// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/transport"
)

// Neighbour is what Linux knows of a host behind a port. Without an address it knows it no longer,
// or not yet.
type Neighbour struct {
	Port uint8
	// VLAN is the ID of the VLAN of red whose device has it; 0: the device of the port itself.
	VLAN uint16
	// Protocol is the EtherType of its tag; 0: none.
	Protocol uint16
	IP       netip.Addr
	MAC      net.HardwareAddr
	// Failed says that it has looked for the host in vain, or was told to forget it.
	Failed bool
}

// known are the states of a neighbour whose address Linux uses, or would use.
const known = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE | netlink.NUD_PERMANENT

// Neighbours gives Linux's knowledge of the hosts behind the ports, and behind VLANs of red, and
// then each change. It closes the channel when ctx ends, changes were lost, or a VLAN of red is
// another in Linux. It needs no rights.
func (d *Devices) Neighbours(ctx context.Context) (<-chan Neighbour, error) {
	ctx, cancel := context.WithCancel(ctx)
	updates := make(chan netlink.NeighUpdate)
	links := make(chan netlink.LinkUpdate)
	failed := func(err error) (<-chan Neighbour, error) {
		cancel()
		go drain(updates)
		go drain(links)
		return nil, err
	}
	// errors later close the channel
	if err := netlink.NeighSubscribe(updates, ctx.Done()); err != nil {
		close(updates)
		close(links)
		return failed(fmt.Errorf("cannot watch Linux's neighbours: %w", err))
	}
	if err := netlink.LinkSubscribe(links, ctx.Done()); err != nil {
		close(links)
		return failed(fmt.Errorf("cannot watch Linux's devices: %w", err))
	}
	all, err := devicesNow()
	if err != nil {
		return failed(err)
	}
	vlans := d.vlansOf(all)
	// The library lists what there is with the subscription for root alone. A host that a change
	// kept off the list is looked for like any that Linux does not know.
	list, err := netlink.NeighList(0, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return failed(fmt.Errorf("cannot list Linux's neighbours: %w", err))
	}
	found := make(chan Neighbour)
	go func() {
		defer close(found)
		defer drain(updates) // until the library has closed it
		defer func() { go drain(links) }()
		defer cancel()
		tell := func(update netlink.NeighUpdate) {
			if n, ok := d.neighbour(vlans, update); ok {
				select {
				case found <- n:
				case <-ctx.Done():
				}
			}
		}
		for _, n := range list {
			tell(netlink.NeighUpdate{Type: unix.RTM_NEWNEIGH, Neigh: n})
		}
		for {
			select {
			case update, ok := <-updates:
				if !ok {
					return
				}
				tell(update)
			case u, ok := <-links:
				if !ok || vlans.follow(u, u.Header.Type == unix.RTM_DELLINK) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return found, nil
}

// neighbour reads an update of one of the devices.
func (d *Devices) neighbour(of *vlans, update netlink.NeighUpdate) (n Neighbour, ok bool) {
	n.IP, ok = netip.AddrFromSlice(update.IP)
	if !ok || update.Family == unix.AF_BRIDGE {
		return n, false
	}
	n.IP = n.IP.Unmap()
	if n.Port, n.VLAN, n.Protocol, ok = d.placeOf(of, update.LinkIndex); !ok {
		return n, false
	}
	if update.Type == unix.RTM_NEWNEIGH && update.State&known != 0 && ofStation(update.HardwareAddr) {
		n.MAC = update.HardwareAddr
	}
	n.Failed = update.Type == unix.RTM_NEWNEIGH && update.State&netlink.NUD_FAILED != 0
	return n, true
}

// placeOf is the port of a device, and its VLAN there with the protocol of its tag.
func (d *Devices) placeOf(of *vlans, index int) (port uint8, id, protocol uint16, ok bool) {
	for port, t := range d.taps {
		if t.index == index {
			return uint8(port), 0, 0, true
		}
	}
	vlan, ok := of.devices[index]
	return transport.PortRed, vlan.id, vlan.protocol, ok && vlan.id != 0
}

// ofStation says whether an Ethernet address is that of one station. A host that claims a group's,
// or none, is not believed (RFC 1812, 3.3.2).
func ofStation(mac net.HardwareAddr) bool {
	return len(mac) == 6 && mac[0]&1 == 0 && !bytes.Equal(mac, make([]byte, 6))
}

// discard is the UDP port that hosts take datagrams at to throw them away (RFC 863).
const discard = 9

// Probe makes Linux look for a host behind a port by an empty datagram to it, because only root may
// ask Linux directly. If the probe fails, no neighbour appears.
func (d *Devices) Probe(port uint8, host netip.Addr) { probe(d.taps[port].name, host) }

// ProbeVLAN does so behind a VLAN of red, if that has a device that fits.
func (d *Devices) ProbeVLAN(id uint16, host netip.Addr) {
	if device := d.nameOf(id); device != "" {
		probe(device, host)
	}
}

func probe(device string, host netip.Addr) {
	if host.IsLinkLocalUnicast() {
		host = host.WithZone(device)
	}
	dialer := net.Dialer{Control: func(_, _ string, conn syscall.RawConn) error {
		var bound error
		err := conn.Control(func(fd uintptr) { bound = unix.BindToDevice(int(fd), device) })
		return cmp.Or(err, bound)
	}}
	conn, err := dialer.Dial("udp", netip.AddrPortFrom(host, discard).String())
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write(nil)
}
