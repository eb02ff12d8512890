// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestReset: a state file from before a reset of the box is not believed.
func TestReset(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Tunnel)
	first := r.Snapshot()
	r.Fake.Reset()
	r.Must(testbox.Tunnel)
	if !strings.Contains(r.Notes, "was reset") {
		t.Errorf("notes: %q", r.Notes)
	}
	if r.Snapshot() != first {
		t.Error("the second load gave other tables")
	}
}

// TestOneChipReset: the other two are cleared as well.
func TestOneChipReset(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Tunnel)
	r.Fake.Set(transport.Crypto, regs.CommonScratch, 0)
	r.Must("link set dev red up")
	if left := r.Snapshot(); left != "" || !strings.Contains(r.Notes, "a chip was reset") {
		t.Errorf("notes %q, rows:\n%s", r.Notes, left)
	}
}

// TestRestore: after a reset of all chips or of one the tables are those of the same configuration
// without its SAs, which a box that never had any would have; limits of punted frames, ports and
// learned hosts too. Chips that hold their configuration are not touched.
func TestRestore(t *testing.T) {
	network := `addr add 192.0.2.1/24 dev black
addr add 10.1.0.1/24 dev red
link set dev black mtu 1400 address 02:11:22:33:44:55
route add 10.2.0.0/16 via 192.0.2.254 dev black
neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red
xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out action allow
xfrm policy add src 10.3.0.0/16 dst 10.1.0.0/16 dir in action allow
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
`
	learned := map[model.NextHop]xfrm.MAC{{Dev: xfrm.Black, IP: netip.MustParseAddr("192.0.2.254")}: {2, 0, 0, 0, 0, 8}}
	learn := func(s *session.Session) error { return s.Learn(learned) }
	clean := newRig(t, fakebox.Small)
	clean.Must(network)
	if err := clean.Session(learn); err != nil {
		t.Fatal(err)
	}
	for name, reset := range map[string]func(*fakebox.Box){
		"all chips": (*fakebox.Box).Reset,
		"one chip":  func(b *fakebox.Box) { b.Set(transport.Crypto, regs.CommonScratch, 0) },
	} {
		r := newRig(t, fakebox.Small)
		r.Must(network + testbox.State(1, "out") + testbox.State(2, "in"))
		rate := uint32(7)
		limit := xfrm.PuntSet{Group: "arp", Dev: xfrm.Red, Rate: &rate}
		if err := r.Session(func(s *session.Session) error { return errors.Join(s.Run([]xfrm.Command{limit}), learn(s)) }); err != nil {
			t.Fatal(err)
		}
		reset(r.Fake)
		var gone int
		restore := func(s *session.Session) (err error) {
			gone, err = s.Restore()
			return err
		}
		if err := r.Session(restore); err != nil || gone != 2 {
			t.Fatalf("%s: %v, %d SAs gone", name, err, gone)
		}
		if r.Snapshot() != clean.Snapshot() {
			t.Errorf("%s: the tables are\n%s\nwant\n%s", name, r.Snapshot(), clean.Snapshot())
		}
		for _, c := range transport.Chips {
			if register := [3]regs.Register{regs.InnerControl, regs.CryptoControl, regs.OuterControl}[c]; r.Fake.Get(c, register) != clean.Fake.Get(c, register) {
				t.Errorf("%s: %s CONTROL", name, c)
			}
		}
		if r.Fake.Get(transport.Outer, regs.OuterPortMtu) != 1400 || r.Fake.Get(transport.Inner, regs.InnerLimitArp) == clean.Fake.Get(transport.Inner, regs.InnerLimitArp) {
			t.Errorf("%s: registers of a port or a limit are as after reset", name)
		}
		r.Fake.Log = nil
		if err := r.Session(restore); err != nil || gone != 0 || len(r.Fake.Log) != 0 {
			t.Errorf("%s, again: %v, %d SAs gone, %d writes", name, err, gone, len(r.Fake.Log))
		}
	}
}

