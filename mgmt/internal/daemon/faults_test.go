// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/shares"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestTellExpired: traceroute's packets of one source are answered up to its share, those of
// another still are, and what ICMP must not answer is not.
func TestTellExpired(t *testing.T) {
	r := newRig(t)
	now := time.Unix(1_700_000_000, 0)
	r.daemon.now = func() time.Time { return now }
	r.must("addr add 10.1.0.1/24 dev red")
	frames, told := make(chan punted), make(chan []byte, 100)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.daemon.tellFaults(ctx, frames, expired, toRed(func(frame []byte) error { told <- frame; return nil }))
	}()
	from := func(host byte) []byte {
		frame := asked(t, 7)
		frame[14+15] = host
		return frame
	}
	multicast, later, icmp := from(9), from(9), from(9)
	multicast[14+16], later[14+7], icmp[14+9], icmp[14+20] = 224, 1, 1, 11
	for _, frame := range [][]byte{multicast, later, icmp, from(255), asked(t, 7)[:20]} {
		frames <- punted{bytes: frame}
	}
	for range 100 {
		frames <- punted{bytes: from(9)}
	}
	frames <- punted{bytes: from(8)}
	// The one before is done then, and this one does not look at the time.
	frames <- punted{bytes: multicast}
	now = now.Add(time.Second)
	frames <- punted{bytes: from(9)}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	count := map[byte]int{}
	for len(told) > 0 {
		answer := <-told
		count[answer[14+19]]++
		if kind := answer[14+20]; kind != 11 || !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) || !bytes.Equal(answer[14+28:14+28+20], from(answer[14+19])[14:34]) {
			t.Errorf("%x", answer)
		}
	}
	if len(count) != 2 || count[9] != shares.AtOnce+1 || count[8] != 1 {
		t.Errorf("told: %v", count)
	}
}

// TestTellRejected: the sender of a packet that a policy rejects is told, also while its flow asks
// often; what a policy blocks or punts is not spoken of, and nothing of it comes to Linux.
func TestTellRejected(t *testing.T) {
	r := newRig(t)
	r.must("addr add 10.1.0.1/24 dev red", "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp sport 7 dir out action reject",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 9 action block")
	frames, told := make(chan punted), make(chan []byte, 100)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.daemon.answerAsking(ctx, frames, nil, toRed(func(frame []byte) error { told <- frame; return nil }))
	}()
	for _, frame := range [][]byte{asked(t, 7), asked(t, 8), asked(t, 7), asked(t, 9)} {
		frames <- punted{bytes: frame}
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(told) != 2 {
		t.Errorf("%d told", len(told))
	}
	for len(told) > 0 {
		if answer := <-told; !bytes.Equal(answer[14+20:14+22], []byte{3, 13}) || !bytes.HasPrefix(asked(t, 7)[14:], answer[14+28:]) {
			t.Errorf("%x", answer)
		}
	}
}

// long is a frame of one flow whose packet has 1500 bytes and may not be cut.
func long(t *testing.T, sport uint16) []byte {
	frame := append(asked(t, sport), make([]byte, 14+1500)...)[:14+1500]
	binary.BigEndian.PutUint16(frame[14+2:], 1500)
	frame[14+6] = 0x40
	return frame
}

// TestTellSenders: a flow is told once a second how long its packets may be, and what may be cut is
// not spoken of.
func TestTellSenders(t *testing.T) {
	r := newRig(t)
	now := time.Unix(1_700_000_000, 0)
	r.daemon.now = func() time.Time { return now }
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "link set dev black mtu 1400",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	frames, told := make(chan punted), make(chan []byte, 10)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.daemon.tellSenders(ctx, frames, toRed(func(frame []byte) error { told <- frame; return nil }))
	}()
	cut := long(t, 9)
	cut[14+6] = 0
	var got []uint16
	tell := func() {
		t.Helper()
		answer := <-told
		quoted := answer[14+20+8:]
		got = append(got, binary.BigEndian.Uint16(quoted[20:]))
		// 1400 - 20 - 8 - 8 - 16 = 1348, less pad length and next header.
		if mtu := binary.BigEndian.Uint16(answer[14+20+6:]); mtu != 1346 || !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) {
			t.Errorf("%x", answer)
		}
	}
	for _, frame := range [][]byte{long(t, 7), long(t, 7), cut, asked(t, 10), long(t, 8)} {
		frames <- punted{bytes: frame}
	}
	tell()
	tell()
	now = now.Add(askAgain)
	frames <- punted{bytes: long(t, 7)}
	tell()
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if fmt.Sprint(got) != "[7 8 7]" {
		t.Errorf("told: %v", got)
	}
}

