// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// punt is one `sallyctl punt …` line.
func (r *rig) punt(line string) error {
	r.T.Helper()
	command, err := xfrm.Parse(xfrm.Words(strings.Fields("punt " + line)))
	if err != nil {
		return err
	}
	return r.Session(func(s *session.Session) error { return s.Run([]xfrm.Command{command}) })
}

func (r *rig) limitOf(c transport.Chip, register regs.Register) (rate, burst uint64) {
	row := []uint32{r.Fake.Get(c, register)}
	return regs.OuterLimitIkeRate.Get(row), regs.OuterLimitIkeBurst.Get(row)
}

// limitRegisters are the registers of the limits.
var limitRegisters = []struct {
	dev, group string
	chip       transport.Chip
	register   regs.Register
}{
	{xfrm.Red, "other", transport.Inner, regs.InnerLimitOther}, {xfrm.Red, "arp", transport.Inner, regs.InnerLimitArp}, {xfrm.Red, "nd", transport.Inner, regs.InnerLimitNd},
	{xfrm.Red, "local", transport.Inner, regs.InnerLimitLocal},
	{xfrm.Red, "tunnel", transport.Inner, regs.InnerLimitTunnel}, {xfrm.Red, "clear", transport.Inner, regs.InnerLimitClear},
	{xfrm.Red, "tunnel_mtu", transport.Inner, regs.InnerLimitTunnelMtu},
	{xfrm.Red, "clear_mtu", transport.Inner, regs.InnerLimitClearMtu},
	{xfrm.Red, "tunnel_ttl", transport.Inner, regs.InnerLimitTunnelTtl},
	{xfrm.Red, "clear_ttl", transport.Inner, regs.InnerLimitClearTtl},
	{xfrm.Red, "tunnel_host", transport.Inner, regs.InnerLimitTunnelHost},
	{xfrm.Red, "clear_host", transport.Inner, regs.InnerLimitClearHost},
	{xfrm.Red, "tunnel_route", transport.Inner, regs.InnerLimitTunnelRoute},
	{xfrm.Red, "clear_route", transport.Inner, regs.InnerLimitClearRoute}, {xfrm.Red, "hairpin", transport.Inner, regs.InnerLimitHairpin},
	{xfrm.Red, "resolution", transport.Inner, regs.InnerLimitResolution}, {xfrm.Black, "resolution", transport.Outer, regs.OuterLimitResolution},
	{xfrm.Red, "link_local", transport.Inner, regs.InnerLimitLinkLocal}, {xfrm.Black, "link_local", transport.Outer, regs.OuterLimitLinkLocal},
	{xfrm.Red, "mtu", transport.Inner, regs.InnerLimitMtu}, {xfrm.Red, "ttl", transport.Inner, regs.InnerLimitTtl}, {xfrm.Red, "inject", transport.Inner, regs.InnerLimitInject}, {xfrm.Red, "inject_encrypt", transport.Inner, regs.InnerLimitInjectEncrypt},
	{xfrm.Black, "other", transport.Outer, regs.OuterLimitOther}, {xfrm.Black, "ike", transport.Outer, regs.OuterLimitIke},
	{xfrm.Black, "ike_cookie", transport.Outer, regs.OuterLimitIkeCookie}, {xfrm.Black, "ike_init", transport.Outer, regs.OuterLimitIkeInit},
	{xfrm.Black, "arp", transport.Outer, regs.OuterLimitArp}, {xfrm.Black, "nd", transport.Outer, regs.OuterLimitNd}, {xfrm.Black, "icmp", transport.Outer, regs.OuterLimitIcmp},
	{xfrm.Black, "unknown_spi", transport.Outer, regs.OuterLimitSpi}, {xfrm.Black, "reasm", transport.Outer, regs.OuterLimitReasm},
	{xfrm.Black, "clear_host", transport.Outer, regs.OuterLimitClearHost}, {xfrm.Black, "clear_route", transport.Outer, regs.OuterLimitClearRoute},
	{xfrm.Black, "inject", transport.Outer, regs.OuterLimitInject},
}

// TestLimitsAfterResetAreThoseOfTheChips: chips in an unknown state get all limits, and limits that
// were never set are those after a reset.
func TestLimitsAfterResetAreThoseOfTheChips(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Fake.Set(transport.Inner, regs.CommonScratch, 7)
	for _, b := range limitRegisters {
		r.Fake.Set(b.chip, b.register, 0)
	}
	r.Must("addr add 192.0.2.1/24 dev black")
	for _, b := range limitRegisters {
		if got := r.Fake.Get(b.chip, b.register); got != b.register.Reset {
			t.Errorf("%s %s is 0x%08x, the chip has 0x%08x", b.dev, b.group, got, b.register.Reset)
		}
	}
}

