// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

func TestOpen(t *testing.T) {
	b, err := Open(t.Context(), fakebox.New(fakebox.Small))
	if err != nil {
		t.Fatal(err)
	}
	if id := b.Identity[transport.Crypto]; id.Version != "0.1.0" || !id.Simulation || !id.Ready || !id.LinkUp || id.Tamper {
		t.Errorf("identity %+v", id)
	}
	if c := b.Capabilities[transport.Inner]; c.SAs != 16 || c.FlowRows != 64 || c.Rules != 32 || c.NextHops != 256 || c.ReplayWindow != 4096 {
		t.Errorf("capabilities %+v", c)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, test := range []struct {
		register regs.Register
		value    uint32
		reason   string
	}{
		{regs.CommonMagic, 0xFFFFFFFF, "does not answer as a Sallyport chip"},
		{regs.CommonChip, regs.ChipOuter, "in the order inner, crypto, outer"},
		{regs.CommonVersion, 0x010000, "version 1.0.0"},
	} {
		fake := fakebox.New(fakebox.Small)
		fake.Set(transport.Crypto, test.register, test.value)
		if _, err := Open(t.Context(), fake); err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %v", test.register.Name, err)
		}
	}
}

// TestRows writes and reads rows, also while the window stays busy for some reads.
func TestRows(t *testing.T) {
	for _, busy := range []int{0, 1, 40} {
		fake := fakebox.New(fakebox.Small)
		fake.BusyReads = busy
		b, err := Open(t.Context(), fake)
		if err != nil {
			t.Fatal(err)
		}
		table := regs.InnerTableRule
		row := make([]uint32, table.Words())
		copy(row, []uint32{1, 0, 3, 4, 0xFFFFFFFF, 0, 0, 8, 9})
		for _, index := range []int{0, 31, 7} {
			if err := b.WriteRow(transport.Inner, table, index, row); err != nil {
				t.Fatal(err)
			}
			if got, err := b.ReadRow(transport.Inner, table, index); err != nil || !slices.Equal(got, row) {
				t.Errorf("row %d reads %x, %v", index, got, err)
			}
			row[0]++
		}
		if err := b.WriteRow(transport.Inner, table, 31, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := b.ReadRow(transport.Inner, table, 31); err != nil || slices.ContainsFunc(got, func(w uint32) bool { return w != 0 }) {
			t.Errorf("a cleared row reads %x, %v", got, err)
		}
	}
}

// TestShadow: words that were zero in this row but not in one that was read before do not leak
// into it.
func TestShadow(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	b, err := Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	full := slices.Repeat([]uint32{0xFFFFFFFF}, regs.InnerTableFlow.Words())
	for _, step := range []error{
		b.WriteRow(transport.Inner, regs.InnerTableFlow, 0, full),
		b.WriteRow(transport.Inner, regs.InnerTableFlow, 1, []uint32{5}),
		func() error { _, err := b.ReadRow(transport.Inner, regs.InnerTableFlow, 0); return err }(),
		b.WriteRow(transport.Inner, regs.InnerTableFlow, 2, []uint32{6}),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	for index, want := range map[int]uint32{1: 5, 2: 6} {
		row := make([]uint32, regs.InnerTableFlow.Words())
		row[0] = want
		if got := fake.Table(transport.Inner, regs.InnerTableFlow)[index]; !slices.Equal(got, row) {
			t.Errorf("row %d is %x", index, got)
		}
	}
}

func TestRowErrors(t *testing.T) {
	b, err := Open(t.Context(), fakebox.New(fakebox.Small))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WriteRow(transport.Inner, regs.InnerTableRule, 32, nil); err == nil || !strings.Contains(err.Error(), "refused the write of table rule row 32") {
		t.Errorf("a row that is not there: %v", err)
	}
	if _, err := b.ReadRow(transport.Crypto, regs.CryptoTableInboundKey, 0); err == nil {
		t.Error("a key was read")
	}
	if err := b.WriteRow(transport.Inner, regs.InnerTableNextHop, 0, make([]uint32, 5)); err == nil {
		t.Error("a row that is too long was written")
	}
}

// TestRowAfterErasure: a row that the crypto chip's erasure may have cut is begun anew, one of
// zeros too.
func TestRowAfterErasure(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	b, err := Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	table := regs.CryptoTableOutboundKey
	for _, row := range [][]uint32{{1, 2, 3}, {0, 2, 3}, nil} {
		if err := b.WriteRow(transport.Crypto, table, 0, []uint32{7}); err != nil {
			t.Fatal(err)
		}
		if err := b.Write32(transport.Crypto, regs.CryptoControl, 1<<regs.CryptoControlZeroize.LSB); err != nil {
			t.Fatal(err)
		}
		if err := b.WriteRow(transport.Crypto, table, 0, row); err != nil {
			t.Errorf("row %v: %v", row, err)
		}
	}
}

// TestManyRows: rows of several chips in one piece, each with what it has alone, and a sentence
// about the one that is refused.
func TestManyRows(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	fake.BusyReads = 3
	b, err := Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	rows := []Row{
		{transport.Inner, regs.InnerTableNextHop, 0, []uint32{7, 1}}, {transport.Outer, regs.OuterTableNextHop, 1, []uint32{8}},
		{transport.Inner, regs.InnerTableFlow, 5, []uint32{1, 0, 3}}, {transport.Inner, regs.InnerTableNextHop, 1, []uint32{0, 2}},
		{transport.Inner, regs.InnerTableFlow, 5, nil},
	}
	if err := b.WriteRows(rows); err != nil {
		t.Fatal(err)
	}
	for i, row := range fake.Log {
		want := make([]uint32, rows[i].Table.Words())
		copy(want, rows[i].Words)
		if row.Chip != rows[i].Chip || row.Table != rows[i].Table.Name || row.Index != rows[i].Index || !slices.Equal(row.Words, want) {
			t.Errorf("row %d is %+v, want %+v", i, row, rows[i])
		}
	}
	if len(fake.Log) != len(rows) {
		t.Errorf("%d rows are written, not %d", len(fake.Log), len(rows))
	}
	rows[1].Index = 1 << 20
	if err := b.WriteRows(rows); err == nil || !strings.Contains(err.Error(), "refused the write of table next_hop row 1048576") {
		t.Errorf("a row that is not there: %v", err)
	}
	fake.BusyReads = 1 << 20
	if err := b.WriteRow(transport.Inner, regs.InnerTableFlow, 0, nil); err == nil || !strings.Contains(err.Error(), "stays busy") {
		t.Errorf("a command without an end: %v", err)
	}
	fake.BusyReads, fake.FailAfter = 0, 1
	if err := b.WriteRows(rows); err == nil || !strings.Contains(err.Error(), "next_hop row 0 or one of 4 behind it") {
		t.Errorf("a bus that is gone: %v", err)
	}
}

func TestCountersAndBalance(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	fake.Count(transport.Inner, "rx_frames", 1<<40+15)
	fake.Count(transport.Inner, "rx_bytes", 99)
	fake.Count(transport.Inner, "tx_protect", 1<<40)
	fake.Count(transport.Inner, "punt_arp", 3)
	fake.Count(transport.Inner, "drop_policy", 2)
	fake.Count(transport.Inner, "reasm_merged", 6)
	fake.Count(transport.Inner, "reasm_held", 4)
	fake.Count(transport.Inner, "reasm_datagrams", 1)
	fake.Count(transport.Inner, "frag_split", 1)
	fake.Count(transport.Inner, "drop_ttl_expired", 1)
	fake.Count(transport.Inner, "link_rx_packets", 4)
	fake.Count(transport.Inner, "link_rx_lost", 7)
	fake.Count(transport.Inner, "inject_frames", 2)
	fake.Count(transport.Inner, "drop_inject_length", 1)
	fake.Count(transport.Inner, "tx_frames", 3)
	b, err := Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	values, err := b.Counters(transport.Inner)
	if err != nil {
		t.Fatal(err)
	}
	if values[regs.InnerCounterRxFrames] != 1<<40+15 || values[regs.InnerCounterPuntArp] != 3 {
		t.Errorf("values %v", values)
	}
	want := []Balance{
		{"inner", "encrypt", 1<<40 + 15, 0, 1, 1 << 40, 3, 3, 6, 4, 0, true},
		{"inner", "decrypt", 4, 2, 0, 3, 0, 1, 0, 0, 7, false},
	}
	if got := Balances(transport.Inner, values); !slices.Equal(got, want) {
		t.Errorf("balances %+v", got)
	}
	fake.Set(transport.Outer, regs.CommonCapabilityCounters, 1)
	if b, err = Open(t.Context(), fake); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Counters(transport.Outer); err == nil || !strings.Contains(err.Error(), "different versions") {
		t.Errorf("another number of counters: %v", err)
	}
}

// changing is a box that changes before one of its accesses.
type changing struct {
	*fakebox.Box
	left   int // accesses before the change; below 0 there is none more
	change func(*fakebox.Box)
	done   int // accesses
}

func (c *changing) Do(ops []transport.Op) error {
	for i := range ops {
		if c.left == 0 {
			c.change(c.Box)
		}
		c.left--
		c.done++
		if err := c.Box.Do(ops[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// TestTimeOverWhileRead: held fragments are dropped between any two accesses, and the account is
// exact.
func TestTimeOverWhileRead(t *testing.T) {
	const held = 2
	accesses := 3 * (len(regs.OuterCounters) + 2) // if nothing changes
	most := 0
	for at := range accesses {
		fake := fakebox.New(fakebox.Small)
		fake.Count(transport.Outer, "rx_frames", held)
		fake.Count(transport.Outer, "reasm_held", held)
		box := &changing{Box: fake, left: -1, change: func(fake *fakebox.Box) {
			fake.Count(transport.Outer, "reasm_held", 0)
			fake.Count(transport.Outer, "drop_reasm_timeout", held)
		}}
		b, err := Open(t.Context(), box)
		if err != nil {
			t.Fatal(err)
		}
		box.left, box.done = at, 0
		values, err := b.Counters(transport.Outer)
		if err != nil {
			t.Fatal(err)
		}
		if each := Balances(transport.Outer, values)[1]; !each.Balanced || each.Held+each.Dropped != held {
			t.Errorf("before access %d: %+v", at, each)
		}
		most = max(most, box.done)
	}
	if want := accesses + 3*(len(regs.OuterCounters)+1); most != want {
		t.Errorf("at most %d accesses, not %d", most, want)
	}
}

// TestHeldEndsUnderTraffic: fragments that come and go all the time do not keep the reader.
func TestHeldEndsUnderTraffic(t *testing.T) {
	box := &changing{Box: fakebox.New(fakebox.Small), left: -1}
	box.change = func(fake *fakebox.Box) {
		fake.Count(transport.Inner, "reasm_held", uint64(box.done))
		box.left = 7
	}
	b, err := Open(t.Context(), box)
	if err != nil {
		t.Fatal(err)
	}
	box.left, box.done = 0, 0
	if _, err := b.Counters(transport.Inner); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, c := range regs.InnerCounters {
		if c.IsGauge() {
			held++
		}
	}
	if want := mostReads*3*len(regs.InnerCounters) + (mostReads+1)*3*held; box.done != want {
		t.Errorf("%d accesses, not %d", box.done, want)
	}
}

func TestWaitReady(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	fake.Set(transport.Outer, regs.CommonStatus, 0)
	b, err := Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	if b.Identity[transport.Outer].Ready {
		t.Error("not ready reads as ready")
	}
	fake.Set(transport.Outer, regs.CommonStatus, 1)
	if err := b.WaitReady(); err != nil {
		t.Error(err)
	}
	fake.Tamper(true)
	if err := b.WaitReady(); !errors.Is(err, ErrErased) {
		t.Errorf("tamper is active: %v", err)
	}
	if err := b.WaitErased(); !errors.Is(err, ErrErased) {
		t.Errorf("tamper stays active: %v", err)
	}
	fake.Tamper(false)
	if err := b.WaitErased(); err != nil {
		t.Errorf("erased: %v", err)
	}
	if err := b.WaitReady(); err != nil {
		t.Errorf("tamper was active: %v", err)
	}
}

// TestWaitEnds: the end of the program ends what waits for a chip that clears its tables.
func TestWaitEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	fake := fakebox.New(fakebox.Small)
	b, err := Open(ctx, fake)
	if err != nil {
		t.Fatal(err)
	}
	fake.Set(transport.Outer, regs.CommonStatus, 0)
	end()
	want := "the outer chip: its tables are not clear, and this program is to end"
	if err := b.WaitReady(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
