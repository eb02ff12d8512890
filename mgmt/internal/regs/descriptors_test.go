// SPDX-License-Identifier: Apache-2.0

package regs

import (
	"bytes"
	"math/big"
	"testing"
)

// number is the row as one number, the way the hardware sees it.
func number(row []uint32) *big.Int {
	n := new(big.Int)
	for i := len(row) - 1; i >= 0; i-- {
		n.Lsh(n, 32).Or(n, big.NewInt(int64(row[i])))
	}
	return n
}

func TestFieldsStandWhereTheHardwareReadsThem(t *testing.T) {
	all := make([]uint32, OuterTableRule.Words())
	for i := range all {
		all[i] = 0xffffffff
	}
	fields := map[string]Field{
		"version": RuleRow.Version, "dst_port": RuleRow.DstPort, "valid": RuleRow.Valid, "action": RuleRow.Action,
		"sa": RuleRow.Sa, "priority": RuleRow.Priority, "protocol_mask": RuleRow.ProtocolMask,
	}
	for name, f := range fields {
		for _, row := range [][]uint32{make([]uint32, len(all)), copyOf(all)} {
			before := number(row)
			value := uint64(0x5a5a5a5a5a5a5a5a) & (1<<f.Width - 1)
			f.Put(row, value)
			if got := f.Get(row); got != value {
				t.Errorf("%s: wrote %#x, read %#x", name, value, got)
			}
			mask := new(big.Int).Lsh(big.NewInt(1<<f.Width-1), uint(f.LSB))
			want := new(big.Int).AndNot(before, mask)
			want.Or(want, new(big.Int).Lsh(new(big.Int).SetUint64(value), uint(f.LSB)))
			if number(row).Cmp(want) != 0 {
				t.Errorf("%s: the row is %#x, not %#x", name, number(row), want)
			}
		}
	}
}

func copyOf(row []uint32) []uint32 { return append([]uint32{}, row...) }

func TestWideFields(t *testing.T) {
	row := make([]uint32, CryptoTableOutboundKey.Words())
	OutboundKeyRow.SoftLimit.Put(row, 1<<48-1)
	OutboundKeyRow.HardLimit.Put(row, 0xdcba9876543210)
	OutboundKeyRow.SoftLimit.Put(row, 0x3456789abcde)
	if row[28] != 0x789abcde || row[29] != 0x10003456 || row[30] != 0x98765432 || row[31] != 0xdcba {
		t.Errorf("soft and hard limit: %#x", row[28:])
	}
	soft, hard := OutboundKeyRow.SoftLimit.Get(row), OutboundKeyRow.HardLimit.Get(row)
	if soft != 0x3456789abcde || hard != 0xdcba9876543210 {
		t.Errorf("soft limit %#x, hard limit %#x", soft, hard)
	}
	OutboundKeyRow.IvMask.Put(row, 1<<64-1)
	if got := OutboundKeyRow.IvMask.Get(row); got != 1<<64-1 {
		t.Errorf("IV mask: %#x", got)
	}
	key := []byte("0123456789abcdef")
	OutboundKeyRow.Key.PutBytes(row, bytes.Repeat([]byte{0xff}, 32))
	OutboundKeyRow.Key.PutBytes(row, key)
	n := number(row)
	for i := range 32 {
		want := uint64(0)
		if i < len(key) {
			want = uint64(key[i])
		}
		got := new(big.Int).And(new(big.Int).Rsh(n, uint(OutboundKeyRow.Key.LSB+8*i)), big.NewInt(255)).Uint64()
		if got != want {
			t.Errorf("byte %d of the key: %#x, not %#x", i, got, want)
		}
	}
	flow := make([]uint32, InnerTableFlow.Words())
	FlowRow.SrcAddr.PutBytes(flow, bytes.Repeat([]byte{0xff}, 16))
	FlowRow.DstAddr.PutBytes(flow, bytes.Repeat([]byte{0xff}, 16))
	FlowRow.DstAddr.PutBytes(flow, []byte{0x01, 0x02, 0x00, 0x0a})
	if flow[3] != 0xffffffff || flow[4] != 0x0a000201 || flow[5]|flow[6]|flow[7]|flow[8] != 0 {
		t.Errorf("addresses: %#x", flow)
	}
	mac := []byte{1, 2, 3, 4, 5, 6}
	hop := make([]uint32, OuterTableNextHop.Words())
	NextHopRow.Valid.Put(hop, 1)
	NextHopRow.Mac.PutBytes(hop, mac)
	if hop[0] != 0x04030201 || hop[1] != 0x00010605 {
		t.Errorf("next hop: %#x", hop)
	}
}

func TestWhatDoesNotFitPanics(t *testing.T) {
	mustPanic := func(name string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s was taken", name)
			}
		}()
		f()
	}
	row := make([]uint32, 8)
	mustPanic("a port of 65536", func() { FlowRow.SrcPort.Put(row, 65536) })
	mustPanic("a MAC of 7 bytes", func() { NextHopRow.Mac.PutBytes(row, make([]byte, 7)) })
}

func TestCountersAreOrderedByIndex(t *testing.T) {
	for chip, counters := range map[string][]Counter{"inner": InnerCounters, "crypto": CryptoCounters, "outer": OuterCounters} {
		for i, c := range counters {
			if int(c.Index) != i {
				t.Errorf("%s: %s has index %d at place %d", chip, c.Name, c.Index, i)
			}
		}
	}
}
