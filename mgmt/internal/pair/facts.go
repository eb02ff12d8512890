// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sallyport/mgmt/internal/peer"
)

// Facts are a box's knowledge of the pair. They have a lock of their own, which no holder keeps
// while it waits. So the other box gets its answer while the chips are busy.
type Facts struct {
	side peer.Side
	dead time.Duration

	mu         sync.Mutex
	active     bool
	maintained bool
	leaving    bool
	asked      bool
	given      time.Time // when the place was given away; zero: it was not
	promised   time.Time // until then the other box may take the place; zero: it may not
	claiming   bool
	problems   []string
	worse      time.Time // since when this box has more problems than the other; zero: it has not

	other    peer.Status
	answered bool
	heard    time.Time
	failure  string // why the last question had no answer
}

// NewFacts are those of a box of a side that begins to ask at a time.
func NewFacts(side peer.Side, active bool, dead time.Duration, now time.Time) *Facts {
	return &Facts{side: side, dead: dead, active: active, heard: now}
}

// SetDead changes how long the other box may be silent.
func (f *Facts) SetDead(dead time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = dead
}

// View returns the facts known at a time.
func (f *Facts) View(now time.Time) View {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view(now)
}

func (f *Facts) view(now time.Time) View {
	v := View{Other: f.other, Answered: f.answered, Silent: now.Sub(f.heard), Dead: f.dead, Asked: f.asked}
	v.Own = Box{f.status(now), f.maintained}
	if !f.worse.IsZero() {
		v.Worse = now.Sub(f.worse)
	}
	return v
}

func (f *Facts) status(now time.Time) peer.Status {
	given := !f.given.IsZero() && now.Sub(f.given) < 2*f.dead
	return peer.Status{Side: f.side, Active: f.active, Yields: f.maintained || f.leaving || given, Problems: append([]string{}, f.problems...)}
}

// Status is the report of this box to the other.
func (f *Facts) Status(now time.Time) peer.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status(now)
}

// Heard keeps an answer of the other box. It says whether the other has just become passive while
// both were active.
func (f *Facts) Heard(other peer.Status, now time.Time) (ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ended = f.active && f.answered && f.other.Active && !other.Active
	f.other, f.answered, f.heard, f.failure = other, true, now, ""
	if other.Active {
		f.given, f.promised = time.Time{}, time.Time{}
	}
	f.compare(now)
	return ended
}

// Unheard keeps why there was no answer.
func (f *Facts) Unheard(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = why.Error()
}

// Failure is why the last question had no answer; nothing if it had one.
func (f *Facts) Failure() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure
}

// SetProblems stores this box's present problems.
func (f *Facts) SetProblems(problems []string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = slices.Clone(problems)
	f.compare(now)
}

func (f *Facts) compare(now time.Time) {
	switch worse := f.answered && len(f.problems) > len(f.other.Problems); {
	case !worse:
		f.worse = time.Time{}
	case f.worse.IsZero():
		f.worse = now
	}
}

// Became stores that the box has opened or closed its ports. A box that has handed over leaves the
// other active for a while.
func (f *Facts) Became(active, gave bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active, f.asked, f.claiming, f.given = active, false, false, time.Time{}
	if gave {
		f.given = now
	}
}

// Maintain takes the box out of service, or puts it back.
func (f *Facts) Maintain(on bool, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.view(now); on && f.active && v.MayGiveWay() != "" {
		return fmt.Errorf("this box stays in service, for %s", v.MayGiveWay())
	}
	f.maintained = on
	return nil
}

// Leave says that the daemon ends.
func (f *Facts) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leaving = true
}

// Switch has this box, which is active, give its place away.
func (f *Facts) Switch(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.view(now).MayGiveWay(); why != "" {
		return fmt.Errorf("the place cannot be given away: %s", why)
	}
	f.asked = true
	return nil
}

// Claim lets the other box take the place. If both want it at once it is a's.
func (f *Facts) Claim(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.active:
		return errors.New("this box is active")
	case f.claiming && f.side == peer.SideA:
		return errors.New("this box is about to become active")
	}
	f.claiming, f.promised = false, now.Add(f.dead)
	return nil
}

// Claiming begins to take the place, unless it was promised to the other box.
func (f *Facts) Claiming(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.promised) {
		return false
	}
	f.claiming = true
	return true
}

// Claimed says whether the place is still this box's to take, once the other has let it; `let` says
// that it did.
func (f *Facts) Claimed(let bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	claimed := f.claiming && let
	if !let {
		f.claiming = false
	}
	return claimed
}
