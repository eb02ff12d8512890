// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// outerDSCP is what the outer chip makes of a packet's DSCP under an SA, as the rows say; mapped
// says whether an array has it.
func (r *rig) outerDSCP(sa int, inner uint64) (dscp uint64, mapped bool) {
	r.T.Helper()
	tunnel := r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[sa]
	if regs.TunnelRow.DscpMap.Get(tunnel) == 0 {
		r.T.Fatalf("SA %d has no map", sa)
	}
	row := r.Fake.Table(transport.Outer, regs.OuterTableDscpMap)[int(regs.TunnelRow.Dscp.Get(tunnel)*64+inner)]
	if row == nil || regs.DscpMapRow.Valid.Get(row) == 0 {
		return inner, false
	}
	return regs.DscpMapRow.Dscp.Get(row), true
}

// TestDSCPMapRows: each SA's tunnel row leads to an array that holds its map and nothing else,
// whatever came before.
func TestDSCPMapRows(t *testing.T) {
	r := newRig(t, fakebox.Small)
	maps := map[int]string{}
	add := func(verb string, n int, list string) {
		t.Helper()
		r.Must(strings.Replace(testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1001+n, 7, "dir out dscp map "+list), "add", verb, 1))
		maps[n] = list
	}
	check := func(arrays int) {
		t.Helper()
		used, expected := map[uint64]bool{}, 0
		r.Quiet("xfrm state list")
		for n, list := range maps {
			if !strings.Contains(r.Out, " dscp map "+list+" ") {
				t.Errorf("%q is not listed: %s", list, r.Out)
			}
			var tunnel []uint32
			at := -1
			for row, words := range r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey) {
				if regs.OutboundKeyRow.Spi.Get(words) == uint64(0x1001+n) {
					at, tunnel = row, r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[row]
				}
			}
			want := map[uint64]uint64{}
			for _, pair := range strings.Split(list, ",") {
				var from, to uint64
				fmt.Sscanf(pair, "%d:%d", &from, &to)
				want[from] = to
			}
			if array := regs.TunnelRow.Dscp.Get(tunnel); !used[array] {
				used[array] = true
				expected += len(want)
			}
			for inner := range uint64(64) {
				to, mapped := want[inner]
				if dscp, got := r.outerDSCP(at, inner); got != mapped || mapped && dscp != to {
					t.Errorf("SA %d, %s: %d becomes %d, %v", n, list, inner, dscp, got)
				}
			}
		}
		valid := 0
		for _, row := range r.Fake.Table(transport.Outer, regs.OuterTableDscpMap) {
			valid += int(regs.DscpMapRow.Valid.Get(row))
		}
		if len(used) != arrays || valid != expected {
			t.Errorf("%d arrays, want %d; %d rows, want %d", len(used), arrays, valid, expected)
		}
	}
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + outerState("dscp map 46:34,48:0"))
	maps[0] = "46:34,48:0"
	check(1)
	add("add", 1, "0:63,46:34")
	add("add", 2, "46:34,48:0")
	check(2)
	add("update", 0, "1:2")
	check(3)
	for n := 3; n < 16; n++ {
		add("add", n, fmt.Sprintf("46:%d", n))
	}
	check(16)
	// All arrays are in use: one more map is refused, one for another is not, and takes its place.
	before := r.Snapshot()
	err := r.Run(strings.Replace(testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1003, 7, "dir out dscp map 5:6"), "add", "update", 1))
	if err != nil {
		t.Fatal(err)
	}
	maps[2] = "5:6"
	check(16)
	if before == r.Snapshot() {
		t.Error("nothing was written")
	}
	r.Must("xfrm state delete dst 192.0.2.2 proto esp spi 0x1002\n")
	delete(maps, 1)
	add("add", 1, "46:3") // shared
	check(15)
	add("update", 1, "7:8")
	check(16)
	r.Must("xfrm state flush\n")
	for index, row := range r.Fake.Table(transport.Outer, regs.OuterTableDscpMap) {
		if regs.DscpMapRow.Valid.Get(row) != 0 {
			t.Errorf("row %d is left over", index)
		}
	}
}

