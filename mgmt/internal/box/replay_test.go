package box

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// windowed is an inbound SA with a window, and the policy that gives it a selector row.
func windowed(n, window int, rest string) string {
	src := fmt.Sprintf("198.51.100.%d", n)
	return windowedState("add", n, window, rest) +
		fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir fwd tmpl src %s dst 192.0.2.1 proto esp mode tunnel\n", n, src)
}

func windowedState(verb string, n, window int, rest string) string {
	return fmt.Sprintf("xfrm state %s src 198.51.100.%d dst 192.0.2.1 proto esp spi %d mode tunnel dir in replay-window %d %s aead 'rfc4106(gcm(aes))' %s 128\n",
		verb, n, 0x500+n, window, rest, key256)
}

// named reads a selector row of the chip: the window and its rows, all four fields.
func (r *rig) named(sa int) (window uint64, rows []uint64, keep bool) {
	f := regs.SelectorRow
	row := r.fake.Table(transport.Inner, regs.InnerTableSelector)[sa]
	if row == nil || f.Valid.Get(row) == 0 {
		r.t.Fatalf("SA %d has no selector row", sa)
	}
	return f.WindowSize.Get(row), []uint64{f.WindowRow0.Get(row), f.WindowRow1.Get(row), f.WindowRow2.Get(row), f.WindowRow3.Get(row)}, f.WindowKeep.Get(row) == 1
}

// TestWindowRows: an SA has a row for each 1024 packets of its window, and no two SAs share one; a window without room is
// refused and leaves what was there; rows of an SA that goes are free again.
func TestWindowRows(t *testing.T) {
	r := newRig(t, fakebox.Small) // 16 window rows
	r.quiet("addr add 192.0.2.1/24 dev black\n" + windowed(1, 64, "") + windowed(2, 1025, "") + windowed(3, 4096, "") + windowed(4, 0, "") + windowed(5, 2048, "") + windowed(6, 2049, ""))
	check := func(sa int, window uint64, rows ...uint64) {
		t.Helper()
		rows = append(rows, make([]uint64, 4-len(rows))...)
		if w, got, keep := r.named(sa); w != window || !slices.Equal(got, rows) || keep {
			t.Errorf("SA %d has window %d, rows %d, keep %t", sa, w, got, keep)
		}
	}
	check(0, 64, 0)
	check(1, 1025, 1, 2)
	check(2, 4096, 3, 4, 5, 6)
	check(3, 0)
	check(4, 2048, 7, 8)
	check(5, 2049, 9, 10, 11, 12)
	before := r.snapshot()
	if err := r.run(windowed(7, 4096, "")); err == nil || !strings.Contains(err.Error(), "takes 4 rows of 1024 packets, and of 16 rows 3 are free") {
		t.Errorf("gave %v", err)
	}
	if r.snapshot() != before || len(r.fake.Log) != 0 {
		t.Error("a window without room changed the tables")
	}
	// The room that others leave need not be in one piece.
	r.must("xfrm state delete dst 192.0.2.1 proto esp spi 0x501")
	r.must(windowed(7, 4096, ""))
	check(0, 4096, 0, 13, 14, 15)
	// There is no room for an update beside the SA that it replaces: it takes that one's rows over, which start anew.
	r.must(windowedState("update", 3, 4096, ""))
	check(2, 4096, 3, 4, 5, 6)
}

// TestWindowStays: what changes beside an SA's window leaves it as it is, even if its policy goes and comes again; a new SA
// starts anew.
func TestWindowStays(t *testing.T) {
	r := newRig(t, fakebox.Small)
	policy := "src 10.1.0.0/16 dir fwd"
	r.quiet("addr add 192.0.2.1/24 dev black\n" + windowed(1, 2048, ""))
	if _, _, keep := r.named(0); keep {
		t.Error("the first row keeps what was in the window")
	}
	r.must("xfrm policy delete " + policy)
	r.quiet("xfrm policy add " + policy + " tmpl src 198.51.100.1 dst 192.0.2.1 proto esp mode tunnel")
	if _, rows, keep := r.named(0); !keep || !slices.Equal(rows[:2], []uint64{0, 1}) {
		t.Errorf("keep %t, rows %d", keep, rows)
	}
	// An SA whose policy comes later has never had a window on the chip.
	r.must(windowedState("add", 2, 64, ""))
	r.quiet("xfrm policy add src 10.2.0.0/16 dir fwd tmpl src 198.51.100.2 dst 192.0.2.1 proto esp mode tunnel")
	if _, rows, keep := r.named(1); keep || rows[0] != 2 {
		t.Errorf("keep %t, rows %d", keep, rows)
	}
}

