// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/peertest"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// boxes are two whose daemons ask each other over loopback. A box is dead after 2 s, for a busy
// machine may stall a test for 500 ms.
type boxes struct {
	t     *testing.T
	each  [2]*rig
	end   [2]func() // stops a daemon as SIGTERM does
	die   [2]func() // stops it as SIGKILL does
	fence atomic.Pointer[func() error]
}

func newBoxes(t *testing.T) *boxes {
	t.Helper()
	b := &boxes{t: t}
	a, other := peertest.Pair(t)
	identities := [2]*peer.Identity{a, other}
	var listeners [2]net.Listener
	var at [2]netip.AddrPort
	for i := range listeners {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[i], at[i] = listener, netip.MustParseAddrPort(listener.Addr().String())
	}
	for i := range b.each {
		b.each[i] = newRig(t)
		known := func() *peer.Identity { return identities[i] }
		p := &Pair{
			Side: []peer.Side{peer.SideA, peer.SideB}[i], Other: at[1-i], Identity: known, Client: peer.NewClient(at[1-i], at[i].Addr(), known),
			Interval: 50 * time.Millisecond, Dead: 2 * time.Second, Rate: 1000,
		}
		p.Fence = func(context.Context) error {
			if f := b.fence.Load(); f != nil {
				return (*f)()
			}
			return nil
		}
		if err := b.each[i].daemon.JoinPair(p); err != nil {
			t.Fatal(err)
		}
		b.run(i, listeners[i])
	}
	return b
}

func (b *boxes) run(i int, listener net.Listener) {
	d := b.each[i].daemon
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.ServePair(ctx, listener) })
	group.Go(func() error { return d.FollowPair(ctx) })
	group.Go(func() error {
		return every(ctx, 20*time.Millisecond, nil, func() error { d.mu.Lock(); defer d.mu.Unlock(); return d.poll() })
	})
	b.die[i] = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			b.t.Error(err)
		}
	})
	b.end[i] = func() {
		if err := d.LeavePair(); err != nil {
			b.t.Error(err)
		}
		b.die[i]()
	}
	b.t.Cleanup(b.die[i])
}

func (b *boxes) active(i int) bool { return b.each[i].daemon.pair.facts.Status(time.Now()).Active }

// until waits for something that is to be.
func (b *boxes) until(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("never: %s\n%s\n%s", what, b.each[0].log, b.each[1].log)
		}
	}
}

func (b *boxes) untilActive(i int) {
	b.t.Helper()
	b.until("active", func() bool { return b.active(i) && !b.active(1-i) })
}

const outbound = `,"dst":"192.0.2.2","proto":"esp","spi":4097`

func (b *boxes) number(i int) float64 {
	return b.each[i].get("query-state", outbound)["seq"].(float64)
}

// TestPairOverTheNetwork: one of two daemons that ask each other dies.
func TestPairOverTheNetwork(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	for _, r := range b.each {
		r.must(tunnel...)
	}
	b.each[0].get("advance", outbound+`,"number":1000000`)
	// b is to have asked since.
	told := func() bool {
		d := b.each[1].daemon
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, number := range d.pair.numbers {
			if number == 1000000 {
				return true
			}
		}
		return false
	}
	b.until("told", told)
	if n := b.number(1); n != 0 {
		t.Errorf("the box that stands by is at %f", n)
	}
	b.die[0]()
	b.until("active", func() bool { return b.active(1) })
	if n := b.number(1); n <= 1000000 {
		t.Errorf("the other goes on behind %f", n)
	}
}

// TestBusyIsNotDead: a box whose lock a change holds for many times dead_after stays active, and
// the other stands by.
func TestBusyIsNotDead(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	d := b.each[0].daemon
	d.mu.Lock()
	for end := time.Now().Add(3 * d.pair.Dead); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b.active(1) {
			t.Error("both boxes are active")
			break
		}
	}
	d.mu.Unlock()
	if !b.active(0) {
		t.Error("the box has lost its place")
	}
}

