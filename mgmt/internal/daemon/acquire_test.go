// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

// asked is a UDP packet of one flow, as scapy makes it but for the checksums.
func asked(t *testing.T, sport uint16) []byte {
	t.Helper()
	frame, err := hex.DecodeString(fmt.Sprintf("020000000072020000000099"+"08004500001f00010000401166b90a0100090a020009%04x0009000b0000616263", sport))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestAcquire: a flow without an SA is one event a second, and its frames go nowhere; what a policy
// punts is Linux's.
func TestAcquire(t *testing.T) {
	r := newRig(t)
	now := time.Unix(1_700_000_000, 0)
	r.daemon.now = func() time.Time { return now }
	r.must(tunnel[0], "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp sport 5 dir out priority 4 action punt")
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	frames, delivered := make(chan []byte), make(chan []byte)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.daemon.answerAsking(ctx, frames, func(frame []byte) error { delivered <- frame; return nil }, answers{})
	}()
	event := func(sport int) {
		t.Helper()
		want := fmt.Sprintf(`{"event":"acquire","src":"10.1.0.9","dst":"10.2.0.9","proto":17,"reqid":7,"policy":"src 10.1.0.0/16 dst 10.2.0.0/16","sport":%d,"dport":9}`, sport)
		if got := monitor.next(); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
	for range 3 {
		frames <- asked(t, 7)
	}
	frames <- asked(t, 8)
	frames <- asked(t, 5)
	if got := <-delivered; !bytes.Equal(got, asked(t, 5)) {
		t.Errorf("delivered %x", got)
	}
	event(7)
	event(8)
	// The frame of port 5 came behind all the others, so those have been seen to.
	now = now.Add(askAgain)
	frames <- asked(t, 7)
	event(7)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if count := r.daemon.events.counted()["acquire"]; count != 3 {
		t.Errorf("%d events", count)
	}
	if !strings.Contains(r.log.String(), "Acquire src 10.1.0.9 dst 10.2.0.9 proto 17 sport 7 dport 9 policy src 10.1.0.0/16 dst 10.2.0.0/16 reqid 7") {
		t.Error(r.log)
	}
}

// TestQuestionsAreBounded: however many flows there are.
func TestQuestionsAreBounded(t *testing.T) {
	q, now := questions{}, time.Unix(1_700_000_000, 0)
	flow := func(n int) xfrm.Selector {
		return xfrm.Selector{Src: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32)}
	}
	for n := range mostAsked {
		if !q.add(flow(n), now) {
			t.Fatal(n)
		}
	}
	if q.add(flow(mostAsked), now.Add(askAgain-1)) || q.waiting(flow(mostAsked), now) {
		t.Error("one too many")
	}
	if !q.add(flow(mostAsked), now.Add(askAgain)) || len(q) != 1 || q.waiting(flow(0), now) {
		t.Errorf("%d are left", len(q))
	}
}
