// SPDX-License-Identifier: Apache-2.0

package xfrm

import "testing"

func TestVersion(t *testing.T) {
	for want, s := range map[uint8]Selector{0: {}, 4: sel("10.0.0.0/8", "0.0.0.0/0", nil), 6: sel("::ffff:10.0.0.0/104", "::/0", nil)} {
		if got := s.Version(); got != want {
			t.Errorf("%s has version %d, want %d", s, got, want)
		}
	}
}

// TestCoversAndOverlaps: each case says whether a covers b, b covers a, and whether they overlap.
func TestCoversAndOverlaps(t *testing.T) {
	ports := func(proto uint8, sport, dport uint16) func(s *Selector) {
		one := func(port uint16) Range {
			if port == 0 {
				return Range{}
			}
			return One(port)
		}
		return func(s *Selector) { s.Proto, s.SPort, s.DPort = proto, one(sport), one(dport) }
	}
	ranged := func(change func(s *Selector), first, last uint16) func(s *Selector) {
		return func(s *Selector) {
			change(s)
			if s.Proto == 6 {
				s.DPort = Range{true, first, last}
			} else {
				s.Code = Range{true, first, last}
			}
		}
	}
	for _, test := range []struct {
		a, b           Selector
		ab, ba, common bool
	}{
		{sel("10.0.0.0/8", "0.0.0.0/0", nil), sel("10.1.0.0/16", "192.0.2.0/24", nil), true, false, true},
		{sel("10.0.0.0/8", "0.0.0.0/0", nil), sel("11.0.0.0/8", "0.0.0.0/0", nil), false, false, false},
		{sel("2001:db8::/32", "::/0", nil), sel("2001:db8:1::/48", "fd00::/8", nil), true, false, true},
		{sel("2001:db8::/127", "::/0", nil), sel("2001:db8::2/127", "::/0", nil), false, false, false},
		{sel("::/0", "8000::/1", nil), sel("8000::/1", "::/0", nil), false, false, true},
		// Two IP versions have nothing in common, whatever their bits.
		{sel("0.0.0.0/0", "0.0.0.0/0", nil), sel("::/0", "::/0", nil), false, false, false},
		{sel("10.0.0.0/8", "0.0.0.0/0", nil), sel("::ffff:10.0.0.0/104", "::/0", nil), false, false, false},
		{sel("0.0.0.0/32", "0.0.0.0/32", nil), sel("::/128", "::/128", nil), false, false, false},
		{sel("::/0", "::/0", ports(6, 0, 0)), sel("::/0", "::/0", ports(6, 0, 80)), true, false, true},
		{sel("::/0", "::/0", ports(6, 5, 0)), sel("::/0", "::/0", ports(6, 0, 80)), false, false, true},
		{sel("::/0", "::/0", ports(6, 5, 0)), sel("::/0", "::/0", ports(17, 5, 0)), false, false, false},
		// Type 0 is a type; any type is all of them.
		{sel("::/0", "::/0", icmp(58, -1, -1)), sel("::/0", "::/0", icmp(58, 0, -1)), true, false, true},
		{sel("::/0", "::/0", icmp(58, 0, -1)), sel("::/0", "::/0", icmp(58, 128, -1)), false, false, false},
		{sel("::/0", "::/0", icmp(58, 0, -1)), sel("::/0", "::/0", icmp(58, -1, 0)), false, false, true},
		{sel("::/0", "::/0", icmp(58, 1, 0)), sel("::/0", "::/0", icmp(58, 1, 1)), false, false, false},
		{sel("::/0", "::/0", nil), sel("::/0", "::/0", icmp(58, 0, 0)), true, false, true},
		// Ranges: inside, at the ends, beside, across, and that of one number.
		{sel("::/0", "::/0", ports(6, 0, 0)), sel("::/0", "::/0", ranged(ports(6, 0, 0), 0, 9)), true, false, true},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 443)), sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 442)), true, false, true},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 443)), sel("::/0", "::/0", ranged(ports(6, 0, 0), 81, 443)), true, false, true},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 443)), sel("::/0", "::/0", ports(6, 5, 443)), true, false, true},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 443)), sel("::/0", "::/0", ports(6, 0, 444)), false, false, false},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 443)), sel("::/0", "::/0", ranged(ports(6, 0, 0), 443, 444)), false, false, true},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 80, 443)), sel("::/0", "::/0", ranged(ports(6, 0, 0), 444, 500)), false, false, false},
		{sel("::/0", "::/0", ranged(ports(6, 0, 0), 0, 0)), sel("::/0", "::/0", ports(6, 5, 1)), false, false, false},
		{sel("::/0", "::/0", ranged(icmp(58, 1, -1), 0, 4)), sel("::/0", "::/0", icmp(58, 1, 4)), true, false, true},
		{sel("::/0", "::/0", ranged(icmp(58, 1, -1), 0, 4)), sel("::/0", "::/0", icmp(58, -1, 5)), false, false, false},
		// A group is selected as such, and by a prefix that has nothing but groups.
		{sel("0.0.0.0/0", "0.0.0.0/0", nil), sel("0.0.0.0/0", "239.1.2.3/32", nil), false, false, false},
		{sel("0.0.0.0/0", "192.0.0.0/2", nil), sel("0.0.0.0/0", "224.0.0.0/4", nil), false, false, false},
		{sel("0.0.0.0/0", "224.0.0.0/4", nil), sel("10.0.0.0/8", "239.1.2.3/32", nil), true, false, true},
		{sel("0.0.0.0/0", "240.0.0.0/4", nil), sel("0.0.0.0/0", "255.255.255.255/32", nil), false, false, false},
		{sel("::/0", "fe00::/7", nil), sel("::/0", "ff02::1/128", nil), false, false, false},
		{sel("::/0", "ff00::/8", nil), sel("::/0", "ff02::1/128", nil), true, false, true},
	} {
		if ab, ba := test.a.Covers(test.b), test.b.Covers(test.a); ab != test.ab || ba != test.ba {
			t.Errorf("%s covers %s: %t, the other way %t", test.a, test.b, ab, ba)
		}
		if ab, ba := test.a.Overlaps(test.b), test.b.Overlaps(test.a); ab != test.common || ba != test.common {
			t.Errorf("%s overlaps %s: %t, the other way %t", test.a, test.b, ab, ba)
		}
		if !test.a.Covers(test.a) || !test.a.Overlaps(test.a) || (Selector{}).Covers(test.b) == test.b.ToGroups() || test.b.Covers(Selector{}) {
			t.Errorf("%s, %s: wrong about itself or about any packet", test.a, test.b)
		}
	}
}

