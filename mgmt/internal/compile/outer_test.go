// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// outerState is an outbound SA with these words, and a policy for it.
func outerState(words string) string {
	return testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1001, 7, "dir out "+words) +
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 9 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel\n"
}

// TestOuterHeaderRows: DF and DSCP of an outbound SA in its tunnel row, whole, and what they mean
// for packets that are too long (RFC 4301, 8.2.1).
func TestOuterHeaderRows(t *testing.T) {
	const copied, set, clear = "0", "1", "2"
	for _, test := range []struct {
		words, dscpCopy, dscp, df string
		cuts                      uint64 // before ESP
		mtu                       uint64
	}{
		{"", "1", "0", copied, 0, 9526},
		{"df inherit dscp inherit", "1", "0", copied, 0, 9526},
		{"df set", "1", "0", set, 1, 9526},
		{"df unset", "1", "0", clear, 0, 9546},
		{"dscp EF", "0", "2e", copied, 0, 9526},
		{"dscp 0", "0", "0", copied, 0, 9526},
		{"dscp 63 df set flag noecn", "0", "3f", set, 1, 9526},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet("addr add 192.0.2.1/24 dev black\n" + outerState(test.words))
		ecn := "1"
		if strings.Contains(test.words, "noecn") {
			ecn = "0"
		}
		places := tunnelPlaces("c0000201", "c0000202", "0", test.dscpCopy, ecn, test.df, "0", "0", "0")
		for i := range places {
			if places[i].name == "dscp" {
				places[i].want = test.dscp
			}
		}
		r.checkRow("tunnel, "+test.words, r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0], places)
		rule := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]
		if f := regs.RuleRow; f.Fragment.Get(rule) != test.cuts || f.Mtu.Get(rule) != test.mtu {
			t.Errorf("%q: cuts before ESP: %d, MTU %d", test.words, f.Fragment.Get(rule), f.Mtu.Get(rule))
		}
	}
}

// TestOuterHeaderLists: the words are listed as they are read, kept, and changed by an update.
func TestOuterHeaderLists(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + outerState("df set dscp AF41"))
	r.Quiet("xfrm state list")
	if !strings.Contains(r.Out, "\treplay-window 64 df set dscp 34 \n") {
		t.Error(r.Out)
	}
	r.Must(strings.Replace(testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1001, 7, "dir out df unset dscp inherit"), "add", "update", 1))
	r.Quiet("xfrm state list")
	if !strings.Contains(r.Out, "\treplay-window 64 df unset dscp inherit \n") {
		t.Error(r.Out)
	}
}

// TestOuterHeaderIsOutbound: an SA whose direction follows from its ends is refused as one with
// `dir in` is, and nothing is written.
func TestOuterHeaderIsOutbound(t *testing.T) {
	for _, words := range []string{"df set", "dscp 46"} {
		r := newRig(t, fakebox.Small)
		err := r.Run("addr add 192.0.2.1/24 dev black\n" + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2001, 7, words))
		if err == nil || !strings.HasPrefix(err.Error(), "f:2: ") || !strings.Contains(err.Error(), "the SA spi 0x2001 is inbound: leave it out") || !session.IsInput(err) {
			t.Errorf("%s gave %v", words, err)
		}
		if r.Fake.Writes != 0 {
			t.Errorf("%s: something was written", words)
		}
	}
}