func TestDamagedState(t *testing.T) {
	r := newRig(t, fakebox.Small)
	for text, reason := range map[string]string{
		"{":              "is damaged",
		`{"format": 99}`: "has format 99, this program reads 7 and 8",
		// Format 5 had inbound SAs of a router in the places of SPI and destination.
		`{"format": 5, "model": {}, "image": {"flow": {"0": [1, 2, 3, 4, 5]}}}`: "has format 5, this program reads 7 and 8: remove it and load the configuration again",
	} {
		if err := os.WriteFile(r.State, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.Run("xfrm state count"); err == nil || !strings.Contains(err.Error(), r.State+" "+reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLink(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("link set dev black mtu 1500 address 02:11:22:33:44:55\nlink set dev red mtu 1400 down")
	got := []uint32{r.Fake.Get(transport.Inner, regs.InnerPortMtu), r.Fake.Get(transport.Outer, regs.OuterPortMtu), r.Fake.Get(transport.Outer, regs.OuterPortMacLo),
		r.Fake.Get(transport.Outer, regs.OuterPortMacHi), r.Fake.Get(transport.Inner, regs.InnerControl), r.Fake.Get(transport.Outer, regs.OuterControl)}
	want := []uint32{1400, 1500, 0x33221102, 0x5544, 4, 7}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("register %d = %#x, want %#x", i, got[i], want[i])
		}
	}
	r.Quiet("link set dev red up\nlink show")
	if r.Fake.Get(transport.Inner, regs.InnerControl) != 7 || !strings.Contains(r.Out, "black up mtu 1500 address 02:11:22:33:44:55") {
		t.Errorf("after up: %s", r.Out)
	}
}

// TestPromisc: a router takes frames to its own addresses alone, unless it is told to take all; a
// bridge takes all.
func TestPromisc(t *testing.T) {
	r := newRig(t, fakebox.Small)
	filters := func() (red, black bool) {
		return r.Fake.Get(transport.Inner, regs.InnerControl)&(1<<regs.InnerControlMacFilter.LSB) != 0,
			r.Fake.Get(transport.Outer, regs.OuterControl)&(1<<regs.OuterControlMacFilter.LSB) != 0
	}
	for _, c := range []struct {
		lines      string
		red, black bool
	}{
		{"link set red up", true, true},
		{"link set red promisc on", false, true},
		{"link set dev black promisc on\nlink set dev red promisc off", true, false},
		{testbox.Bridged, false, false},
		{"link del br0", true, false},
		{"link set black promisc off", true, true},
	} {
		r.Quiet(c.lines)
		if red, black := filters(); red != c.red || black != c.black {
			t.Errorf("after %q the filters are %t and %t", c.lines, red, black)
		}
	}
	r.Quiet("link set black promisc on\nlink show")
	if !strings.Contains(r.Out, "black up mtu 9582 address 02:62:00:00:00:01 promisc on\n") || strings.Count(r.Out, "promisc") != 1 {
		t.Errorf("the list is %s", r.Out)
	}
	for line, want := range map[string]string{
		"link set black promisc":      "on or off after promisc",
		"link set black promisc both": "promisc is on or off, not \"both\"",
	} {
		if err := r.Run(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	if red, black := filters(); !red || black {
		t.Error("a refused line changed a filter")
	}
}

// TestRedNetwork: the inner chip knows the red port's addresses and their networks.
func TestRedNetwork(t *testing.T) {
	r := newRig(t, fakebox.Small)
	registers := []regs.Register{regs.InnerLocalIpv4, regs.InnerLocalIpv60, regs.InnerLocalIpv61, regs.InnerLocalIpv62, regs.InnerLocalIpv63, regs.InnerLocalPrefix}
	check := func(lines string, want ...uint32) {
		r.Quiet(lines)
		for i, register := range registers {
			if got := r.Fake.Get(transport.Inner, register); got != want[i] {
				t.Errorf("after %q register %d is %#x, want %#x", lines, i, got, want[i])
			}
		}
	}
	check("addr add 192.0.2.1/24 dev black", 0, 0, 0, 0, 0, 0)
	check("addr add 198.18.0.1/15 dev red", 0xc6120001, 0, 0, 0, 0, 15)
	check("addr add 2001:db8:1:2::3/64 dev red", 0xc6120001, 3, 0, 0x00010002, 0x20010db8, 64<<8|15)
	check("addr del 198.18.0.1/15 dev red", 0, 3, 0, 0x00010002, 0x20010db8, 64<<8)
}
