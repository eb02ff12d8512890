// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestRoutes: the routes that Linux has behind red are where the chip sends packets, as long as
// Linux has them; a daemon that comes again leaves them for a while.
func TestRoutes(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newSizedRig(t, 8)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red", "neigh add 10.1.0.3 lladdr 02:00:00:00:00:03 dev red", "neigh add 192.0.2.254 lladdr 02:00:00:00:00:fe dev black")
	r.host()
	ip := func(words string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", words, err, out)
		}
	}
	nextHops := map[transport.Chip]regs.Table{transport.Inner: regs.InnerTableNextHop, transport.Outer: regs.OuterTableNextHop}
	// wayOn is where packets go: to the last bytes of the MAC addresses of their next hops.
	wayOn := func(c transport.Chip, to string) string {
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		way, err := r.fake.Route(c, netip.MustParseAddr(to))
		if err != nil {
			t.Error(err)
		}
		hops := strings.Fields(strings.Trim(way, "[]"))
		for i, hop := range hops {
			var index int
			if _, err := fmt.Sscan(hop, &index); err != nil {
				return way
			}
			row := r.fake.Table(c, nextHops[c])[index]
			if hops[i] = "none"; row != nil {
				hops[i] = fmt.Sprint(testbox.RowBytes(row)[5])
			}
		}
		slices.Sort(hops)
		return strings.Join(hops, " ")
	}
	way := func(to string) string { return wayOn(transport.Inner, to) }
	until := func(to, want string) {
		t.Helper()
		r.until("packets to "+to+" go to "+want, func() bool { return way(to) == want })
	}
	until("10.1.0.9", "connected")
	ip("tuntap add dev other mode tap")
	ip("link set other up")
	ip("addr add 10.9.0.1/24 dev other")
	ip("route add 10.2.0.0/16 via 10.1.0.2 metric 20 proto bgp")
	until("10.2.0.1", "2")
	ip("route add 10.2.0.0/16 metric 10 nexthop via 10.1.0.2 nexthop via 10.1.0.3")
	until("10.2.0.1", "2 3")
	ip("route del 10.2.0.0/16 metric 10")
	until("10.2.0.1", "2")
	ip("route replace 10.2.0.0/16 via 10.1.0.3 metric 20")
	until("10.2.0.1", "3")
	ip("route add blackhole 10.2.3.0/24")
	r.until("a way to nowhere", func() bool { return way("10.2.3.1") == "none" })
	r.same("route show", r.get("command", `,"words":["route","show"]`)["output"],
		"10.1.0.0/24 dev red proto kernel\n10.2.0.0/16 via 10.1.0.3 dev red proto boot metric 20\nblackhole 10.2.3.0/24 proto boot\n192.0.2.0/24 dev black proto kernel\n")
	ip("route add 198.51.100.0/24 via 192.0.2.254")
	onBlack := func(to string) string { return wayOn(transport.Outer, to) }
	r.until("a route behind black", func() bool { return onBlack("198.51.100.9") == "254" })
	r.same("hosts of black", onBlack("192.0.2.9"), "connected")
	r.same("a way to nowhere on black", onBlack("10.2.3.1"), "none")
	r.same("routes of red on black", onBlack("10.2.0.1"), "")
	r.same("routes of black on red", way("198.51.100.9"), "")
	ip("route add 10.6.0.0/16 tos 0x10 via 10.1.0.2") // of a TOS, which chooses no next hop
	ip("route add default via 10.9.0.2")              // of another device
	ip("route add 10.2.4.0/24 via 10.9.0.2")          // more exact than red's
	ip("route add 10.3.0.0/16 dev sp-red table 100")
	ip("-6 addr add 2001:db8:1::1/64 dev sp-red nodad")
	ip("-6 route add 2001:db8:2::/48 via fe80::9 dev sp-red")
	ip("-6 route append 2001:db8:2::/48 via fe80::8 dev sp-red") // a further gateway
	ip("-6 route add 2001:db8:3::/125 via fe80::9 dev sp-red")
	r.until("two gateways", func() bool { return way("2001:db8:2::1") == "none none" })
	ip("-6 route del 2001:db8:2::/48 via fe80::9 dev sp-red")
	r.until("one gateway", func() bool { return way("2001:db8:2::1") == "none" })
	if way("11.0.0.1") != "" || way("10.2.4.1") != "3" || way("10.3.0.1") != "" || way("10.6.0.1") != "" {
		t.Errorf("routes of others are the chip's: %s, %s, %s, %s", way("11.0.0.1"), way("10.2.4.1"), way("10.3.0.1"), way("10.6.0.1"))
	}
	r.until("the long prefix", func() bool {
		return strings.Contains(r.get("command", `,"words":["route","show"]`)["output"].(string), "2001:db8:3::/125 via fe80::9 dev red proto boot metric 1024 rt_offload_failed\n")
	})
	r.restart()
	r.host()
	time.Sleep(1500 * time.Millisecond)
	until("10.2.0.1", "3")
	ip("route add 10.2.0.0/16 via 10.1.0.2")
	until("10.2.0.1", "2")
	ip("route add 10.4.0.0/16 nexthop via 10.1.0.3 nexthop via 10.9.0.2")
	until("10.4.0.1", "3")
	ip("link set sp-red down") // Linux takes the route away without a word
	until("10.2.0.1", "")
	until("10.4.0.1", "")
	ip("link set sp-red up") // and gives a gateway back without one
	until("10.4.0.1", "3")
}

