// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/answers"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// TestAcquire: a flow without an SA is one event a second, and its frames go nowhere; what a policy
// punts is Linux's.
func TestAcquire(t *testing.T) {
	r := newRig(t)
	now := time.Unix(1_700_000_000, 0)
	r.daemon.now = func() time.Time { return now }
	r.must(tunnel[0], "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp sport 5 dir out priority 4 action punt")
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	frames, delivered := make(chan answers.Punted), make(chan []byte)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.daemon.teller.AnswerAsking(ctx, frames, func(frame []byte) error { delivered <- frame; return nil }, answers.Way{})
	}()
	event := func(sport int) {
		t.Helper()
		want := fmt.Sprintf(`{"event":"acquire","src":"10.1.0.9","dst":"10.2.0.9","proto":17,"reqid":7,"policy":"src 10.1.0.0/16 dst 10.2.0.0/16","sport":%d,"dport":9}`, sport)
		if got := monitor.next(); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
	for range 3 {
		frames <- answers.Punted{Bytes: asked(t, 7)}
	}
	frames <- answers.Punted{Bytes: asked(t, 8)}
	frames <- answers.Punted{Bytes: asked(t, 5)}
	if got := <-delivered; !bytes.Equal(got, asked(t, 5)) {
		t.Errorf("delivered %x", got)
	}
	event(7)
	event(8)
	// The frame of port 5 came behind all the others, so those have been seen to.
	now = now.Add(answers.AskAgain)
	frames <- answers.Punted{Bytes: asked(t, 7)}
	event(7)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if count := r.daemon.events.Counted()["acquire"]; count != 3 {
		t.Errorf("%d events", count)
	}
	if !strings.Contains(r.log.String(), "Acquire src 10.1.0.9 dst 10.2.0.9 proto 17 sport 7 dport 9 policy src 10.1.0.0/16 dst 10.2.0.0/16 reqid 7") {
		t.Error(r.log)
	}
}

// TestWaiting: packets to a host whose address is not known leave once it is, in their order, with
// a TTL one less; of too many the last ones. If it does not answer, their senders hear of it, by
// policy. Packets for no host, or too long for red, do not wait.
func TestWaiting(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], tunnel[2], "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9 action allow")
	e := r.host()
	const boxRed = "02720a010001 0a010001 "
	packet := func(network, to byte, sport uint16) []byte {
		frame := asked(t, sport)
		copy(frame, []byte{2, 0x72, 10, 1, 0, 1}) // of the port
		copy(frame[14+12:], []byte{10, network, 0, 9, 10, 1, 0, to})
		frame[14+10], frame[14+11] = 0, 0
		binary.BigEndian.PutUint16(frame[14+10:], testbox.SumOf(frame[14:34]))
		return frame
	}
	long := packet(2, 9, 1)
	long = append(long, make([]byte, 1301)...)[:14+1301]
	binary.BigEndian.PutUint16(long[14+2:], 1301)
	for _, frame := range [][]byte{packet(2, 255, 1), long} {
		e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, frame)
	}
	for n := range uint16(waiting.MostPackets + 1) {
		e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(2, 9, 7+n))
	}
	e.expect("00 " + arpAsk + boxRed + "000000000000 0a010009")
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000009 0806"+arpTell+"020000000009 0a010009 02720a010001 0a010001")
	for n := range uint16(waiting.MostPackets) {
		want := packet(2, 9, 8+n)
		copy(want, []byte{2, 0, 0, 0, 0, 9})
		copy(want[6:], []byte{2, 0x72, 10, 1, 0, 1})
		want[14+8]--
		want[14+10], want[14+11] = 0, 0
		binary.BigEndian.PutUint16(want[14+10:], testbox.SumOf(want[14:34]))
		total := 14 + int(binary.BigEndian.Uint16(want[14+2:]))
		if got := <-e.red; !bytes.Equal(got, want[:total]) {
			t.Errorf("%x, want\n%x", got, want[:total])
		}
	}
	r.until("the host's row", func() bool { return r.hasHost("020000000009") })

	// A host that does not answer: Linux says so in the end.
	e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(2, 8, 7))
	// Its message would leave in clear.
	e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(3, 8, 7))
	e.message(transport.PortRed, regs.PuntReasonClearHost, 0, packet(3, 8, 8))
	told := map[byte]int{}
	for range 2 {
		answer := <-e.own
		if told[answer[14+17]]++; !bytes.Equal(answer[14+20:14+22], []byte{3, 1}) || answer[14+17] == 3 && answer[14+28+21] != 8 {
			t.Errorf("%x", answer)
		}
	}
	time.Sleep(50 * time.Millisecond)
	if len(e.own) != 0 || len(e.red) != 0 || told[2] != 1 || told[3] != 1 {
		t.Errorf("told: %v; %d more messages, %d frames", told, len(e.own), len(e.red))
	}

	// Red's network is another one before the host answers: nothing leaves for it there.
	e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(2, 7, 7))
	e.expect("00 " + arpAsk + boxRed + "000000000000 0a010007")
	r.must("addr del 10.1.0.1/24 dev red", "addr add 10.9.0.1/24 dev red")
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000007 0806"+arpTell+"020000000007 0a010007 02720a010001 0a010001")
	time.Sleep(500 * time.Millisecond)
	if len(e.red) != 0 {
		t.Errorf("it left: %x", <-e.red)
	}
}

