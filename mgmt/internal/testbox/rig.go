// SPDX-License-Identifier: Apache-2.0

// Package testbox has the common parts of tests of a whole box: a fake box, batches for it, and
// readers of its rows.
package testbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Rig is a fake box with a state file of its own.
type Rig struct {
	T     *testing.T
	Fake  *fakebox.Box
	State string
	Out   string
	Notes string
	// statistics as with `sallyctl -s`
	Statistics bool
	Clock      int // of audit
	// Remembers says that the box remembers which keys were used; otherwise each invocation finds a
	// new one, so that a test may write a key again.
	Remembers bool
}

func New(t *testing.T, sizes fakebox.Sizes) *Rig {
	return &Rig{T: t, Fake: fakebox.New(sizes), State: filepath.Join(t.TempDir(), "state.json")}
}

// Run carries a batch out as one invocation of sallyctl does.
func (r *Rig) Run(text string) error {
	r.T.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(text))
	if err != nil {
		return err
	}
	return r.Session(func(s *session.Session) error { return s.Run(commands) })
}

// Events is one invocation of `sallyctl events`.
func (r *Rig) Events() {
	r.T.Helper()
	if err := r.Session(func(s *session.Session) error { return PrintEvents(s, s.Events) }); err != nil {
		r.T.Fatal(err)
	}
}

// PrintEvents shows events as sallyctl does.
func PrintEvents(s *session.Session, take func() ([]events.Event, error)) error {
	events, err := take()
	for _, e := range events {
		fmt.Fprintln(s.Out, e)
	}
	return err
}

// Open reaches the box.
func (r *Rig) Open() *chip.Box {
	r.T.Helper()
	b, err := chip.Open(r.T.Context(), r.Fake)
	if err != nil {
		r.T.Fatal(err)
	}
	return b
}

// Session is one invocation of a program.
func (r *Rig) Session(run func(*session.Session) error) error {
	r.T.Helper()
	return r.SessionOf(r.Open(), run)
}

// SessionOf is one that has reached the box before.
func (r *Rig) SessionOf(b *chip.Box, run func(*session.Session) error) error {
	r.T.Helper()
	var out, notes bytes.Buffer
	if !r.Remembers {
		if err := os.Remove(r.State + ".keys"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.T.Fatal(err)
		}
	}
	r.Fake.Log, r.Fake.Waits = nil, nil
	err := run(&session.Session{Box: b, StatePath: r.State, Lists: session.Lists{Statistics: r.Statistics}, Out: &out, Notes: &notes})
	r.Out, r.Notes = out.String(), notes.String()
	return err
}

func (r *Rig) Must(text string) {
	r.T.Helper()
	if err := r.Run(text); err != nil {
		r.T.Fatalf("%v\n%s", err, text)
	}
}

// Quiet runs a batch that must cause no warning.
func (r *Rig) Quiet(text string) {
	r.T.Helper()
	r.Must(text)
	if r.Notes != "" {
		r.T.Errorf("unexpected: %s", r.Notes)
	}
}

var AllTables = []struct {
	C transport.Chip
	T regs.Table
}{
	{transport.Inner, regs.InnerTableFlow}, {transport.Inner, regs.InnerTableRule}, {transport.Inner, regs.InnerTableInboundRule}, {transport.Inner, regs.InnerTableSelector},
	{transport.Inner, regs.InnerTableNextHop}, {transport.Inner, regs.InnerTableDummy}, {transport.Crypto, regs.CryptoTableOutboundKey}, {transport.Crypto, regs.CryptoTableInboundKey},
	{transport.Outer, regs.OuterTableSad}, {transport.Outer, regs.OuterTableRule}, {transport.Outer, regs.OuterTableTunnel},
	{transport.Outer, regs.OuterTableNextHop}, {transport.Outer, regs.OuterTableDscpMap}, {transport.Inner, regs.InnerTableDscpSa},
	{transport.Inner, regs.InnerTableHost}, {transport.Outer, regs.OuterTablePeer},
	{transport.Inner, regs.InnerTablePrefix}, {transport.Inner, regs.InnerTablePrefixChild}, {transport.Inner, regs.InnerTablePrefixRoot},
	{transport.Inner, regs.InnerTableHopGroup}, {transport.Inner, regs.InnerTablePrefixPolicy},
}

func (r *Rig) Snapshot() string {
	text := ""
	for _, table := range AllTables {
		rows := r.Fake.Table(table.C, table.T)
		for _, index := range slices.Sorted(maps.Keys(rows)) {
			text += fmt.Sprintf("%s %s %d %x\n", table.C, table.T.Name, index, rows[index])
		}
	}
	return text
}

