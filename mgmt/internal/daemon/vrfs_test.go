// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// vrfRig is a box with two VRFs, and Linux behind its ports.
type vrfRig struct {
	*rig
	*engine
}

func newVRFRig(t *testing.T) vrfRig {
	t.Helper()
	r := newSizedRig(t, 8)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "link add link red name red.10 type vlan id 10", "link add link red name red.20 type vlan id 20",
		"link add blue type vrf table 10", "link add green type vrf table 20", "link set red.10 master blue", "link set red.20 master green")
	return vrfRig{r, r.host()}
}

// ip runs a command that may fail.
func ip(words string) error {
	if out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w\n%s", words, err, out)
	}
	return nil
}

func (r vrfRig) ip(words string) {
	r.rig.t.Helper()
	if err := ip(words); err != nil {
		r.rig.t.Fatal(err)
	}
}

// want waits until packets of a network to an address go somewhere: to hosts, or to a gateway, by
// the last byte of its MAC address and its VLAN.
func (r vrfRig) want(network int, to, want string) {
	r.rig.t.Helper()
	got := ""
	r.until(fmt.Sprintf("packets of network %d to %s go to %s", network, to, want), func() bool {
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		way, err := r.fake.RouteIn(transport.Inner, network, netip.MustParseAddr(to))
		if err != nil {
			r.rig.t.Error(err)
		}
		got = way
		var index int
		if n, _ := fmt.Sscanf(way, "[%d]", &index); n == 1 {
			row := r.fake.Table(transport.Inner, regs.InnerTableNextHop)[index]
			if got = "none"; row != nil && regs.NextHopRow.Valid.Get(row) == 1 {
				got = fmt.Sprintf("%d/%d", testbox.RowBytes(row)[5], regs.NextHopRow.TagBytes.Get(row)>>24&0xff)
			}
		}
		return got == want
	})
}

// tells waits until `vrf show` has a text.
func (r vrfRig) tells(text string) {
	r.rig.t.Helper()
	told := ""
	r.until("vrf show tells "+text, func() bool {
		v, err := r.daemon.view()
		if err == nil {
			told, err = v.Read([]xfrm.Command{xfrm.Show{What: "vrf"}}, session.Lists{Ignored: r.daemon.ignored()})
		}
		return err == nil && strings.Contains(told, text)
	})
}

// answers takes the next question of Linux for a host of a VLAN, and answers it.
func (r vrfRig) answers(id, host, mac string) {
	r.rig.t.Helper()
	for {
		select {
		case asked := <-r.engine.vlan:
			if strings.HasPrefix(asked, "00 "+id+"0806") && strings.HasSuffix(asked, host) {
				own := asked[len("00 ")+24 : len("00 ")+44] // its MAC and IP address
				r.punt(transport.PortRed, regs.PuntReasonArp, own[:12]+mac+"8100"+id+"0806"+arpTell+mac+host+own)
				return
			}
		case <-time.After(10 * time.Second):
			r.rig.t.Fatalf("Linux did not ask for %s in VLAN %s", host, id)
		}
	}
}

// TestTablesOfVRFs: Linux's table N is that of the VRF with that table, and of no other network.
// So it is from when the box has the VRF, and while a daemon comes again.
func TestTablesOfVRFs(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newVRFRig(t)
	r.ip("route add blackhole 10.5.0.0/16 table 10")
	r.ip("route add blackhole 10.6.0.0/16 table 30")
	r.tells("blue table 10 dev red.10\n\tof Linux: routes 1 refused 0 hosts 0\ngreen table 20 dev red.20\n\tof Linux: routes 0 refused 0 hosts 0\n")
	r.must("neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red.10", "addr add 10.1.0.1/24 dev red.10", "route add 10.3.0.0/16 via 10.1.0.2 dev red.10")
	r.want(1, "10.3.0.1", "2/10")
	r.want(1, "10.5.0.1", "none")
	r.want(2, "10.5.0.1", "")
	r.want(0, "10.5.0.1", "")
	r.must("link add azure type vrf table 30")
	r.tells("azure table 30 dev \n\tof Linux: routes 1 refused 0 hosts 0\n")
	r.ip("route add unreachable default metric 4278198272 table 10")
	r.want(1, "10.9.0.1", "none")
	r.end()
	r.ip("route del blackhole 10.5.0.0/16 table 10")
	r.ip("route add blackhole 10.7.0.0/16 table 10")
	r.start()
	r.engine = r.host()
	r.tells("blue table 10 dev red.10\n\tof Linux: routes 3 refused 0") // one in its grace
	r.want(1, "10.7.0.1", "none")
	r.must("link del azure")
	r.want(1, "10.3.0.1", "2/10")
}

