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
)

// Neighbour is what Linux knows of a host behind a port. Without an address it knows it no longer,
// or not yet.
type Neighbour struct {
	Port uint8
	IP   netip.Addr
	MAC  net.HardwareAddr
	// Failed says that it has looked for the host in vain, or was told to forget it.
	Failed bool
}

// known are the states of a neighbour whose address Linux uses, or would use.
const known = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE | netlink.NUD_PERMANENT

// Neighbours gives Linux's knowledge of the hosts behind the ports, and then each change. It closes
// the channel when ctx ends or changes were lost. It needs no rights.
func (d *Devices) Neighbours(ctx context.Context) (<-chan Neighbour, error) {
	updates := make(chan netlink.NeighUpdate)
	// errors later close the channel
	if err := netlink.NeighSubscribe(updates, ctx.Done()); err != nil {
		return nil, fmt.Errorf("cannot watch Linux's neighbours: %w", err)
	}
	// The library lists what there is with the subscription for root alone.
	var before []netlink.NeighUpdate
	for _, t := range d.taps {
		list, err := netlink.NeighList(t.index, netlink.FAMILY_ALL)
		// A host that a change kept off the list is looked for like any that Linux does not know.
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("cannot list Linux's neighbours: %w", err)
		}
		for _, n := range list {
			before = append(before, netlink.NeighUpdate{Type: unix.RTM_NEWNEIGH, Neigh: n})
		}
	}
	found := make(chan Neighbour)
	go func() {
		defer close(found)
		tell := func(update netlink.NeighUpdate) {
			if n, ok := d.neighbour(update); ok {
				select {
				case found <- n:
				case <-ctx.Done(): // and the rest is read until the channel is closed
				}
			}
		}
		for _, update := range before {
			tell(update)
		}
		for update := range updates {
			tell(update)
		}
	}()
	return found, nil
}

// neighbour reads an update of one of the devices.
func (d *Devices) neighbour(update netlink.NeighUpdate) (n Neighbour, ok bool) {
	n.IP, ok = netip.AddrFromSlice(update.IP)
	if !ok || update.Family == unix.AF_BRIDGE {
		return n, false
	}
	n.IP = n.IP.Unmap()
	for port, t := range d.taps {
		if t.index == update.LinkIndex {
			n.Port = uint8(port)
			if update.Type == unix.RTM_NEWNEIGH && update.State&known != 0 && ofStation(update.HardwareAddr) {
				n.MAC = update.HardwareAddr
			}
			n.Failed = update.Type == unix.RTM_NEWNEIGH && update.State&netlink.NUD_FAILED != 0
			return n, true
		}
	}
	return n, false
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
func (d *Devices) Probe(port uint8, host netip.Addr) {
	device := d.taps[port].name
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
