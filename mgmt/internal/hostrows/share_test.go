// SPDX-License-Identifier: Apache-2.0

package hostrows

import (
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// hosts are so many of a network on red, the first of them seen longest ago.
func hosts(network, count int) (these []Candidate) {
	for number := range count {
		ip := netip.AddrFrom4([4]byte{10, byte(network), byte(number >> 8), byte(number)})
		these = append(these, Candidate{model.NextHop{Dev: xfrm.Red, IP: ip, Network: network}, xfrm.MAC{2}, time.Unix(int64(number), 0)})
	}
	return these
}

// TestShare: with room for all none is without a row. With one host too many the network that has
// most loses the one that was seen longest ago, and hosts of its own find no row.
func TestShare(t *testing.T) {
	const room = 8
	for further, want := range map[int]struct{ one, two, gone, refused int }{1: {6, 1, 0, 0}, 2: {6, 2, 0, 0}, 3: {5, 3, 1, 0}, 9: {4, 4, 2, 5}} {
		learned, out := map[model.NextHop]xfrm.MAC{}, NewTally()
		had := hosts(1, 6)
		Share(learned, had, hosts(2, further), room, out)
		one, two := Place{xfrm.Red, 1}, Place{xfrm.Red, 2}
		if out.Installed[one] != want.one || out.Installed[two] != want.two || out.Gone[one] != want.gone || out.Refused[two] != want.refused || len(learned) != want.one+want.two {
			t.Errorf("%d further hosts: %v", further, out)
		}
		for number, c := range had {
			if _, has := learned[c.Hop]; has != (number >= want.gone) {
				t.Errorf("%d further hosts: host %d has a row: %t", further, number, has)
			}
		}
	}
	learned, out := map[model.NextHop]xfrm.MAC{}, NewTally()
	Share(learned, hosts(1, room), nil, room-1, out)
	if place := (Place{xfrm.Red, 1}); len(learned) != room-1 || out.Gone[place] != 1 || out.Most(xfrm.Red) != place {
		t.Errorf("with one row less: %v", out)
	}
}