// TestVLANsOfVRFs: Linux's hosts and routes behind a VLAN of red are those of the VRF that has it
// in Linux and in the box. A host that packets went to is looked for in its VLAN.
func TestVLANsOfVRFs(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newVRFRig(t)
	if err := ip("link add link sp-red name sp-red.10 type vlan id 10"); err != nil {
		t.Skipf("Linux has no VLANs here: %v", err)
	}
	apart := ip("link add blue type vrf table 10") == nil
	if apart {
		r.ip("link set blue up")
		r.ip("link set sp-red.10 master blue")
	}
	r.ip("link set sp-red.10 up")
	r.ip("addr add 10.1.0.1/24 dev sp-red.10")
	if !apart {
		t.Log("Linux has no VRFs here: a table without one")
		r.ip("route add 10.1.0.0/24 dev sp-red.10 table 10")
	}
	r.want(1, "10.1.0.77", "connected")
	r.fake.UnresolvedIn(transport.Inner, 1, netip.MustParseAddr("10.1.0.9"))
	r.daemon.mu.Lock()
	err := r.daemon.poll()
	r.daemon.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	r.answers("000a", "0a010009", "020000000009")
	hasHost := func(mac byte) bool {
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		for _, row := range r.fake.Table(transport.Inner, regs.InnerTableHost) {
			if f := regs.HostRow; f.Network.Get(row) == 1 && f.Mac.Get(row)>>40 == uint64(mac) && f.TagBytes.Get(row)>>24&0xff == 10 {
				return true
			}
		}
		return false
	}
	r.until("the row of a host of a VRF", func() bool { return hasHost(9) })
	r.ip("route add 10.3.0.0/16 via 10.1.0.2 dev sp-red.10 table 10")
	r.answers("000a", "0a010002", "020000000002")
	r.want(1, "10.3.0.1", "2/10")
	r.want(0, "10.3.0.1", "")
	r.tells("blue table 10 dev red.10\n\tof Linux: routes 2 refused 0 hosts 2\n")
	// A device for the same ID with another protocol is of another network.
	if err := ip("link add link sp-red name sp-red.s10 type vlan proto 802.1ad id 10"); err != nil {
		t.Log("Linux has no VLANs of 802.1ad here")
	} else {
		r.ip("link set sp-red.s10 up")
		r.ip("neigh add 10.1.0.9 lladdr 02:00:00:00:00:66 dev sp-red.s10 nud permanent")
		r.ip("neigh add 10.1.0.8 lladdr 02:00:00:00:00:67 dev sp-red.s10 nud permanent")
		time.Sleep(2*relist + firstProbe) // it is listed anew
		if !hasHost(9) || hasHost(0x66) || hasHost(0x67) {
			t.Error("a neighbour of a device of another protocol is a host of the VRF")
		}
		r.ip("link delete sp-red.s10")
	}
	r.ip("neigh del 10.1.0.9 dev sp-red.10")
	r.until("the end of a host that was deleted", func() bool { return !hasHost(9) })
	// In the box the VLAN goes to another VRF, and comes back.
	r.must("link set red.10 nomaster", "link set red.10 master green")
	r.want(1, "10.1.0.77", "")
	r.want(2, "10.1.0.77", "")
	r.must("link set red.10 nomaster", "link set red.10 master blue")
	r.want(1, "10.3.0.1", "2/10")
	if !apart {
		return
	}
	r.ip("link add green type vrf table 20")
	r.ip("link set green up")
	r.ip("link set sp-red.10 master green")
	r.tells("ignored: the device sp-red.10 of VLAN 10 is in the VRF green in Linux, and in blue in the box: its hosts and routes are ignored\n")
	r.want(1, "10.3.0.1", "")
	r.want(2, "10.1.0.77", "")
}

