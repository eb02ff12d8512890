// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// clocked is a rig whose daemons have a clock of their own.
type clocked struct {
	*rig
	now     time.Time
	monitor *line
}

func newClocked(t *testing.T) *clocked {
	c := &clocked{rig: newRig(t), now: time.Unix(1_800_000_000, 0)}
	c.wind()
	return c
}

// wind gives the clock to the daemon that runs now, and listens to its events.
func (c *clocked) wind() {
	clock := func() time.Time { return c.now }
	c.daemon.now, c.daemon.session.Now = clock, clock
	c.monitor = c.dial()
	c.monitor.ask(`{"id":1,"do":"monitor"}`)
}

// after lets time pass and has the daemon look at its limits.
func (c *clocked) after(d time.Duration) {
	c.t.Helper()
	c.now = c.now.Add(d)
	c.daemon.mu.Lock()
	defer c.daemon.mu.Unlock()
	if err := c.daemon.age(); err != nil {
		c.t.Fatal(err)
	}
}

// told says that the next event is that expire, and that there has been no other.
func (c *clocked) told(spi int, hard bool, limit string) {
	c.t.Helper()
	want := fmt.Sprintf(`"spi":%d,"reqid":1,"dir":"%s","hard":%t,"limit":"%s"}`, spi, map[int]string{0x1001: "out", 0x2001: "in"}[spi], hard, limit)
	if text := c.monitor.next(); !strings.HasPrefix(text, `{"event":"expire",`) || !strings.HasSuffix(text, want) {
		c.t.Errorf("%s, want …%s", text, want)
	}
}

func (c *clocked) events() uint64 { return c.daemon.events.Counted()[events.EventExpire] }

func limited(limits string) []string {
	lines := append([]string{}, tunnel...)
	lines[1] += " " + limits
	return lines
}

