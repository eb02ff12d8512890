// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"sallyport/mgmt/internal/transport"
)

// VRF is a network apart, as the box has it.
type VRF struct {
	Name       string
	Table      uint32
	VLANs      map[uint16]VLAN // of red, by ID
	Interfaces []string        // of XFRM
}

// VLAN is a VLAN of a VRF.
type VLAN struct {
	Name     string
	Protocol uint16 // EtherType of its tag
}

// vlan is a device that Linux has for a VLAN of red, or for an XFRM interface.
type vlan struct {
	name     string
	index    int
	id       uint16
	protocol uint16
	master   int // index of the device that it is in; 0: none
	up       bool
}

// master is what Linux has above VLANs of red: a VRF, or a device of another kind.
type master struct {
	name  string
	kind  string
	table uint32 // of a VRF
}

// vlans are Linux's VLANs of red, the devices of XFRM interfaces, and what may have them, by index.
type vlans struct {
	red     int // index of red's device
	xfrm    *interfaces
	devices map[int]vlan
	tunnels map[int]vlan
	masters map[int]master
}

// vlansOf reads the devices of Linux.
func (d *Devices) vlansOf(links []netlink.Link) *vlans {
	all := &vlans{d.taps[transport.PortRed].index, &d.interfaces, map[int]vlan{}, map[int]vlan{}, map[int]master{}}
	for _, link := range links {
		all.take(link)
	}
	return all
}

// take notes a device.
func (v *vlans) take(link netlink.Link) {
	at := link.Attrs()
	if t := v.xfrm.of(at.Index); t != nil {
		v.tunnels[at.Index] = vlan{name: t.name, index: at.Index, master: at.MasterIndex, up: at.Flags&net.FlagUp != 0}
		return
	}
	switch l := link.(type) {
	case *netlink.Vlan:
		if at.ParentIndex == v.red && at.NetNsID <= 0 {
			now := vlan{at.Name, at.Index, uint16(l.VlanId), uint16(l.VlanProtocol), at.MasterIndex, at.Flags&net.FlagUp != 0}
			v.devices[at.Index] = now
		}
	case *netlink.Vrf:
		v.masters[at.Index] = master{at.Name, "VRF", l.Table}
	case *netlink.Bridge, *netlink.Bond:
		v.masters[at.Index] = master{at.Name, link.Type(), 0}
	}
}

// follow takes a change of a device, and says whether anything is other than before.
func (v *vlans) follow(u netlink.LinkUpdate, gone bool) bool {
	index := int(u.Index)
	before, tunnel, above := v.devices[index], v.tunnels[index], v.masters[index]
	delete(v.devices, index)
	delete(v.tunnels, index)
	delete(v.masters, index)
	if !gone {
		v.take(u.Link)
	}
	return before != v.devices[index] || tunnel != v.tunnels[index] || above != v.masters[index]
}

// has says whether a device is one of them.
func (v *vlans) has(index int) bool {
	_, vlan := v.devices[index]
	_, tunnel := v.tunnels[index]
	return vlan || tunnel
}

// devicesNow lists Linux's devices. A change meanwhile is told to who listens already.
func devicesNow() ([]netlink.Link, error) {
	links, err := netlink.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("cannot list Linux's devices: %w", err)
	}
	return links, nil
}

// String tells the VRFs of a box apart.
func (v VRF) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", v.Name, v.Table)
	for _, id := range slices.Sorted(maps.Keys(v.VLANs)) {
		fmt.Fprintf(&b, " %d/%s/%d", id, v.VLANs[id].Name, v.VLANs[id].Protocol)
	}
	fmt.Fprint(&b, " ", v.Interfaces)
	return b.String()
}
