// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

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
