// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestNeighbour: the address of one station is believed, that of a group, of none or of another
// length is not (RFC 1812, 3.3.2); and only while Linux knows it.
func TestNeighbour(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 6}, {index: 7}}}
	for _, c := range []struct {
		mac   net.HardwareAddr
		state int
		known bool
	}{
		{net.HardwareAddr{2, 0, 0, 0, 0, 1}, netlink.NUD_REACHABLE, true},
		{net.HardwareAddr{2, 0, 0, 0, 0, 1}, netlink.NUD_FAILED, false},
		{net.HardwareAddr{3, 0, 0, 0, 0, 1}, netlink.NUD_REACHABLE, false},
		{net.HardwareAddr{255, 255, 255, 255, 255, 255}, netlink.NUD_REACHABLE, false},
		{net.HardwareAddr{0, 0, 0, 0, 0, 0}, netlink.NUD_REACHABLE, false},
		{net.HardwareAddr{2, 0, 0, 0, 0, 1, 0, 0}, netlink.NUD_REACHABLE, false},
	} {
		update := netlink.NeighUpdate{Type: unix.RTM_NEWNEIGH, Neigh: netlink.Neigh{
			LinkIndex: 7, State: c.state, IP: net.IP{10, 1, 0, 9}, HardwareAddr: c.mac,
		}}
		n, ok := d.neighbour(&vlans{}, update)
		if !ok || n.Port != 1 || (n.MAC != nil) != c.known || n.Failed != (c.state == netlink.NUD_FAILED) {
			t.Errorf("%v in state %d: %+v, %t", c.mac, c.state, n, ok)
		}
		update.LinkIndex = 8
		if n, ok := d.neighbour(&vlans{}, update); ok {
			t.Errorf("another device: %+v", n)
		}
	}
}
