// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// asked is a UDP packet of one flow, as scapy makes it but for the checksums.
func asked(t *testing.T, sport uint16) []byte {
	t.Helper()
	frame, err := hex.DecodeString(fmt.Sprintf("020000000072020000000099"+"08004500001f00010000401166b90a0100090a020009%04x0009000b0000616263", sport))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

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
	frames, delivered := make(chan []byte), make(chan []byte)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.daemon.answerAsking(ctx, frames, func(frame []byte) error { delivered <- frame; return nil }, answers{})
	}()
	event := func(sport int) {
		t.Helper()
		want := fmt.Sprintf(`{"event":"acquire","src":"10.1.0.9","dst":"10.2.0.9","proto":17,"reqid":7,"policy":"src 10.1.0.0/16 dst 10.2.0.0/16","sport":%d,"dport":9}`, sport)
		if got := monitor.next(); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
	for range 3 {
		frames <- asked(t, 7)
	}
	frames <- asked(t, 8)
	frames <- asked(t, 5)
	if got := <-delivered; !bytes.Equal(got, asked(t, 5)) {
		t.Errorf("delivered %x", got)
	}
	event(7)
	event(8)
	// The frame of port 5 came behind all the others, so those have been seen to.
	now = now.Add(askAgain)
	frames <- asked(t, 7)
	event(7)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if count := r.daemon.events.counted()["acquire"]; count != 3 {
		t.Errorf("%d events", count)
	}
	if !strings.Contains(r.log.String(), "Acquire src 10.1.0.9 dst 10.2.0.9 proto 17 sport 7 dport 9 policy src 10.1.0.0/16 dst 10.2.0.0/16 reqid 7") {
		t.Error(r.log)
	}
}

// TestQuestionsAreBounded: however many flows there are.
func TestQuestionsAreBounded(t *testing.T) {
	q, now := questions{}, time.Unix(1_700_000_000, 0)
	flow := func(n int) xfrm.Selector {
		return xfrm.Selector{Src: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32)}
	}
	for n := range mostAsked {
		if !q.add(flow(n), now) {
			t.Fatal(n)
		}
	}
	if q.add(flow(mostAsked), now.Add(askAgain-1)) || q.waiting(flow(mostAsked), now) {
		t.Error("one too many")
	}
	if !q.add(flow(mostAsked), now.Add(askAgain)) || len(q) != 1 || q.waiting(flow(0), now) {
		t.Errorf("%d are left", len(q))
	}
}

// mtuOf is the path MTU that the kernel has for a connected socket.
func mtuOf(t *testing.T, conn *net.UDPConn) (mtu int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { mtu, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return mtu
}

// TestOwnPackets: Linux's own packets that the chip gives back do not come to any device. One that
// lacks an SA is an event, and the kernel learns the MTU of one that is too long.
func TestOwnPackets(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "link set dev black mtu 1400",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.4.0.0/16 dir out action punt")
	e := r.host()
	vpn := r.link("sp-vpn")
	if err := netlink.LinkSetMTU(vpn, 1500); err != nil {
		t.Fatal(err)
	}
	_, far, _ := net.ParseCIDR("10.0.0.0/8")
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: vpn.Attrs().Index, Dst: far, Src: net.IPv4(10, 1, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	// sent is a datagram of Linux's, as it is injected.
	sent := func(to string, size int) (*net.UDPConn, []byte) {
		t.Helper()
		config := net.Dialer{}
		dialled, err := config.DialContext(context.Background(), "udp4", to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { dialled.Close() })
		conn := dialled.(*net.UDPConn)
		raw, err := conn.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) {
				if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO); err != nil {
					t.Error(err)
				}
			})
		}
		body := bytes.Repeat([]byte{'x'}, size)
		if err == nil {
			_, err = conn.Write(body)
		}
		if err != nil {
			t.Fatal(err)
		}
		for frame := range e.own {
			if bytes.HasSuffix(frame, body) {
				return conn, frame
			}
		}
		return nil, nil
	}
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	before := vpn.Attrs().Statistics.RxPackets

	_, back := sent("10.4.0.9:9", 30)
	e.message(transport.PortRed, regs.PuntReasonPolicy, 1, back)
	_, back = sent("10.3.0.9:9", 30)
	e.message(transport.PortRed, regs.PuntReasonPolicy, 1, back)
	if got := monitor.next(); !strings.HasPrefix(got, `{"event":"acquire","src":"10.1.0.1","dst":"10.3.0.9","proto":17,"reqid":7,`) {
		t.Error(got)
	}
	if got := r.link("sp-vpn").Attrs().Statistics.RxPackets; got != before {
		t.Errorf("%d frames came back", got-before)
	}

	conn, back := sent("10.2.0.9:9", 1400)
	if got := mtuOf(t, conn); got != 1500 {
		t.Errorf("the MTU is %d", got)
	}
	e.message(transport.PortRed, regs.PuntReasonMtu, 1, back)
	// 1400 - 20 - 8 - 8 - 16 = 1348, less pad length and next header.
	r.until("the MTU that the tunnel has", func() bool { return mtuOf(t, conn) == 1346 })
	for _, name := range []string{"sp-red", "sp-black"} {
		if got := r.link(name).Attrs().Statistics.RxPackets; got != 0 {
			t.Errorf("%d frames came in at %s", got, name)
		}
	}
}
