// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

func sendingFrom(spi, words string) string {
	return "xfrm state add src 192.0.2.1 dst 198.51.100.1 proto esp spi " + spi + " mode tunnel dir out " + words +
		` aead "rfc4106(gcm(aes))" 0x000102030405060708090a0b0c0d0e0f10111213 128` + "\n"
}

// number is what the crypto chip has of an SA's sequence number.
func (r *rig) number(table regs.Table, row int) uint64 {
	words := r.Fake.Table(transport.Crypto, table)[row]
	if words == nil {
		return 0
	}
	return regs.OutboundNumberRow.Last.Get(words)
}

// TestReplayOSeq: an SA goes on from replay-oseq, which is written behind its key; a new SA in its
// row starts anew.
func TestReplayOSeq(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must("addr add 192.0.2.1/24 dev black\n" + sendingFrom("0x701", "replay-oseq 77") + strings.Replace(sendingFrom("0x702", "flag esn replay-window 64 replay-oseq 1 replay-oseq-hi 2"), "0x0001", "0x1001", 1))
	if a, b := r.number(regs.CryptoTableOutboundNumber, 0), r.number(regs.CryptoTableOutboundNumber, 1); a != 77 || b != 2<<32+1 {
		t.Errorf("numbers are %d and %d", a, b)
	}
	order := ""
	for _, row := range r.Fake.Log {
		if row.Chip == transport.Crypto {
			order += row.Table + " "
		}
	}
	if order != "outbound_key outbound_key outbound_number outbound_number " {
		t.Errorf("written in the order %s", order)
	}
	r.Must("xfrm state get dst 198.51.100.1 proto esp spi 0x702")
	if !strings.Contains(r.Out, "seq-hi 0x0, seq 0x0, oseq-hi 0x2, oseq 0x1\n") {
		t.Errorf("get prints\n%s", r.Out)
	}
	r.Must("xfrm state delete dst 198.51.100.1 proto esp spi 0x701\n" + sendingFrom("0x703", ""))
	if n := r.number(regs.CryptoTableOutboundNumber, 0); n != 0 {
		t.Errorf("a new SA starts from %d", n)
	}
	inbound := strings.Replace(sendingFrom("0x704", "replay-oseq 5"), "dir out", "dir in", 1)
	if err := r.Run(inbound); err == nil || !strings.Contains(err.Error(), "outbound SAs alone") {
		t.Errorf("gave %v", err)
	}
}

// TestClosedPorts: a box that stands by has all rows and neither receives nor sends, until its
// ports are opened.
func TestClosedPorts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	state := func() (inner, outer uint32) {
		return r.Fake.Get(transport.Inner, regs.InnerControl), r.Fake.Get(transport.Outer, regs.OuterControl)
	}
	commands, err := xfrm.ParseBatch("f", []byte("addr add 192.0.2.1/24 dev black\nlink set red down\n"+sendingFrom("0x701", "")))
	if err != nil {
		t.Fatal(err)
	}
	err = r.Session(func(s *session.Session) error {
		s.Closed, s.IVMask = true, 1<<63
		return s.Run(commands)
	})
	const filter = 1 << 2 // of MAC addresses: it lets nothing in
	if inner, outer := state(); err != nil || inner != filter || outer != filter {
		t.Errorf("CONTROL is %x and %x, %v", inner, outer, err)
	}
	if mask := regs.OutboundKeyRow.IvMask.Get(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]); mask != 1<<63 {
		t.Errorf("the mask of IVs is %x", mask)
	}
	for _, c := range []struct {
		closed bool
		outer  uint32
	}{{false, 3 | filter}, {true, filter}} {
		err := r.Session(func(s *session.Session) error {
			do := s.OpenPorts
			if c.closed {
				do = s.ClosePorts
			}
			if err := do(); err != nil {
				return err
			}
			if open, err := s.Open(); err != nil || open == c.closed {
				t.Errorf("open is %t, %v", open, err)
			}
			return nil
		})
		if inner, outer := state(); err != nil || inner != filter || outer != c.outer {
			t.Errorf("closed %t: CONTROL is %x and %x, %v", c.closed, inner, outer, err)
		}
	}
}

// TestUsedKeys: a box installs no outbound SA again, after a reset neither, unless it goes on above
// a number. Inbound ones may come again.
func TestUsedKeys(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Remembers = true
	run := func(text string) error {
		commands, err := xfrm.ParseBatch("f", []byte("addr add 192.0.2.1/24 dev black\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return r.Session(func(s *session.Session) error {
			return s.Run(commands)
		})
	}
	first := sendingFrom("0x701", "")
	if err := run(first + testbox.WindowedState("add", 2, 64, "")); err != nil {
		t.Fatal(err)
	}
	r.Fake.Reset()
	before := r.Snapshot()
	if err := run(first); err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), "this box has had the key of the outbound SA spi 0x701 before") {
		t.Errorf("gave %v", err)
	}
	if r.Snapshot() != before {
		t.Error("something was written")
	}
	if err := run(sendingFrom("0x701", "replay-oseq 9") + testbox.WindowedState("add", 2, 64, "")); err != nil {
		t.Errorf("gave %v", err)
	}
}

// TestInitialHasNoOutbound: a batch that is loaded with each reset holds no SA whose numbers would
// begin again, whatever says that it is outbound; inbound ones it may.
func TestInitialHasNoOutbound(t *testing.T) {
	r := newRig(t, fakebox.Small)
	load := func(text string) error {
		commands, err := xfrm.ParseBatch("f", []byte("addr add 192.0.2.1/24 dev black\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return r.Session(func(s *session.Session) error {
			s.Initial = true
			return s.Run(commands)
		})
	}
	// From its address alone the box knows that this one is outbound.
	outbound := strings.Replace(sendingFrom("0x701", ""), " dir out", "", 1)
	if err := load(outbound); err == nil || !session.IsInput(err) || !strings.HasPrefix(err.Error(), "f:2: the initial batch cannot hold the outbound SA spi 0x701") {
		t.Errorf("gave %v", err)
	}
	if r.Snapshot() != "" || r.Fake.Writes != 0 {
		t.Error("something was written")
	}
	if err := load(testbox.WindowedState("add", 2, 64, "")); err != nil {
		t.Error(err)
	}
}

// TestKeysAreMarkedBeforeTheyAreWritten: wherever a change is cut short once the first register is
// written, its key counts as used; two outbound SAs never share one.
func TestKeysAreMarkedBeforeTheyAreWritten(t *testing.T) {
	text := "addr add 192.0.2.1/24 dev black\n" + sendingFrom("0x701", "")
	for after := 1; ; after++ {
		r := newRig(t, fakebox.Small)
		r.Remembers = true
		b := r.Open()
		r.Fake.FailAfter = after
		err := r.SessionOf(b, func(s *session.Session) error {
			commands, err := xfrm.ParseBatch("f", []byte(text))
			if err != nil {
				return err
			}
			return s.Run(commands)
		})
		r.Fake.FailAfter = 0
		if err == nil {
			break
		}
		written := r.Fake.Writes > 0
		again := r.Run(text)
		if written && (again == nil || !strings.Contains(again.Error(), "has had the key of the outbound SA")) {
			t.Fatalf("after %d accesses, some of them writes: %v", after, again)
		}
	}
	r := newRig(t, fakebox.Small)
	twice := text + sendingFrom("0x702", "")
	if err := r.Run(twice); err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), "have one key") || r.Fake.Writes != 0 {
		t.Error(err)
	}
}
