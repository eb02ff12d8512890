// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/learned"
)

// Toward names the XFRM interface to which packets to an address are routed; "" if they are not.
type Toward func(addr netip.Addr) string

// interfaces are the devices of XFRM interfaces.
type interfaces struct {
	taps   []*tap
	toward Toward
}

// OpenInterfaces makes a TUN for each XFRM interface. Close ends them too.
//
// The box's tables decide over each packet that Linux sends, by its destination. So a packet counts
// as refused if the box routes its destination elsewhere than to the device that it left by. A
// packet out of a tunnel comes in at the device to which packets to its source are routed.
func (d *Devices) OpenInterfaces(devices []Device, toward Toward) error {
	d.interfaces.toward = toward
	for _, device := range devices {
		t, err := open(device, unix.IFF_TUN)
		if err != nil {
			return err
		}
		d.interfaces.taps = append(d.interfaces.taps, t)
	}
	return nil
}

// named is the device of an interface, or nil.
func (i *interfaces) named(name string) *tap {
	at := slices.IndexFunc(i.taps, func(t *tap) bool { return t.name == name })
	if name == "" || at < 0 {
		return nil
	}
	return i.taps[at]
}

// of is the device of an index, or nil.
func (i *interfaces) of(index int) *tap {
	at := slices.IndexFunc(i.taps, func(t *tap) bool { return t.index == index })
	if at < 0 {
		return nil
	}
	return i.taps[at]
}

// steer reads any route: to the first of its XFRM interfaces, unless a way is to a host at red too,
// or else elsewhere.
func (i *interfaces) steer(red func(way *netlink.NexthopInfo) bool) leadsTo {
	return func(to *learned.Route, ways []*netlink.NexthopInfo) bool {
		if to.Type != "" {
			return true
		}
		for _, way := range ways {
			if t := i.of(way.LinkIndex); t != nil && !slices.ContainsFunc(ways, red) {
				to.Dev = t.name
				return true
			}
		}
		to.Elsewhere = len(ways) > 0
		return to.Elsewhere
	}
}

// receiving is the device at which a packet out of a tunnel comes in, or nil.
func (i *interfaces) receiving(packet []byte) *tap {
	if src, _, ok := addressesOf(packet); ok && len(i.taps) > 0 {
		return i.named(i.toward(src))
	}
	return nil
}

// sends says whether a packet may leave by a device.
func (i *interfaces) sends(t *tap, packet []byte) bool {
	_, dst, ok := addressesOf(packet)
	return ok && i.toward(dst) == t.name
}

// addressesOf are those of an IP packet, of a fragment too.
func addressesOf(packet []byte) (src, dst netip.Addr, ok bool) {
	switch {
	case len(packet) >= header4 && packet[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(packet[12:16])), netip.AddrFrom4([4]byte(packet[16:20])), true
	case len(packet) >= header6 && packet[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(packet[8:24])), netip.AddrFrom16([16]byte(packet[24:40])), true
	}
	return src, dst, false
}
