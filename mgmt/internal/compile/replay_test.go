// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestWindowRows: an SA has a row for each 1024 packets of its window, and no two SAs share one; a
// window without room is refused and leaves the others; rows of an SA that goes are free again.
func TestWindowRows(t *testing.T) {
	r := newRig(t, fakebox.Small) // 16 window rows
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.Windowed(1, 64, "") + testbox.Windowed(2, 1025, "") + testbox.Windowed(3, 4096, "") + testbox.Windowed(4, 0, "") + testbox.Windowed(5, 2048, "") + testbox.Windowed(6, 2049, ""))
	check := func(sa int, window uint64, rows ...uint64) {
		t.Helper()
		rows = append(rows, make([]uint64, 4-len(rows))...)
		if w, got, keep := r.Named(sa); w != window || !slices.Equal(got, rows) || keep {
			t.Errorf("SA %d has window %d, rows %d, keep %t", sa, w, got, keep)
		}
	}
	check(0, 64, 0)
	check(1, 1025, 1, 2)
	check(2, 4096, 3, 4, 5, 6)
	check(3, 0)
	check(4, 2048, 7, 8)
	check(5, 2049, 9, 10, 11, 12)
	before := r.Snapshot()
	if err := r.Run(testbox.Windowed(7, 4096, "")); err == nil || !strings.Contains(err.Error(), "takes 4 rows of 1024 packets, and of 16 rows 3 are free") {
		t.Errorf("gave %v", err)
	}
	if r.Snapshot() != before || len(r.Fake.Log) != 0 {
		t.Error("a window without room changed the tables")
	}
	// The room that others leave need not be in one piece.
	r.Must("xfrm state delete dst 192.0.2.1 proto esp spi 0x501")
	r.Must(testbox.Windowed(7, 4096, ""))
	check(0, 4096, 0, 13, 14, 15)
	// There is no room for an update beside the SA that it replaces: it takes that one's rows over,
	// which start anew.
	r.Must(testbox.WindowedState("update", 3, 4096, ""))
	check(2, 4096, 3, 4, 5, 6)
}

// TestWindowStays: what changes beside an SA's window leaves it as it is, even if its policy goes
// and comes again; a new SA starts anew.
func TestWindowStays(t *testing.T) {
	r := newRig(t, fakebox.Small)
	policy := "src 10.1.0.0/16 dir fwd"
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.Windowed(1, 2048, ""))
	if _, _, keep := r.Named(0); keep {
		t.Error("the first row keeps what was in the window")
	}
	r.Must("xfrm policy delete " + policy)
	r.Quiet("xfrm policy add " + policy + " tmpl src 198.51.100.1 dst 192.0.2.1 proto esp mode tunnel")
	if _, rows, keep := r.Named(0); !keep || !slices.Equal(rows[:2], []uint64{0, 1}) {
		t.Errorf("keep %t, rows %d", keep, rows)
	}
	// An SA whose policy comes later has never had a window on the chip.
	r.Must(testbox.WindowedState("add", 2, 64, ""))
	r.Quiet("xfrm policy add src 10.2.0.0/16 dir fwd tmpl src 198.51.100.2 dst 192.0.2.1 proto esp mode tunnel")
	if _, rows, keep := r.Named(1); keep || rows[0] != 2 {
		t.Errorf("keep %t, rows %d", keep, rows)
	}
}

// TestReplaySeq: every number up to replay-seq is marked in the window before a packet can meet it.
func TestReplaySeq(t *testing.T) {
	for _, seq := range []uint64{1, 1023, 1024, 5000, 8191, 0xFFFFFFFF} {
		for _, window := range []int{64, 2048, 4096} {
			r := newRig(t, fakebox.Small)
			r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.Windowed(9, 64, "") + testbox.Windowed(1, window, fmt.Sprintf("replay-seq %d", seq)))
			_, rows, keep := r.Named(1)
			ring := uint64(1)
			for int(ring)*1024 < window {
				ring *= 2
			}
			table := r.Fake.Table(transport.Inner, regs.InnerTableReplay)
			if !keep || len(table) != 2*int(ring) {
				t.Fatalf("keep %t, %d half rows of %d", keep, len(table), ring)
			}
			f := regs.ReplayRow
			for n := seq; n > 0 && n+uint64(window) > seq; n-- {
				row := table[2*int(rows[n/1024%ring])+int(n%1024/512)]
				last := f.Last.Get(row)
				if f.Top.Get(row) != seq || last > seq || last/1024%ring != n/1024%ring || n > last || n+1024*ring <= last || row[n%512/32]>>(n%32)&1 != 1 {
					t.Fatalf("seq %d, window %d: number %d is not marked: last %d", seq, window, n, last)
				}
			}
			for i, w := range r.Fake.Log {
				if w.Table == "selector" && w.Index == 1 && slices.ContainsFunc(r.Fake.Log[i:], func(w fakebox.Row) bool { return w.Table == "replay" }) {
					t.Error("the selector row came before its window")
				}
			}
		}
	}
	r := newRig(t, fakebox.Small)
	out := strings.Replace(testbox.WindowedState("add", 1, 64, "replay-seq 5"), "dir in", "dir out", 1)
	if err := r.Run(out); err == nil || !strings.Contains(err.Error(), "inbound SAs alone") {
		t.Errorf("gave %v", err)
	}
}

// TestWindowIsRead: `get` prints the window on the chip in Linux's order of bits, whatever its rows
// are behind.
func TestWindowIsRead(t *testing.T) {
	r := newRig(t, fakebox.Small)
	get := "xfrm state get dst 192.0.2.1 proto esp spi 0x501"
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.Windowed(1, 64, "replay-seq 5"))
	r.Quiet(get)
	// Bits 0 to 4 are the numbers 1 to 5; there are no others.
	want := "anti-replay esn context:\n\t seq-hi 0x0, seq 0x5, oseq-hi 0x0, oseq 0x0\n\t replay_window 64, bitmap-length 2\n\t 00000000 0000001f \n"
	if !strings.Contains(r.Out, want) {
		t.Errorf("got\n%s\nwant\n%s", r.Out, want)
	}
	// A window of 100 in which 2^32 + 1030, 1025 and 1010 were received; the row of a window up to
	// 1024 is one ring.
	r.Must(testbox.WindowedState("update", 1, 100, ""))
	_, rows, _ := r.Named(1)
	f, top := regs.ReplayRow, uint64(1<<32+1030)
	for half := range 2 {
		row := make([]uint32, (f.Bits+31)/32)
		f.Top.Put(row, top)
		f.Last.Put(row, top)
		if half == 0 {
			// bit 20 is 1044 - 1024: of the ring before
			row[0] = 1<<(1030-1024) | 1<<(1025-1024) | 1<<20
		} else {
			row[(1010-512)/32] = 1 << (1010 % 32)
		}
		r.Fake.Table(transport.Inner, regs.InnerTableReplay)[2*int(rows[0])+half] = row
	}
	r.Quiet(get)
	// Bit (1030 - 1) mod 100 = 29 is the highest, 24 is 1025, 9 is 1010.
	want = "seq-hi 0x1, seq 0x406, oseq-hi 0x0, oseq 0x0\n\t replay_window 100, bitmap-length 4\n\t 00000000 00000000 00000000 21000200 \n"
	if !strings.Contains(r.Out, want) {
		t.Errorf("got\n%s\nwant\n%s", r.Out, want)
	}
}