// TestWaitingInVRFs: packets out of tunnels of two VRFs, and of none, wait for hosts of one
// address. Each goes to the host of its own network, behind that one's tag, and none once its VRF
// has gone.
func TestWaitingInVRFs(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newVRFRig(t)
	const boxRed = "02720a010001 0a010001 "
	r.must("addr add 10.1.0.1/24 dev red.10", "addr add 10.1.0.1/24 dev red.20")
	for _, id := range []string{"10", "20"} {
		if err := ip("link add link sp-red name sp-red." + id + " type vlan id " + id); err != nil {
			t.Skipf("Linux has no VLANs here: %v", err)
		}
		r.ip("link set sp-red." + id + " up")
	}
	packet := func(from, to byte) []byte {
		frame := asked(t, 7)
		copy(frame, []byte{2, 0x72, 10, 1, 0, 1})
		copy(frame[14+12:], []byte{10, 2, from, 9, 10, 1, 0, to})
		return frame
	}
	left := func(station, tag, from, to byte) {
		t.Helper()
		select {
		case frame := <-r.engine.red:
			at := 12
			if tag != 0 {
				at += 4
			}
			if frame[5] != station || outerVLAN(frame) != uint16(tag) || frame[at+2+14] != from || frame[at+2+19] != to {
				t.Errorf("%x left, want one of %d to %d at station %d in VLAN %d", frame, from, to, station, tag)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no packet of %d left for station %d in VLAN %d", from, station, tag)
		}
	}
	for network := range byte(3) {
		r.engine.message(transport.PortRed, regs.PuntReasonTunnelHost, network<<2, packet(network, 9))
	}
	r.answers("0014", "0a010009", "020000000020")
	left(0x20, 20, 2, 9)
	r.answers("000a", "0a010009", "020000000010")
	left(0x10, 10, 1, 9)
	r.engine.expect("00 " + arpAsk + boxRed + "000000000000 0a010009")
	r.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000009 0806"+arpTell+"020000000009 0a010009"+boxRed)
	left(9, 0, 0, 9)
	// The sender is told in its own network of a host that does not answer.
	r.engine.message(transport.PortRed, regs.PuntReasonTunnelHost, 2<<2, packet(2, 7))
	if told := <-r.engine.own; outerVLAN(told) != 20 || !bytes.Equal(told[18+16:18+22], []byte{10, 2, 2, 9, 3, 1}) {
		t.Errorf("the sender was told %x", told)
	}
	// While a change is made a packet waits on: it may take the host's VLAN to another VRF.
	before, err := r.daemon.view()
	if err != nil {
		t.Fatal(err)
	}
	held := waiting.Packet{Frame: packet(2, 6), To: waiting.Host{Dev: xfrm.Red, VRF: "green", IP: netip.MustParseAddr("10.1.0.6")}, Tunnel: true}
	changed := make(chan struct{})
	_, err = r.daemon.session.SendBy(before, func() error {
		go func() {
			r.must("xfrm policy add src 10.1.0.0/16 dst 10.9.0.0/16 dev green dir out action block")
			close(changed)
		}()
		for further := true; further; time.Sleep(time.Millisecond) {
			further, _ = r.daemon.session.SendBy(before, func() error { return nil })
		}
		return r.daemon.forward([]waiting.Packet{held}, xfrm.MAC{2, 5: 6})
	})
	if <-changed; err != nil || len(r.daemon.host.waiting.Take(held.To)) != 1 {
		t.Errorf("a packet beside a change does not wait on: %v", err)
	}
	// Of a VRF that goes meanwhile none leaves, neither there nor elsewhere. A network that is no
	// VRF's has none.
	r.engine.message(transport.PortRed, regs.PuntReasonTunnelHost, 1<<2, packet(1, 8))
	r.engine.message(transport.PortRed, regs.PuntReasonTunnelHost, 62<<2, packet(62, 8))
	r.engine.message(transport.PortRed, regs.PuntReasonTunnelHost, 2<<2, packet(2, 8))
	r.must("link set red.10 nomaster", "link delete blue")
	r.answers("0014", "0a010008", "020000000028")
	left(0x28, 20, 2, 8)
	r.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000018 8100000a0806"+arpAsk+"020000000018 0a010008 000000000000 0a010001")
	time.Sleep(100 * time.Millisecond)
	if len(r.engine.red) != 0 {
		t.Errorf("%x left", <-r.engine.red)
	}
}

// TestMasterRaces: charons install and delete at once while interfaces change their VRFs. What one
// installed it can always delete, and no policy is in another VRF than its interface.
func TestMasterRaces(t *testing.T) {
	sizes := fakebox.Small
	sizes.PrefixBits, sizes.PolicyBits = 8, 5
	r := newRigOf(t, sizes)
	r.must("addr add 192.0.2.1/24 dev black", "link add blue type vrf table 10", "link add green type vrf table 20", "link add ipsec1 type xfrm if_id 1", "link add ipsec2 type xfrm if_id 2",
		"route add 10.2.0.0/16 dev ipsec1", "route add 10.2.0.0/16 dev ipsec2")
	var group sync.WaitGroup
	const rounds = 40
	var installed, moved atomic.Int32
	charon := func(ifID int, l *line) {
		for n := range rounds {
			spi := 0x1000*ifID + n
			name := fmt.Sprintf("src 10.1.0.0/16 dst 10.2.0.0/16 dir out if_id %d", ifID)
			add := []string{
				fmt.Sprintf("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi %d reqid %d if_id %d mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x%032x%08x 128", spi, ifID, ifID, spi, spi),
				fmt.Sprintf("xfrm policy update %s tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel", name, ifID),
			}
			remove := []string{"xfrm policy delete " + name, fmt.Sprintf("xfrm state delete dst 192.0.2.2 proto esp spi %d", spi)}
			for _, lines := range [][]string{add[:1], add[1:], remove[:1], remove[1:]} {
				if answer := l.ask(batch(lines...)); !strings.HasPrefix(answer, `{"id":1,"ok":true,`) {
					t.Errorf("%s: %s", lines, answer)
				}
			}
			installed.Add(1)
		}
	}
	admin := func(ifID int, l *line) {
		for n := range 3 * rounds {
			text := l.ask(batch(fmt.Sprintf("link set ipsec%d %s", ifID, []string{"master blue", "master green", "nomaster"}[n%3])))
			switch {
			case strings.HasPrefix(text, `{"id":1,"ok":true,`):
				moved.Add(1)
			case !strings.Contains(text, "cannot change its VRF beside the"):
				t.Error(text)
			}
			v, err := r.daemon.view()
			if err != nil {
				t.Error(err)
				return
			}
			of := map[uint32]string{}
			for _, i := range v.Model().Interfaces {
				of[i.IfID] = i.VRF
			}
			for p := range v.Model().Policies.All() {
				if p.VRF != of[p.IfID] {
					t.Errorf("a policy of if_id %d is in the VRF %q, its interface in %q", p.IfID, p.VRF, of[p.IfID])
				}
			}
		}
	}
	for ifID := 1; ifID <= 2; ifID++ {
		one, other := r.dial(), r.dial()
		group.Go(func() { charon(ifID, one) })
		group.Go(func() { admin(ifID, other) })
	}
	group.Wait()
	r.restart()
	r.must("link set ipsec1 master blue", "link set ipsec2 master green")
	if installed.Load() != 2*rounds || moved.Load() < 3 {
		t.Errorf("%d times something was installed, and %d times an interface moved", installed.Load(), moved.Load())
	}
}