// TestStop: the active box closes its ports when its daemon stops, and the other is active before
// that ends, sooner than it takes to find a box dead.
func TestStop(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	fenced := func() error { return errors.New("a box that answers needs no fence") }
	b.fence.Store(&fenced)
	b.end[0]()
	if !b.active(1) || b.active(0) {
		t.Errorf("active: %t and %t", b.active(0), b.active(1))
	}
	(&half{rig: b.each[0], clock: time.Now()}).is(false)
}

// TestSwitch: the administrator moves the place there and back, and takes a box out of service.
func TestSwitch(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	b.until("given to b", func() bool { return b.each[0].daemon.giveWaySoon() == nil })
	b.untilActive(1)
	b.until("asked for by a", func() bool { return b.each[0].daemon.pair.Client.Yield(context.Background()) == nil })
	b.untilActive(0)
	b.until("maintained", func() bool { return b.each[0].daemon.pair.facts.Maintain(true, time.Now()) == nil })
	b.untilActive(1)
	b.until("refused", func() bool {
		err := b.each[1].daemon.giveWaySoon()
		return err != nil && strings.Contains(err.Error(), "it is being maintained")
	})
}

// TestFence: the place of a silent box is not taken before it is fenced.
func TestFence(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	refused := func() error { return errors.New("the outlet does not answer") }
	b.fence.Store(&refused)
	b.die[0]()
	b.until("refused", func() bool { return strings.Contains(b.each[1].log.String(), "the outlet does not answer") })
	if b.active(1) {
		t.Error("both boxes may be active")
	}
	b.fence.Store(nil)
	b.until("active", func() bool { return b.active(1) })
}

// TestLinkIsLost: the box whose link between chips fails gives its place to one that has all.
func TestLinkIsLost(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	b.each[0].fake.Behind(func() { b.each[0].fake.Set(transport.Crypto, regs.CommonStatus, 0b101) })
	b.untilActive(1)
	problems := b.each[0].daemon.pair.facts.Status(time.Now()).Problems
	if !slices.Contains(problems, "the link between the crypto chip and the inner one is down") {
		t.Errorf("%q", problems)
	}
}

// TestPortIsDark: so does one whose MAC has no signal.
func TestPortIsDark(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	var shells [2][3]*fakebox.Shell
	for i, r := range b.each {
		shells[i] = r.fake.AddShells()
	}
	for _, r := range b.each {
		d := r.daemon
		d.mu.Lock()
		d.health = health{}
		d.mu.Unlock()
	}
	b.each[0].fake.Behind(func() { shells[0][transport.Outer].Set(regs.ShellMacState, 0, 0) })
	b.untilActive(1)
}

// TestPairRequest: the administrator sees both boxes and moves the place, at either; a box that is
// alone has no pair.
func TestPairRequest(t *testing.T) {
	b := newBoxes(t)
	b.untilActive(0)
	ask := func(i int, verb string) map[string]any { return b.each[i].get("pair", `,"verb":"`+verb+`"`) }
	b.until("both seen", func() bool {
		a, other := ask(0, "status"), ask(1, "status")
		own, seen := other["active"], other["other"]
		return a["side"] == "a" && a["active"] == true && own == false && seen != nil && seen.(map[string]any)["active"] == true
	})
	b.until("switched at the box that stands by", func() bool { return ask(1, "switch")["ok"] == true })
	b.untilActive(1)
	b.until("maintained", func() bool { return ask(1, "maintain")["ok"] == true })
	b.untilActive(0)
	b.until("refused", func() bool {
		answer := ask(0, "switch")
		return answer["ok"] == false && answer["input"] == true && strings.Contains(answer["error"].(string), "it is being maintained")
	})
	text := b.each[0].scrape()
	for _, want := range []string{`sallyport_pair_active{side="a"} 1`, `sallyport_pair_other_answers{side="a"} 1`, `sallyport_pair_maintained{side="a"} 0`, `sallyport_build_info{version="1.2.3"} 1`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if answer := ask(0, "explode"); answer["input"] != true {
		t.Errorf("%v", answer)
	}
	alone := newRig(t).get("pair", `,"verb":"status"`)
	if alone["error"] != "this box is alone: its configuration has no [peer]" {
		t.Errorf("%v", alone)
	}
}
