// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/mgmt/internal/learned"
)

// planned is a box whose changes take time: a whole plan while a set closes or opens, and else
// little. One change comes behind another, and clients' own changes among them.
type planned struct {
	free          chan struct{} // has one while no change runs
	whole, little time.Duration
	busy          time.Duration // with the changes of followers
	plans         int           // whole ones
	asking, crowd int           // followers that wait for another change, and most of them
}

func newPlanned(whole, little time.Duration) *planned {
	p := &planned{free: make(chan struct{}, 1), whole: whole, little: little}
	p.free <- struct{}{}
	return p
}

// customer is such a box as what learns routes of one set.
type customer struct {
	*planned
	memory
	turns int
	own   time.Duration // that its changes took
	last  time.Time     // of its last change
}

func (c *customer) LearnRoutes(changes []learned.Change) (bool, time.Duration, error) {
	c.asking++ // one goroutine runs at a time
	c.crowd = max(c.crowd, c.asking)
	<-c.free
	c.asking--
	closed := c.has.Refused() > 0
	taken, _, err := c.memory.LearnRoutes(changes)
	took := c.little
	if c.has.Refused() > 0 != closed {
		took = c.whole
		c.plans++
	}
	time.Sleep(took)
	c.busy += took
	c.own += took
	c.turns++
	c.last = time.Now()
	c.free <- struct{}{}
	return taken, took, err
}

// followed are a box and followers of so many customers at work until the test's end.
type followed struct {
	*planned
	customers []*customer
	followers []*Follower
}

func follow(t *testing.T, ctx context.Context, box *planned, count int) *followed {
	all, pace := &followed{planned: box}, NewPace()
	for n := range count {
		c := &customer{planned: box, memory: memory{has: learned.New()}}
		f := newFollower(c, fmt.Sprint("customer ", n), true, newRoom(2), pace, slog.New(slog.DiscardHandler))
		f.tell(1)
		all.customers, all.followers = append(all.customers, c), append(all.followers, f)
		go func() {
			if err := f.apply(ctx); err != nil {
				t.Error(err)
			}
		}()
	}
	return all
}

// tell has Linux tell so many routes. There is room for two, and a third one closes the set.
func (f *Follower) tell(count int) {
	f.table.Begin()
	for n := range count {
		f.table.Change(told("&", fmt.Sprintf("10.%d.0.0/16", n), 20, "10.1.0.2"))
	}
	f.table.Dumped()
}

// flap has a follower's set close and open again and again.
func (f *Follower) flap(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		f.tell(1 + n%2*2)
		time.Sleep(700 * time.Millisecond)
	}
}

// inTime runs a test against a clock that goes as fast as nothing is left to do.
func inTime(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() {
			cancel()
			time.Sleep(time.Hour) // until all have ended
		}()
		test(t, ctx)
	})
}

// TestOnePace: however many customers have their sets close and open all the time, the box is busy
// with all of them a fifth of the time, and each has its turn. A client waits for one change at
// most.
func TestOnePace(t *testing.T) {
	for _, count := range []int{1, 2, 64} {
		inTime(t, func(t *testing.T, ctx context.Context) {
			const whole, hours = time.Second, 2 * time.Hour
			all := follow(t, ctx, newPlanned(whole, time.Millisecond), count)
			for _, f := range all.followers {
				go f.flap(ctx)
			}
			most := time.Duration(0)
			begun := time.Now()
			for time.Since(begun) < hours {
				asked := time.Now()
				<-all.free // a client's change
				most = max(most, time.Since(asked))
				all.free <- struct{}{}
				time.Sleep(777 * time.Millisecond)
			}
			t.Logf("%d customers: busy for %v of %v, with %d whole plans; a client waits for %v", count, all.busy, time.Since(begun), all.plans, most)
			// The second of Pace, and a turn that has run and whose rest has not.
			if share := time.Since(begun) / (idle + 1); all.busy > share+atOnce+whole || all.busy < share/2 {
				t.Errorf("%d customers: the box is busy for %v of %v", count, all.busy, time.Since(begun))
			}
			if most > whole || all.crowd > 1 {
				t.Errorf("%d customers: a client waits for %v, and %d followers at once", count, most, all.crowd)
			}
			few, many := all.busy, time.Duration(0)
			for _, c := range all.customers {
				few, many = min(few, c.own), max(many, c.own)
			}
			if fair := all.busy / time.Duration(count); few < fair/2 || many > 2*fair {
				t.Errorf("%d customers: one has had %v, and another %v", count, few, many)
			}
		})
	}
}

