// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"time"
)

// Reassembly are the limits of what waits for fragments, of both ports alike. 0 is what the chips
// have after reset.
type Reassembly struct {
	Timeout   time.Duration `json:"timeout,omitempty"`
	PerSource uint32        `json:"per_source,omitempty"`
}

// What the chips have after reset: no limit of datagrams of one source.
const (
	resetTimeout   = 250 * time.Millisecond
	resetPerSource = 65535
)

func (r Reassembly) TimeoutOrDefault() time.Duration { return cmp.Or(r.Timeout, resetTimeout) }

func (r Reassembly) PerSourceOrDefault() uint32 { return cmp.Or(r.PerSource, resetPerSource) }

// timeoutText prints a time as it is read.
func timeoutText(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}