// TestTellForRed: senders behind black learn the MTU of red from the address there. About a packet
// that came protected no message goes where a policy would let it out in clear.
func TestTellForRed(t *testing.T) {
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9 action allow")
	from := func(network byte, sport uint16) []byte {
		frame := long(t, sport)
		copy(frame[14+12:], []byte{10, network, 0, 9, 10, 1, 0, 9})
		return frame
	}
	cut, fits := from(2, 5), from(2, 6)
	cut[14+6] = 0
	binary.BigEndian.PutUint16(fits[14+2:], 1300)
	for name, want := range map[string]string{"tunnel": "[10.2.0.9 7]", "clear": "[10.2.0.9 7 10.3.0.9 8]"} {
		frames, told := make(chan punted), make(chan []byte, 10)
		send := func(frame []byte) error { told <- frame; return nil }
		to := map[string]answers{"tunnel": toTunnel(send), "clear": toBlack(send)}[name]
		ctx, end := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- r.daemon.tellSenders(ctx, frames, to) }()
		for _, frame := range [][]byte{from(2, 7), cut, fits, from(3, 8), from(2, 7)} {
			frames <- punted{bytes: frame}
		}
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var got []any
		for len(told) > 0 {
			answer := <-told
			got = append(got, netip.AddrFrom4([4]byte(answer[14+16:])), binary.BigEndian.Uint16(answer[14+28+20:]))
			if mtu := binary.BigEndian.Uint16(answer[14+20+6:]); mtu != 1300 || !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) {
				t.Errorf("%s: %x", name, answer)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: told %v, want %s", name, got, want)
		}
	}
}

// TestTellBehindTunnel: senders behind black hear that their packets have no TTL left or no way on,
// and why: as Linux says of its route's type, and nothing of a blackhole. About a packet that came
// protected no message goes where a policy would let it out in clear.
func TestTellBehindTunnel(t *testing.T) {
	r := newSizedRig(t, 8)
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9 action allow", "route add 10.1.9.0/24 via 10.1.0.2 dev red")
	var changes []learned.Change
	for network, kind := range map[string]string{"10.1.1.0/24": "blackhole", "10.1.2.0/24": "prohibit", "10.1.3.0/24": "unreachable", "10.1.8.0/22": "blackhole"} {
		p := netip.MustParsePrefix(network)
		changes = append(changes, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Type: kind}})
	}
	if taken, err := r.daemon.session.LearnRoutes(xfrm.Red, changes); !taken || err != nil {
		t.Fatal(taken, err)
	}
	packet := func(network, to byte) []byte {
		frame := asked(t, uint16(to))
		copy(frame[14+12:], []byte{10, network, 0, 9, 10, 1, to, 9})
		return frame
	}
	for _, c := range []struct {
		fault judge
		to    byte
		want  string
	}{
		{expired, 4, "11 0"},
		{noRoute, 1, ""},
		{noRoute, 2, "3 13"},
		{noRoute, 3, "3 1"},
		{noRoute, 4, "3 0"}, // no route at all
		{noRoute, 9, "3 0"}, // a longer one that was written, whose gateway does not answer
		{noHost, 0, "3 1"},
	} {
		for name, networks := range map[string][]byte{"tunnel": {2}, "clear": {2, 3}} {
			var told [][]byte
			send := func(frame []byte) error { told = append(told, frame); return nil }
			to := map[string]answers{"tunnel": toTunnel(send), "clear": toBlack(send)}[name]
			r.daemon.shares = shares.New()
			for _, network := range []byte{2, 3} {
				if err := r.daemon.tellFault(punted{bytes: packet(network, c.to)}, c.fault, to); err != nil {
					t.Fatal(err)
				}
			}
			var got, want []string
			for _, answer := range told {
				got = append(got, fmt.Sprint(answer[14+17], answer[14+20], answer[14+21]))
				if !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) || !bytes.Equal(answer[14+28+12:14+28+20], packet(answer[14+17], c.to)[14+12:14+20]) {
					t.Errorf("%s, to %d: %x", name, c.to, answer)
				}
			}
			if c.want != "" {
				for _, network := range networks {
					want = append(want, fmt.Sprint(network, " ", c.want))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, to %d: told %q, want %q", name, c.to, got, want)
			}
		}
	}
}

