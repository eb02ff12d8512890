// SPDX-License-Identifier: Apache-2.0

package punt_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// source gives the relay punted frames, and takes those that Linux sends.
type source struct {
	frames chan punted
	sent   chan []byte
	closed chan struct{}
}

type punted struct {
	header transport.PuntHeader
	frame  []byte
}

func (s *source) Receive() (transport.PuntHeader, []byte, error) {
	select {
	case p := <-s.frames:
		return p.header, p.frame, nil
	case <-s.closed:
		return transport.PuntHeader{}, nil, net.ErrClosed
	}
}

func (s *source) Send(port uint8, frame []byte) error {
	s.sent <- append([]byte{port}, frame...)
	return nil
}

func (s *source) Close() error {
	close(s.closed)
	return nil
}

// relay relays frames of a source until the test ends.
func relay(t *testing.T, devices *punt.Devices) *source {
	s := &source{make(chan punted), make(chan []byte, 1000), make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- punt.Relay(ctx, s, devices, func(transport.PuntHeader, []byte) bool { return false })
	}()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// listener hears UDP to an address that comes in by a device.
func listener(t *testing.T, device, address string) net.PacketConn {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		return conn.Control(func(fd uintptr) {
			if err := unix.BindToDevice(int(fd), device); err != nil {
				t.Error(err)
			}
		})
	}}
	conn, err := config.ListenPacket(t.Context(), "udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func heard(t *testing.T, conn net.PacketConn) string {
	t.Helper()
	buffer := make([]byte, 100)
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	size, from, err := conn.ReadFrom(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s from %s", buffer[:size], from)
}

// toRed is a frame from 10.2.0.9 to the address of red, with text in UDP; the inner chip puts red's
// MAC address in front.
func toRed(t *testing.T, text string) []byte {
	t.Helper()
	return unhex(t, "02720a010001 02720a010001 0800 4500001f00010000 0111a5c10a0200090a010001 02000007000b0000"+fmt.Sprintf("%x", text))
}

// TestWayOfPackets: Linux sees by the device which packets came protected and which in clear.
func TestWayOfPackets(t *testing.T) {
	alone(t)
	devices := open(t)
	if err := devices.OpenTunnels(punt.Tunnels("sp-vpn", black)); err != nil {
		t.Fatal(err)
	}
	own(t, "sp-red", "10.1.0.1/24")
	link, err := netlink.LinkByName("sp-vpn")
	if err != nil || link.Attrs().MTU != 1379 || link.Attrs().Flags&net.FlagUp == 0 || len(link.Attrs().HardwareAddr) != 0 {
		t.Fatalf("the device is %+v, %v", link, err)
	}
	_, far, _ := net.ParseCIDR("10.2.0.0/16")
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: far}); err != nil {
		t.Fatal(err)
	}
	tunnel, clear := listener(t, "sp-vpn", "10.1.0.1:7"), listener(t, "sp-black", "10.1.0.1:7")
	s := relay(t, devices)
	s.frames <- punted{transport.PuntHeader{Reason: regs.PuntReasonClear}, toRed(t, "abc")}
	s.frames <- punted{transport.PuntHeader{Reason: regs.PuntReasonTunnel}, toRed(t, "def")}
	if got := heard(t, tunnel); got != "def from 10.2.0.9:512" {
		t.Error(got)
	}
	// The answer goes by the policies, behind an Ethernet header without addresses.
	if _, err := tunnel.WriteTo([]byte("ghi"), &net.UDPAddr{IP: net.IPv4(10, 2, 0, 9), Port: 512}); err != nil {
		t.Fatal(err)
	}
	want := append([]byte{transport.ByPolicy}, unhex(t, "000000000000 000000000000 0800 45")...)
	for got := range s.sent { // the kernel also looks for routers
		if bytes.HasSuffix(got, []byte("ghi")) {
			if !bytes.HasPrefix(got, want) || !bytes.Equal(got[27:35], []byte{10, 1, 0, 1, 10, 2, 0, 9}) {
				t.Errorf("sent %x", got)
			}
			break
		}
	}
	if got := heard(t, clear); got != "abc from 10.2.0.9:512" {
		t.Error(got)
	}
	if link, err := netlink.LinkByName("sp-red"); err != nil || link.Attrs().Statistics.RxPackets != 0 {
		t.Errorf("sp-red got a packet: %v", err)
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/conf/sp-vpn/forwarding"); err != nil || string(text) != "0\n" {
		t.Errorf("sp-vpn forwards: %q, %v", text, err)
	}
}

// TestNoRouterTakesLinux: no route leads to a router that advertises itself, behind a tunnel or
// beside a port.
func TestNoRouterTakesLinux(t *testing.T) {
	alone(t)
	devices := open(t)
	if err := devices.OpenTunnels(punt.Tunnels("sp-vpn", black)); err != nil {
		t.Fatal(err)
	}
	s := relay(t, devices)
	// From fe80::66, for 1800 s, by scapy.
	advertisement := unhex(t, "333300000001 02720a010066 86dd 6000000000103aff fe800000000000000000000000000066 ff020000000000000000000000000001 860074c2000007080000000000000000")
	for _, header := range []transport.PuntHeader{
		{Reason: regs.PuntReasonTunnel}, {Port: 0, Reason: regs.PuntReasonNd}, {Port: 1, Reason: regs.PuntReasonNd},
		{Reason: regs.PuntReasonTunnel}, // the relay takes it when Linux has those before
	} {
		s.frames <- punted{header, advertisement}
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V6)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range routes {
		if route.Gw != nil {
			t.Errorf("a stranger made the route %v", route)
		}
	}
}

// TestNoDeviceOfTunnels: packets out of tunnels come to no other device.
func TestNoDeviceOfTunnels(t *testing.T) {
	alone(t)
	devices := open(t)
	s := relay(t, devices)
	for range 3 {
		s.frames <- punted{transport.PuntHeader{Reason: regs.PuntReasonTunnel}, toRed(t, "def")}
	}
	s.frames <- punted{transport.PuntHeader{Reason: regs.PuntReasonTunnel}, []byte{1}}
	for devices.Refused() < 3 {
		time.Sleep(time.Millisecond)
	}
	for _, name := range []string{"sp-red", "sp-black"} {
		if link, err := netlink.LinkByName(name); err != nil || link.Attrs().Statistics.RxPackets != 0 {
			t.Errorf("%s got a packet: %v", name, err)
		}
	}
	if err := devices.OpenTunnels(punt.Device{Name: "sp-red", MTU: 1500}); err == nil || !strings.Contains(err.Error(), "TUN sp-red: ") {
		t.Errorf("the name of a TAP: %v", err)
	}
}