func TestPuntSetWritesItsRegistersAlone(t *testing.T) {
	r := newRig(t, fakebox.Small)
	if err := r.punt("set ike rate 300000000 burst 1"); err == nil {
		t.Fatal("a rate beyond the range was taken")
	}
	before := map[string]uint32{}
	for _, b := range limitRegisters {
		before[b.dev+b.group] = r.Fake.Get(b.chip, b.register)
	}
	for _, line := range []string{"set ike rate 2000 burst 7", "set arp burst 9 dev red", "set inject rate unlimited", "set nd rate 5 burst 0"} {
		if err := r.punt(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range limitRegisters {
		rate, burst := r.limitOf(b.chip, b.register)
		switch {
		case b.group == "ike":
			if rate != 447 || burst != 7 {
				t.Errorf("ike: %d %d", rate, burst)
			}
		case b.group == "arp" && b.dev == xfrm.Red:
			if rate != 224 || burst != 9 {
				t.Errorf("arp: %d %d", rate, burst)
			}
		case b.group == "inject":
			if rate != 0 || burst != 16 {
				t.Errorf("inject: %d %d", rate, burst)
			}
		case b.group == "nd":
			if rate != 1 || burst != 0 {
				t.Errorf("nd: %d %d", rate, burst)
			}
		case r.Fake.Get(b.chip, b.register) != before[b.dev+b.group]:
			t.Errorf("%s %s changed", b.dev, b.group)
		}
	}
	if err := r.punt("set all unlimited"); err == nil {
		t.Error("`unlimited` without `rate` was taken")
	}
	if err := r.punt("set all rate unlimited"); err != nil {
		t.Fatal(err)
	}
	for _, b := range limitRegisters {
		rate, _ := r.limitOf(b.chip, b.register)
		if b.group == xfrm.InjectPolicy { // of no group
			rate -= 2237
		}
		if rate != 0 {
			t.Errorf("%s %s has a rate of %d", b.dev, b.group, rate)
		}
	}
}

func TestPuntShowGivesLinesThatCanBeGivenAgain(t *testing.T) {
	r := newRig(t, fakebox.Small)
	for _, line := range []string{"set icmp rate 50 burst 3", "set all rate unlimited dev red", "set inject rate 123"} {
		if err := r.punt(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.punt("show"); err != nil {
		t.Fatal(err)
	}
	shown := r.Out
	if !strings.Contains(shown, "punt set icmp rate 50 burst 3 dev black\n") || !strings.Contains(shown, "punt set arp rate unlimited burst 1024 dev red\n") ||
		!strings.Contains(shown, "punt set unknown_spi rate 100 burst 256 dev black\n") {
		t.Error(shown)
	}
	again := newRig(t, fakebox.Small)
	for _, line := range strings.Split(strings.TrimSpace(shown), "\n") {
		if err := again.punt(strings.TrimPrefix(line, "punt ")); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range limitRegisters {
		if r.Fake.Get(b.chip, b.register) != again.Fake.Get(b.chip, b.register) {
			t.Errorf("%s %s differs", b.dev, b.group)
		}
	}
}

func TestLimitsOfAnUnknownBoxAreWrittenAnew(t *testing.T) {
	r := newRig(t, fakebox.Small)
	if err := r.punt("set all rate 500 burst 5"); err != nil {
		t.Fatal(err)
	}
	r.Fake.Set(transport.Outer, regs.CommonScratch, 77) // one chip is another's
	r.Must("addr add 192.0.2.1/24 dev black")
	for _, b := range limitRegisters {
		if got := r.Fake.Get(b.chip, b.register); got != b.register.Reset {
			t.Errorf("%s %s is 0x%x", b.dev, b.group, got)
		}
	}
}

func TestPuntMistakes(t *testing.T) {
	r := newRig(t, fakebox.Small)
	for line, sentence := range map[string]string{
		"set":                        "a trap group",
		"set icmp6 rate 5":           "unknown trap group \"icmp6\": there are other, ike, arp, nd, icmp, unknown_spi, mtu, reasm, ttl, link_local, local, resolution, ike_cookie, ike_init, tunnel, clear, tunnel_mtu, clear_mtu, tunnel_ttl, clear_ttl, tunnel_host, clear_host, tunnel_route, clear_route, hairpin, inject, inject_encrypt, all",
		"set ike":                    "write what is to change",
		"set ike dev black":          "write what is to change",
		"set ike rate 4":             "the rate must be 5 to 292965 packets/s, or unlimited, not \"4\"",
		"set ike rate fast":          "not \"fast\"",
		"set ike rate":               "the line ends where the rate",
		"set ike burst 65536":        "the burst must be 0 to 65535 packets",
		"set ike burst 1 dev green":  "unknown device",
		"set ike burst 1 dev red":    "red has no trap group ike: there are other, arp, nd, resolution, link_local, mtu, ttl, local, tunnel, clear, tunnel_mtu, clear_mtu, tunnel_ttl, clear_ttl, tunnel_host, clear_host, tunnel_route, clear_route, hairpin, inject, inject_encrypt",
		"set mtu rate 50 dev black":  "black has no trap group mtu: there are other, ike, ike_cookie, ike_init, arp, nd, resolution, link_local, icmp, unknown_spi, reasm, clear_host, clear_route, inject",
		"set ike rate 50 per second": "unexpected word",
		"delete ike":                 "punt \"delete\" is not supported",
	} {
		err := r.punt(line)
		if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), sentence) {
			t.Errorf("punt %s: %v", line, err)
		}
	}
	if r.Fake.Writes != 0 {
		t.Errorf("%d registers were written", r.Fake.Writes)
	}
	if err := r.Run("punt set ike rate 50\n"); err == nil || !strings.Contains(err.Error(), "a command of sallyctl alone") {
		t.Errorf("in a batch file: %v", err)
	}
}
