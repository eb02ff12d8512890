// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/peertest"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// half is a box of a pair, without the network between the daemons.
type half struct {
	*rig
	clock time.Time
	sent  int
	known *peer.Identity
}

func newHalf(t *testing.T, side peer.Side) *half {
	h := &half{rig: newRig(t), clock: time.Unix(1_000_000, 0)}
	h.join(side)
	return h
}

func (h *half) join(side peer.Side) {
	h.t.Helper()
	h.daemon.now = func() time.Time { return h.clock }
	h.known, _ = peertest.Pair(h.t)
	p := &Pair{Side: side, Identity: func() *peer.Identity { return h.known }, Interval: time.Second, Dead: 3 * time.Second, Rate: 1000, Send: func(uint8, []byte) error { h.sent++; return nil }}
	p.claim = func(context.Context) error { return nil }
	if err := h.daemon.JoinPair(p); err != nil {
		h.t.Fatal(err)
	}
}

// hear gives this box what the other says, asked for just now, and has it act.
func (h *half) hear(other *half) {
	h.t.Helper()
	if err := other.daemon.readOwnNumbers(); err != nil {
		h.t.Fatal(err)
	}
	h.daemon.heard(other.daemon.pair.facts.Status(h.clock))
	if err := h.daemon.heardNumbers(other.daemon.pair.own.Load().numbers, h.clock); err != nil {
		h.t.Fatal(err)
	}
	h.step()
}