// outerVLAN is the ID of a frame's outer tag; 0 without one.
func outerVLAN(frame []byte) uint16 {
	if !bytes.Equal(frame[12:14], []byte{0x81, 0}) {
		return 0
	}
	return binary.BigEndian.Uint16(frame[14:])
}

// TestTunnelsOfVRFs: a packet out of a tunnel of a VRF comes to no device, and is answered in the
// VRF alone, though another tunnel has the same addresses.
func TestTunnelsOfVRFs(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	state := strings.NewReplacer("spi 0x2001 reqid 1", "spi 0x2002 reqid 2", "101112", "f01112").Replace(tunnel[2])
	r.must("addr add 10.1.0.1/24 dev red", "link add link red name red.7 type vlan id 7", "link add blue type vrf table 7", "link set red.7 master blue",
		"addr add 10.1.0.1/24 dev red.7", tunnel[0], tunnel[2], state, tunnel[4],
		"xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dev blue dir in tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 2 mode tunnel")
	e := r.host()
	for reason, want := range map[byte]string{regs.PuntReasonTunnel: "1 at the device", regs.PuntReasonTunnelTtl: "[0 7]", regs.PuntReasonTunnelMtu: "[]", regs.PuntReasonTunnelRoute: "[0 7]"} {
		before := r.link("sp-vpn").Attrs().Statistics.RxPackets
		frame := asked(t, uint16(reason))
		copy(frame[14+12:], []byte{10, 2, reason, 9, 10, 1, 0, 1})
		for _, network := range []byte{1, 62, 0} {
			e.message(transport.PortRed, reason, network<<2, frame)
		}
		// The VLANs of messages by policy, in order. One no longer than the MTU is not answered.
		vlans := []uint16{}
		got := func() string {
			for len(e.own) > 0 {
				vlans = append(vlans, outerVLAN(<-e.own))
			}
			slices.Sort(vlans)
			if n := r.link("sp-vpn").Attrs().Statistics.RxPackets - before; n > 0 {
				return fmt.Sprint(n, " at the device")
			}
			return fmt.Sprint(vlans)
		}
		r.until(fmt.Sprintf("reason %d", reason), func() bool { return got() == want })
		time.Sleep(20 * time.Millisecond)
		r.same(fmt.Sprintf("packets and messages of reason %d", reason), got(), want)
	}
	// Red's packets have their network by their tag, or a flipped row's, and are Linux's as before.
	before := r.link("sp-red").Attrs().Statistics.RxPackets
	e.message(transport.PortRed, regs.PuntReasonLocal, 63<<2, asked(t, 9))
	r.until("a packet of a network in doubt", func() bool { return r.link("sp-red").Attrs().Statistics.RxPackets == before+1 })
	// Those from tunnel to tunnel ask for an SA in their network, and never come to Linux.
	before = r.link("sp-red").Attrs().Statistics.RxPackets
	e.message(transport.PortRed, regs.PuntReasonPolicy, 2, asked(t, 9))
	e.message(transport.PortRed, regs.PuntReasonPolicy, 1<<2|2, asked(t, 9))
	time.Sleep(50 * time.Millisecond)
	r.same("packets between tunnels that came to Linux", r.link("sp-red").Attrs().Statistics.RxPackets, before)
}

// arpFrom is a station's answer to the box.
func (e *engine) arpFrom(port byte, station byte, ip, box string) {
	e.t.Helper()
	e.punt(port, regs.PuntReasonArp, fmt.Sprintf("%s 0200000000%02x 0806"+arpTell+"0200000000%02[2]x %s %s", box[:12], station, ip, box))
}