// TestJoin: two selectors have one of both if they are the same, or are every address of the one
// and of the other IP version.
func TestJoin(t *testing.T) {
	tcp := func(s *Selector) { s.Proto = 6 }
	all4, all6, all := sel("0.0.0.0/0", "0.0.0.0/0", nil), sel("::/0", "::/0", nil), Selector{}
	for _, test := range []struct {
		a, b, want Selector
		ok         bool
	}{
		{all4, all4, all4, true},
		{all4, all6, all, true},
		{all6, all4, all, true},
		{all, all6, all, true},
		{all, all4, all, true},
		{sel("0.0.0.0/0", "0.0.0.0/0", tcp), sel("::/0", "::/0", tcp), sel("", "", tcp), true},
		{sel("0.0.0.0/0", "0.0.0.0/0", tcp), all6, all, false},
		{sel("10.0.0.0/8", "0.0.0.0/0", nil), sel("10.0.0.0/8", "0.0.0.0/0", nil), sel("10.0.0.0/8", "0.0.0.0/0", nil), true},
		{sel("10.0.0.0/8", "0.0.0.0/0", nil), all6, all, false},
		{sel("10.0.0.0/8", "0.0.0.0/0", nil), all4, all, false},
		{sel("0.0.0.0/0", "0.0.0.0/1", nil), sel("::/0", "::/1", nil), all, false},
	} {
		if got, ok := test.a.Join(test.b); ok != test.ok || ok && got != test.want {
			t.Errorf("%s and %s join to %s, %t", test.a, test.b, got, ok)
		}
	}
	if text := all.String(); text != "src any dst any" {
		t.Errorf("any packet prints as %q", text)
	}
}
