// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

// TestQuestionsAreBounded: however many flows there are.
func TestQuestionsAreBounded(t *testing.T) {
	q, now := newQuestions(), time.Unix(1_700_000_000, 0)
	flow := func(n int) question {
		return question{flow: xfrm.Selector{Src: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32)}}
	}
	for n := range mostAsked {
		if !q.add(flow(n), now) {
			t.Fatal(n)
		}
	}
	if q.add(flow(mostAsked), now.Add(AskAgain-1)) || q.waiting(flow(mostAsked), now) {
		t.Error("one too many")
	}
	if !q.add(flow(mostAsked), now.Add(AskAgain)) || q.Len() != 1 || q.waiting(flow(0), now) {
		t.Errorf("%d are left", q.Len())
	}
}

// TestQuestionsOfNetworks: flows of one network, however many, keep no other network from asking
// for SAs. It asks for no more than its share itself.
func TestQuestionsOfNetworks(t *testing.T) {
	r := newRig(t, 0)
	now := time.Unix(1_700_000_000, 0)
	r.now = func() time.Time { return now } // none is long ago
	frames := make(chan Punted)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	asks := map[int]int{}
	go func() {
		done <- r.teller.eachFlow(ctx, frames, func(frame Punted, _ xfrm.Selector, note func() bool) error {
			if note() {
				asks[frame.Network]++
			}
			return nil
		})
	}()
	const few = 20
	for sport := range uint16(2 * mostAsked) {
		frames <- Punted{asked(t, sport), 1}
	}
	for sport := range uint16(few) {
		frames <- Punted{asked(t, sport), 2}
		frames <- Punted{asked(t, mostAsked+sport), 1}
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if asks[1] != mostAsked || asks[2] != few {
		t.Errorf("flows asked, by network: %v", asks)
	}
	if _, _, refused := r.teller.tallies.Counted(); refused[1] != mostAsked+few || refused[2] != 0 {
		t.Errorf("packets refused, by network: %v", refused)
	}
}
