package box

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// rig is a fake box with a state file of its own.
type rig struct {
	t     *testing.T
	fake  *fakebox.Box
	state string
	out   string
	notes string
	// statistics as with `sallyctl -s`
	statistics bool
	clock      int // of audit
}

func newRig(t *testing.T, sizes fakebox.Sizes) *rig {
	return &rig{t: t, fake: fakebox.New(sizes), state: filepath.Join(t.TempDir(), "state.json")}
}

// run carries a batch out as one invocation of sallyctl does.
func (r *rig) run(text string) error {
	r.t.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(text))
	if err != nil {
		return err
	}
	return r.session(func(s *Session) error { return s.Run(commands) })
}

// events is one invocation of `sallyctl events`.
func (r *rig) events() {
	r.t.Helper()
	if err := r.session(func(s *Session) error { return printEvents(s, s.Events) }); err != nil {
		r.t.Fatal(err)
	}
}

// printEvents shows events as sallyctl does.
func printEvents(s *Session, take func() ([]Event, error)) error {
	events, err := take()
	for _, e := range events {
		fmt.Fprintln(s.Out, e)
	}
	return err
}

func (r *rig) session(run func(*Session) error) error {
	r.t.Helper()
	b, err := chip.Open(r.fake)
	if err != nil {
		r.t.Fatal(err)
	}
	var out, notes bytes.Buffer
	r.fake.Log, r.fake.Waits = nil, nil
	err = run(&Session{Box: b, StatePath: r.state, Statistics: r.statistics, Out: &out, Notes: &notes})
	r.out, r.notes = out.String(), notes.String()
	return err
}

func (r *rig) must(text string) {
	r.t.Helper()
	if err := r.run(text); err != nil {
		r.t.Fatalf("%v\n%s", err, text)
	}
}

// quiet runs a batch that must cause no warning.
func (r *rig) quiet(text string) {
	r.t.Helper()
	r.must(text)
	if r.notes != "" {
		r.t.Errorf("unexpected: %s", r.notes)
	}
}

var allTables = []struct {
	c transport.Chip
	t regs.Table
}{
	{transport.Inner, regs.InnerTableFlow}, {transport.Inner, regs.InnerTableRule}, {transport.Inner, regs.InnerTableInboundRule}, {transport.Inner, regs.InnerTableSelector},
	{transport.Inner, regs.InnerTableNextHop}, {transport.Inner, regs.InnerTableDummy}, {transport.Crypto, regs.CryptoTableOutboundKey}, {transport.Crypto, regs.CryptoTableInboundKey},
	{transport.Outer, regs.OuterTableSad}, {transport.Outer, regs.OuterTableRule}, {transport.Outer, regs.OuterTableTunnel},
	{transport.Outer, regs.OuterTableNextHop}, {transport.Outer, regs.OuterTableDscpMap}, {transport.Inner, regs.InnerTableDscpSa},
}

func (r *rig) snapshot() string {
	text := ""
	for _, table := range allTables {
		rows := r.fake.Table(table.c, table.t)
		for _, index := range slices.Sorted(maps.Keys(rows)) {
			text += fmt.Sprintf("%s %s %d %x\n", table.c, table.t.Name, index, rows[index])
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

// find looks a key up as the hardware does.
func find(rows map[int][]uint32, size int, key []byte) []uint32 {
	for _, place := range places(size, key) {
		row := rows[place]
		if row != nil && bytes.HasPrefix(rowBytes(row), key) {
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

func rowBytes(row []uint32) []byte {
	var out []byte
	for _, word := range row {
		out = append(out, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
	}
	return out
}

func le32(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }
func le16(n uint16) []byte { return []byte{byte(n), byte(n >> 8)} }

// ipBytes is an address as the chips have it in a field of so many bytes: a number, lowest byte first.
func ipBytes(text string, width int) []byte {
	octets := netip.MustParseAddr(text).AsSlice()
	slices.Reverse(octets)
	return append(octets, make([]byte, width-len(octets))...)
}

// flowRow is the row of an exact 5-tuple in the flow table, found as a packet finds it; of ICMP the ports are type and code.
func (r *rig) flowRow(src, dst string, proto byte, sport, dport uint16) []uint32 {
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
	key := slices.Concat(ipBytes(src, 16), ipBytes(dst, 16), le16(sport), le16(dport), []byte{proto, version | upper<<4})
	return find(r.fake.Table(transport.Inner, regs.InnerTableFlow), 1<<r.fake.Get(transport.Inner, regs.CommonCapabilityFlowBits), key)
}

// flow is the decision for an exact 5-tuple in the flow table.
func (r *rig) flow(src, dst string, proto byte, sport, dport uint16) (action, sa, priority uint64, ok bool) {
	row := r.flowRow(src, dst, proto, sport, dport)
	if row == nil {
		return
	}
	f := regs.FlowRow
	return f.Action.Get(row), f.Sa.Get(row), f.Priority.Get(row), f.Valid.Get(row) == 1
}

// sadRow is the row of an inbound SA in the SAD, found as a packet finds it: by SPI and destination in a bump in the wire, and by the
// SPI alone in a router, where another destination is no SA's.
func (r *rig) sadRow(spi uint32, dst string) []uint32 {
	version := byte(4)
	if netip.MustParseAddr(dst).Is6() {
		version = 6
	}
	rest := slices.Concat(ipBytes(dst, 16), []byte{version})
	rows, size := r.fake.Table(transport.Outer, regs.OuterTableSad), 1<<r.fake.Get(transport.Outer, regs.CommonCapabilitySadBits)
	if regs.OuterControlBump.Get([]uint32{r.fake.Get(transport.Outer, regs.OuterControl)}) == 1 {
		return find(rows, size, slices.Concat(le32(spi), rest))
	}
	for _, place := range places(size, slices.Concat(le32(spi), make([]byte, len(rest)))) {
		if row := rows[place]; row != nil && uint32(regs.SadRow.Spi.Get(row)) == spi {
			if !bytes.Equal(rowBytes(row)[4:21], rest) {
				return nil
			}
			return row
		}
	}
	return nil
}

func (r *rig) sad(spi uint32, dst string) (sa uint64, ok bool) {
	row := r.sadRow(spi, dst)
	if row == nil {
		return
	}
	return regs.SadRow.Sa.Get(row), regs.SadRow.Valid.Get(row) == 1
}