// TestTimeSinceAdded: an SA warns once at its soft limit and is deleted at its hard one, to the
// second, whatever restarts in between.
func TestTimeSinceAdded(t *testing.T) {
	c := newClocked(t)
	c.must(limited("limit time-soft 60 limit time-hard 100")...)
	if text := fmt.Sprint(c.get("list", `,"what":"state"`)["items"]); !strings.Contains(text, "\t  expire add: soft 60(sec), hard 100(sec)\n\t  expire use: soft 0(sec), hard 0(sec)\n") {
		t.Error(text)
	}
	c.after(59 * time.Second)
	c.same("before", c.events(), 0)
	c.after(time.Second)
	c.told(0x1001, false, "time")
	c.after(time.Second)
	c.same("told once", c.events(), 1)
	c.restart()
	c.wind()
	c.after(38 * time.Second)
	c.same("told by the daemon before", c.events(), 0)
	c.same("count", c.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 2\n")
	c.after(time.Second)
	c.told(0x1001, true, "time")
	c.same("count", c.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 1\n")
	if rows := c.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey); len(rows) != 0 {
		t.Error("its key is on the chip")
	}
	c.after(time.Hour)
	c.same("nothing more", c.events(), 1)
}

// TestTimeSinceUsed: the time runs from when an SA was first seen to have carried a packet, and
// goes on over a restart.
func TestTimeSinceUsed(t *testing.T) {
	c := newClocked(t)
	c.must(limited("limit time-use-soft 5 limit time-use-hard 10 limit time-hard 100000")...)
	c.after(time.Hour)
	c.same("unused", c.events(), 0)
	row := make([]uint32, regs.InnerTableOutboundUsage.Words())
	regs.SaUsageRow.Packets.Put(row, 1)
	c.fake.Table(transport.Inner, regs.InnerTableOutboundUsage)[0] = row
	c.after(time.Second) // from here
	c.after(4 * time.Second)
	c.same("before", c.events(), 0)
	c.restart()
	c.wind()
	c.after(time.Second)
	c.told(0x1001, false, "time-use")
	c.after(5 * time.Second)
	c.told(0x1001, true, "time-use")
	c.same("count", c.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 1\n")
}

// TestTimePassedWithoutADaemon: what should have gone while no daemon ran goes when one starts;
// both limits at once are the hard one alone.
func TestTimePassedWithoutADaemon(t *testing.T) {
	c := newClocked(t)
	c.must(limited("limit time-soft 60 limit time-hard 100 limit time-use-hard 7")...)
	c.restart()
	c.wind()
	c.after(1000 * time.Second)
	c.told(0x1001, true, "time")
	// A new SA of that name has a time of its own.
	c.must(otherKey(limited("limit time-hard 100")[1]))
	c.after(99 * time.Second)
	c.now = c.now.Add(-time.Hour) // a clock that is set back ends nothing
	c.after(time.Second)
	c.same("events", c.events(), 1)
	c.now = c.now.Add(time.Hour)
	c.after(time.Second)
	c.told(0x1001, true, "time")
}

// TestExpiredIsTold: a client that missed an event learns of the limit when it asks; limits of time
// and of packets and bytes.
func TestExpiredIsTold(t *testing.T) {
	c := newClocked(t)
	c.must(limited("limit time-soft 60 limit time-hard 100")...)
	expired := func() any { return c.get("query-state", `,"dst":"192.0.2.2","proto":"esp","spi":4097`)["expired"] }
	c.same("new", expired(), nil)
	c.after(60 * time.Second)
	c.same("soft", expired(), "soft")
	c.now = c.now.Add(40 * time.Second)
	c.same("hard", expired(), "hard")
	c.must("xfrm state flush")
	c.must(otherKey(tunnel[1]))
	row := make([]uint32, regs.InnerTableOutboundUsage.Words())
	for _, limit := range []struct {
		bit  regs.Field
		want string
	}{{regs.SaUsageRow.Warned, "soft"}, {regs.SaUsageRow.Expired, "hard"}} {
		limit.bit.Put(row, 1)
		c.fake.Table(transport.Inner, regs.InnerTableOutboundUsage)[0] = row
		c.same("carried", expired(), limit.want)
	}
}

// TestEndOneByOne: an SA that cannot be deleted keeps no other alive.
func TestEndOneByOne(t *testing.T) {
	c := newClocked(t)
	c.must(limited("limit time-hard 100")...)
	hard, here := true, netip.MustParseAddr("192.0.2.1")
	absent := events.Event{Kind: events.EventExpire, Src: here, Dst: netip.MustParseAddr("192.0.2.9"), Proto: "esp", SPI: 9, Hard: &hard}
	present := absent
	present.Dst, present.SPI, present.ReqID, present.Dir, present.Limit = netip.MustParseAddr("192.0.2.2"), 0x1001, 1, "out", "time"
	c.daemon.mu.Lock()
	if err := c.daemon.end([]events.Event{absent, present}); err != nil {
		t.Error(err)
	}
	c.daemon.mu.Unlock()
	c.told(0x1001, true, "time")
	if log := c.log.String(); strings.Count(log, "cannot be deleted") != 1 || !strings.Contains(log, "spi 0x00000009") {
		t.Error(log)
	}
}

// TestErasedWhileItEnds: a tamper pulse anywhere in the deletion of an SA that has reached its
// limit does not end the daemon, and the box is restored.
func TestErasedWhileItEnds(t *testing.T) {
	erased := 0
	for before := 1; ; before += 5 {
		c := newClocked(t)
		c.must(limited("limit time-hard 100")...)
		c.now = c.now.Add(100 * time.Second)
		c.fake.PulseAfter = before
		err := c.daemon.age()
		if errors.Is(err, chip.ErrErased) {
			erased++
		}
		if c.daemon.outlive(err) != nil {
			t.Fatalf("erased before access %d: %v", before, err)
		}
		if c.fake.PulseAfter > 0 {
			if erased == 0 {
				t.Error("no erasure met the deletion")
			}
			return
		}
		c.poll()
		c.same("restarts", c.daemon.events.Counted()[events.EventRestart], 1)
	}
}

// TestHardLimitOnAFullDisk: clients are told once of an SA that has reached its hard limit, though
// no journal can be written and the SA stays until there is room. The log says once why.
func TestHardLimitOnAFullDisk(t *testing.T) {
	c := newClocked(t)
	c.must(limited("limit time-soft 60 limit time-hard 100")...)
	mend := c.blockJournal()
	after := func(d time.Duration) {
		t.Helper()
		c.now = c.now.Add(d)
		c.daemon.mu.Lock()
		defer c.daemon.mu.Unlock()
		if err := c.daemon.outlive(c.daemon.age()); err != nil {
			t.Fatal(err)
		}
	}
	after(60 * time.Second)
	c.told(0x1001, false, "time")
	after(40 * time.Second)
	c.told(0x1001, true, "time")
	after(time.Second)
	c.same("the event of the disk", c.monitor.next(), `{"event":"disk","ok":false}`)
	c.same("told once", c.events(), 2)
	c.same("it stays", c.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 2\n")
	if n := strings.Count(c.log.String(), "cannot write the journal"); n != 1 {
		t.Errorf("the log says %d times why\n%s", n, c.log)
	}
	mend()
	after(time.Second)
	c.same("it is gone", c.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 1\n")
	c.same("the event of the disk", c.monitor.next(), `{"event":"disk","ok":true}`)
	c.same("told once", c.events(), 2)
	// A new SA of that name is told of anew.
	c.must(otherKey(limited("limit time-hard 100")[1]))
	after(100 * time.Second)
	c.told(0x1001, true, "time")
}
