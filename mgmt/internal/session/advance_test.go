// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

func position(spi uint32, dst string, number uint64) session.Position {
	return session.Position{ID: xfrm.ID{Dst: netip.MustParseAddr(dst), Proto: "esp", SPI: spi}, Number: number}
}

// TestAdvance: SAs of both directions go on from a number without their keys; nothing goes back;
// what cannot be is refused.
func TestAdvance(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.Windowed(1, 2048, ""))
	r.Must(sendingFrom("0x701", "") + testbox.WindowedState("add", 2, 64, ""))
	advance := func(spi uint32, dst string, number uint64) error {
		return r.Session(func(s *session.Session) error {
			return s.Advance(position(spi, dst, number))
		})
	}
	for _, number := range []uint64{500, 400, 501} {
		if err := advance(0x701, "198.51.100.1", number); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.number(regs.CryptoTableOutboundNumber, 0); n != 501 {
		t.Errorf("the outbound number is %d", n)
	}

	selectors := r.Fake.Table(transport.Inner, regs.InnerTableSelector)
	selector := slices.Clone(selectors[0])
	for _, number := range []uint64{5000, 4999} {
		if err := advance(0x501, "192.0.2.1", number); err != nil {
			t.Fatal(err)
		}
	}
	_, rows, _ := r.Named(0)
	regs.SelectorRow.WindowKeep.Put(selector, 1)
	if !slices.Equal(selector, selectors[0]) {
		t.Errorf("the selector row is %x, was %x", selectors[0], selector)
	}
	for number, row := range rows[:2] {
		for half := range 2 {
			got := r.Fake.Table(transport.Inner, regs.InnerTableReplay)[2*int(row)+half]
			if !slices.Equal(got, compile.PresetRow(5000, number, 2)) {
				t.Errorf("window row %d, half %d: %x", number, half, got)
			}
		}
	}
	// The window stays when the SA's selector row is written again, and the file agrees with
	// the chips.
	r.Quiet("neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 dev red")

	for _, c := range []struct {
		spi    uint32
		dst    string
		number uint64
		want   string
	}{
		{0x701, "198.51.100.1", 1 << 32, "needs flag esn"},
		{0x701, "198.51.100.1", 1 << 63, "at most 2^63 - 1"},
		{0x799, "198.51.100.1", 1, "there is no SA"},
		{0x502, "192.0.2.1", 1, "it has received nothing"},
	} {
		if err := advance(c.spi, c.dst, c.number); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("0x%x to %d gave %v", c.spi, c.number, err)
		}
	}
}

