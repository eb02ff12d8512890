// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math"
	"testing"

	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

func TestEveryRateIsWithinHalfAStep(t *testing.T) {
	for _, core := range []clock.Clock{300_000, 250_000} {
		step := float64(core.Hz()) / (1 << 26)
		for rate := uint32(xfrm.MinPuntRate); rate <= xfrm.MaxPuntRate; rate += 97 {
			field := bucketValue(model.Limit{Rate: rate}, core)
			want := min(float64(rate), 0xffff*step)
			if field == 0 || field > 0xffff || math.Abs(float64(field)*step-want) > step/2+1e-6 {
				t.Fatalf("%d packets/s became %d at %d kHz", rate, field, core)
			}
		}
		if got := bucketValue(model.Limit{Rate: xfrm.MaxPuntRate}, core); got != 0xffff {
			t.Errorf("the highest rate is 0x%x at %d kHz", got, core)
		}
	}
}
