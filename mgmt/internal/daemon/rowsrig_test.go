// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// stubLinux has a device for each VLAN, and notes the hosts that it is to look for.
type stubLinux struct {
	probed   []netip.Addr   // of no VLAN
	probedIn map[uint16]int // by VLAN, how many
}

func (l *stubLinux) Fits(uint16) bool                  { return true }
func (l *stubLinux) Probe(_ uint8, host netip.Addr)    { l.probed = append(l.probed, host) }
func (l *stubLinux) ProbeVLAN(id uint16, _ netip.Addr) { l.probedIn[id]++ }

// sharedRig is a box with the VRFs blue, green and grey in VLANs 10, 20 and 30, which are networks
// 1 to 3, and what Linux knows of hosts there.
type sharedRig struct {
	*rig
	n     *neighbours
	linux *stubLinux
	clock time.Time
}

// smallRoom is how many hosts find a row in the small table of 64.
const smallRoom = 60

func newSharedRig(t *testing.T) *sharedRig {
	t.Helper()
	sizes := fakebox.Small
	sizes.PrefixBits = 8
	return newSharedRigOf(t, sizes)
}

func newSharedRigOf(t *testing.T, sizes fakebox.Sizes) *sharedRig {
	t.Helper()
	r := &sharedRig{rig: newRigOf(t, sizes), linux: &stubLinux{probedIn: map[uint16]int{}}, clock: time.Unix(1_700_000_000, 0)}
	r.daemon.now = func() time.Time { return r.clock }
	lines := []string{"addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/16 dev red"}
	for i, name := range []string{"blue", "green", "grey"} {
		id := 10 * (i + 1)
		lines = append(lines, fmt.Sprintf("link add link red name red.%d type vlan id %[1]d", id), fmt.Sprintf("link add %s type vrf table %d", name, id),
			fmt.Sprintf("link set red.%d master %s", id, name), fmt.Sprintf("addr add 10.1.0.1/16 dev red.%d", id))
	}
	r.must(lines...)
	r.n = newNeighbours(r.daemon, r.linux)
	r.settle()
	return r
}

// stationOf is a host of a network, by its number.
func stationOf(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1, byte(1 + number>>8), byte(number)})
}

// hear has Linux hear of some hosts of a network, the first of them first.
func (r *sharedRig) hear(network, first, count int) {
	at := heard{dev: xfrm.Red, vlan: uint16(10 * network)}
	if network != 0 {
		at.tag = 0x8100
	}
	for number := first; number < first+count; number++ {
		at.ip = stationOf(number)
		hop, _ := r.n.hopOf(at)
		r.n.known[at] = xfrm.MAC{2, byte(network), 0, 0, byte(number >> 8), byte(number)}
		r.n.seen[hop] = r.clock
		r.clock = r.clock.Add(time.Millisecond)
	}
}

// settle is what the daemon does each second.
func (r *sharedRig) settle() {
	r.t.Helper()
	r.clock = r.clock.Add(firstProbe)
	r.n.left = perSecond
	if err := r.n.settle(); err != nil {
		r.t.Fatal(err)
	}
}

// rows are the hosts with rows in the inner chip, by network.
func (r *sharedRig) rows() (of [4]int) {
	for _, row := range r.fake.Table(transport.Inner, regs.InnerTableHost) {
		if regs.HostRow.Valid.Get(row) == 1 {
			of[regs.HostRow.Network.Get(row)]++
		}
	}
	return of
}

// has says whether a host of a network is one that the box learned.
func (r *sharedRig) has(network, number int) bool {
	r.t.Helper()
	v, err := r.daemon.view()
	if err != nil {
		r.t.Fatal(err)
	}
	_, has := v.Model().Learned[model.NextHop{Dev: xfrm.Red, IP: stationOf(number), Network: network}]
	return has
}
