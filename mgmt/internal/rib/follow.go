// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/punt"
)

// Linux's changes within gathered go to the box together, at most batch at a time, so that its lock
// is free in between ([Pace]).
const (
	gathered = 20 * time.Millisecond
	batch    = 256
)

const (
	// again is how long Linux is not asked anew for all of its routes.
	again = time.Second
	// recheck is how often routes without room are tried again, and what there is no place for is
	// asked for again.
	recheck = time.Minute
)

// Grace is how long routes stay behind the daemon's start that Linux does not have: the red device
// is new then, and routing daemons have yet to give their routes again.
const Grace = 2 * time.Minute

// Box is what learns routes.
type Box interface {
	// LearnRoutes takes changes; false while the box holds no configuration. It says how long the
	// box was busy with them.
	LearnRoutes(changes []learned.Change) (taken bool, took time.Duration, err error)
	// LearnedRoutes are those that it has.
	LearnedRoutes() (*learned.Routes, error)
}

// Source tells a table Linux's routes until ctx ends or changes were lost.
type Source interface {
	Routes(ctx context.Context, to punt.RouteTable) error
}

// Follower keeps the routes behind a port of a box as Linux has them.
type Follower struct {
	box   Box
	dev   string
	log   *slog.Logger
	table *Table
	pace  *Pace
	turns turns
	grace time.Duration

	left   int // routes that the box had behind the last batch
	said   struct{ refused, over, wide, closed bool }
	resync atomic.Pointer[context.CancelFunc] // has Linux tell all routes again
}

// New makes the follower of a device of a box whose chip is meant for so many routes.
func New(box Box, dev string, most int, pace *Pace, log *slog.Logger) *Follower {
	return newFollower(box, dev, dev == learned.Steering, newRoom(most), pace, log)
}

func newFollower(box Box, dev string, steers bool, room *room, pace *Pace, log *slog.Logger) *Follower {
	f := &Follower{box: box, dev: dev, log: log, table: newTable(room), pace: pace, turns: newTurns(), grace: Grace}
	f.table.Tell = steers // another route must not take those packets
	return f
}

// Over is how many routes of Linux had no room in the table.
func (f *Follower) Over() uint64 {
	over, _ := f.table.Counts()
	return over
}

// Follow runs until ctx ends or the box fails.
func (f *Follower) Follow(ctx context.Context, from Source) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.listen(ctx, from) })
	group.Go(func() error { return f.apply(ctx) })
	return group.Wait()
}

// listen has Linux tell its routes, all of them again each time that changes were lost.
func (f *Follower) listen(ctx context.Context, from Source) error {
	return retold(ctx, func(once context.Context, cancel context.CancelFunc) error {
		f.resync.Store(&cancel)
		return from.Routes(once, f.table)
	})
}

// retold has Linux tell routes, again each time that changes were lost or `cancel` was called. It
// runs until ctx ends or Linux fails.
func retold(ctx context.Context, tell func(once context.Context, cancel context.CancelFunc) error) error {
	for ctx.Err() == nil {
		once, cancel := context.WithCancel(ctx)
		err := tell(once, cancel)
		cancel()
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
	return nil
}

// apply gives the box the changes.
func (f *Follower) apply(ctx context.Context) error {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	begun, checked := time.Now(), time.Now()
	swept := false
	var due <-chan time.Time
	for {
		select {
		case <-f.table.changed:
			if due == nil {
				due = time.After(gathered)
			}
			continue
		case now := <-ticks.C:
			sweep := !swept && now.Sub(begun) >= f.grace
			swept = swept || sweep
			check := now.Sub(checked) >= recheck
			if check {
				checked = now
			}
			if err := f.check(sweep, swept, check); err != nil {
				return err
			}
			if due != nil || !f.table.Waits() {
				continue
			}
		case <-due:
		case <-ctx.Done():
			return nil
		}
		due = nil
		more := false
		err := f.pace.do(ctx, &f.turns, func() (took time.Duration, err error) {
			more, took, err = f.step()
			return took, err
		})
		if err != nil {
			return err
		}
		if more {
			due = time.After(gathered)
		}
	}
}

// check looks whether the box has lost routes, as with a reset, or has room for refused ones, or
// whether more has changed than the table notes. From the end of the grace on it takes routes from
// the box that Linux does not have.
func (f *Follower) check(sweep, swept, retry bool) error {
	has, err := f.box.LearnedRoutes()
	if err != nil {
		return err
	}
	if f.table.Missed() || sweep || has.Len() != f.left || retry && has.Refused() > 0 {
		f.table.Compare(has, swept)
		f.left = has.Len()
	}
	if cancel := f.resync.Load(); retry && cancel != nil && f.table.HasRoom() {
		(*cancel)()
	}
	return nil
}

// step gives the box one batch, and says whether there is more, and how long the box was busy.
func (f *Follower) step() (more bool, took time.Duration, err error) {
	changes := f.table.Take(batch)
	if len(changes) == 0 {
		return false, 0, nil
	}
	taken, took, err := f.box.LearnRoutes(changes)
	if err != nil || !taken {
		f.table.Return(changes) // the next tick tries again
		return false, took, err
	}
	has, err := f.box.LearnedRoutes()
	if err != nil {
		return false, took, err
	}
	f.left = has.Len()
	over, wide := f.table.Counts()
	for _, note := range []struct {
		is   bool
		said *bool
		text string
	}{
		{has.Refused() > 0 && !f.table.Tell, &f.said.refused, "no room for some of Linux's routes on " + f.dev + ": the chip has the others"},
		{over > 0, &f.said.over, "Linux has more routes on " + f.dev + " than the chip is meant for: the first ones stay"},
		{wide > 0, &f.said.wide, "a route of Linux has more than 4 next hops: the chip shares its packets among the first 4"},
		{has.Refused() > 0 && f.table.Tell, &f.said.closed, "no room for all routes on " + f.dev + ": no packet is routed to any XFRM interface there until there is"},
	} {
		if note.is && !*note.said {
			f.log.Warn(note.text, "routes", has.Len(), "refused", has.Refused())
			*note.said = true
		}
	}
	f.said.closed = has.Refused() > 0
	if first := slices.IndexFunc(changes, disobeyed); first >= 0 {
		f.log.Warn("IPv6 routes on "+f.dev+" longer than /64 that the chip cannot have: their packets follow shorter ones", "first", changes[first].Prefix, "type", changes[first].Route.Type, "all", has.Long())
	}
	f.log.Info("routes changed", "dev", f.dev, "changes", len(changes), "learned", has.Len())
	return f.table.Waits(), took, nil
}

// disobeyed says whether a change is a route that no table of the chip can have.
func disobeyed(c learned.Change) bool {
	return c.Route != nil && !c.Route.Refused && !c.Route.OnChip()
}