// TestTellBesideAChange: a message about a packet that came protected is not sent while the chips
// are being written, nor by a configuration that they no longer have; and rows that let packets
// pass in clear are written once the messages before have passed the rows of before.
func TestTellBesideAChange(t *testing.T) {
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	before, err := r.daemon.view()
	if err != nil {
		t.Fatal(err)
	}
	leaving := make(chan struct{})
	changed := make(chan struct{})
	sent, err := r.daemon.session.SendBy(before, func() error {
		go func() {
			r.must("xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto icmp dir out priority 1 action allow")
			close(changed)
		}()
		// Further messages go until the chips are being written. The change waits for this one.
		for further := true; further; {
			further, _ = r.daemon.session.SendBy(before, func() error { return nil })
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		select {
		case <-changed:
			t.Error("the change did not wait")
		default:
		}
		close(leaving)
		return nil
	})
	if <-leaving; !sent || err != nil {
		t.Errorf("not sent: %v", err)
	}
	<-changed
	if again, err := r.daemon.session.SendBy(before, func() error { return nil }); again || err != nil {
		t.Errorf("sent by the configuration of before: %v", err)
	}
}

// TestTooLongForRed: a packet out of a tunnel that is too long for red comes to no device; its
// sender hears of it by policy. The device has red's MTU.
func TestTooLongForRed(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], tunnel[2], "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	e := r.host()
	before := r.link("sp-red").Attrs()
	if before.MTU != 1300 {
		t.Errorf("sp-red has the MTU %d", before.MTU)
	}
	frame := long(t, 7)
	copy(frame[14+12:], []byte{10, 2, 0, 9, 10, 1, 0, 9})
	for _, reason := range []byte{regs.PuntReasonTunnelMtu, regs.PuntReasonClearMtu} {
		e.message(transport.PortRed, reason, 0, frame)
		for answer := range e.own {
			if bytes.Equal(answer[14+16:14+22], []byte{10, 2, 0, 9, 3, 4}) {
				if mtu := binary.BigEndian.Uint16(answer[14+26:]); mtu != 1300 {
					t.Errorf("%x", answer)
				}
				break
			}
		}
	}
	if got := r.link("sp-red").Attrs().Statistics.RxPackets; got != before.Statistics.RxPackets {
		t.Error("a frame came in at sp-red")
	}
}

// TestFollowPaths: the lowest believed report of a period comes to the chips, whatever forged ones
// come with it, and is forgotten when its time is over, which is configured.
func TestFollowPaths(t *testing.T) {
	for _, holds := range []time.Duration{model.PathAge, 5 * time.Minute, 24 * time.Hour} {
		t.Run(holds.String(), func(t *testing.T) { followPaths(t, holds) })
	}
}

func followPaths(t *testing.T, holds time.Duration) {
	r := newRig(t)
	if holds != model.PathAge {
		r.daemon.UsePaths(Paths{Believe: true, Holds: holds})
	}
	clock := make(chan time.Time, 1)
	now := func() time.Time { at := <-clock; clock <- at; return at }
	start := time.Unix(1_700_000_000, 0)
	clock <- start
	r.daemon.now, r.daemon.session.Now = now, now
	r.must(tunnel...)
	r.get("advance", outbound+`,"number":1000`)
	reports := make(chan model.PathReport)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.daemon.followPaths(ctx, reports) }()
	number := uint32(1000)
	report := func(spi, mtu uint32) {
		reports <- model.PathReport{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), SPI: spi, Number: number, Length: 1500, MTU: mtu}
	}
	waitFor := func(want uint64) {
		t.Helper()
		r.until(fmt.Sprintf("a path MTU of %d", want), func() bool {
			r.daemon.mu.Lock()
			defer r.daemon.mu.Unlock()
			return regs.TunnelRow.Mtu.Get(r.fake.Table(transport.Outer, regs.OuterTableTunnel)[0]) == want
		})
	}
	for _, mtu := range []uint32{0, 68, 575, 9999} {
		report(0x1001, mtu)
	}
	for range 300 {
		report(0x1002, 600)
	}
	for _, number = range []uint32{0, 1001, 1 << 31, math.MaxUint32} {
		report(0x1001, 1200)
	}
	number = 1
	report(0x1001, 1300)
	report(0x1001, 1400)
	waitFor(1300)
	<-clock
	clock <- start.Add(holds)
	waitFor(0)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// toldOfPath is scapy's: fragmentation needed, of 203.0.113.9, about ESP from 192.0.2.1.
