// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// tables are copies of all tables of a box, which follow its log.
type tables map[string]map[int][]uint32

func (r *rig) tables() tables {
	out := tables{}
	for _, t := range testbox.AllTables {
		out[t.C.String()+t.T.Name] = maps.Clone(r.Fake.Table(t.C, t.T))
	}
	return out
}

func (t tables) of(c transport.Chip, table regs.Table) map[int][]uint32 {
	return t[c.String()+table.Name]
}

// follow makes every write of a change again, and looks at what there is after each.
func (t tables) follow(log []fakebox.Row, look func(n int, w fakebox.Row)) {
	for n, w := range log {
		rows := t[w.Chip.String()+w.Table]
		if rows == nil {
			continue // windows
		}
		if rows[w.Index] = w.Words; testbox.IsZero(w.Words) {
			delete(rows, w.Index)
		}
		look(n, w)
	}
}

// outcomes gives for every flow and rule what becomes of its packets: by its condition and
// priority, which the tests leave alone, the SPI and the peer, or the station that a bypassed
// packet goes to. Dropped is what lacks a row on its way.
func (t tables) outcomes() map[string]string {
	out := map[string]string{}
	f := regs.RuleRow
	for _, rows := range []map[int][]uint32{t.of(transport.Inner, regs.InnerTableFlow), t.of(transport.Inner, regs.InnerTableRule)} {
		for _, row := range rows {
			name := fmt.Sprintf("%x", append(slices.Clone(row[:9]), row[9]&0xFFFF, uint32(f.Priority.Get(row))))
			out[name] = t.outcome(f.Action.Get(row), int(f.Sa.Get(row)))
		}
	}
	return out
}

const dropped = "dropped"

func (t tables) outcome(action uint64, sa int) string {
	key, tunnel := t.of(transport.Crypto, regs.CryptoTableOutboundKey)[sa], t.of(transport.Outer, regs.OuterTableTunnel)[sa]
	text := "clear"
	if action == regs.ActionProtect && key != nil && tunnel != nil {
		text = fmt.Sprintf("spi %x to %x", regs.OutboundKeyRow.Spi.Get(key), regs.TunnelRow.DstAddr.Get(tunnel))
		sa = int(regs.TunnelRow.NextHop.Get(tunnel))
	} else if action != regs.ActionBypass {
		return dropped
	}
	hop := t.of(transport.Outer, regs.OuterTableNextHop)[sa]
	if hop == nil {
		return dropped
	}
	return fmt.Sprintf("%s by %x", text, testbox.RowBytes(hop)[:6])
}

// outbound is SA n of a generation, to a peer and gateway of its own.
func outbound(n, generation int) string {
	return fmt.Sprintf("xfrm state add src 192.0.2.1 dst 198.51.%d.%d proto esp spi %d reqid %d mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x%032x00000000 128\n",
		generation, n, 0x1000*generation+n, n, 0x1000*generation+n)
}