func (h *half) step() {
	h.t.Helper()
	if err := h.daemon.stepPair(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

// later is after a time without an answer.
func (h *half) later(d time.Duration) {
	h.t.Helper()
	h.clock = h.clock.Add(d)
	h.daemon.unheard(errors.New("no answer"))
	h.step()
}

// is checks whether the box is active: the daemon's word, and whether the ports are open.
func (h *half) is(active bool) {
	h.t.Helper()
	want := uint32(0)
	if active {
		want = 3
	}
	inner, outer := h.fake.Get(transport.Inner, regs.InnerControl)&3, h.fake.Get(transport.Outer, regs.OuterControl)&3
	if h.daemon.pair.facts.Status(h.clock).Active != active || inner != want || outer != want {
		h.t.Errorf("active %t, ports %x and %x; want active %t", h.daemon.pair.facts.Status(h.clock).Active, inner, outer, active)
	}
}

func (h *half) number(table regs.Table) uint64 {
	words := h.fake.Table(transport.Crypto, table)[0]
	if words == nil {
		return 0
	}
	return regs.OutboundNumberRow.Last.Get(words)
}

func (h *half) use(number uint64) {
	h.get("advance", `,"dst":"192.0.2.2","proto":"esp","spi":4097,"number":`+strconv.FormatUint(number, 10))
}

// TestTakeOverOfLostNumber: a number that is lost to flipped bits reads as all ones. The box that
// takes over goes on behind the highest number that its SA can have.
func TestTakeOverOfLostNumber(t *testing.T) {
	a, b := newHalf(t, peer.SideA), newHalf(t, peer.SideB)
	b.hear(a)
	a.hear(b)
	a.must(tunnel...)
	b.must(tunnel...)
	row := a.fake.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[0]
	if row == nil {
		row = make([]uint32, regs.CryptoTableOutboundNumber.Words())
		a.fake.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[0] = row
	}
	regs.OutboundNumberRow.Last.Put(row, math.MaxUint64)
	b.hear(a)
	b.later(3500 * time.Millisecond)
	b.is(true)
	if n := b.number(regs.CryptoTableOutboundNumber); n != math.MaxUint32 {
		t.Errorf("b goes on behind %d", n)
	}
}

// TestTakeOverOfNode: each packet of a node costs as many numbers as there are nodes. If they are
// more than a receiver can follow, the SAs go.
func TestTakeOverOfNode(t *testing.T) {
	for _, c := range []struct {
		seconds time.Duration
		behind  uint64
	}{{3500 * time.Millisecond, 5000 + 128*3501}, {17000 * time.Second, 0}} {
		a, b := newHalf(t, peer.SideA), newHalf(t, peer.SideB)
		b.hear(a)
		a.hear(b)
		shared := slices.Clone(tunnel)
		for i, line := range shared {
			shared[i] = strings.Replace(line, "spi 0x1001 reqid 1", "spi 0x1001 reqid 1 node 1 of 128", 1)
		}
		a.must(shared...)
		b.must(shared...)
		a.use(5000)
		b.hear(a)
		b.later(c.seconds)
		b.is(true)
		if n := b.number(regs.CryptoTableOutboundNumber); n != c.behind {
			t.Errorf("after %s b goes on behind %d, not %d", c.seconds, n, c.behind)
		}
		if sas := len(b.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)); (sas == 0) != (c.behind == 0) {
			t.Errorf("after %s b has %d outbound SAs", c.seconds, sas)
		}
	}
}

// TestTakeOver: of two boxes a begins; b takes its place when it is silent, with numbers above all
// that a can have used since it was asked last.
func TestTakeOver(t *testing.T) {
	a, b := newHalf(t, peer.SideA), newHalf(t, peer.SideB)
	b.hear(a)
	b.is(false)
	a.hear(b)
	a.must(tunnel...)
	b.must(tunnel...)
	a.is(true)
	b.is(false)
	if n := a.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]; regs.OutboundKeyRow.IvMask.Get(n) != 0 {
		t.Error("side a has the IVs of b")
	}
	if n := b.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]; regs.OutboundKeyRow.IvMask.Get(n) != 1<<63 {
		t.Error("side b has not its own IVs")
	}

	a.use(5000)
	b.hear(a)
	// A box that was reset tells nothing any more; the numbers that it told before are
	// not forgotten.
	if err := b.daemon.heardNumbers(nil, b.clock); err != nil {
		t.Fatal(err)
	}
	if n := b.number(regs.CryptoTableOutboundNumber); n != 0 {
		t.Errorf("a box that stands by is at %d", n)
	}
	b.later(2 * time.Second)
	b.is(false)
	b.later(1500 * time.Millisecond)
	b.is(true)
	if n := b.number(regs.CryptoTableOutboundNumber); n != 5000+3500+1 { // 1000 a second
		t.Errorf("b goes on behind %d", n)
	}
	if n := b.number(regs.CryptoTableInboundNumber); n != 3501 {
		t.Errorf("b receives from %d on", n)
	}
	window := regs.ReplayRow.Top.Get(b.fake.Table(transport.Inner, regs.InnerTableReplay)[0])
	if window != 3501 {
		t.Errorf("the window is behind %d", window)
	}
	// Both of b's addresses, once now and twice more.
	for range 4 {
		b.later(time.Second)
	}
	if b.sent != announcements {
		t.Errorf("%d announcements of one address", b.sent)
	}

	// a comes back after it was cut off: b stands by, and a goes on behind what b sent.
	b.use(20000)
	b.hear(a)
	b.is(false)
	a.daemon.heard(peer.Status{Side: peer.SideB, Active: true}) // as b said before
	a.daemon.heard(b.daemon.pair.facts.Status(b.clock))
	a.clock = a.clock.Add(time.Second)
	a.hear(b)
	a.is(true)
	if n := a.number(regs.CryptoTableOutboundNumber); n != 20000 {
		t.Errorf("a goes on behind %d", n)
	}
}

// TestTakeOverBlind: a take-over deletes the SAs without a report of how far they were used, and
// those whose report is too old.
func TestTakeOverBlind(t *testing.T) {
	b := newHalf(t, peer.SideB)
	b.must(tunnel...)
	b.later(4 * time.Second)
	b.is(true)
	b.same("SAs", len(b.get("list", `,"what":"state"`)["items"].([]any)), 0)

	a := newHalf(t, peer.SideA)
	c := newHalf(t, peer.SideB)
	a.hear(c)
	a.must(tunnel...)
	c.must(tunnel...)
	c.hear(a)
	c.daemon.pair.Rate = 1 << 30
	c.later(4 * time.Second)
	c.is(true)
	c.same("SAs", len(c.get("list", `,"what":"state"`)["items"].([]any)), 0)
	if !strings.Contains(c.log.String(), "it is not known how far") {
		t.Error("the log says nothing")
	}
}

