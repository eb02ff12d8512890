// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestSkipHeaders: both chips have the last setting; a header can be a selector's protocol as long
// as it is not skipped.
func TestSkipHeaders(t *testing.T) {
	r := newRig(t, fakebox.Small)
	line := func(words string) error {
		command, err := xfrm.Parse(xfrm.Words(strings.Fields(words)))
		if err != nil {
			return err
		}
		return r.Session(func(s *session.Session) error { return s.Run([]xfrm.Command{command}) })
	}
	check := func(want uint32, shown string) {
		t.Helper()
		inner, outer := r.Fake.Get(transport.Inner, regs.InnerSkipHeaders), r.Fake.Get(transport.Outer, regs.OuterSkipHeaders)
		if inner != want || outer != want {
			t.Errorf("inner %d, outer %d, want %d", inner, outer, want)
		}
		if err := line("skip-headers show"); err != nil || r.Out != shown+"\n" {
			t.Errorf("%v, %q, want %q", err, r.Out, shown)
		}
	}
	refused := func(err error, reason string) {
		t.Helper()
		if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, reason)
		}
	}
	check(7, "hop,route,dst")
	r.Must("addr add 192.0.2.1/24 dev black\n")
	check(7, "hop,route,dst")
	for proto, name := range map[string]string{"43": "ipv6-route", "60": "ipv6-opts"} {
		refused(r.Run("addr add 192.0.2.9/24 dev black\nxfrm policy add dst ::/0 proto "+name+" dir out\n"), "f:2: proto "+proto+" is of no packet in an IPv6 selector")
	}
	if err := line("skip-headers set hop,dst"); err != nil {
		t.Fatal(err)
	}
	check(5, "hop,dst")
	r.Must("xfrm policy add dst ::/0 proto ipv6-route dir out action block\n")
	if row := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]; regs.RuleRow.Protocol.Get(row) != 43 || regs.RuleRow.ProtocolMask.Get(row) != 255 {
		t.Errorf("%x", row)
	}
	refused(r.Run("xfrm policy add dst ::/0 proto ipv6-opts dir out\n"), "proto 60 is of no packet")
	refused(line("skip-headers set route"), "dir out would match no packet if protocol 43 were skipped: delete it first")
	check(5, "hop,dst")
	// Of IPv4 they are protocols as others are.
	r.Must("xfrm policy add dst 10.0.0.0/8 proto 60 dir out action block\nxfrm policy delete dst ::/0 proto ipv6-route dir out\n")
	if err := line("skip-headers set none"); err != nil {
		t.Fatal(err)
	}
	check(0, "none")
	if err := line("skip-headers set hop,route,dst"); err != nil {
		t.Fatal(err)
	}
	check(7, "hop,route,dst")
}

// line carries out a command that a batch file cannot hold.
func (r *rig) line(words string) {
	r.T.Helper()
	command, err := xfrm.Parse(xfrm.Words(strings.Fields(words)))
	if err != nil {
		r.T.Fatal(err)
	}
	if err := r.Session(func(s *session.Session) error { return s.Run([]xfrm.Command{command}) }); err != nil {
		r.T.Fatal(err)
	}
}

func (r *rig) reassembly() string {
	return fmt.Sprint(r.Fake.Get(transport.Inner, regs.InnerReasmTimeout), r.Fake.Get(transport.Inner, regs.InnerReasmPerSource),
		r.Fake.Get(transport.Outer, regs.OuterReasmTimeout), r.Fake.Get(transport.Outer, regs.OuterReasmPerSource))
}

// TestReassemblyLimits: both chips have the last setting, `show` prints it as it was written, and
// any other change leaves it alone.
func TestReassemblyLimits(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.line("reassembly show")
	r.Want("before any change", r.Out, "timeout 250ms per-source 65535\n")
	r.Quiet("addr add 192.0.2.1/24 dev black")
	r.Want("after reset", r.reassembly(), fmt.Sprintf("%[1]d %[2]d %[1]d %[2]d", regs.InnerReasmTimeout.Reset, regs.InnerReasmPerSource.Reset))
	r.line("reassembly set timeout 30 per-source 5")
	r.Want("30 s of 2^20 cycles of 300 MHz", r.reassembly(), "8583 5 8583 5")
	r.line("reassembly set timeout 35ms")
	r.Quiet("addr add 192.0.2.7/24 dev black")
	r.line("reassembly show")
	r.Want("one limit alone", r.reassembly()+" "+r.Out, "10 5 10 5 timeout 35ms per-source 5\n")
	r.line("reassembly set timeout 4ms per-source 65535")
	r.Want("the ends", r.reassembly(), "1 65535 1 65535")
	r.line("reassembly set timeout 114")
	r.Want("the other end", r.reassembly(), "32616 65535 32616 65535")
	// The same time is fewer cycles of a slower clock.
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		r.Fake.Set(c, regs.CommonCapabilityCoreKhz, 250_000)
	}
	r.line("reassembly set timeout 30")
	r.Want("30 s of 2^20 cycles of 250 MHz", r.reassembly(), "7153 65535 7153 65535")
	// A box that was reset has its own limits again.
	r.Fake.Reset()
	if _, err := chip.Open(t.Context(), r.Fake); err != nil {
		t.Fatal(err)
	}
	r.Must("addr add 192.0.2.1/24 dev black")
	r.line("reassembly show")
	r.Want("after a reset", r.Out, "timeout 250ms per-source 65535\n")
}