// crc is from the definition, not from the library that the program uses.
func crc(data []byte, reflected uint32) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b)
		for range 8 {
			sum = sum>>1 ^ reflected&-(sum&1)
		}
	}
	return ^sum
}

// Find looks a key up as the hardware does.
func Find(rows map[int][]uint32, size int, key []byte) []uint32 {
	for _, place := range places(size, key) {
		row := rows[place]
		if row != nil && bytes.HasPrefix(RowBytes(row), key) {
			return row
		}
	}
	return nil
}

// places are the rows where a key may stand.
func places(size int, key []byte) (out []int) {
	per := uint32(size / 4)
	c, k := crc(key, 0x82F63B78), crc(key, 0xEB31D82E)
	for way, hash := range []uint32{c, c >> 16, k, k >> 16} {
		out = append(out, way*int(per)+int(hash%per))
	}
	return out
}

func RowBytes(row []uint32) []byte {
	var out []byte
	for _, word := range row {
		out = append(out, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
	}
	return out
}

func le32(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }

func Le16(n uint16) []byte { return []byte{byte(n), byte(n >> 8)} }

// IpBytes is an address as the chips have it in a field of so many bytes: a number, lowest
// byte first.
func IpBytes(text string, width int) []byte {
	octets := netip.MustParseAddr(text).AsSlice()
	slices.Reverse(octets)
	return append(octets, make([]byte, width-len(octets))...)
}

// FlowRow is the row of an exact 5-tuple in the flow table, found as a packet finds it; of ICMP the
// ports are type and code.
func (r *Rig) FlowRow(src, dst string, proto byte, sport, dport uint16) []uint32 {
	return r.FlowRowIn(0, src, dst, proto, sport, dport)
}

// FlowRowIn is the same in a network.
func (r *Rig) FlowRowIn(network uint64, src, dst string, proto byte, sport, dport uint16) []uint32 {
	version, upper := byte(4), byte(0)
	if netip.MustParseAddr(src).Is6() {
		version = 6
	}
	switch {
	case proto == 6 || proto == 17 || proto == 132:
		upper = 1
	case proto == 1 && version == 4 || (proto == 58 || proto == 135) && version == 6:
		upper = 2
	}
	key := slices.Concat(IpBytes(src, 16), IpBytes(dst, 16), Le16(sport), Le16(dport), []byte{proto, version | upper<<4, byte(network)})
	return Find(r.Fake.Table(transport.Inner, regs.InnerTableFlow), 1<<r.Fake.Get(transport.Inner, regs.CommonCapabilityFlowBits), key)
}

// Flow is the decision for an exact 5-tuple in the flow table.
func (r *Rig) Flow(src, dst string, proto byte, sport, dport uint16) (action, sa, priority uint64, ok bool) {
	row := r.FlowRow(src, dst, proto, sport, dport)
	if row == nil {
		return
	}
	f := regs.FlowRow
	return f.Action.Get(row), f.Sa.Get(row), f.Priority.Get(row), f.Valid.Get(row) == 1
}

// SadRow is the row of an inbound SA in the SAD, found as a packet finds it. A bump in the wire
// looks it up by SPI and destination, and a router by the SPI alone.
func (r *Rig) SadRow(spi uint32, dst string) []uint32 {
	version := byte(4)
	if netip.MustParseAddr(dst).Is6() {
		version = 6
	}
	rest := slices.Concat(IpBytes(dst, 16), []byte{version})
	rows, size := r.Fake.Table(transport.Outer, regs.OuterTableSad), 1<<r.Fake.Get(transport.Outer, regs.CommonCapabilitySadBits)
	if regs.OuterControlBump.Get([]uint32{r.Fake.Get(transport.Outer, regs.OuterControl)}) == 1 {
		return Find(rows, size, slices.Concat(le32(spi), rest))
	}
	for _, place := range places(size, slices.Concat(le32(spi), make([]byte, len(rest)))) {
		if row := rows[place]; row != nil && uint32(regs.SadRow.Spi.Get(row)) == spi {
			if !bytes.Equal(RowBytes(row)[4:21], rest) {
				return nil
			}
			return row
		}
	}
	return nil
}

func (r *Rig) Sad(spi uint32, dst string) (sa uint64, ok bool) {
	row := r.SadRow(spi, dst)
	if row == nil {
		return
	}
	return regs.SadRow.Sa.Get(row), regs.SadRow.Valid.Get(row) == 1
}