// blockJournal keeps the daemon from writing a journal, as a full disk does, until mend.
func (r *rig) blockJournal() (mend func()) {
	r.t.Helper()
	path := filepath.Join(r.dir, "state.json.journal.new")
	if err := os.Mkdir(path, 0o700); err != nil {
		r.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestTakeOverOnAFullDisk: a box with a full disk takes over SAs whose numbers it knows, those with
// windows too. While it cannot delete SAs whose numbers it does not know, it takes no place, and
// says so once, in the log and by an event.
func TestTakeOverOnAFullDisk(t *testing.T) {
	a, b := newHalf(t, peer.SideA), newHalf(t, peer.SideB)
	b.hear(a)
	a.hear(b)
	a.must(tunnel...)
	b.must(tunnel...)
	b.hear(a)
	b.blockJournal()
	b.later(4 * time.Second)
	b.is(true)
	window := regs.ReplayRow.Top.Get(b.fake.Table(transport.Inner, regs.InnerTableReplay)[0])
	if out, in := b.number(regs.CryptoTableOutboundNumber), b.number(regs.CryptoTableInboundNumber); out != 4001 || in != 4001 || window != 4001 {
		t.Errorf("b goes on behind %d, and receives from %d on, its window from %d", out, in, window)
	}

	c := newHalf(t, peer.SideB)
	c.must(tunnel...)
	monitor := c.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	mend := c.blockJournal()
	for range 3 {
		c.clock = c.clock.Add(4 * time.Second)
		c.daemon.unheard(errors.New("no answer"))
		if err := c.daemon.outlive(c.daemon.stepPair(t.Context())); err != nil {
			t.Fatal(err)
		}
		c.is(false)
	}
	if n := strings.Count(c.log.String(), "the place in the pair is not taken: it is not known how far the SAs were used, and they cannot be deleted: cannot write the journal"); n != 1 {
		t.Errorf("the log says %d times why the place is not taken\n%s", n, c.log)
	}
	c.same("the event", monitor.next(), `{"event":"disk","ok":false}`)
	mend()
	c.later(time.Second)
	c.is(true)
	c.same("SAs", len(c.get("list", `,"what":"state"`)["items"].([]any)), 0)
	c.same("the event", monitor.next(), `{"event":"disk","ok":true}`)
}

// TestPairStarts: a box whose ports are open when its daemon starts is active; of two of one side
// none is active.
func TestPairStarts(t *testing.T) {
	a, b := newHalf(t, peer.SideA), newHalf(t, peer.SideB)
	a.hear(b)
	a.must(tunnel...)
	a.restart()
	a.join(peer.SideA)
	a.is(true)
	b.hear(a)
	b.is(false)
	a.daemon.heard(a.daemon.pair.facts.Status(a.clock))
	a.step()
	if !strings.Contains(a.log.String(), "both boxes of the pair are of one side") {
		t.Error(a.log)
	}
	a.is(false)
}

// TestBlind: a passive box whose certificates are out of time could hear no other, so none counts
// as silent. An active one forwards on.
func TestBlind(t *testing.T) {
	h, folder := newHalf(t, peer.SideB), t.TempDir()
	h.must(tunnel...)
	known := h.known
	for name, ends := range map[string][2]time.Duration{"own": {-time.Minute, time.Hour}, "trust": {time.Hour, -time.Minute}} {
		certtest.Write(t, folder, name, ends[0])
		certtest.Write(t, folder, "other", ends[1])
		h.known = peertest.Identity(t, folder, name, "other", "other")
		h.later(h.daemon.pair.Dead)
		h.is(false)
	}
	if log := h.log.String(); strings.Count(log, "its place is not taken") != 1 {
		t.Error(log)
	}
	blind := h.known
	h.known = known
	h.step()
	h.is(true)
	h.known = blind
	h.later(h.daemon.pair.Dead)
	h.is(true)
}
