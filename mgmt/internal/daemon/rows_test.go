// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestRowsAreShared: one network may have all rows while others need none. Then it gives way, and
// no network with fewer gives way to it.
func TestRowsAreShared(t *testing.T) {
	r := newSharedRig(t)
	for _, step := range []struct {
		network, first, count int
		want                  [4]int
	}{
		{1, 0, smallRoom - 1, [4]int{0, smallRoom - 1, 0, 0}},
		{1, 100, 1, [4]int{0, smallRoom, 0, 0}},
		{1, 101, 100, [4]int{0, smallRoom, 0, 0}},
		{2, 0, 5, [4]int{0, smallRoom - 5, 5, 0}},
		{0, 0, 5, [4]int{5, smallRoom - 10, 5, 0}},
		{1, 201, 1, [4]int{5, smallRoom - 10, 5, 0}},
		{2, 5, 100, [4]int{5, 28, 27, 0}},
		{3, 0, 1, [4]int{5, 27, 27, 1}},
		{3, 1, 100, [4]int{5, 19, 18, 18}},
	} {
		r.hear(step.network, step.first, step.count)
		r.settle()
		got := r.rows()
		if sum := got[0] + got[1] + got[2] + got[3]; sum != min(smallRoom, step.want[0]+step.want[1]+step.want[2]+step.want[3]) {
			t.Errorf("%d rows are used", sum)
		}
		for network, want := range step.want {
			if got[network] < want-1 || got[network] > want+1 || want <= 5 && got[network] != want {
				t.Fatalf("%d further hosts of network %d: %v, want %v", step.count, step.network, got, step.want)
			}
		}
	}
}

// TestWhichRowGivesWay: of the network that has most, the host that Linux has seen longest ago
// gives way. Gateways and written hosts stay, and so do those of networks with fewer.
func TestWhichRowGivesWay(t *testing.T) {
	r := newSharedRig(t)
	const gateway, written = 1, 2
	r.hear(1, 0, smallRoom+20) // 20 of them find no room
	r.must(fmt.Sprintf("route add 10.9.0.0/16 via %s dev red.10", stationOf(gateway)), fmt.Sprintf("neigh add %s lladdr 02:00:00:00:00:02 dev red.10", stationOf(written)))
	r.hear(2, 0, 5)
	r.settle()
	if got := r.rows(); got != [4]int{0, smallRoom - 5, 5, 0} {
		t.Fatalf("%v", got)
	}
	var had []int
	for number := range smallRoom + 20 {
		if r.has(1, number) && number != gateway && number != written {
			had = append(had, number)
		}
	}
	// Linux sees all but three of them again, and no row is any other's for that.
	for _, number := range had[3:] {
		r.hear(1, number, 1)
	}
	r.fake.Log = nil
	r.settle()
	if rows := r.fake.LogOf(regs.InnerTableHost); len(rows) != 0 {
		t.Errorf("without another host %d rows are written", len(rows))
	}
	r.hear(3, 0, 3)
	r.settle()
	for at, number := range had {
		if want := at >= 3; r.has(1, number) != want {
			t.Errorf("host %d of %d has a row: %t", at, len(had), !want)
		}
	}
	if got := r.rows(); got != [4]int{0, smallRoom - 8, 5, 3} || !r.has(1, gateway) {
		t.Errorf("%v; the gateway is known: %t", got, r.has(1, gateway))
	}
	// However often Linux tells of hosts without a row, they take none from others.
	r.fake.Log = nil
	for round := range 5 {
		r.hear(1, 1000*round, 100)
		r.settle()
	}
	if rows := r.fake.LogOf(regs.InnerTableHost); len(rows) != 0 {
		t.Errorf("hosts of a network that has most rows write %d", len(rows))
	}
}

