// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

func IsZero(words []uint32) bool {
	return !slices.ContainsFunc(words, func(w uint32) bool { return w != 0 })
}

func (r *Rig) Want(what, got, want string) {
	r.T.Helper()
	if got != want {
		r.T.Errorf("%s: %s, want %s", what, got, want)
	}
}

// NextHop sets row 0 as the command line does.
func (r *Rig) NextHop(dev string, last byte) {
	r.T.Helper()
	b, err := chip.Open(r.T.Context(), r.Fake)
	if err != nil {
		r.T.Fatal(err)
	}
	command := xfrm.NextHop{Dev: dev, MAC: xfrm.MAC{2, 0, 0, 0, 0, last}}
	if err := (&session.Session{Box: b, StatePath: r.State, Out: &strings.Builder{}, Notes: &strings.Builder{}}).Run([]xfrm.Command{command}); err != nil {
		r.T.Fatal(err)
	}
}

// Named reads a selector row of the chip: the window and its rows, all four fields.
func (r *Rig) Named(sa int) (window uint64, rows []uint64, keep bool) {
	f := regs.SelectorRow
	row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[sa]
	if row == nil || f.Valid.Get(row) == 0 {
		r.T.Fatalf("SA %d has no selector row", sa)
	}
	return f.WindowSize.Get(row), []uint64{f.WindowRow0.Get(row), f.WindowRow1.Get(row), f.WindowRow2.Get(row), f.WindowRow3.Get(row)}, f.WindowKeep.Get(row) == 1
}

// FieldHex is a field as a string of bytes, the lowest first.
func FieldHex(f regs.Field, row []uint32) string {
	return hex.EncodeToString(RowBytes(row)[f.LSB/8 : (f.LSB+f.Width)/8])
}

// Low is the low four bytes of a field of 128 bits, with zeros above.
func Low(hex string) string { return hex + strings.Repeat("0", 24) }

func ReadFile(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
