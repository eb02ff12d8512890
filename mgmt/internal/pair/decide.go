// SPDX-License-Identifier: Apache-2.0

// Package pair decides which of two boxes with the same SAs is active (docs/decisions/0008). It
// does not know chips or the network.
package pair

import (
	"time"

	"sallyport/mgmt/internal/peer"
)

// Box is the part of a box's state that decides.
type Box struct {
	peer.Status
	// Maintained says that the administrator has taken the box out of service: it never takes the
	// place. It is known of this box alone.
	Maintained bool
}

// View is a box's knowledge of the pair at a time.
type View struct {
	Own   Box
	Other peer.Status
	// Answered says that the other box has answered since the start; Silent is how long it has not,
	// or since when it is asked.
	Answered bool
	Silent   time.Duration
	Dead     time.Duration
	// Asked says that the administrator wants the other box to be active.
	Asked bool
	// Worse is how long this box has had more problems than the other.
	Worse time.Duration
}

// Step is the next action of a box.
type Step int

// The steps.
const (
	Stay       Step = iota
	TakePlace       // the other box has given it away: open the ports
	TakeSilent      // the other box is silent: fence it, and open the ports
	StandBy         // both are active, and this one closes its ports
	GiveWay         // the other box can do better: close the ports, and let it
)

// Decide says what the box does. Of two passive boxes the one with fewer problems begins, else a;
// of two active ones, that could not hear each other, b stands by. A box never takes the place back
// because it had it before.
//
// Two boxes of one side would use the same IVs: then an active one stays so alone as long as the
// other is passive.
func (v View) Decide() Step {
	alive := v.Answered && v.Silent < v.Dead
	switch {
	case v.SameSide():
		if v.Own.Active && v.Other.Active {
			return StandBy
		}
		return Stay
	case v.Own.Active && alive && v.Other.Active && v.Own.Side == peer.SideB:
		return StandBy
	case v.Own.Active && v.mayGiveWay() == "" && (v.Asked || v.Own.Maintained || v.Worse >= v.Dead):
		return GiveWay
	case v.Own.Active || v.Own.Maintained:
		return Stay
	case !alive && v.Silent >= v.Dead:
		return TakeSilent
	case alive && !v.Other.Active && v.first():
		return TakePlace
	}
	return Stay
}

// SameSide says that the other box is of the same side, by mistake.
func (v View) SameSide() bool { return v.Answered && v.Other.Side == v.Own.Side }

// first says which of two passive boxes begins.
func (v View) first() bool {
	own, other := len(v.Own.Problems), len(v.Other.Problems)
	switch {
	case v.Own.Yields != v.Other.Yields:
		return v.Other.Yields
	case own != other:
		return own < other
	}
	return v.Own.Side == peer.SideA
}

// mayGiveWay says why the other box cannot take the place, and nothing if it can.
func (v View) mayGiveWay() string {
	switch {
	case !v.Answered || v.Silent >= v.Dead:
		return "the other box does not answer"
	case v.Other.Active:
		return "the other box is active, too"
	case v.Other.Yields:
		return "the other box does not take the place: it is being maintained, or stops"
	}
	return ""
}

// MayGiveWay says why an active box cannot give its place away now, and nothing if it can.
func (v View) MayGiveWay() string {
	if !v.Own.Active {
		return "this box is not active"
	}
	return v.mayGiveWay()
}
