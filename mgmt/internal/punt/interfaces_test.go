// SPDX-License-Identifier: Apache-2.0

package punt_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// steered are devices with two XFRM interfaces, 10.2.0.0/16 behind the first and 10.3.0.0/16 behind
// the second.
func steered(t *testing.T) *punt.Devices {
	t.Helper()
	devices := open(t)
	if err := devices.OpenTunnels(punt.Tunnels("sp-vpn", black)); err != nil {
		t.Fatal(err)
	}
	toward := func(addr netip.Addr) string {
		return map[byte]string{2: "ipsec0", 3: "ipsec1"}[addr.As16()[13]]
	}
	if err := devices.OpenInterfaces([]punt.Device{punt.Tunnels("ipsec0", black), punt.Tunnels("ipsec1", black)}, toward); err != nil {
		t.Fatal(err)
	}
	return devices
}

// TestInterfaces: a packet out of a tunnel comes in at the device of the interface that its source
// is behind, or else at that of tunnels. A packet leaves by policy from the device that its
// destination is behind, and from no other.
func TestInterfaces(t *testing.T) {
	alone(t)
	devices := steered(t)
	box := relay(t, devices)
	own(t, "sp-red", "10.1.0.1/16")
	for _, name := range []string{"ipsec0", "ipsec1", "sp-vpn"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, network := range []string{"10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"} {
			_, dst, _ := net.ParseCIDR(network)
			metric := map[string]int{"ipsec0": 1, "ipsec1": 2, "sp-vpn": 3}[name]
			if err := netlink.RouteAdd(&netlink.Route{Dst: dst, LinkIndex: link.Attrs().Index, Src: net.IPv4(10, 1, 0, 1), Priority: metric}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for source, device := range map[string]string{"0a020009": "ipsec0", "0a030009": "ipsec1", "0a040009": "sp-vpn"} {
		conn := listener(t, device, "10.1.0.1:7")
		frame := toRed(t, "abc")
		copy(frame[14+12:], unhex(t, source))
		frame[14+10], frame[14+11] = 0, 0
		sum := header(frame[14:34])
		frame[14+10], frame[14+11] = byte(sum>>8), byte(sum)
		box.frames <- punted{transport.PuntHeader{Port: transport.PortRed, Reason: regs.PuntReasonTunnel}, frame}
		if got := heard(t, conn); !strings.HasPrefix(got, "abc from 10.") {
			t.Error(got)
		}
		conn.Close()
	}
	refused := devices.Refused()
	for _, test := range []struct {
		device, to string
		leaves     bool
	}{{"ipsec0", "10.2.0.9", true}, {"ipsec0", "10.3.0.9", false}, {"ipsec1", "10.3.0.9", true}, {"ipsec1", "10.4.0.9", false}, {"sp-vpn", "10.4.0.9", true}} {
		conn := listener(t, test.device, "10.1.0.1:0")
		addr, _ := net.ResolveUDPAddr("udp4", test.to+":7")
		if _, err := conn.WriteTo([]byte(fmt.Sprint("by ", test.device, " to ", test.to)), addr); err != nil {
			t.Fatal(err)
		}
		if !test.leaves {
			continue
		}
		for text := ""; !strings.Contains(text, "to "+test.to); {
			select {
			case frame := <-box.sent:
				if text = string(frame); strings.Contains(text, "by ") && (frame[0] != transport.ByPolicy || !strings.Contains(text, "by "+test.device)) {
					t.Errorf("port %d: %q", frame[0], text)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("no packet to ", test.to)
			}
		}
	}
	for began := time.Now(); devices.Refused()-refused < 2; time.Sleep(time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d packets by other devices than their own are refused", devices.Refused()-refused)
		}
	}
}

// header is the checksum of an IPv4 header whose own is 0.
func header(packet []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(packet); i += 2 {
		sum += uint32(packet[i])<<8 | uint32(packet[i+1])
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return ^uint16(sum)
}

// told collects what Linux tells of its routes, and then sets a device down.
type told struct {
	t       *testing.T
	changes map[string]learned.Route
	down    string
}

func (told) Begin() {}

func (d told) Change(c punt.RouteChange) { d.changes[c.Route.Prefix.String()] = c.Route }

func (d told) Dumped() { ip(d.t, "link set "+d.down+" down") }

func ip(t *testing.T, line string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// TestRoutesOfInterfaces: Linux's routes to the devices are told by their names, those out of other
// devices as such; of a route with gateways at both kinds of devices red's count.
func TestRoutesOfInterfaces(t *testing.T) {
	alone(t)
	devices := steered(t)
	own(t, "sp-red", "10.1.0.1/16")
	own(t, "sp-black", "192.0.2.1/24")
	for _, line := range []string{
		"route add 10.2.0.0/16 dev ipsec0", "route add 10.3.0.0/16 nexthop dev ipsec1 nexthop dev ipsec0", "route add 10.4.0.0/16 via 192.0.2.2",
		"route add 10.5.0.0/16 nexthop dev ipsec1 nexthop via 10.1.0.2", "route add unreachable 10.6.0.0/16", "-6 route add 2001:db8:2::/48 dev ipsec1",
	} {
		ip(t, line)
	}
	got := told{t, map[string]learned.Route{}, "ipsec0"}
	// It ends by itself: Linux takes the routes of a device that goes down away without a word.
	if err := devices.Routes(t.Context(), learned.Steering, got); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]learned.Route{
		"10.2.0.0/16": {Dev: "ipsec0"}, "10.3.0.0/16": {Dev: "ipsec1"}, "10.4.0.0/16": {Elsewhere: true}, "192.0.2.0/24": {Elsewhere: true},
		"10.5.0.0/16": {Elsewhere: true}, "10.1.0.0/16": {Elsewhere: true}, "10.6.0.0/16": {Type: "unreachable"}, "2001:db8:2::/48": {Dev: "ipsec1"},
	} {
		c, is := got.changes[prefix]
		if !is || c.Dev != want.Dev || c.Elsewhere != want.Elsewhere || c.Type != want.Type || !slices.Equal(c.Via, want.Via) {
			t.Errorf("%s: told %t, %+v, want %+v", prefix, is, c, want)
		}
	}
	// So it does with any other device, whose routes may come before those of interfaces.
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := devices.Routes(soon, learned.Steering, told{t, map[string]learned.Route{}, "sp-black"}); err != nil || soon.Err() != nil {
		t.Error("it goes on:", err, soon.Err())
	}
}
