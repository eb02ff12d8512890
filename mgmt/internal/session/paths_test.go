// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

const pathKey = `aead "rfc4106(gcm(aes))" 0x%02x0102030405060708090a0b0c0d0e0f10111213 128`

// pathBox has a tunnel over IPv4, one in UDP and one over IPv6.
var pathBox = `addr add 192.0.2.1/24 dev black
link set dev black mtu 1500
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel ` + fmt.Sprintf(pathKey, 1) + `
xfrm state add src 192.0.2.1 dst 192.0.2.3 proto esp spi 0x1002 reqid 2 mode tunnel encap espinudp 4500 4501 0.0.0.0 ` + fmt.Sprintf(pathKey, 2) + `
xfrm state add src 2001:db8:c0::1 dst 2001:db8:c0::2 proto esp spi 0x1003 reqid 3 mode tunnel dir out ` + fmt.Sprintf(pathKey, 3) + `
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel dir in ` + fmt.Sprintf(pathKey, 4) + `
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 1 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 2 tmpl src 192.0.2.1 dst 192.0.2.3 proto esp reqid 2 mode tunnel
xfrm policy add src 10.1.0.0/16 dst 10.4.0.0/16 dir out priority 3 tmpl src 2001:db8:c0::1 dst 2001:db8:c0::2 proto esp reqid 3 mode tunnel
`

func report4(mtu uint32) model.PathReport {
	return model.PathReport{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), SPI: 0x1001, Length: 1500, MTU: mtu}
}

