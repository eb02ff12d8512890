// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"strings"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// window is what an SA received, as its rows on the inner chip have it.
type window struct {
	top  uint64
	rows [][2]compile.Row // halves
}

// readWindow reads the window of an inbound SA that is on the chip.
func (v *View) readWindow(sa *model.SA) (*window, error) {
	w := &window{rows: make([][2]compile.Row, len(sa.WindowRows))}
	for i, number := range sa.WindowRows {
		for half := range 2 {
			row, err := v.box.ReadRow(transport.Inner, regs.InnerTableReplay, 2*number+half)
			if err != nil {
				return nil, err
			}
			w.rows[i][half] = row
		}
	}
	w.top = regs.ReplayRow.Top.Get(w.rows[0][0])
	return w, nil
}

// received says whether a number up to top was received. A number that packets which came while the
// rows were read pushed out of the ring counts as received: it can no longer be.
func (w *window) received(number uint64) bool {
	ring := uint64(len(w.rows)) * compile.WindowRowSize
	half := w.rows[number/compile.WindowRowSize%uint64(len(w.rows))][number%compile.WindowRowSize/(compile.WindowRowSize/2)]
	last, bit := regs.ReplayRow.Last.Get(half), number%(compile.WindowRowSize/2)
	switch {
	case number > last:
		return false
	case number+ring <= last:
		return true
	}
	return half[bit/32]>>(bit%32)&1 == 1
}

// describe prints as `ip xfrm state get` does of an SA with extended sequence numbers. Linux keeps
// number n in bit (n - 1) modulo the window, counted back from the highest, and ip prints the last
// word first.
func (w *window) describe(size uint64) string {
	bitmap := make([]uint32, (size+31)/32)
	for age := range min(size, w.top) {
		if w.received(w.top - age) {
			bit := ((w.top&0xFFFFFFFF+size-1)%size + size - age) % size
			bitmap[bit/32] |= 1 << (bit % 32)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\tanti-replay esn context:\n\t seq-hi 0x%x, seq 0x%x, oseq-hi 0x0, oseq 0x0\n", w.top>>32, w.top&0xFFFFFFFF)
	fmt.Fprintf(&b, "\t replay_window %d, bitmap-length %d", size, len(bitmap))
	for i := range bitmap {
		if i%8 == 0 {
			b.WriteString("\n\t ")
		}
		fmt.Fprintf(&b, "%08x ", bitmap[len(bitmap)-1-i])
	}
	return b.String() + "\n"
}

// windowOf prints what the SA that `xfrm state get` names has received or sent; nothing of one that
// has no window on the chip.
func (v *View) windowOf(m *model.Model, c xfrm.StateSelect) (string, error) {
	sa := m.SAs.Find(c.Filter.ID())
	if c.Verb != xfrm.Get || sa == nil {
		return "", nil
	}
	number, known, err := v.number(sa)
	switch {
	case err != nil || !known:
		return "", err
	case sa.Way == xfrm.DirOut:
		return fmt.Sprintf("\tanti-replay esn context:\n\t seq-hi 0x0, seq 0x0, oseq-hi 0x%x, oseq 0x%x\n\t replay_window 0, bitmap-length 0\n", number>>32, number&0xFFFFFFFF), nil
	}
	w, err := v.readWindow(sa)
	if err != nil {
		return "", err
	}
	return w.describe(uint64(sa.ReplayWindow)), nil
}