// TestQuietCustomer: a customer with a change now and then waits for no more than the plan that
// runs and the rest behind it, however many others have their sets close and open.
func TestQuietCustomer(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context) {
		const whole = time.Second
		all := follow(t, ctx, newPlanned(whole, time.Millisecond), 64)
		quiet, box := all.followers[63], all.customers[63]
		for _, f := range all.followers[:63] {
			go f.flap(ctx)
		}
		time.Sleep(20 * time.Minute)
		most, before := time.Duration(0), box.turns
		for n := range 200 {
			told := time.Now()
			quiet.tell(2 - n%2)
			time.Sleep(30 * time.Second)
			if box.turns != before+1 || box.has.Len() != 2-n%2 {
				t.Fatalf("change %d: the box has %d routes, by %d turns in 30 s", n, box.has.Len(), box.turns-before)
			}
			most, before = max(most, box.last.Sub(told)), box.turns
		}
		if t.Log("a change takes", most); most > (idle+1)*whole+whole/2 {
			t.Errorf("a change takes %v", most)
		}
	})
}

// TestLeaves: a follower that ends while it waits for its turn takes none, and holds up no other.
func TestLeaves(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context) {
		p := NewPace()
		order := ""
		run := func(ctx context.Context, name string, took time.Duration) {
			one := newTurns()
			if err := p.do(ctx, &one, func() (time.Duration, error) {
				time.Sleep(took)
				order += name
				return took, nil
			}); err != nil {
				t.Error(err)
			}
		}
		short, end := context.WithCancel(ctx)
		go run(ctx, "a", time.Second)
		synctest.Wait()
		go run(short, "b", time.Second)
		synctest.Wait()
		go run(ctx, "c", time.Second)
		synctest.Wait()
		end()
		time.Sleep(time.Hour)
		run(ctx, "d", 0)
		if order != "acd" {
			t.Errorf("the turns are those of %s", order)
		}
	})
}

// TestLong: a client's long change is no time of the followers.
func TestLong(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context) {
		all := follow(t, ctx, newPlanned(time.Second, time.Millisecond), 2)
		time.Sleep(time.Second)
		<-all.free
		all.followers[0].tell(2)
		time.Sleep(time.Minute)
		all.free <- struct{}{}
		ended := time.Now()
		all.followers[1].tell(2)
		time.Sleep(time.Minute)
		if waited := all.customers[1].last.Sub(ended); waited > time.Second || waited < 0 {
			t.Errorf("behind a client's change a follower waits for %v", waited)
		}
		if all.customers[0].has.Find(netip.MustParsePrefix("10.1.0.0/16")) == nil {
			t.Error("the other one has lost its change")
		}
	})
}

// TestLateComer: a follower that has had much time alone, as for its first routes, does not pay for
// it when another one begins to have its set close and open. It waits for two turns of that one.
func TestLateComer(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context) {
		const whole = time.Second
		all := follow(t, ctx, newPlanned(whole, time.Millisecond), 2)
		first, box, late := all.followers[0], all.customers[0], all.followers[1]
		alone, end := context.WithCancel(ctx)
		go first.flap(alone)
		time.Sleep(20 * time.Minute)
		end()
		time.Sleep(time.Minute)
		go late.flap(ctx)
		time.Sleep(10 * time.Second)
		most := time.Duration(0)
		for n := range 10 {
			told := time.Now()
			first.tell(2 - n%2)
			time.Sleep(30 * time.Second)
			if box.last.Before(told) {
				t.Fatalf("change %d has waited for 30 s", n)
			}
			most = max(most, box.last.Sub(told))
		}
		if t.Log("a change takes", most); most > (idle+1)*(2*whole+ahead) {
			t.Errorf("a change takes %v", most)
		}
	})
}
