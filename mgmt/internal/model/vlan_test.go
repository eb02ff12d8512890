// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

const vlans = "link add link red name red.100 type vlan protocol 802.1ad id 100\nlink add link red.100 name inside type vlan id 4094\nlink set inside up\n" +
	"addr add 10.1.0.1/24 dev inside\nneigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev inside\n"

// tagsIn are the tags of the red next hop or host whose MAC ends in a byte, as they leave.
func (r *rig) tagsIn(last byte) []byte {
	r.T.Helper()
	hop, host := regs.NextHopRow, regs.HostRow
	for _, in := range []struct {
		table                   regs.Table
		valid, mac, tags, bytes regs.Field
	}{
		{regs.InnerTableNextHop, hop.Valid, hop.Mac, hop.Tags, hop.TagBytes},
		{regs.InnerTableHost, host.Valid, host.Mac, host.Tags, host.TagBytes},
	} {
		for _, row := range r.Fake.Table(transport.Inner, in.table) {
			if in.valid.Get(row) == 1 && in.mac.Get(row)>>40 == uint64(last) {
				var tags []byte
				for i := range 4 * in.tags.Get(row) {
					bit := uint64(in.bytes.LSB) + 8*i
					tags = append(tags, byte(row[bit/32]>>(bit%32)))
				}
				return tags
			}
		}
	}
	r.T.Fatalf("no next hop and no host ends in %x", last)
	return nil
}

// TestVLAN: the next hops and hosts of a VLAN, of one inside another, and of none; a gateway, and a
// hop that no neighbour line names.
func TestVLAN(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(vlans + "xfrm policy add dst 10.1.0.9/32 dir in action allow\nxfrm policy add dst 10.1.0.9/32 dir fwd action allow")
	if got, want := r.tagsIn(9), []byte{0x88, 0xa8, 0, 100, 0x81, 0, 0x0f, 0xfe}; !bytes.Equal(got, want) {
		t.Errorf("the tags are % x, want % x", got, want)
	}
	r.Quiet("neigh add 10.3.0.1 lladdr 02:00:00:00:00:03 dev red.100\nroute add 10.2.0.0/16 via 10.3.0.1 dev red.100\n" +
		"neigh add 10.4.0.1 lladdr 02:00:00:00:00:04 dev red\nroute add 10.5.0.0/16 via 10.4.0.1 dev red\n" +
		"route add 10.6.0.0/16 via 10.1.0.7\n" +
		"xfrm policy add dst 10.2.0.0/16 dir in action allow\nxfrm policy add dst 10.5.0.0/16 dir in action allow\nxfrm policy add dst 10.6.0.0/16 dir in action allow")
	if got, want := r.tagsIn(3), []byte{0x88, 0xa8, 0, 100}; !bytes.Equal(got, want) {
		t.Errorf("the tags are % x, want % x", got, want)
	}
	if got := r.tagsIn(4); got != nil {
		t.Errorf("the tags are % x, want none", got)
	}
	r.Quiet("route show")
	if !strings.Contains(r.Out, "10.6.0.0/16 via 10.1.0.7 dev inside\n") || !strings.Contains(r.Out, "10.2.0.0/16 via 10.3.0.1 dev red.100\n") {
		t.Errorf("the routes are\n%s", r.Out)
	}
	r.Quiet("link show")
	if want := "link red name red.100 type vlan protocol 802.1ad id 100\nlink red.100 name inside type vlan protocol 802.1Q id 4094\n"; !strings.HasSuffix(r.Out, want) {
		t.Errorf("the links are\n%s", r.Out)
	}
	r.Quiet("neigh del 10.1.0.9 dev inside\nroute del 10.6.0.0/16\naddr del 10.1.0.1/24 dev inside\nlink del inside\nlink show")
	if strings.Contains(r.Out, "inside") {
		t.Errorf("the links are\n%s", r.Out)
	}
}

// TestVLANRefusals: nothing is written, and existing devices stay.
func TestVLANRefusals(t *testing.T) {
	for _, test := range []struct{ name, text, reason string }{
		{"unknown", "addr add 10.9.0.1/24 dev eth0", "f:1: unknown device \"eth0\": the devices are red and black, and there is no such VLAN"},
		{"no parent", "link add link blue name b type vlan id 1", "f:1: unknown device \"blue\""},
		{"twice", "link add link black name red.100 type vlan id 7", "f:1: there is a device red.100 already"},
		{"the same VLAN", "link add link red name other type vlan protocol 802.1ad id 100", "f:1: red has a device with protocol 802.1ad id 100 already, red.100"},
		{"three tags", "link add link inside name third type vlan id 1", "f:1: third is inside a VLAN that is inside another already: a frame has 2 tags at most"},
		{"in use", "link del inside", "f:1: inside has addresses, routes, neighbours or VLANs inside it: delete them first"},
		{"around another", "link del red.100", "f:1: red.100 has addresses, routes, neighbours or VLANs inside it"},
		{"a neighbour elsewhere", "neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red", "f:1: 10.1.0.9 is a neighbour on inside already"},
		{"a neighbour gone elsewhere", "neigh del 10.1.0.9 dev red", "f:1: red has no neighbour 10.1.0.9"},
		{"a route elsewhere", "route add 10.7.0.0/16 via 10.1.0.9 dev red.100", "f:1: the gateway 10.1.0.9 of 10.7.0.0/16 is on red.100 by its route, and on inside by its neighbour line"},
		{"a bridge of its name", "link add inside type bridge", "f:1: there is a device inside already"},
		{"a port's setting", "link set inside mtu 1500", "f:1: unknown device \"inside\""},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(vlans)
		before, writes := r.Snapshot(), r.Fake.Writes
		err := r.Run(test.text)
		if err == nil || !strings.HasPrefix(err.Error(), test.reason) || !session.IsInput(err) {
			t.Errorf("%s: %v", test.name, err)
		}
		if r.Snapshot() != before || r.Fake.Writes != writes {
			t.Errorf("%s: something was written", test.name)
		}
	}
}