// TestHostRoutes: a route of Linux to one address is a row of hosts with its gateway's MAC address,
// of either port, as long as Linux has the route, and behind a restart. The other end of a link of
// two routers is looked for before any packet goes there.
func TestHostRoutes(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newSizedRig(t, 8)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "addr add 2001:db8:e::/127 dev red", "addr add 2001:db8:f::5/126 dev black")
	r.host()
	station := func(c transport.Chip, to string) string {
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		if row := (&testbox.Rig{Fake: r.fake}).HostRow(c, 0, netip.MustParseAddr(to)); row != nil {
			return fmt.Sprintf("%x", regs.HostRow.Mac.Get(row)>>40)
		}
		return ""
	}
	until := func(c transport.Chip, to, want string) {
		t.Helper()
		r.until("packets to "+to+" go to "+want, func() bool { return station(c, to) == want })
	}
	for _, port := range []struct {
		chip      transport.Chip
		dev       string
		own       string
		to        string // the network behind it
		neighbour []string
	}{
		{transport.Inner, "sp-red", "2001:db8:e::/127", "2001:db8:3::", []string{"2001:db8:e::1"}},
		{transport.Outer, "sp-black", "2001:db8:f::5/126", "2001:db8:4::", []string{"2001:db8:f::4", "2001:db8:f::6", "2001:db8:f::7"}},
	} {
		do := func(words string) {
			t.Helper()
			if err := ip(fmt.Sprintf(words, port.dev)); err != nil {
				t.Fatal(err)
			}
		}
		do("-6 addr add " + port.own + " dev %s nodad")
		for n, host := range port.neighbour {
			r.until("Linux looks for "+host, func() bool {
				out, err := exec.Command("ip", "-6", "neigh", "show", host, "dev", port.dev).Output()
				return err == nil && len(out) > 0
			})
			do(fmt.Sprintf("-6 neigh replace %s lladdr 02:00:00:00:00:1%d dev %%s", host, n))
			until(port.chip, host, fmt.Sprintf("1%d", n))
		}
		to := port.to + "1"
		do("-6 route add " + to + "/128 dev %s metric 20 nexthop via fe80::9 nexthop via fe80::8")
		do("-6 neigh replace fe80::9 lladdr 02:00:00:00:00:09 dev %s")
		until(port.chip, to, "9")
		do("-6 neigh replace fe80::8 lladdr 02:00:00:00:00:08 dev %s")
		until(port.chip, to, "8")
		do("-6 neigh replace fe80::8 lladdr 02:00:00:00:00:88 dev %s")
		until(port.chip, to, "88")
		do("-6 route add " + to + "/128 via fe80::9 dev %s metric 10")
		until(port.chip, to, "9")
		do("-6 route del " + to + "/128 dev %s metric 10")
		until(port.chip, to, "88")
		do("-6 neigh del fe80::8 dev %s") // a gateway keeps its address
		do("-6 route add " + port.to + "2/127 via fe80::8 dev %s")
		until(port.chip, port.to+"3", "88")
		r.same("the route", station(port.chip, to), "88")
	}
	r.restart()
	r.same("a row behind a restart", station(transport.Inner, "2001:db8:3::1"), "88")
	r.same("a row of black behind a restart", station(transport.Outer, "2001:db8:4::1"), "88")
	r.host()
	if err := ip("-6 route add 2001:db8:3::1/128 via fe80::9 dev sp-red"); err != nil {
		t.Fatal(err)
	}
	until(transport.Inner, "2001:db8:3::1", "9")
	if err := ip("-6 route del 2001:db8:3::1/128 via fe80::9 dev sp-red"); err != nil {
		t.Fatal(err)
	}
	until(transport.Inner, "2001:db8:3::1", "")
	r.same("the row of black", station(transport.Outer, "2001:db8:4::1"), "88")
}