const toldOfPath = "0262c000020102000000009908004500004c0001000040017ca5cb007109c0000201030432c500000578450005d8000740003c32b4e9c0000201c000020200001001000000097878787878787878787878787878787878787878"

// TestHear: messages of black about paths are believed as the configuration says, of that port and
// reason alone.
func TestHear(t *testing.T) {
	frame := unhex(t, toldOfPath)
	for _, c := range []struct {
		header  transport.PuntHeader
		believe bool
		want    int
	}{
		{transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonIcmp}, true, 1},
		{transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonIcmp}, false, 0},
		{transport.PuntHeader{Port: transport.PortRed, Reason: regs.PuntReasonIcmp}, true, 0},
		{transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonLinkLocal}, true, 0},
	} {
		d := &Daemon{host: &host{paths: make(chan model.PathReport, 2)}}
		d.UsePaths(Paths{Believe: c.believe, Holds: model.PathAge})
		if d.hear(c.header, frame); len(d.host.paths) != c.want {
			t.Errorf("%+v, believed %t: %d reports, want %d", c.header, c.believe, len(d.host.paths), c.want)
		}
	}
}

// record is the management CPU's end of a box that notes the injected frames.
type record struct{ sent []string }

func (f *record) Receive() (transport.PuntHeader, []byte, error) { select {} }
func (f *record) Close() error                                   { return nil }
func (f *record) Send(port uint8, frame []byte) error {
	f.sent = append(f.sent, fmt.Sprintf("port %d, from %x to %x: %x", port, frame[6:12], frame[:6], frame[12:]))
	return nil
}