// TestWaitingAtBlack: packets in clear to a host at black leave once its address is known, as they
// are. If it does not answer, their senders at red hear of it. None comes to Linux, and none leaves
// that the policies of then would protect, nor one too long for black.
func TestWaitingAtBlack(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "link set dev black mtu 1300", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red",
		"route add 10.5.0.0/16 via 10.1.0.2 dev red", "xfrm policy add src 10.0.0.0/8 dst 192.0.2.0/24 dir out priority 9 action allow")
	e := r.host()
	taken := r.link("sp-black").Attrs().Statistics.RxPackets
	station, behind := [4]byte{10, 1, 0, 9}, [4]byte{10, 5, 0, 9}
	host := func(n byte) [4]byte { return [4]byte{192, 0, 2, n} }
	punt := func(frame []byte) { e.message(transport.PortBlack, regs.PuntReasonClearHost, 0, frame) }
	long := testbox.Cleared(t, station, host(5), 1)
	long = append(long, make([]byte, 1301)...)[:14+1301]
	binary.BigEndian.PutUint16(long[14+2:], 1301)
	later := testbox.Cleared(t, station, host(9), 2)
	later[14+7] = 1
	punt(long)
	punt(testbox.Cleared(t, station, [4]byte{10, 2, 0, 9}, 3))
	for n := range uint16(waiting.MostPackets + 1) {
		punt(testbox.Cleared(t, station, host(9), 7+n))
	}
	punt(later)
	const ask = "01 " + arpAsk + boxBlack + "000000000000 "
	e.expect(ask + "c0000209")
	e.arpFrom(transport.PortBlack, 9, "c0000209", boxBlack)
	for n := range uint16(waiting.MostPackets) {
		want := testbox.Cleared(t, station, host(9), 8+n)
		copy(want, []byte{2, 0, 0, 0, 0, 9})
		total := 14 + int(binary.BigEndian.Uint16(want[14+2:]))
		if got := <-e.black; !bytes.Equal(got, want[:total]) {
			t.Errorf("%x, want\n%x", got, want[:total])
		}
	}

	// Hosts that do not answer. Linux knows one sender, a gateway leads to the other, and a third
	// one is not known. A message is not spoken of.
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000019 0806"+arpAsk+"020000000019 0a010009 000000000000 0a010001")
	e.expect("00 " + arpTell + "02720a010001 0a010001 020000000019 0a010009")
	message := testbox.Cleared(t, station, host(8), 6)
	message[14+9], message[14+20] = 1, 3
	for _, frame := range [][]byte{testbox.Cleared(t, station, host(8), 7), testbox.Cleared(t, behind, host(8), 8), message, testbox.Cleared(t, [4]byte{10, 1, 0, 77}, host(7), 9)} {
		punt(frame)
	}
	got := map[string]int{}
	for range 2 {
		answer := <-e.told
		got[fmt.Sprintf("%x to %v: %v", answer[:6], answer[14+16:14+20], answer[14+20:14+22])]++
		if from := answer[6:12]; !bytes.Equal(from, []byte{2, 0x72, 10, 1, 0, 1}) || !bytes.Equal(answer[14+28+16:14+28+20], []byte{192, 0, 2, 8}) {
			t.Errorf("%x", answer)
		}
	}
	if want := map[string]int{"020000000019 to [10 1 0 9]: [3 1]": 1, "020000000002 to [10 5 0 9]: [3 1]": 1}; !maps.Equal(got, want) {
		t.Errorf("told: %v, want %v", got, want)
	}

	// The policy is another one before the host answers.
	punt(testbox.Cleared(t, station, host(6), 7))
	e.expect(ask + "c0000206")
	r.must("xfrm policy add src 10.0.0.0/8 dst 192.0.2.6/32 dir out priority 1 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	e.arpFrom(transport.PortBlack, 6, "c0000206", boxBlack)
	r.until("the host's row", func() bool { return r.knows("020000000006") })
	time.Sleep(500 * time.Millisecond)
	if len(e.black) != 0 || len(e.red) != 0 || len(e.told) != 0 || len(e.own) != 0 {
		t.Errorf("%d more frames left at black, %d at red with %d messages, %d by policy", len(e.black), len(e.red), len(e.told), len(e.own))
	}
	// Both ARP answers are Linux's.
	if got := r.link("sp-black").Attrs().Statistics.RxPackets - taken; got != 2 {
		t.Errorf("%d frames came to sp-black", got)
	}
}

// knows says whether a host at black has learned an address.
func (r *rig) knows(mac string) bool {
	v, err := r.daemon.view()
	if err != nil {
		return false
	}
	for host, station := range v.Model().Learned {
		if host.Dev == xfrm.Black && hex.EncodeToString(station[:]) == mac {
			return true
		}
	}
	return false
}

// TestKept: a frame of the black port in clear is never Linux's, which might send it on.
func TestKept(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], "addr add 10.1.0.1/24 dev red")
	e := r.host()
	e.arpFrom(transport.PortBlack, 9, "c0000209", boxBlack)
	r.until("a queue", func() bool { return r.link("sp-black").Attrs().Statistics.RxPackets == 1 })
	for reason := range uint32(32) {
		for _, injected := range []bool{false, true} {
			kept := r.daemon.host.kept(transport.PuntHeader{Port: transport.PortBlack, Reason: reason, Injected: injected}) != nil
			if want := reason == regs.PuntReasonClearHost || reason == regs.PuntReasonClearRoute; kept != want {
				t.Errorf("reason %d: kept %t", reason, kept)
			}
		}
	}
}