// TestAdvanceIsJournaled: the number of an inbound SA is raised once the journal says so. Without a
// journal the request is refused and no row is written. Wherever it is cut short behind its first
// row, the next change loses this SA, and View shows nothing.
func TestAdvanceIsJournaled(t *testing.T) {
	const top = 5000
	advance := func(s *session.Session) error {
		return s.Advance(position(0x501, "192.0.2.1", top))
	}
	configured := func() *rig {
		r := newRig(t, fakebox.Small)
		r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.Windowed(1, 64, ""))
		return r
	}
	r := configured()
	if err := os.Mkdir(r.State+".journal.new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.Session(advance); !session.IsRefused(err) || len(r.Fake.Log) != 0 {
		t.Errorf("%d rows were written, then: %v", len(r.Fake.Log), err)
	}
	cuts := 0
	for after := 1; ; after++ {
		r := configured()
		var whole error
		err := r.Session(func(s *session.Session) error {
			if err := s.Hold(t.Context()); err != nil {
				return err
			}
			defer s.Release()
			if _, err := s.Look(); err != nil {
				return err
			}
			r.Fake.OnRow = func(fakebox.Row) { r.Fake.OnRow, r.Fake.FailAfter = nil, after }
			whole = advance(s)
			r.Fake.FailAfter = 0
			v, err := s.View()
			if whole != nil && v != nil {
				t.Errorf("cut short at access %d, a view shows the configuration", after)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if whole == nil {
			break
		}
		cuts++
		r.Must("neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 dev red")
		if !strings.Contains(r.Notes, "spi 0x501 is lost") {
			t.Errorf("cut short at access %d: %q", after, r.Notes)
		}
	}
	if cuts < 5 {
		t.Errorf("there are %d accesses behind the first row", cuts)
	}
}

// many is a box with so many inbound SAs with windows, and a position for each.
func many(t *testing.T, count int, number uint64) (r *rig, positions []session.Position) {
	sizes := fakebox.Small
	sizes.SABits, sizes.FlowBits, sizes.SADBits = 9, 10, 11
	r = newRig(t, sizes)
	var text strings.Builder
	text.WriteString("addr add 192.0.2.1/24 dev black\nxfrm policy add src 10.1.0.0/16 dir fwd tmpl src 198.51.100.9 dst 192.0.2.1 proto esp reqid 1 mode tunnel\n")
	for i := range count {
		fmt.Fprintf(&text, "xfrm state add src 198.51.100.9 dst 192.0.2.1 proto esp spi %d reqid 1 mode tunnel dir in replay-window 64 aead 'rfc4106(gcm(aes))' %s 128\n", 0x500+i, testbox.Key256)
		positions = append(positions, position(uint32(0x500+i), "192.0.2.1", number))
	}
	r.Quiet(text.String())
	return r, positions
}

// top is how far the window of a row is.
func (r *rig) top(row int) uint64 {
	_, windows, _ := r.Named(row)
	return regs.ReplayRow.Top.Get(r.Fake.Table(transport.Inner, regs.InnerTableReplay)[2*int(windows[0])])
}

// TestAdvanceMany: a journal names as many SAs as have room in it, not one alone, and all of them
// go on.
func TestAdvanceMany(t *testing.T) {
	for count, last := range map[int]int{255: 255, 256: 256, 257: 1} {
		r, positions := many(t, count, 5000)
		if err := r.Session(func(s *session.Session) error { return s.Advance(positions...) }); err != nil {
			t.Fatal(err)
		}
		for row := range count {
			if top := r.top(row); top != 5000 {
				t.Fatalf("of %d SAs that in row %d is at %d", count, row, top)
			}
		}
		var journal struct{ In []int }
		text, err := os.ReadFile(r.State + ".journal")
		if err != nil || json.Unmarshal(text, &journal) != nil || len(journal.In) != last {
			t.Errorf("%d SAs: the last journal has %d, %v, want %d", count, len(journal.In), err, last)
		}
		if waits := len(r.Fake.Waits); waits > 2 {
			t.Errorf("%d SAs: %d waits", count, waits)
		}
	}
}

// TestAdvanceOfOneThatCannotBe: no SA goes on beside one that cannot.
func TestAdvanceOfOneThatCannotBe(t *testing.T) {
	r, positions := many(t, 3, 5000)
	positions[2].SPI = 0x999
	err := r.Session(func(s *session.Session) error { return s.Advance(positions...) })
	if !session.IsInput(err) || len(r.Fake.Log) != 0 {
		t.Errorf("%v, and %d rows were written", err, len(r.Fake.Log))
	}
}

// TestAdvanceWithClosedPorts: it needs no journal, so that a box with a full disk can take over.
// Wherever it is cut short, no SA is lost, no window goes back, and the same raise again ends it.
func TestAdvanceWithClosedPorts(t *testing.T) {
	const top, before = 9000, 700
	for after := 1; ; after++ {
		r, positions := many(t, 3, before)
		advance := func(s *session.Session) error {
			s.Closed = true
			return s.Advance(positions...)
		}
		if err := r.Session(advance); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(r.State + ".journal"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(r.State+".journal.new", 0o700); err != nil { // no journal can be written
			t.Fatal(err)
		}
		for i := range positions {
			positions[i].Number = top
		}
		b := r.Open()
		r.Fake.FailAfter = after
		err := r.SessionOf(b, advance)
		r.Fake.FailAfter = 0
		for row := range positions {
			if at := r.top(row); at != before && at != top {
				t.Fatalf("cut short at access %d, an SA is at %d", after, at)
			}
		}
		if again := r.Session(advance); again != nil || strings.Contains(r.Notes, "lost") {
			t.Fatalf("cut short at access %d (%v), then: %v, %s", after, err, again, r.Notes)
		}
		for row := range positions {
			_, windows, _ := r.Named(row)
			for half := range 2 {
				got := r.Fake.Table(transport.Inner, regs.InnerTableReplay)[2*int(windows[0])+half]
				if !slices.Equal(got, compile.PresetRow(top, 0, 1)) {
					t.Fatalf("cut short at access %d: half %d of row %d is %x", after, half, row, got)
				}
			}
		}
		if err == nil {
			break
		}
	}
}
