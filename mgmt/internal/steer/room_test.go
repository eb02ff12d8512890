// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/session"
)

// TestNoRoom: if the chip has no room for all of Linux's routes, no packet takes another tunnel
// than that of its longest route: none is routed to any. Once there is room, all are.
func TestNoRoom(t *testing.T) {
	for _, change := range [][2]string{{"ipsec2", "other"}, {"ipsec2", "ipsec3"}, {"other", ""}} {
		b := newBox(t, sized(7, 5))
		b.Must(network + "xfrm policy add dir out" + tunnel(1) + state(1, 1) + "xfrm policy add dir out" + tunnel(2) + state(2, 2) + "xfrm policy add dir out" + tunnel(3) + state(3, 3))
		b.learn(toward("0.0.0.0/0", "other"), toward("20.0.0.0/8", change[0]))
		var all []learned.Change
		for k := range 1200 {
			all = append(all, toward(fmt.Sprintf("20.%d.%d.0/24", k*37%256, k/256*32+k%7), "ipsec1"))
		}
		goes := func(known []learned.Change) (all map[string]int, refused int) {
			all = map[string]int{}
			for _, c := range known {
				all[b.goes(c.Prefix.Addr().Next().String())]++
			}
			return all, b.model().FromLinux[learned.Steering].Refused()
		}
		closed := false
		for n := 0; n < len(all); n += 20 {
			b.learn(all[n : n+20]...)
			if n%200 == 0 || n > 400 && n < 600 {
				b.learn(toward("20.0.0.0/8", change[n/20%2]))
			}
			by, refused := goes(all[:n+20])
			if closed = refused > 0; closed && by["dropped "] != n+20 || !closed && by["0x1001 "] != n+20 {
				t.Fatalf("%v: %d routes, %d refused: packets go by %v", change, n+20, refused, by)
			}
		}
		if !closed {
			t.Error("room for 1200 routes")
		}
		b.sameAgain("without room")
		for n := 300; n < len(all); n += 20 {
			for i := n; i < n+20; i++ {
				all[i].Route = nil
			}
			b.learn(all[n : n+20]...)
		}
		// Routes without room are tried again from time to time.
		for r := range b.model().FromLinux[learned.Steering].All() {
			if r.Refused {
				b.learn(toward(r.Prefix.String(), map[bool]string{true: "other", false: "ipsec1"}[r.Prefix.Bits() == 0]))
			}
		}
		if by, refused := goes(all[:300]); refused > 0 || by["0x1001 "] != 300 {
			t.Errorf("%v: with room again %d are refused, and packets go by %v", change, refused, by)
		}
	}
}

// TestClearPolicies: a policy that lets clear packets pass does not go with routes that Linux may
// lose. Written routes do.
func TestClearPolicies(t *testing.T) {
	const allow = "xfrm policy add dst 10.9.0.0/16 dir out priority 9 action allow\n"
	b := newBox(t, sized(8, 5))
	b.Must(network + "xfrm policy add dir out" + tunnel(1) + state(1, 1) + "route add 10.2.0.0/16 dev ipsec1\n" + allow)
	if _, err := b.Daemon.LearnRoutes(learned.Steering, []learned.Change{toward("10.3.0.0/16", "ipsec1")}); !session.IsInput(err) || !strings.Contains(err.Error(), "a packet whose route is lost would leave in clear") {
		t.Error(err)
	}
	b.wants("10.2.0.1", "0x1001")
	b.wants("10.3.0.1", "dropped")
	b.Must("xfrm policy delete dst 10.9.0.0/16 dir out\n")
	b.learn(toward("10.3.0.0/16", "ipsec1"))
	b.wants("10.3.0.1", "0x1001")
	before := b.Snapshot()
	if err := b.Change(allow); err == nil || !strings.Contains(err.Error(), "Delete the policy, or write the routes") || b.Snapshot() != before {
		t.Error(err)
	}
}
