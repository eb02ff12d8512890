package box

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// nextHop sets row 0 as the command line does.
func (r *rig) nextHop(dev string, last byte) {
	r.t.Helper()
	b, err := chip.Open(r.fake)
	if err != nil {
		r.t.Fatal(err)
	}
	command := xfrm.NextHop{Dev: dev, MAC: xfrm.MAC{2, 0, 0, 0, 0, last}}
	if err := (&Session{Box: b, StatePath: r.state, Out: &strings.Builder{}, Notes: &strings.Builder{}}).Run([]xfrm.Command{command}); err != nil {
		r.t.Fatal(err)
	}
}

// TestReset: a state file from before a reset of the box is not believed.
func TestReset(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.quiet(tunnel)
	first := r.snapshot()
	r.fake.Reset()
	r.must(tunnel)
	if !strings.Contains(r.notes, "was reset") {
		t.Errorf("notes: %q", r.notes)
	}
	if r.snapshot() != first {
		t.Error("the second load gave other tables")
	}
}

// TestKeyAfterReset: a key whose counter starts again with the box is one that was used before (RFC 4303 3.3.3).
func TestKeyAfterReset(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.must(tunnel)
	if strings.Contains(r.notes, "was used outbound before") {
		t.Errorf("notes of a new key: %q", r.notes)
	}
	for range 2 {
		r.fake.Reset()
		r.must(tunnel)
		if strings.Count(r.notes, "was used outbound before") != 1 {
			t.Errorf("notes after a reset: %q", r.notes)
		}
	}
}

// TestUnfinished: when the bus fails in the middle of a change, the next change starts from tables it has cleared.
func TestUnfinished(t *testing.T) {
	for _, after := range []int{60, 100, 200} {
		r := newRig(t, fakebox.Small)
		r.quiet(tunnel)
		r.fake.FailAfter = after
		text := "xfrm state flush\nxfrm policy flush\n"
		for i := range 10 {
			text += state(i, "out") + flowPolicy(i)
		}
		if err := r.run(text); err == nil || IsInput(err) || !strings.Contains(err.Error(), "did not finish") {
			t.Fatalf("after %d: %v", after, err)
		}
		r.fake.FailAfter = 0
		if err := r.run("xfrm state count"); err != nil || !strings.Contains(r.notes, "do not agree") || !strings.Contains(r.out, "SAD count 0") {
			t.Errorf("after %d: %v %q %q", after, err, r.notes, r.out)
		}
		r.must("link set dev red mtu 1500")
		if left := r.snapshot(); left != "" {
			t.Errorf("after %d: rows are left:\n%s", after, left)
		}
		r.must(tunnel)
		clean := newRig(t, fakebox.Small)
		clean.quiet(tunnel)
		if r.snapshot() != clean.snapshot() {
			t.Errorf("after %d: the tables differ from a clean load", after)
		}
	}
}

// TestOneChipReset: the other two are cleared as well.
func TestOneChipReset(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.quiet(tunnel)
	r.fake.Set(transport.Crypto, regs.CommonScratch, 0)
	r.must("link set dev red up")
	if left := r.snapshot(); left != "" || !strings.Contains(r.notes, "a chip was reset") {
		t.Errorf("notes %q, rows:\n%s", r.notes, left)
	}
}

// TestRestore: after a reset of all chips or of one the tables are those of the same configuration without its SAs, which a box that never had
// any would have; limits of punted frames, ports and learned hosts too. Chips that hold their configuration are not touched.
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
	learned := map[NextHop]xfrm.MAC{{Dev: xfrm.Black, IP: netip.MustParseAddr("192.0.2.254")}: {2, 0, 0, 0, 0, 8}}
	learn := func(s *Session) error { return s.Learn(learned) }
	clean := newRig(t, fakebox.Small)
	clean.must(network)
	if err := clean.session(learn); err != nil {
		t.Fatal(err)
	}
	for name, reset := range map[string]func(*fakebox.Box){
		"all chips": (*fakebox.Box).Reset,
		"one chip":  func(b *fakebox.Box) { b.Set(transport.Crypto, regs.CommonScratch, 0) },
	} {
		r := newRig(t, fakebox.Small)
		r.must(network + state(1, "out") + state(2, "in"))
		rate := uint32(7)
		limit := xfrm.PuntSet{Group: "arp", Dev: xfrm.Red, Rate: &rate}
		if err := r.session(func(s *Session) error { return errors.Join(s.Run([]xfrm.Command{limit}), learn(s)) }); err != nil {
			t.Fatal(err)
		}
		reset(r.fake)
		var gone int
		restore := func(s *Session) (err error) {
			gone, err = s.Restore()
			return err
		}
		if err := r.session(restore); err != nil || gone != 2 {
			t.Fatalf("%s: %v, %d SAs gone", name, err, gone)
		}
		if r.snapshot() != clean.snapshot() {
			t.Errorf("%s: the tables are\n%s\nwant\n%s", name, r.snapshot(), clean.snapshot())
		}
		for _, c := range transport.Chips {
			if register := [3]regs.Register{regs.InnerControl, regs.CryptoControl, regs.OuterControl}[c]; r.fake.Get(c, register) != clean.fake.Get(c, register) {
				t.Errorf("%s: %s CONTROL", name, c)
			}
		}
		if r.fake.Get(transport.Outer, regs.OuterPortMtu) != 1400 || r.fake.Get(transport.Inner, regs.InnerLimitArp) == clean.fake.Get(transport.Inner, regs.InnerLimitArp) {
			t.Errorf("%s: registers of a port or a limit are as after reset", name)
		}
		r.fake.Log = nil
		if err := r.session(restore); err != nil || gone != 0 || len(r.fake.Log) != 0 {
			t.Errorf("%s, again: %v, %d SAs gone, %d writes", name, err, gone, len(r.fake.Log))
		}
	}
}

func TestDamagedState(t *testing.T) {
	r := newRig(t, fakebox.Small)
	for text, reason := range map[string]string{
		"{":              "is damaged",
		`{"format": 99}`: "has format 99, this program reads 6",
		// Format 5 had inbound SAs of a router in the places of SPI and destination.
		`{"format": 5, "model": {}, "image": {"flow": {"0": [1, 2, 3, 4, 5]}}}`: "has format 5, this program reads 6: remove it and load the configuration again",
	} {
		if err := os.WriteFile(r.state, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.run("xfrm state count"); err == nil || !strings.Contains(err.Error(), r.state+" "+reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLink(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.quiet("link set dev black mtu 1500 address 02:11:22:33:44:55\nlink set dev red down")
	got := []uint32{r.fake.Get(transport.Outer, regs.OuterPortMtu), r.fake.Get(transport.Outer, regs.OuterPortMacLo),
		r.fake.Get(transport.Outer, regs.OuterPortMacHi), r.fake.Get(transport.Inner, regs.InnerControl), r.fake.Get(transport.Outer, regs.OuterControl)}
	want := []uint32{1500, 0x33221102, 0x5544, 0, 3}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("register %d = %#x, want %#x", i, got[i], want[i])
		}
	}
	r.quiet("link set dev red up\nlink show")
	if r.fake.Get(transport.Inner, regs.InnerControl) != 3 || !strings.Contains(r.out, "black up mtu 1500 address 02:11:22:33:44:55") {
		t.Errorf("after up: %s", r.out)
	}
}
