// SPDX-License-Identifier: Apache-2.0

package pair_test

import (
	"testing"
	"time"

	"sallyport/mgmt/internal/pair"
	"sallyport/mgmt/internal/peer"
)

const dead = 2 * time.Second

// view is what a box of a side sees: whether it and the other are active, and changes to that.
func view(side peer.Side, own, other bool, change func(*pair.View)) pair.View {
	v := pair.View{Answered: true, Dead: dead}
	v.Own.Side, v.Own.Active = side, own
	v.Other.Side = map[peer.Side]peer.Side{peer.SideA: peer.SideB, peer.SideB: peer.SideA}[side]
	v.Other.Active = other
	if change != nil {
		change(&v)
	}
	return v
}

func TestDecide(t *testing.T) {
	silent := func(v *pair.View) { v.Silent = dead }
	for name, c := range map[string]struct {
		view pair.View
		want pair.Step
	}{
		"a begins":                       {view("a", false, false, nil), pair.TakePlace},
		"b waits for a":                  {view("b", false, false, nil), pair.Stay},
		"a passive box waits":            {view("b", false, true, nil), pair.Stay},
		"an active box stays":            {view("a", true, false, nil), pair.Stay},
		"not silent long enough":         {view("b", false, true, func(v *pair.View) { v.Silent = dead - 1 }), pair.Stay},
		"silent":                         {view("b", false, true, silent), pair.TakeSilent},
		"never heard":                    {view("b", false, false, func(v *pair.View) { v.Answered, v.Silent = false, dead }), pair.TakeSilent},
		"not heard yet":                  {view("a", false, false, func(v *pair.View) { v.Answered = false }), pair.Stay},
		"both active: b stands by":       {view("b", true, true, nil), pair.StandBy},
		"both active: a stays":           {view("a", true, true, nil), pair.Stay},
		"alone with problems":            {view("a", true, false, func(v *pair.View) { silent(v); v.Worse = dead }), pair.Stay},
		"worse for long":                 {view("a", true, false, func(v *pair.View) { v.Worse = dead }), pair.GiveWay},
		"worse for a moment":             {view("a", true, false, func(v *pair.View) { v.Worse = dead - 1 }), pair.Stay},
		"worse, but the other yields":    {view("a", true, false, func(v *pair.View) { v.Worse, v.Other.Yields = dead, true }), pair.Stay},
		"maintained":                     {view("a", true, false, func(v *pair.View) { v.Own.Maintained = true }), pair.GiveWay},
		"maintained, and alone":          {view("a", true, true, func(v *pair.View) { silent(v); v.Own.Maintained = true }), pair.Stay},
		"maintained and passive":         {view("a", false, true, func(v *pair.View) { silent(v); v.Own.Maintained = true }), pair.Stay},
		"given to b":                     {view("b", false, false, func(v *pair.View) { v.Other.Yields = true }), pair.TakePlace},
		"a has given":                    {view("a", false, false, func(v *pair.View) { v.Own.Yields = true }), pair.Stay},
		"both have given":                {view("a", false, false, func(v *pair.View) { v.Own.Yields, v.Other.Yields = true, true }), pair.TakePlace},
		"a has given, b has died":        {view("a", false, false, func(v *pair.View) { v.Own.Yields = true; silent(v) }), pair.TakeSilent},
		"asked":                          {view("b", true, false, func(v *pair.View) { v.Asked = true }), pair.GiveWay},
		"asked, and the other is silent": {view("b", true, false, func(v *pair.View) { v.Asked = true; silent(v) }), pair.Stay},
		"two of side b, both active":     {view("b", true, true, func(v *pair.View) { v.Other.Side = "b" }), pair.StandBy},
		"two of side a, both active":     {view("a", true, true, func(v *pair.View) { v.Other.Side = "a" }), pair.StandBy},
		"two of side a, one active":      {view("a", true, false, func(v *pair.View) { v.Other.Side = "a" }), pair.Stay},
		"two of side a, one silent":      {view("a", false, true, func(v *pair.View) { v.Other.Side = "a"; silent(v) }), pair.Stay},
		"b is better":                    {view("b", false, false, func(v *pair.View) { v.Other.Problems = []string{"no cable"} }), pair.TakePlace},
		"a is worse":                     {view("a", false, false, func(v *pair.View) { v.Own.Problems = []string{"no cable"} }), pair.Stay},
	} {
		if got := c.view.Decide(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestOneBegins: of two boxes that hear each other and are passive exactly one takes the place,
// whatever each says of itself, unless both are maintained.
func TestOneBegins(t *testing.T) {
	statuses := []peer.Status{}
	for _, yields := range []bool{false, true} {
		for problems := range 3 {
			statuses = append(statuses, peer.Status{Yields: yields, Problems: make([]string, problems)})
		}
	}
	for _, a := range statuses {
		for _, b := range statuses {
			a.Side, b.Side = peer.SideA, peer.SideB
			begin := 0
			for _, v := range []pair.View{{Own: pair.Box{Status: a}, Other: b}, {Own: pair.Box{Status: b}, Other: a}} {
				v.Answered, v.Dead = true, dead
				if v.Decide() == pair.TakePlace {
					begin++
				}
			}
			if begin != 1 {
				t.Errorf("%+v and %+v: %d begin", a, b, begin)
			}
		}
	}
}