// TestNoOtherSA: in a table that is full, new SAs take the rows of those that go in the same batch.
// No packet of a policy leaves under an SA, to a peer or by a gateway other than its own before or
// after the change; it is dropped at worst.
func TestNoOtherSA(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	for range 30 {
		r := newRig(t, fakebox.Small)
		text := "addr add 192.0.2.1/24 dev black\n"
		policies := func(verb string, n, generation int) string {
			tmpl := fmt.Sprintf("tmpl src 192.0.2.1 dst 198.51.%d.%d proto esp reqid %d mode tunnel\n", generation, n, n)
			return fmt.Sprintf("xfrm policy %s src 10.1.0.%d dst 10.2.0.1 proto udp sport 7 dport 8 dir out priority 9 %s", verb, n, tmpl) +
				fmt.Sprintf("xfrm policy %s src 10.1.%d.0/24 dst 10.2.0.0/16 proto tcp dport 4-7 dir out priority 10 %s", verb, n, tmpl)
		}
		for n := range 16 {
			text += outbound(n, 1) + policies("add", n, 1)
			text += fmt.Sprintf("neigh add 192.0.2.%d lladdr 02:00:00:00:01:%02x dev black\nroute add 198.51.1.%d via 192.0.2.%d dev black\n", 16+n, n, n, 16+n)
			text += fmt.Sprintf("neigh add 192.0.2.%d lladdr 02:00:00:00:02:%02x dev black\nroute add 198.51.2.%d via 192.0.2.%d dev black\n", 32+n, n, n, 32+n)
			text += fmt.Sprintf("neigh add 192.0.2.%d lladdr 02:00:00:00:03:%02x dev black\nneigh add 192.0.2.%d lladdr 02:00:00:00:04:%02x dev black\n", 48+n, n, 64+n, n)
		}
		for n := range 4 {
			text += fmt.Sprintf("route add 203.0.113.%d via 192.0.2.%d dev black\nxfrm policy add dst 203.0.113.%d dir out priority 11\n", n, 48+n, n)
		}
		r.Quiet(text)
		// Some SAs are followed by ones to other peers, whose gateways need rows too, in any order;
		// some go for good.
		change, after := "", ""
		for _, n := range random.Perm(16)[:1+random.IntN(16)] {
			change += fmt.Sprintf("xfrm state delete dst 198.51.1.%d proto esp spi %d\n", n, 0x1000+n)
			if random.IntN(5) > 0 {
				after += outbound(n, 2)
			}
			after += policies("update", n, 2)
			if n < 4 {
				after += fmt.Sprintf("route replace 203.0.113.%d via 192.0.2.%d dev black\n", n, 64+n)
			}
		}
		before, now := r.tables(), r.tables()
		old := before.outcomes()
		r.Must(change + after)
		fresh := r.tables().outcomes()
		reused := 0
		now.follow(r.Fake.Log, func(n int, w fakebox.Row) {
			if w.Table == regs.CryptoTableOutboundKey.Name && !testbox.IsZero(w.Words) && before.of(w.Chip, regs.CryptoTableOutboundKey)[w.Index] != nil {
				reused++
			}
			for name, got := range now.outcomes() {
				if got != dropped && got != old[name] && got != fresh[name] {
					t.Fatalf("after write %d of %d, of %s row %d, a packet of %s goes by %s; before the change by %s, after it by %s\n%s", n, len(r.Fake.Log), w.Table, w.Index, name, got, old[name], fresh[name], change+after)
				}
			}
		})
		if reused == 0 && strings.Contains(after, "state add") {
			t.Error("no row was used again")
		}
		if len(fresh) != 36 || !maps.EqualFunc(now.of(transport.Inner, regs.InnerTableFlow), r.Fake.Table(transport.Inner, regs.InnerTableFlow), slices.Equal) {
			t.Fatalf("%d outcomes", len(fresh))
		}
	}
}

// TestNoOtherInboundSA: a packet that comes meanwhile meets the old key, selector and window of its
// SA, or all of the new.
func TestNoOtherInboundSA(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	state := func(verb string, n, generation int) string {
		return fmt.Sprintf("xfrm state %s src 198.51.100.%d dst 192.0.2.1 proto esp spi %d reqid %d mode tunnel dir in replay-window 64 aead 'rfc4106(gcm(aes))' 0x%032x00000000 128\n", verb, n, 0x500+n, n, 0x1000*generation+n)
	}
	for range 30 {
		r := newRig(t, fakebox.Small)
		text := "addr add 192.0.2.1/24 dev black\n"
		for n := range 16 {
			text += state("add", n, 1) + fmt.Sprintf("xfrm policy add src 10.2.%d.0/24 dir fwd tmpl src 198.51.100.%d dst 192.0.2.1 proto esp reqid %d mode tunnel\n", n, n, n)
		}
		r.Quiet(text)
		change := ""
		for _, n := range random.Perm(16)[:2+random.IntN(14)] {
			change += state("update", n, 2)
		}
		now, keys := r.tables(), r.tables().of(transport.Crypto, regs.CryptoTableInboundKey)
		r.Must(change)
		started := map[int]bool{}
		now.follow(r.Fake.Log, func(n int, w fakebox.Row) {
			if w.Table == regs.InnerTableSelector.Name {
				started[w.Index] = true
			}
			for _, row := range now.of(transport.Outer, regs.OuterTableSad) {
				spi, sa := uint32(regs.SadRow.Spi.Get(row)), int(regs.SadRow.Sa.Get(row))
				key, selector := now.of(transport.Crypto, regs.CryptoTableInboundKey)[sa], now.of(transport.Inner, regs.InnerTableSelector)[sa]
				if key == nil || selector == nil {
					continue
				}
				own := uint32(regs.InboundKeyRow.Spi.Get(key)) == spi && 0x500+uint32(testbox.RowBytes(selector)[1]) == spi
				if !own || started[sa] == slices.Equal(key, keys[sa]) {
					t.Fatalf("after write %d of %d, of %s row %d, spi %x leads to row %d of spi %x, whose selector is written: %t\n%s", n, len(r.Fake.Log), w.Table, w.Index, spi, sa, regs.InboundKeyRow.Spi.Get(key), started[sa], change)
				}
			}
		})
	}
}
