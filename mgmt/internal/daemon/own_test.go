// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

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

// TestOwnPacketsAtBlack: the kernel hears of its own packets in clear that find no host or no way
// at black, and a socket has the error.
func TestOwnPacketsAtBlack(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], "addr add 10.1.0.1/24 dev red", "xfrm policy add src 10.1.0.1/32 dst 192.0.0.0/8 dir out priority 9 action allow")
	e := r.host()
	vpn := r.link("sp-vpn")
	for _, to := range []string{"192.0.2.8/32", "198.51.100.8/32"} {
		_, far, _ := net.ParseCIDR(to)
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: vpn.Attrs().Index, Dst: far, Src: net.IPv4(10, 1, 0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for to, want := range map[[4]byte]struct {
		reason byte
		err    error
	}{{192, 0, 2, 8}: {regs.PuntReasonClearHost, unix.EHOSTUNREACH}, {198, 51, 100, 8}: {regs.PuntReasonClearRoute, unix.ENETUNREACH}} {
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(10, 1, 0, 1)}, &net.UDPAddr{IP: to[:], Port: 9})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := conn.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) {
				if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVERR, 1); err != nil {
					t.Error(err)
				}
			})
		}
		if _, wrote := conn.Write([]byte("abc")); err != nil || wrote != nil {
			t.Fatal(err, wrote)
		}
		for frame := range e.own {
			if bytes.Equal(frame[14+16:14+20], to[:]) && frame[14+9] == unix.IPPROTO_UDP {
				copy(frame, []byte{2, 0x62, 192, 0, 2, 1, 2, 0x62, 192, 0, 2, 1})
				e.message(transport.PortBlack, want.reason, 0, frame)
				break
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, want.err) {
			t.Errorf("to %v: %v, want %v", to, err, want.err)
		}
		conn.Close()
	}
	if len(e.told) != 0 {
		t.Errorf("red was told %x", <-e.told)
	}
}
