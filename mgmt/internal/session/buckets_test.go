// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math"
	"testing"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

func TestEveryRateIsWithinHalfAStep(t *testing.T) {
	const step = 300e6 / (1 << 26)
	for rate := uint32(xfrm.MinPuntRate); rate <= xfrm.MaxPuntRate; rate += 97 {
		field := bucketValue(model.Limit{Rate: rate})
		if field == 0 || field > 0xffff || math.Abs(float64(field)*step-float64(rate)) > step/2+1e-6 {
			t.Fatalf("%d packets/s became %d", rate, field)
		}
	}
	if got := bucketValue(model.Limit{Rate: xfrm.MaxPuntRate}); got != 0xffff {
		t.Errorf("the highest rate is 0x%x", got)
	}
}
