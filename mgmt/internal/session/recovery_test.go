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
	r.Quiet("link set dev black mtu 1500 address 02:11:22:33:44:55\nlink set dev red down")
	got := []uint32{r.Fake.Get(transport.Outer, regs.OuterPortMtu), r.Fake.Get(transport.Outer, regs.OuterPortMacLo),
		r.Fake.Get(transport.Outer, regs.OuterPortMacHi), r.Fake.Get(transport.Inner, regs.InnerControl), r.Fake.Get(transport.Outer, regs.OuterControl)}
	want := []uint32{1500, 0x33221102, 0x5544, 0, 3}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("register %d = %#x, want %#x", i, got[i], want[i])
		}
	}
	r.Quiet("link set dev red up\nlink show")
	if r.Fake.Get(transport.Inner, regs.InnerControl) != 3 || !strings.Contains(r.Out, "black up mtu 1500 address 02:11:22:33:44:55") {
		t.Errorf("after up: %s", r.Out)
	}
}
