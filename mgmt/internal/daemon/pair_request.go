// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/control"
)

// yieldTimeout is how long the other box may take to say that it gives its place away.
const yieldTimeout = 5 * time.Second

// pairRequest tells of the pair, moves the place, or takes this box out of service. It waits for no
// change of the chips.
func (d *Daemon) pairRequest(who Caller, r *control.PairRequest) (any, error) {
	if r.Verb != control.PairStatus {
		if err := who.mayChange(); err != nil {
			return nil, err
		}
	}
	p := d.pair
	if p == nil {
		return nil, inputf("this box is alone: its configuration has no [peer]")
	}
	before, err := d.pairState(), error(nil)
	switch r.Verb {
	case control.PairStatus:
	case control.PairSwitch:
		if before.Active {
			err = d.giveWaySoon()
		} else {
			ctx, cancel := context.WithTimeout(context.Background(), yieldTimeout)
			defer cancel()
			err = p.Client.Yield(ctx)
		}
	case control.PairMaintain, control.PairResume:
		err = p.facts.Maintain(r.Verb == control.PairMaintain, d.now())
		p.wakeUp()
	default:
		return nil, inputf("verb must be status, switch, maintain or resume")
	}
	if err != nil {
		return nil, inputf("%s", err)
	}
	if r.Verb != control.PairStatus {
		d.log.Warn("the administrator asks of the pair", "verb", string(r.Verb))
	}
	return before, nil
}

// pairState is how the pair is now, for a box that is one of it.
func (d *Daemon) pairState() control.Pair {
	p := d.pair
	view := p.facts.View(d.now())
	out := control.Pair{
		Side: string(p.Side), Active: view.Own.Active, Maintained: view.Own.Maintained, Fenced: p.Fence != nil, Problems: view.Own.Problems, Failure: p.facts.Failure(),
	}
	if p.Identity != nil {
		out.Expires = p.Identity().Expires().Unix()
	}
	if view.Answered && view.Silent < view.Dead {
		out.Other = &control.PairOther{Active: view.Other.Active, Yields: view.Other.Yields, Problems: view.Other.Problems, Silent: view.Silent.Seconds()}
	}
	return out
}
