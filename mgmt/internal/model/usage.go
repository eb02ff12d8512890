// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// Usage is the count of an SA or a policy, and the limits that an SA has reached.
type Usage struct {
	Bytes, Packets  uint64
	Warned, Expired bool
}

// String prints as iproute2 does, without times.
func (u Usage) String() string {
	return fmt.Sprintf("\tlifetime current:\n\t  %d(bytes), %d(packets)\n", u.Bytes, u.Packets)
}

// Meter reads the counts of an SA, and of the usage row of an outbound policy.
type Meter interface {
	OfSA(sa *SA) (Usage, error)
	OfRow(row int) (Usage, error)
}

// UsageOf reads what an SA has carried.
func (sa *SA) UsageOf(meter Meter) (Usage, error) {
	if sa.Fresh {
		return Usage{}, nil
	}
	return meter.OfSA(sa)
}

// UsageOfPolicy reads the count of a policy: an outbound one's from its own row, and that of an
// inbound one that names SAs as the sum of theirs. The outer chip's rules have no counts.
func (m *Model) UsageOfPolicy(p *Policy, meter Meter) (sum Usage, known bool, err error) {
	if p.Dir != xfrm.DirOut {
		if p.Template == nil {
			return Usage{}, false, nil
		}
		for _, sa := range m.Named(p, xfrm.DirIn) {
			used, err := sa.UsageOf(meter)
			if err != nil {
				return Usage{}, false, err
			}
			sum.Bytes += used.Bytes
			sum.Packets += used.Packets
		}
		return sum, true, nil
	}
	if p.Fresh || p.Usage == 0 {
		return Usage{}, p.Fresh, nil
	}
	sum, err = meter.OfRow(p.Usage)
	return sum, err == nil, err
}

// CheckTimeless refuses new SAs with limits in time, which the chips do not keep.
func (m *Model) CheckTimeless() error {
	for _, sa := range m.Changes.Added() {
		if sa.Time.Given() {
			return xfrm.Errorf(sa.Pos, "the SA spi 0x%x has a limit in time, which sallyportd keeps: load it through sallyportd, or leave the limit out", sa.SPI)
		}
	}
	return nil
}

// Reached reports which of two limits are reached, in seconds since the SA was added and first
// used. If the clock was set back to before then, no time has passed.
func (sa *SA) Reached(now int64, sinceAdded, sinceUsed uint64) string {
	after := func(start int64, limit uint64) bool {
		return start != 0 && limit != 0 && now >= start && uint64(now-start) >= limit
	}
	var of []string
	if after(sa.Added, sinceAdded) {
		of = append(of, "time")
	}
	if after(sa.Used, sinceUsed) {
		of = append(of, "time-use")
	}
	return strings.Join(of, ",")
}