// TestTellBeforeBlack: the senders of packets in clear hear why these have no way on at black, by
// black's routes alone. The routes of red lead to the senders, in their VLANs. Linux hears of its
// own packets, and nothing leaves for a sender that is not at red, nor about broadcasts.
func TestTellBeforeBlack(t *testing.T) {
	r := newSizedRig(t, 8)
	r.must(tunnel[0], "addr add 10.1.0.1/24 dev red", "addr add 2001:db8:1::1/64 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red", "neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red",
		"link add link red name red.5 type vlan id 5", "neigh add 10.8.0.1 lladdr 02:00:00:00:00:05 dev red.5", "route add 10.8.0.0/16 via 10.8.0.1 dev red.5",
		"route add 10.4.0.0/14 via 10.1.0.2 dev red", "route add 10.6.0.0/16 dev black encap xfrm",
		"xfrm policy add src 10.0.0.0/8 dst 0.0.0.0/0 dir out priority 9 action allow")
	learn := func(dev string, kinds map[string]string) {
		t.Helper()
		var changes []learned.Change
		for network, kind := range kinds {
			p := netip.MustParsePrefix(network)
			changes = append(changes, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Type: kind}})
		}
		if taken, err := r.daemon.session.LearnRoutes(dev, changes); !taken || err != nil {
			t.Fatal(taken, err)
		}
	}
	learn(xfrm.Black, map[string]string{"198.18.1.0/24": "blackhole", "198.18.2.0/24": "prohibit", "198.18.3.0/24": "unreachable"})
	learn(xfrm.Red, map[string]string{"198.18.4.0/24": "blackhole", "10.7.0.0/16": "blackhole"})
	const box, vlan = "02720a010001", "81000005"
	station := [4]byte{10, 1, 0, 9}
	for _, c := range []struct {
		from, to [4]byte
		station  string
		told     string
	}{
		{station, [4]byte{198, 18, 1, 9}, "", ""},
		{station, [4]byte{198, 18, 2, 9}, "020000000009", "030d"},
		{station, [4]byte{198, 18, 3, 9}, "020000000009", "0301"},
		{station, [4]byte{198, 18, 4, 9}, "020000000009", "0300"}, // that is red's
		{[4]byte{10, 5, 0, 9}, [4]byte{198, 18, 4, 9}, "020000000002", "0300"},
		{[4]byte{10, 8, 0, 9}, [4]byte{198, 18, 4, 9}, "020000000005", "0300"},
		{[4]byte{10, 1, 0, 1}, [4]byte{198, 18, 4, 9}, "linux", "0300"},
		{[4]byte{192, 0, 2, 1}, [4]byte{198, 18, 4, 9}, "linux", "0300"},
		{[4]byte{10, 1, 0, 77}, [4]byte{198, 18, 4, 9}, "", ""},  // not known
		{[4]byte{10, 6, 0, 9}, [4]byte{198, 18, 4, 9}, "", ""},   // behind a tunnel
		{[4]byte{10, 7, 0, 9}, [4]byte{198, 18, 4, 9}, "", ""},   // nowhere
		{[4]byte{10, 99, 0, 9}, [4]byte{198, 18, 4, 9}, "", ""},  // no route
		{[4]byte{10, 1, 0, 255}, [4]byte{198, 18, 4, 9}, "", ""}, // broadcast
		{station, [4]byte{192, 0, 2, 255}, "", ""},
		{[4]byte{10, 1, 0, 1}, [4]byte{192, 0, 2, 255}, "", ""},
		{station, [4]byte{224, 0, 0, 9}, "", ""},
	} {
		frames, linux := &record{}, []string{}
		r.daemon.host = &host{frames: frames, told: make(chan told, 1)}
		r.daemon.shares = shares.New()
		own := toLinux(func(frame []byte) error {
			linux = append(linux, fmt.Sprintf("from %v: %x", frame[14+12:14+16], frame[14+20:14+22]))
			return nil
		})
		to := toSource(own, answers{from: (*session.View).Router, send: r.daemon.sendRed})
		frame := clearFrame(t, c.from, c.to, 7)
		if err := r.daemon.tellFault(punted{bytes: frame}, noRouteBlack, to); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(c.from, " to ", c.to)
		switch {
		case c.told == "":
			r.same(name, fmt.Sprint(frames.sent, linux), "[] []")
		case c.station == "linux":
			r.same(name, fmt.Sprint(frames.sent, linux), fmt.Sprintf("[] [from %v: %s]", c.to[:], c.told))
		default:
			tags := map[bool]string{true: vlan}[c.from[1] == 8]
			want := fmt.Sprintf("port 0, from %s to %s: %s0800", box, c.station, tags)
			if len(frames.sent) != 1 || !strings.HasPrefix(frames.sent[0], want) {
				t.Errorf("%s: sent %q, want %q", name, frames.sent, want)
				continue
			}
			message, _ := hex.DecodeString(frames.sent[0][len(want):])
			if !bytes.Equal(message[12:20], slices.Concat([]byte{10, 1, 0, 1}, c.from[:])) || hex.EncodeToString(message[20:22]) != c.told || !bytes.Equal(message[28:], frame[14:14+31]) || len(linux) != 0 {
				t.Errorf("%s: %x", name, message)
			}
		}
		// Linux may know the station that the chips do not know, of this network alone.
		if want := c.from == [4]byte{10, 1, 0, 77}; want != (len(r.daemon.host.told) == 1) {
			t.Errorf("%s: %d messages are left to Linux", name, len(r.daemon.host.told))
		} else if want {
			message, n := <-r.daemon.host.told, newNeighbours(r.daemon, nil)
			for _, mac := range []xfrm.MAC{{}, {2, 5: 0x77}} {
				if mac != (xfrm.MAC{}) {
					n.known[heard{xfrm.Red, 0, 0, netip.AddrFrom4(c.from)}] = mac
				}
				if err := n.deliver(message); err != nil {
					t.Error(err)
				}
			}
			if want := "port 0, from " + box + " to 020000000077: 080045"; len(frames.sent) != 1 || !strings.HasPrefix(frames.sent[0], want) {
				t.Errorf("%s: sent %q, want %q", name, frames.sent, want)
			}
		}
		r.daemon.host = nil
	}
}

// TestTellBeforeBlackV6: and of IPv6.
func TestTellBeforeBlackV6(t *testing.T) {
	r := newRig(t)
	r.must(tunnel[0], "addr add 2001:db8:1::1/64 dev red", "neigh add 2001:db8:1::9 lladdr 02:00:00:00:00:09 dev red")
	frames := &record{}
	r.daemon.host = &host{frames: frames}
	packet := "60000000000c113f20010db800010000000000000000000920010db80002000000000000000000010007829a000c5cf661626364"
	frame, _ := hex.DecodeString("0262c0000201" + "0262c0000201" + "86dd" + packet)
	err := r.daemon.tellFault(punted{bytes: frame}, noRouteBlack, toSource(answers{}, answers{from: (*session.View).Router, send: r.daemon.sendRed}))
	r.daemon.host = nil
	if err != nil || len(frames.sent) != 1 || !strings.Contains(frames.sent[0], "to 020000000009: 86dd6000000000") || !strings.Contains(frames.sent[0], packet) {
		t.Errorf("%q %v", frames.sent, err)
	}
}
