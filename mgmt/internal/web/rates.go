// SPDX-License-Identifier: Apache-2.0

package web

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Load is the traffic of a port, per second of its chip's clock. Bits are those of frames from
// destination address to FCS.
type Load struct {
	Bits   float64 `json:"bits"`
	Frames float64 `json:"frames"`
}

// Rates are those of the time between two samples. A nil rate is unknown, because a chip was reset
// in between.
type Rates struct {
	RedIn    *Load    `json:"red_in"`
	RedOut   *Load    `json:"red_out"`
	BlackIn  *Load    `json:"black_in"`
	BlackOut *Load    `json:"black_out"`
	Encrypt  *float64 `json:"drops_encrypt"` // packets/s that were dropped, or lost between chips
	Decrypt  *float64 `json:"drops_decrypt"`
}

// Drop is a counter of packets that were dropped or lost, and is not 0.
type Drop struct {
	Chip  string   `json:"chip"`
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	Total uint64   `json:"total,string"`
	Rate  *float64 `json:"rate"`
}

// change is what a chip counted between two samples, per second.
type change struct {
	rates []float64 // by counter, 0 of a gauge; nil if the chip was reset
}

// between compares two samples of a chip with these counters. Its own clock is the measure: in
// simulation no other means anything.
func between(list []regs.Counter, before, after daemon.ChipSample) change {
	if len(before.Counters) != len(after.Counters) || after.Cycles < before.Cycles {
		return change{}
	}
	seconds := float64(after.Cycles-before.Cycles) / float64(after.Clock.Hz())
	rates := make([]float64, len(after.Counters))
	for i, value := range after.Counters {
		if list[i].IsGauge() {
			continue
		}
		if value < before.Counters[i] {
			return change{}
		}
		if seconds > 0 {
			rates[i] = float64(value-before.Counters[i]) / seconds
		}
	}
	return change{rates}
}

func (c change) load(bytes, frames int) *Load {
	if c.rates == nil {
		return nil
	}
	return &Load{8 * c.rates[bytes], c.rates[frames]}
}

// ratesOf are those of a box.
func ratesOf(changes [3]change) Rates {
	inner, outer := changes[transport.Inner], changes[transport.Outer]
	return Rates{
		RedIn:    inner.load(regs.InnerCounterRxBytes, regs.InnerCounterRxFrames),
		RedOut:   inner.load(regs.InnerCounterTxBytes, regs.InnerCounterTxFrames),
		BlackIn:  outer.load(regs.OuterCounterRxBytes, regs.OuterCounterRxFrames),
		BlackOut: outer.load(regs.OuterCounterTxBytes, regs.OuterCounterTxFrames),
		Encrypt:  dropRate(changes, "encrypt"),
		Decrypt:  dropRate(changes, "decrypt"),
	}
}

func isDrop(counter regs.Counter) bool { return counter.Kind == "drop" || counter.Kind == "lost" }

// dropRate adds up the drops of a direction over the chips.
func dropRate(changes [3]change, path string) *float64 {
	sum := 0.0
	for c, list := range chip.CounterList {
		if changes[c].rates == nil {
			return nil
		}
		for i, counter := range list {
			if isDrop(counter) && counter.Path == path {
				sum += changes[c].rates[i]
			}
		}
	}
	return &sum
}

// dropsOf lists the drops by name.
func dropsOf(s daemon.Sample, changes [3]change) []Drop {
	out := []Drop{}
	for _, c := range transport.Chips {
		for i, counter := range chip.CounterList[c] {
			if total := s.Chips[c].Counters[i]; isDrop(counter) && total > 0 {
				drop := Drop{c.String(), counter.Name, counter.Path, total, nil}
				if rates := changes[c].rates; rates != nil {
					drop.Rate = &rates[i]
				}
				out = append(out, drop)
			}
		}
	}
	return out
}
