// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"fmt"
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// CounterList is the counters of each chip.
var CounterList = [3][]regs.Counter{regs.InnerCounters, regs.CryptoCounters, regs.OuterCounters}

const mostReads = 3

// Counters reads every counter of one chip, in the order of CounterList.
//
// The chip drops what it holds for too long, without any traffic. If that happens between two of
// the reads, it reads all anew, so the account of a chip at rest is exact. Under traffic no account
// is, and it reads mostReads times at most.
func (b *Box) Counters(c transport.Chip) ([]uint64, error) {
	gauges := slices.DeleteFunc(slices.Clone(CounterList[c]), func(counter regs.Counter) bool { return !counter.IsGauge() })
	before, err := b.CountersOf(c, gauges)
	if err != nil {
		return nil, err
	}
	for reads := 1; ; reads++ {
		values, err := b.CountersOf(c, CounterList[c])
		if err != nil {
			return nil, err
		}
		after, err := b.CountersOf(c, gauges)
		if err != nil {
			return nil, err
		}
		if slices.Equal(before, after) || reads == mostReads {
			return values, nil
		}
		before = after
	}
}

// CountersOf reads some counters of one chip.
func (b *Box) CountersOf(c transport.Chip, list []regs.Counter) ([]uint64, error) {
	if built := b.Capabilities[c].Counters; built != len(CounterList[c]) {
		return nil, fmt.Errorf("the %s chip has %d counters, this program knows %d: they are of different versions; build both from one commit (make sim mgmt, or make mgmt and the bitstreams)", c, built, len(CounterList[c]))
	}
	ops := make([]transport.Op, 0, 3*len(list))
	for _, counter := range list {
		ops = append(ops, transport.Write(c, regs.CommonCounterIndex.Offset, counter.Index),
			transport.Read(c, regs.CommonCounterLo.Offset), transport.Read(c, regs.CommonCounterHi.Offset))
	}
	b.mu.Lock()
	err := b.t.Do(ops)
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	values := make([]uint64, len(list))
	for i := range list {
		values[i] = uint64(ops[3*i+2].Data)<<32 | uint64(ops[3*i+1].Data)
	}
	return values, nil
}

// Balance is the account of one path through one chip: every received packet left under a name.
type Balance struct {
	Chip     string `json:"chip"`
	Path     string `json:"path"`
	Received uint64 `json:"received"`
	Injected uint64 `json:"injected"`
	Split    uint64 `json:"split"`
	Sent     uint64 `json:"sent"`
	Punted   uint64 `json:"punted"`
	Dropped  uint64 `json:"dropped"`
	Merged   uint64 `json:"merged"`
	Held     uint64 `json:"held"`
	Lost     uint64 `json:"lost_before"`
	Balanced bool   `json:"balanced"`
}

// Arisen is the packets that came in, those that the management CPU put in and those that came out
// of others.
func (b Balance) Arisen() uint64 { return b.Received + b.Injected + b.Split }

// Accounted sums the packets whose outcome the chip has counted, and those that wait in it.
func (b Balance) Accounted() uint64 { return b.Sent + b.Punted + b.Dropped + b.Merged + b.Held }

// Balances adds up the counters of one chip by path.
func Balances(c transport.Chip, values []uint64) []Balance {
	var out []Balance
	for _, path := range []string{"encrypt", "decrypt"} {
		b := Balance{Chip: c.String(), Path: path}
		sums := map[string]*uint64{"received": &b.Received, "injected": &b.Injected, "sent": &b.Sent, "punted": &b.Punted, "drop": &b.Dropped,
			"merged": &b.Merged, "split": &b.Split, "held": &b.Held, "lost": &b.Lost}
		for i, counter := range CounterList[c] {
			if sum := sums[counter.Kind]; sum != nil && counter.Path == path {
				*sum += values[i]
			}
		}
		b.Balanced = b.Arisen() == b.Accounted()
		out = append(out, b)
	}
	return out
}