// TestReplaySeq: every number up to replay-seq is marked in the window before a packet can meet it.
func TestReplaySeq(t *testing.T) {
	for _, seq := range []uint64{1, 1023, 1024, 5000, 8191, 0xFFFFFFFF} {
		for _, window := range []int{64, 2048, 4096} {
			r := newRig(t, fakebox.Small)
			r.quiet("addr add 192.0.2.1/24 dev black\n" + windowed(9, 64, "") + windowed(1, window, fmt.Sprintf("replay-seq %d", seq)))
			_, rows, keep := r.named(1)
			ring := uint64(1)
			for int(ring)*1024 < window {
				ring *= 2
			}
			table := r.fake.Table(transport.Inner, regs.InnerTableReplay)
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
			for i, w := range r.fake.Log {
				if w.Table == "selector" && w.Index == 1 && slices.ContainsFunc(r.fake.Log[i:], func(w fakebox.Row) bool { return w.Table == "replay" }) {
					t.Error("the selector row came before its window")
				}
			}
		}
	}
	r := newRig(t, fakebox.Small)
	out := strings.Replace(windowedState("add", 1, 64, "replay-seq 5"), "dir in", "dir out", 1)
	if err := r.run(out); err == nil || !strings.Contains(err.Error(), "inbound SAs alone") {
		t.Errorf("gave %v", err)
	}
}

// TestWindowIsRead: `get` prints the window on the chip in Linux's order of bits, whatever its rows are behind.
func TestWindowIsRead(t *testing.T) {
	r := newRig(t, fakebox.Small)
	get := "xfrm state get dst 192.0.2.1 proto esp spi 0x501"
	r.quiet("addr add 192.0.2.1/24 dev black\n" + windowed(1, 64, "replay-seq 5"))
	r.quiet(get)
	// Bits 0 to 4 are the numbers 1 to 5; there are no others.
	want := "anti-replay esn context:\n\t seq-hi 0x0, seq 0x5, oseq-hi 0x0, oseq 0x0\n\t replay_window 64, bitmap-length 2\n\t 00000000 0000001f \n"
	if !strings.Contains(r.out, want) {
		t.Errorf("got\n%s\nwant\n%s", r.out, want)
	}
	// A window of 100 in which 2^32 + 1030, 1025 and 1010 were received; the row of a window up to 1024 is one ring.
	r.must(windowedState("update", 1, 100, ""))
	_, rows, _ := r.named(1)
	f, top := regs.ReplayRow, uint64(1<<32+1030)
	for half := range 2 {
		row := make([]uint32, (f.Bits+31)/32)
		f.Top.Put(row, top)
		f.Last.Put(row, top)
		if half == 0 {
			row[0] = 1<<(1030-1024) | 1<<(1025-1024) | 1<<20 // bit 20 is 1044 - 1024: of the ring before
		} else {
			row[(1010-512)/32] = 1 << (1010 % 32)
		}
		r.fake.Table(transport.Inner, regs.InnerTableReplay)[2*int(rows[0])+half] = row
	}
	r.quiet(get)
	// Bit (1030 - 1) mod 100 = 29 is the highest, 24 is 1025, 9 is 1010.
	want = "seq-hi 0x1, seq 0x406, oseq-hi 0x0, oseq 0x0\n\t replay_window 100, bitmap-length 4\n\t 00000000 00000000 00000000 21000200 \n"
	if !strings.Contains(r.out, want) {
		t.Errorf("got\n%s\nwant\n%s", r.out, want)
	}
}
