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

// TestQoS: the registers of both chips have the last setting, across invocations; after a reset of
// the chips they have their reset values.
func TestQoS(t *testing.T) {
	r := newRig(t, fakebox.Small)
	line := func(words string) error {
		command, err := xfrm.Parse(xfrm.Words(strings.Fields(words)))
		if err != nil {
			return err
		}
		return r.Session(func(s *session.Session) error { return s.Run([]xfrm.Command{command}) })
	}
	check := func(low, high uint32, shown string) {
		t.Helper()
		for _, register := range []struct {
			chip transport.Chip
			of   regs.Register
			want uint32
		}{
			{transport.Inner, regs.InnerQosDscpLow, low},
			{transport.Inner, regs.InnerQosDscpHigh, high},
			{transport.Outer, regs.OuterQosDscpLow, low},
			{transport.Outer, regs.OuterQosDscpHigh, high},
		} {
			if got := r.Fake.Get(register.chip, register.of); got != register.want {
				t.Errorf("%s %s is 0x%08x, want 0x%08x", register.chip, register.of.Name, got, register.want)
			}
		}
		if err := line("qos show"); err != nil || r.Out != "dscp "+shown+"\n" {
			t.Errorf("%v, %q, want %q", err, r.Out, shown)
		}
	}
	check(0, 1<<16|1<<24, "cs6 cs7")
	r.Must("addr add 192.0.2.1/24 dev black\n")
	check(0, 1<<16|1<<24, "cs6 cs7")
	for _, test := range []struct {
		words     string
		low, high uint32
		shown     string
	}{
		{"ef,le 63", 1 << 1, 1<<14 | 1<<31, "le ef 63"}, {"none", 0, 0, "none"}, {"af11", 1 << 10, 0, "af11"},
	} {
		if err := line("qos set dscp " + test.words); err != nil {
			t.Fatal(err)
		}
		check(test.low, test.high, test.shown)
		r.Must("addr add 10.9.0.1/24 dev red\naddr del 10.9.0.1/24 dev red\n")
		check(test.low, test.high, test.shown)
	}
	writes := r.Fake.Writes
	if err := line("qos set dscp cs5 cs8"); err == nil || !session.IsInput(err) || r.Fake.Writes != writes {
		t.Errorf("%v, %d writes", err, r.Fake.Writes-writes)
	}
	check(1<<10, 0, "af11")
	r.Fake.Reset()
	for _, chip := range transport.Chips {
		r.Fake.Set(chip, regs.CommonScratch, 0)
	}
	check(0, 1<<16|1<<24, "cs6 cs7")
}