// TestDSCPMapsAreLimited: the seventeenth different one is refused, and nothing is written.
func TestDSCPMapsAreLimited(t *testing.T) {
	sizes := fakebox.Small
	sizes.SABits = 6
	r := newRig(t, sizes)
	batch := func(n int) (text string) {
		for i := range n {
			text += testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1001+i, 7, fmt.Sprintf("dir out dscp map 46:%d", i))
		}
		return text
	}
	r.Must("addr add 192.0.2.1/24 dev black\n")
	writes := r.Fake.Writes
	if err := r.Run(batch(17)); err == nil || !session.IsInput(err) || r.Fake.Writes != writes ||
		!strings.HasPrefix(err.Error(), "f:17: no room for the dscp map of the SA spi 0x1011: the chip holds 16 different ones") {
		t.Errorf("%v, %d writes", err, r.Fake.Writes-writes)
	}
	r.Must(batch(16))
}

// chosen are the SPIs that the inner chip gives packets of each DSCP under its first rule; 0
// is punted.
func (r *rig) chosen() (out [64]uint64) {
	r.T.Helper()
	f, rule := regs.RuleRow, r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]
	if f.Action.Get(rule) != regs.ActionProtect || f.ByDscp.Get(rule) == 0 {
		r.T.Fatalf("the rule is not by DSCP: %x", rule)
	}
	keys := r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)
	for dscp := range out {
		if row := r.Fake.Table(transport.Inner, regs.InnerTableDscpSa)[int(f.Sa.Get(rule))*64+dscp]; row != nil && regs.DscpSaRow.Valid.Get(row) != 0 {
			out[dscp] = regs.OutboundKeyRow.Spi.Get(keys[int(regs.DscpSaRow.Sa.Get(row))])
		}
	}
	return out
}

// TestForDSCP: each DSCP goes to the newest SA for it, or the newest of all others, through a rekey
// and back to one SA.
func TestForDSCP(t *testing.T) {
	r := newRig(t, fakebox.Small)
	expect := func(others uint64, by map[int]uint64) {
		t.Helper()
		for dscp, spi := range r.chosen() {
			want, ok := by[dscp]
			if !ok {
				want = others
			}
			if spi != want {
				t.Errorf("DSCP %d goes to 0x%x, want 0x%x", dscp, spi, want)
			}
		}
	}
	add := func(spi int, words string) { r.Must(testbox.Sa6("192.0.2.1", "192.0.2.2", spi, 7, "dir out "+words)) }
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + outerState(""))
	if f, rule := regs.RuleRow, r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]; f.ByDscp.Get(rule) != 0 || f.Sa.Get(rule) != 0 {
		t.Errorf("%x", rule)
	}
	add(0x1002, "for-dscp EF,34")
	expect(0x1001, map[int]uint64{46: 0x1002, 34: 0x1002})
	r.Quiet("xfrm state list")
	if !strings.Contains(r.Out, "\treplay-window 64 for-dscp af41,ef \n") {
		t.Error(r.Out)
	}
	add(0x1003, "for-dscp af41,0")
	expect(0x1001, map[int]uint64{46: 0x1002, 34: 0x1003, 0: 0x1003})
	// Rekeyed, one after the other: new ones first, and then the old ones go.
	add(0x1012, "for-dscp EF,34")
	expect(0x1001, map[int]uint64{46: 0x1012, 34: 0x1012, 0: 0x1003})
	// Until the rule leads to the new block, the old one stays as it is. Then it is cleared, since
	// its SAs may go.
	var order []string
	for _, row := range r.Fake.Log {
		name := row.Table
		if len(row.Words) == 0 || !slices.ContainsFunc(row.Words, func(w uint32) bool { return w != 0 }) {
			name += " cleared"
		}
		if len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	if text := strings.Join(order, ", "); !strings.HasPrefix(text, "outbound_key, ") || strings.Index(text, "dscp_sa, ") > strings.Index(text, "rule") ||
		strings.Index(text, "rule") > strings.Index(text, "dscp_sa cleared") {
		t.Error(text)
	}
	add(0x1011, "")
	expect(0x1011, map[int]uint64{46: 0x1012, 34: 0x1012, 0: 0x1003})
	for _, spi := range []int{0x1001, 0x1002} {
		r.Must(fmt.Sprintf("xfrm state delete dst 192.0.2.2 proto esp spi 0x%x\n", spi))
	}
	expect(0x1011, map[int]uint64{46: 0x1012, 34: 0x1012, 0: 0x1003})
	// What no SA is for is punted, and so said.
	r.Must("xfrm state delete dst 192.0.2.2 proto esp spi 0x1011\n")
	expect(0, map[int]uint64{46: 0x1012, 34: 0x1012, 0: 0x1003})
	r.Must("xfrm policy update src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 9 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel\n")
	if !strings.Contains(r.Notes, "has for-dscp: what the policy matches of other DSCPs is punted") {
		t.Error(r.Notes)
	}
	add(0x1021, "")
	for _, spi := range []int{0x1003, 0x1012} {
		r.Must(fmt.Sprintf("xfrm state delete dst 192.0.2.2 proto esp spi 0x%x\n", spi))
	}
	if f, rule := regs.RuleRow, r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]; f.ByDscp.Get(rule) != 0 {
		t.Errorf("%x", rule)
	}
	for index, row := range r.Fake.Table(transport.Inner, regs.InnerTableDscpSa) {
		if regs.DscpSaRow.Valid.Get(row) != 0 {
			t.Errorf("row %d is left over", index)
		}
	}
}