// TestManyRoutes: of a burst of routes, as of BGP, all are in the chip in the end, though Linux's
// messages be lost meanwhile. Commands are answered in between.
func TestManyRoutes(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newSizedRig(t, 12)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red")
	r.host()
	const count = 6000
	batch := func(verb string) {
		t.Helper()
		var lines strings.Builder
		for n := range count {
			fmt.Fprintf(&lines, "route %s 20.%d.%d.0/24 via 10.1.0.2\n", verb, n/256, n%256)
		}
		ip := exec.Command("ip", "-batch", "-")
		ip.Stdin = strings.NewReader(lines.String())
		if out, err := ip.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	learned := func() int {
		v, err := r.daemon.view()
		if err != nil {
			t.Fatal(err)
		}
		return v.Model().FromLinux[xfrm.Red].Len()
	}
	client := r.dial()
	batch("add")
	begun, slowest := time.Now(), time.Duration(0)
	r.until("all routes", func() bool {
		asked := time.Now()
		if got := client.ask(`{"id":1,"do":"command","words":["link","set","dev","red","mtu","9000"]}`); !strings.Contains(got, `"ok":true`) {
			t.Fatal(got)
		}
		slowest = max(slowest, time.Since(asked))
		return learned() == count+1
	})
	t.Logf("%d routes took %v; a command took %v at most", count, time.Since(begun), slowest)
	for n := range count {
		if way, err := r.fake.Route(transport.Inner, netip.AddrFrom4([4]byte{20, byte(n / 256), byte(n), 9})); err != nil || way != "[1]" {
			t.Fatal(n, way, err)
		}
	}
	batch("del")
	r.until("none", func() bool { return learned() == 1 })
}

// TestLinuxSteersVRFs: Linux's routes of the table of a VRF to the device of an XFRM interface that
// is in the VRF lead there, while a daemon comes again, too. They come with the interface, and go
// with it. Where the box has it elsewhere they lead to no tunnel, which `vrf show` tells.
func TestLinuxSteersVRFs(t *testing.T) {
	if !alone(t) {
		return
	}
	sizes := fakebox.Small
	sizes.PrefixBits, sizes.PolicyBits = 8, 4
	r := newRigOf(t, sizes)
	r.must("addr add 192.0.2.1/24 dev black", "link add blue type vrf table 10", "link add green type vrf table 20", "link add ipsec7 type xfrm dev black if_id 7", "link set ipsec7 master blue",
		"xfrm policy add dir out if_id 7 action punt")
	devices := []string{"ipsec7", "ipsec8"}
	v := vrfRig{r, r.host(devices...)}
	goes := func(vrf, to, want string) {
		t.Helper()
		got := ""
		v.until(fmt.Sprintf("packets of %s to %s go to %s", vrf, to, want), func() bool {
			r.daemon.mu.Lock()
			defer r.daemon.mu.Unlock()
			view, err := r.daemon.session.Look()
			if err != nil {
				t.Fatal(err)
			}
			row, err := r.fake.Named(view.Model().NetworkOf(vrf), netip.MustParseAddr("10.1.0.9"), netip.MustParseAddr(to))
			if err != nil {
				t.Fatal(err)
			}
			switch got = "nowhere"; {
			case row == nil:
				got = "no tree"
			case regs.FlowRow.Action.Get(row) == regs.ActionPunt:
				got = "an interface"
			}
			return got == want
		})
	}
	for _, name := range devices {
		v.ip("link set " + name + " up")
	}
	v.ip("route add 10.2.0.0/16 dev ipsec7 table 10")
	v.ip("route add unreachable default metric 4278198272 table 10")
	v.ip("route add 10.4.0.0/16 dev sp-red table 10")
	v.ip("route add 10.3.0.0/16 dev ipsec8 table 10")
	v.ip("route add 10.2.0.0/16 dev ipsec7 table 20")
	goes("blue", "10.2.0.9", "an interface")
	goes("blue", "10.3.0.9", "nowhere")
	goes("blue", "10.4.0.9", "no tree")
	goes("blue", "10.9.0.9", "nowhere")
	goes("green", "10.2.0.9", "no tree")
	v.tells("ignored: Linux has routes out of ipsec7 in the table 20, whose VRF does not have the interface in the box: they lead to no tunnel")
	v.tells("blue table 10 dev ipsec7\n\tof Linux: routes 1 refused 0 hosts 0 xfrm 2\n")
	if text := r.scrape(); !strings.Contains(text, `sallyport_linux_routes{port="xfrm vrf blue",state="installed"} 4`) || !strings.Contains(text, `{port="xfrm vrf blue"} 0`) {
		t.Error(text)
	}
	r.end()
	r.start()
	v.engine = r.host(devices...)
	goes("blue", "10.2.0.9", "an interface") // in its grace
	for _, name := range devices {
		v.ip("link set " + name + " up")
	}
	v.ip("route add 10.5.0.0/16 dev ipsec7 table 10")
	goes("blue", "10.5.0.9", "an interface")
	// The device goes down, and Linux takes its routes away without a word.
	v.ip("link set ipsec7 down")
	goes("blue", "10.5.0.9", "nowhere")
	v.ip("link set ipsec7 up")
	v.ip("route add 10.5.0.0/16 dev ipsec7 table 20")
	r.must("xfrm policy deleteall if_id 7", "link set ipsec7 master green", "xfrm policy add dir out if_id 7 action punt")
	goes("green", "10.5.0.9", "an interface")
	goes("blue", "10.5.0.9", "no tree")
	r.must("xfrm policy deleteall if_id 7", "link set ipsec7 nomaster", "link del green")
	r.must("link add green type vrf table 20", "link set ipsec7 master green", "xfrm policy add dir out if_id 7 action punt")
	goes("green", "10.5.0.9", "an interface")
}

// TestLearnerOfVRF: what learns the routes of a VRF teaches none to the next VRF of the table.
func TestLearnerOfVRF(t *testing.T) {
	r := newSizedRig(t, 8)
	r.must("link add blue type vrf table 10")
	n := &networks{d: r.daemon}
	teach := func(vrfs []punt.VRF) (has int) {
		t.Helper()
		p := netip.MustParsePrefix("10.3.0.0/16")
		route := learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Type: "blackhole"}}
		if taken, _, err := n.Of(learned.OfTable(vrfs[0].Table, vrfs[0].Name)).LearnRoutes([]learned.Change{route}); !taken || err != nil {
			t.Fatal(taken, err)
		}
		v, err := r.daemon.view()
		if err != nil {
			t.Fatal(err)
		}
		for _, routes := range v.Model().FromLinux {
			has += routes.Len()
		}
		return has
	}
	vrfs, err := n.VRFs()
	if err != nil {
		t.Fatal(err)
	}
	blue := slices.Clone(vrfs)
	if has := teach(blue); has != 1 {
		t.Errorf("blue has %d routes", has)
	}
	r.must("link del blue")
	r.must("link add azure type vrf table 10")
	if has := teach(blue); has != 0 {
		t.Errorf("azure has %d routes of blue", has)
	}
	if vrfs, err = n.VRFs(); err != nil {
		t.Fatal(err)
	}
	if has := teach(vrfs); has != 1 {
		t.Errorf("azure has %d routes", has)
	}
}
