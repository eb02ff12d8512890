// SPDX-License-Identifier: Apache-2.0

package punt_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

var (
	red   = punt.Device{Name: "sp-red", MAC: net.HardwareAddr{2, 'r', 10, 1, 0, 1}, MTU: 9582}
	black = punt.Device{Name: "sp-black", MAC: net.HardwareAddr{2, 'b', 192, 0, 2, 1}, MTU: 1500}
)

// alone puts the test into a network namespace of its own, or skips it.
func alone(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil || os.Geteuid() != 0 {
		t.Skip("TAP devices need root and /dev/net/tun")
	}
	runtime.LockOSThread()
	before, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	space, err := netns.New()
	if err != nil {
		t.Skipf("network namespaces cannot be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(netns.Set(before), before.Close(), space.Close()); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

func open(t *testing.T) *punt.Devices {
	t.Helper()
	devices, err := punt.Open(red, black)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { devices.Close() })
	return devices
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// own gives a device an address in Linux.
func own(t *testing.T, device, address string) netlink.Link {
	t.Helper()
	link, err := netlink.LinkByName(device)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := netlink.ParseAddr(address)
	if err == nil {
		err = netlink.AddrAdd(link, addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// TestLinuxAnswers: the kernel answers ARP for the address of a port on that port, with its MAC,
// and nowhere else.
func TestLinuxAnswers(t *testing.T) {
	alone(t)
	devices := open(t)
	link := own(t, "sp-black", "192.0.2.1/24")
	if link.Attrs().HardwareAddr.String() != black.MAC.String() || link.Attrs().MTU != black.MTU || link.Attrs().Flags&net.FlagUp == 0 {
		t.Errorf("the device is %v", link.Attrs())
	}
	ask := unhex(t, "ffffffffffff 020000000202 0806 0001 0800 06 04 0001 020000000202 c0000202 000000000000 c0000201")
	want := unhex(t, "020000000202 0262c0000201 0806 0001 0800 06 04 0002 0262c0000201 c0000201 020000000202 c0000202")
	answered := make(chan []byte, 100)
	served := make(chan error)
	go func() {
		served <- devices.Serve(func(port uint8, frame []byte) error {
			if frame[12] == 8 && frame[13] == 6 { // the kernel also looks for routers
				answered <- append([]byte{port}, frame...)
			}
			return nil
		})
	}()
	// red does not answer for an address of black's
	for _, port := range []uint8{transport.PortRed, transport.PortBlack} {
		if err := devices.Deliver(port, ask); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-answered; got[0] != transport.PortBlack || !bytes.Equal(got[1:], want) {
		t.Errorf("port %d: %x, want %x", got[0], got[1:], want)
	}
	if err := netlink.LinkSetDown(link); err != nil {
		t.Fatal(err)
	}
	if err := devices.Deliver(transport.PortBlack, ask); err != nil || devices.Refused() != 1 {
		t.Errorf("a device that is down: %v, %d refused", err, devices.Refused())
	}
	if err := devices.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err == nil {
		t.Error("closed devices were served")
	}
	if len(answered) != 0 {
		t.Errorf("and another answer: %x", <-answered)
	}
}

// TestAddressOfAPort: a device whose port has no address yet gets one later, while it is up.
func TestAddressOfAPort(t *testing.T) {
	alone(t)
	devices, err := punt.Open(red, punt.Device{Name: black.Name, MTU: black.MTU})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { devices.Close() })
	if err := devices.Address(transport.PortBlack, black.MAC); err != nil {
		t.Fatal(err)
	}
	for _, want := range []punt.Device{red, black} {
		if link, err := netlink.LinkByName(want.Name); err != nil || !bytes.Equal(link.Attrs().HardwareAddr, want.MAC) {
			t.Errorf("%s: %v, %v", want.Name, link, err)
		}
	}
	if err := devices.Address(transport.PortRed, net.HardwareAddr{1, 0, 0, 0, 0, 1}); err == nil || !strings.Contains(err.Error(), "TAP sp-red: address 01:") {
		t.Errorf("an address of a group: %v", err)
	}
}

// TestNeighbours: a probe makes the kernel ask, an answer is a neighbour, and so is a host's own
// announcement; a neighbour that goes is told too.
func TestNeighbours(t *testing.T) {
	alone(t)
	devices := open(t)
	link := own(t, "sp-black", "192.0.2.1/24")
	if err := netlink.NeighSet(&netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: net.IPv4(192, 0, 2, 9), HardwareAddr: red.MAC}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	found, err := devices.Neighbours(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		for n := range found {
			if !n.IP.Is4() { // the kernel's own of IPv6
				continue
			}
			got := fmt.Sprintf("%d %s %s", n.Port, n.IP, n.MAC)
			if got == want {
				return
			}
			if n.MAC != nil {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		t.Fatalf("no more, want %s", want)
	}
	next("1 192.0.2.9 " + red.MAC.String()) // those there before
	asked := make(chan []byte, 100)
	go func() {
		_ = devices.Serve(func(_ uint8, frame []byte) error {
			if frame[12] == 8 && frame[13] == 6 {
				asked <- bytes.Clone(frame)
			}
			return nil
		})
	}()
	devices.Probe(transport.PortBlack, netip.MustParseAddr("192.0.2.2"))
	want := unhex(t, "ffffffffffff 0262c0000201 0806 0001 0800 06 04 0001 0262c0000201 c0000201 000000000000 c0000202")
	if got := <-asked; !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	answer := func(mac string) {
		t.Helper()
		if err := devices.Deliver(transport.PortBlack, unhex(t, "0262c0000201"+mac+"0806 0001 0800 06 04 0002"+mac+"c0000202 0262c0000201 c0000201")); err != nil {
			t.Fatal(err)
		}
	}
	answer("020000000202")
	next("1 192.0.2.2 02:00:00:00:02:02")
	if err := netlink.NeighDel(&netlink.Neigh{LinkIndex: link.Attrs().Index, IP: net.IPv4(192, 0, 2, 2)}); err != nil {
		t.Fatal(err)
	}
	next("1 192.0.2.2 ")
	devices.Probe(transport.PortBlack, netip.MustParseAddr("ff02::1")) // no host is there: no error
	end()
	for range found {
	}
}

// TestLinuxIsNoRouter: a packet punted for lack of an SA does not leave by the other port, although
// the namespace forwards.
func TestLinuxIsNoRouter(t *testing.T) {
	alone(t)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		t.Skip(err)
	}
	open(t)
	for _, device := range []string{"sp-red", "sp-black"} {
		if text, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + device + "/forwarding"); err != nil || string(text) != "0\n" {
			t.Errorf("%s forwards: %q, %v", device, text, err)
		}
	}
}

func TestDevicesThatCannotBe(t *testing.T) {
	alone(t)
	open(t)
	for name, want := range map[string]string{"sp-red": "another program uses it", "lo": "no TAP of one queue", "sixteen-letters-": "1 to 15 characters"} {
		other := punt.Device{Name: name, MAC: red.MAC, MTU: 1500}
		if _, err := punt.Open(other, black); err == nil || !strings.Contains(err.Error(), "TAP "+name+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	taken := black
	taken.Name = "sp-other"
	if _, err := punt.Open(taken, punt.Device{Name: "sp-none", MAC: red.MAC, MTU: 100_000}); err == nil || !strings.Contains(err.Error(), "mtu 100000") {
		t.Errorf("no such MTU: %v", err)
	}
	if _, err := netlink.LinkByName("sp-other"); err == nil {
		t.Error("a device was left behind")
	}
}

// TestRelay: both directions, and an end that is no error.
func TestRelay(t *testing.T) {
	alone(t)
	path := filepath.Join(t.TempDir(), "box0.frames")
	listener, err := net.Listen("unixpacket", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	devices := open(t)
	own(t, "sp-red", "10.1.0.1/24")
	frames, err := transport.DialFrames(path)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	relayed := make(chan error)
	kept := make(chan []byte, 1)
	keep := func(header transport.PuntHeader, frame []byte) bool {
		if header.Reason == regs.PuntReasonPolicy {
			kept <- frame
		}
		return header.Reason == regs.PuntReasonPolicy
	}
	go func() { relayed <- punt.Relay(ctx, frames, devices, keep) }()
	ask := unhex(t, "ffffffffffff 020000000102 0806 0001 0800 06 04 0001 020000000102 0a010002 000000000000 0a010001")
	header := unhex(t, "00 01 02 00 002a 0000 0000000000000001")
	if _, err := engine.Write(append(header, ask...)); err != nil {
		t.Fatal(err)
	}
	mine := unhex(t, "00 08 00 00 002a 0000 0000000000000002")
	if _, err := engine.Write(append(mine, ask...)); err != nil {
		t.Fatal(err)
	}
	if got := <-kept; !bytes.Equal(got, ask) {
		t.Errorf("kept %x, want %x", got, ask)
	}
	want := unhex(t, "00 020000000102 02720a010001 0806 0001 0800 06 04 0002 02720a010001 0a010001 020000000102 0a010002")
	for message := make([]byte, 10000); ; {
		size, err := engine.Read(message)
		if err != nil {
			t.Fatal(err)
		}
		if message[13] == 8 && message[14] == 6 {
			if !bytes.Equal(message[:size], want) {
				t.Errorf("%x, want %x", message[:size], want)
			}
			break
		}
	}
	end()
	if err := <-relayed; err != nil {
		t.Errorf("ended: %v", err)
	}
}

// TestPortsOfABox: what the devices have to be stands in the registers.
func TestPortsOfABox(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	b, err := chip.Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	if none, _, err := punt.Of(b, "a", "b"); err != nil || none.MAC != nil || none.MTU != 9582 {
		t.Errorf("not configured: %+v, %v", none, err)
	}
	fake.Set(transport.Inner, regs.InnerPortMacLo, 0x010A7202)
	fake.Set(transport.Inner, regs.InnerPortMacHi, 0x0100)
	fake.Set(transport.Outer, regs.OuterPortMacLo, 0x00C06202)
	fake.Set(transport.Outer, regs.OuterPortMacHi, 0x0102)
	fake.Set(transport.Outer, regs.OuterPortMtu, 1500)
	fake.Set(transport.Inner, regs.InnerPortMtu, 1400)
	gotRed, gotBlack, err := punt.Of(b, "sp-red", "sp-black")
	wantRed := red
	wantRed.MTU = 1400
	for _, pair := range [][2]punt.Device{{gotRed, wantRed}, {gotBlack, black}} {
		if got, want := pair[0], pair[1]; err != nil || got.Name != want.Name || got.MAC.String() != want.MAC.String() || got.MTU != want.MTU {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}