// TestWrittenHostsStay: hosts that are written take rows from learned ones, of the network that has
// most, and never lose them. Linux's address of a written host takes no row beside its line's.
func TestWrittenHostsStay(t *testing.T) {
	const room, written = 960, 30 // of 1024 rows
	sizes := fakebox.Small
	sizes.PrefixBits, sizes.HostBits = 8, 10
	r := newSharedRigOf(t, sizes)
	r.hear(1, 0, room-10)
	r.hear(2, 0, 10)
	r.settle()
	var lines []string
	for number := range written {
		lines = append(lines, fmt.Sprintf("neigh add %s lladdr 02:00:00:00:01:%02x dev red.30", stationOf(number), number))
	}
	r.must(lines...)
	r.settle()
	if got := r.rows(); got != [4]int{0, room - 10 - written, 10, written} {
		t.Errorf("%v", got)
	}
	r.hear(2, 0, 100)
	r.hear(3, 0, 100) // the written ones and others
	r.settle()
	if got := r.rows(); got != [4]int{0, room - 200, 100, 100} {
		t.Errorf("%v", got)
	}
	for number := range written {
		if !r.has(3, number) {
			t.Errorf("Linux's address of the written host %d is not learned", number)
		}
	}
}

// TestFullTableIsTold: the log has once that a table is full, and the metrics have who lost rows.
func TestFullTableIsTold(t *testing.T) {
	r := newSharedRig(t)
	const text = "no room for all hosts on red: the network that has most of them gives way"
	r.hear(1, 0, smallRoom)
	r.settle()
	if strings.Contains(r.log.String(), text) {
		t.Error("the log has a table that is not full")
	}
	r.hear(2, 0, 1)
	for range 3 {
		r.settle()
	}
	if log := r.log.String(); strings.Count(log, text) != 1 || !strings.Contains(log, `network="vrf blue" hosts=59`) {
		t.Error(log)
	}
	scraped := r.scrape()
	for _, want := range []string{
		`sallyport_linux_hosts{port="vrf blue",state="installed"} 59`, `sallyport_linux_hosts{port="vrf blue",state="refused"} 1`, `sallyport_linux_hosts_gone_total{port="vrf blue"} 1`,
		`sallyport_linux_hosts{port="vrf green",state="installed"} 1`, `sallyport_linux_hosts_gone_total{port="vrf green"} 0`,
		`sallyport_linux_hosts{port="red",state="installed"} 0`, `sallyport_linux_hosts{port="black",state="installed"} 0`, `sallyport_flows_refused_total{port="vrf blue"} 0`,
	} {
		if !strings.Contains(scraped, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	// Another VRF does not inherit the counts.
	r.must("link set red.10 nomaster", "link del blue")
	r.settle()
	if _, gone, _ := r.daemon.tallies.Counted(); len(gone) != 0 {
		t.Errorf("counts of networks that are gone: %v", gone)
	}
}

// TestRefreshIsShared: Linux sees whether hosts of each network are still there, however many
// another one has.
func TestRefreshIsShared(t *testing.T) {
	sizes := fakebox.Small
	sizes.PrefixBits, sizes.HostBits = 8, 10
	r := newSharedRigOf(t, sizes)
	const few = 5
	r.hear(1, 0, 800)
	r.hear(2, 0, few)
	r.settle()
	r.clock = r.clock.Add(refresh)
	r.settle()
	if r.linux.probedIn[20] != few || r.linux.probedIn[10] != mostRefreshed-few {
		t.Errorf("by VLAN Linux looks for %v hosts", r.linux.probedIn)
	}
}

// TestCostOfAHost: one further host writes few rows, though it takes the place of another one among
// many. The log has the time.
func TestCostOfAHost(t *testing.T) {
	const most = 8 // one that gives way, and a chain of moves
	for _, there := range []int{100, 20_000} {
		sizes := fakebox.Small
		sizes.PrefixBits, sizes.HostBits = 8, 14
		r := newSharedRigOf(t, sizes)
		r.hear(1, 0, there)
		r.settle()
		r.fake.Log = nil
		r.hear(2, 0, 1)
		begun := time.Now()
		r.settle()
		t.Logf("%d hosts: one more takes %v", there, time.Since(begun))
		if rows := len(r.fake.LogOf(regs.InnerTableHost)); rows > most || r.rows() != [4]int{0, min(there, 15_359), 1, 0} {
			t.Errorf("%d hosts: one more writes %d rows; %v have rows", there, rows, r.rows())
		}
	}
}

// TestScanOfOneVRF: a scan of a network takes no place, and no question of Linux, from the hosts of
// another one.
func TestScanOfOneVRF(t *testing.T) {
	r := newRig(t)
	n := newNeighbours(r.daemon, nil)
	host := func(network, number int) model.NextHop {
		return model.NextHop{Dev: xfrm.Red, IP: netip.AddrFrom4([4]byte{10, 1, byte(number >> 8), byte(number)}), Network: network}
	}
	for number := range 3 {
		n.ask(host(2, number))
	}
	for number := range 3 * mostWaited {
		n.ask(host(1, number))
	}
	if n.asked.Len() != mostWaited {
		t.Errorf("%d hosts are looked for", n.asked.Len())
	}
	var order []model.NextHop
	for hop := range n.asked.All() {
		order = append(order, hop)
	}
	for number := range 3 {
		if at := slices.Index(order, host(2, number)); at < 0 || at > 5 {
			t.Errorf("host %d of the other network is number %d of %d", number, at, len(order))
		}
	}
	if len(order) != mostWaited {
		t.Errorf("%d hosts have a turn", len(order))
	}
}

// TestScanOfBlack: hosts at black that packets go to, however many, take no place from those at
// red, nor keep Linux from looking for these.
func TestScanOfBlack(t *testing.T) {
	r := newRig(t)
	n := newNeighbours(r.daemon, nil)
	host := func(dev string, number int) model.NextHop {
		return model.NextHop{Dev: dev, IP: netip.AddrFrom4([4]byte{10, 1, byte(number >> 8), byte(number)})}
	}
	for number := range mostWaited / 2 {
		n.ask(host(xfrm.Red, number))
	}
	for number := range 3 * mostWaited {
		n.ask(host(xfrm.Black, number))
	}
	asked := map[string]int{}
	for hop := range n.asked.All() {
		asked[hop.Dev]++
	}
	if asked[xfrm.Red] != mostWaited/2 || asked[xfrm.Black] != mostWaited/2 {
		t.Errorf("hosts that are looked for: %v", asked)
	}
}

// TestDeliver: a message for a station that the chips do not know leaves for the address that Linux
// knows, and not without one.
func TestDeliver(t *testing.T) {
	r := newRig(t)
	frames := &record{}
	r.daemon.host = &host{frames: frames}
	n, station := newNeighbours(r.daemon, nil), netip.MustParseAddr("10.1.0.77")
	for _, mac := range []xfrm.MAC{{}, {2, 5: 0x77}} {
		if mac != (xfrm.MAC{}) {
			n.known[heard{xfrm.Red, 0, 0, station}] = mac
		}
		if err := n.deliver(told{model.NextHop{Dev: xfrm.Red, IP: station}, testbox.Asked(t, 7)}); err != nil {
			t.Error(err)
		}
	}
	r.daemon.host = nil
	if want := "port 0, to 020000000077: 080045"; len(frames.sent) != 1 || !strings.HasPrefix(frames.sent[0], want) {
		t.Errorf("sent %q, want %q", frames.sent, want)
	}
}

// record is the management CPU's end of a box that notes the injected frames.
type record struct{ sent []string }

func (f *record) Receive() (transport.PuntHeader, []byte, error) { select {} }
func (f *record) Close() error                                   { return nil }
func (f *record) Send(port uint8, frame []byte) error {
	f.sent = append(f.sent, fmt.Sprintf("port %d, to %x: %x", port, frame[:6], frame[12:]))
	return nil
}

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