// TestForDSCPWhenFull: without room beside the rows that go, a rule that leads to a block or row
// that another takes discards first.
func TestForDSCPWhenFull(t *testing.T) {
	sizes := fakebox.Small
	sizes.SABits = 8
	r := newRig(t, sizes)
	text := func(verb string, n, from int) (out string) {
		for i := range n {
			reqid := i + 1
			out += testbox.Sa6("192.0.2.1", "192.0.2.2", from+2*i, reqid, "dir out") + testbox.Sa6("192.0.2.1", "192.0.2.2", from+2*i+1, reqid, "dir out for-dscp ef")
			if verb != "" {
				out += fmt.Sprintf("xfrm policy %s src 10.1.%d.1/32 dst 10.2.0.1/32 proto udp sport 5 dport 6 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel\n", verb, i, reqid)
			}
		}
		return out
	}
	r.Must("addr add 192.0.2.1/24 dev black\n")
	writes := r.Fake.Writes
	if err := r.Run(text("add", 65, 0x1001)); err == nil || !session.IsInput(err) || r.Fake.Writes != writes || !strings.Contains(err.Error(), "the chip holds 64 different sets of such SAs") {
		t.Errorf("%v, %d writes", err, r.Fake.Writes-writes)
	}
	sizes.FlowBits = 8
	r = newRig(t, sizes)
	r.Must("addr add 192.0.2.1/24 dev black\n" + text("add", 64, 0x1001))
	spis := func() map[uint64]bool {
		out := map[uint64]bool{}
		keys, f := r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey), regs.FlowRow
		for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableFlow) {
			if f.Valid.Get(row) == 0 {
				continue
			}
			reqid := f.SrcAddr.Get(row) >> 8 & 0xff
			for _, dscp := range []int{0, 46} {
				entry := r.Fake.Table(transport.Inner, regs.InnerTableDscpSa)[int(f.Sa.Get(row))*64+dscp]
				spi := regs.OutboundKeyRow.Spi.Get(keys[int(regs.DscpSaRow.Sa.Get(entry))])
				if ef := uint64(dscp / 46); spi&0xfff != 1+2*reqid+ef {
					t.Errorf("flow %d, DSCP %d: 0x%x", reqid, dscp, spi)
				}
				out[spi>>12] = true
			}
		}
		return out
	}
	if got := spis(); len(got) != 1 || !got[1] {
		t.Error(got)
	}
	// Blocks are all in use: a rekey of every SA discards for a moment.
	f := regs.FlowRow
	r.Fake.OnRow = func(row fakebox.Row) {
		if row.Table != "dscp_sa" {
			return
		}
		for _, flow := range r.Fake.Table(transport.Inner, regs.InnerTableFlow) {
			if f.Action.Get(flow) == regs.ActionProtect && int(f.Sa.Get(flow)) == row.Index/64 {
				t.Fatalf("block %d is written while a flow leads to it", row.Index/64)
			}
		}
	}
	r.Must(text("", 64, 0x2001))
	r.Fake.OnRow = nil
	if got := spis(); len(got) != 1 || !got[2] {
		t.Error(got)
	}
}

// TestForDSCPIsOutbound: an SA whose direction follows from its ends is refused as one with
// `dir in` is; one in transport mode is not.
func TestForDSCPIsOutbound(t *testing.T) {
	r := newRig(t, fakebox.Small)
	err := r.Run("addr add 192.0.2.1/24 dev black\n" + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2001, 7, "for-dscp ef"))
	if err == nil || !strings.HasPrefix(err.Error(), "f:2: for-dscp is of outbound SAs alone") || !session.IsInput(err) {
		t.Error(err)
	}
	var state xfrm.State
	if state.ForDSCP.Words() != "none" {
		t.Error("an SA without for-dscp is for some")
	}
}
