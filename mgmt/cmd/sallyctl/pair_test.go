// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"sallyport/mgmt/internal/control"
)

// TestPairStatus: the text names each box's role, its problems, the age of the other's last answer
// or why there is none. The JSON is as the schema says.
func TestPairStatus(t *testing.T) {
	const end = "this box's certificate ends 2027-01-15 08:00:00\n"
	both := control.Pair{Side: "a", Active: true, Fenced: true, Problems: []string{}, Expires: 1_800_000_000,
		Other: &control.PairOther{Problems: []string{"the red port has no signal"}, Yields: true, Silent: 0.2567}}
	alone := control.Pair{Side: "b", Maintained: true, Problems: []string{"all SAs are lost"}, Failure: "connection refused", Expires: 1_800_000_000}
	for _, c := range []struct {
		state control.Pair
		want  string
	}{
		{both, "this box:  side a, active\nother box: standing by, heard 0.3 s ago, takes no place\n           the red port has no signal\n" + end},
		{alone, "this box:  side b, standing by, out of service\n           all SAs are lost\nother box: does not answer: connection refused\n" +
			"there is no fence: a cut cable between the daemons makes both boxes active\n" + end},
	} {
		if got := describePair(c.state); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
		text, err := json.Marshal(c.state)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "pair", string(text))
	}
}