// TestReported: a report is believed for an outbound SA of its SPI, addresses and encapsulation, at
// the ends of the plausible numbers, and no other one is.
func TestReported(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(pathBox)
	with := func(mtu uint32, edit func(*model.PathReport)) model.PathReport {
		report := report4(mtu)
		edit(&report)
		return report
	}
	v6 := func(p *model.PathReport) {
		p.Src, p.Dst, p.SPI = netip.MustParseAddr("2001:db8:c0::1"), netip.MustParseAddr("2001:db8:c0::2"), 0x1003
	}
	udp := func(p *model.PathReport) {
		p.Dst, p.SPI, p.Encap, p.SPort, p.DPort = netip.MustParseAddr("192.0.2.3"), 0x1002, true, 4500, 4501
	}
	for name, test := range map[string]struct {
		report model.PathReport
		want   bool
	}{
		"IPv4":                      {report4(1400), true},
		"MTU 0":                     {report4(0), false},
		"MTU 68":                    {report4(68), false},
		"MTU 575":                   {report4(575), false},
		"MTU 576":                   {report4(576), true},
		"one less than it is":       {report4(1499), true},
		"as it is":                  {report4(1500), false},
		"more than it is":           {report4(1501), false},
		"as long as the packet":     {with(1400, func(p *model.PathReport) { p.Length = 1400 }), false},
		"shorter by one":            {with(1400, func(p *model.PathReport) { p.Length = 1401 }), true},
		"wrong SPI":                 {with(1400, func(p *model.PathReport) { p.SPI++ }), false},
		"an inbound SA's SPI":       {with(1400, func(p *model.PathReport) { p.SPI, p.Src, p.Dst = 0x2001, p.Dst, p.Src }), false},
		"wrong source":              {with(1400, func(p *model.PathReport) { p.Src = netip.MustParseAddr("192.0.2.9") }), false},
		"wrong destination":         {with(1400, func(p *model.PathReport) { p.Dst = netip.MustParseAddr("192.0.2.3") }), false},
		"in UDP, and its SA is not": {with(1400, func(p *model.PathReport) { p.Encap = true }), false},
		"UDP":                       {with(1400, udp), true},
		"UDP, other ports":          {with(1400, func(p *model.PathReport) { udp(p); p.DPort = 4500 }), false},
		"UDP, own port wrong":       {with(1400, func(p *model.PathReport) { udp(p); p.SPort = 500 }), false},
		"not in UDP, and its SA is": {with(1400, func(p *model.PathReport) { udp(p); p.Encap = false }), false},
		"IPv6":                      {with(1400, v6), true},
		"IPv6, MTU 1279":            {with(1279, v6), false},
		"IPv6, MTU 1280":            {with(1280, v6), true},
		"IPv6, MTU of 32 bits":      {with(1<<32-1, v6), false},
	} {
		err := r.Session(func(s *session.Session) error {
			v, err := s.Look()
			if err == nil && (v.Model().Reported(test.report) != nil) != test.want {
				t.Errorf("%s: %t", name, !test.want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPathMTU: a path MTU that ICMP told is that of the SA's rows, through other changes and other
// sessions, until 10 minutes are over; a lower one begins them anew. Other SAs keep theirs.
func TestPathMTU(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := newRig(t, fakebox.Small)
	r.Must(pathBox)
	learn := func(mtus ...uint32) {
		t.Helper()
		err := r.Session(func(s *session.Session) error {
			s.Now = func() time.Time { return now }
			told := map[uint64]uint32{}
			for _, mtu := range mtus {
				v, err := s.Look()
				if err != nil {
					return err
				}
				if sa := v.Model().Reported(report4(mtu)); sa != nil {
					told[sa.Age] = mtu
				}
			}
			_, _, err := s.LearnPaths(told, model.PathAge)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The inner MTU is less 20 + 8 + 8 + 16, down to a multiple of 4, and 2.
	check := func(outer, inner uint64) {
		t.Helper()
		tunnels, rules := r.Fake.Table(transport.Outer, regs.OuterTableTunnel), r.Fake.Table(transport.Inner, regs.InnerTableRule)
		got := [4]uint64{regs.TunnelRow.Mtu.Get(tunnels[0]), regs.RuleRow.Mtu.Get(rules[0]), regs.TunnelRow.Mtu.Get(tunnels[1]), regs.RuleRow.Mtu.Get(rules[1])}
		if want := [4]uint64{outer, inner, 0, 1438}; got != want {
			t.Errorf("MTUs %d, want %d", got, want)
		}
	}
	check(0, 1446)
	learn(1400)
	check(1400, 1346)
	if len(r.Fake.Log) != 2 {
		t.Errorf("%d rows were written", len(r.Fake.Log))
	}
	learn(1400)
	if len(r.Fake.Log) != 0 {
		t.Errorf("nothing new, and %d rows were written", len(r.Fake.Log))
	}
	now = now.Add(model.PathAge - time.Second)
	learn()
	check(1400, 1346)
	learn(1300)
	check(1300, 1246)
	r.Must("route add 192.0.2.2/32 via 192.0.2.9 dev black mtu 1350\n")
	check(1300, 1246)
	r.Must("route change 192.0.2.2/32 via 192.0.2.9 dev black mtu 1200\n")
	check(1200, 1146)
	r.Must("route delete 192.0.2.2/32\n")
	check(1300, 1246)
	now = now.Add(model.PathAge - time.Second)
	learn()
	check(1300, 1246)
	now = now.Add(time.Second)
	learn()
	check(0, 1446)
	// One that comes beside it, as IKE rekeys it, has its path MTU, and forgets it as it would. So
	// it is if a younger one has learned nothing.
	r.Must("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100a reqid 1 mode tunnel " + fmt.Sprintf(pathKey, 6) + "\n")
	learn(1400)
	now = now.Add(300 * time.Second)
	r.Must("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1009 reqid 1 mode tunnel " + fmt.Sprintf(pathKey, 8) + "\n")
	r.Must("xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001\n")
	rekeyed := func(want uint64) {
		t.Helper()
		if got := regs.TunnelRow.Mtu.Get(r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[4]); got != want {
			t.Errorf("the rekeyed SA has MTU %d, want %d", got, want)
		}
	}
	rekeyed(1400)
	now = now.Add(model.PathAge - 301*time.Second)
	learn()
	rekeyed(1400)
	now = now.Add(time.Second)
	learn()
	rekeyed(0)
	r.Must("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel " + fmt.Sprintf(pathKey, 7) + "\n")
	r.Must("xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1009\n")
	r.Must("xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100a\n")
	check(0, 1446)
	// A new SA behind its deletion begins without.
	learn(1400)
	r.Must("xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001\n")
	r.Must("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel " + fmt.Sprintf(pathKey, 9) + "\n")
	check(0, 1446)
}
