// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
)

// AddressList is the addresses of one side of a policy's selector that do not fit one prefix:
// prefixes and ranges FIRST-LAST in ascending order, with commas between. Neighbours are joined, so
// the same addresses are always the same list. The list of a single prefix is empty.
type AddressList string

// The most that one policy may take of a rule table: the prefixes that cover a side, and the rules
// of all together.
const (
	MaxPrefixes    = 64
	MaxPolicyRules = 4096
)

// UnmarshalText reads what a state file has.
func (l *AddressList) UnmarshalText(text []byte) error {
	*l = AddressList(text)
	_, err := l.parse()
	return err
}

func (l AddressList) parse() (*netipx.IPSet, error) {
	var all netipx.IPSetBuilder
	for text := range strings.SplitSeq(string(l), ",") {
		if strings.Contains(text, "-") {
			part, err := netipx.ParseIPRange(text)
			if err != nil {
				return nil, err
			}
			all.AddRange(part)
			continue
		}
		part, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		all.AddPrefix(part)
	}
	return all.IPSet()
}

// set is the addresses of a list, which was checked when it was read.
func (l AddressList) set() *netipx.IPSet {
	set, _ := l.parse()
	return set
}

// rangeText prints a range, as a prefix if it is one.
func rangeText(r netipx.IPRange) string {
	if prefix, ok := r.Prefix(); ok {
		return prefix.String()
	}
	return r.String()
}

// addressRange reads a prefix, or FIRST-LAST.
func (t Token) addressRange(side string) (netipx.IPRange, error) {
	low, high, two := strings.Cut(string(t.Text), "-")
	if !two {
		prefix, err := t.prefix("the prefix after " + side)
		return netipx.RangeOfPrefix(prefix), err
	}
	first, ok := parseAddr(low)
	last, also := parseAddr(high)
	var err error
	switch {
	case !ok || !also:
		err = t.errorf("each end of a range after %s must be an IPv4 or IPv6 address, not as in %s", side, t.quoted())
	case first.Is4() != last.Is4():
		err = t.errorf("the ends of the range %s-%s after %s are of different IP versions: write a policy for each version", first, last, side)
	case last.Less(first):
		err = t.errorf("the range %s-%s after %s is the wrong way round: write %s-%s", first, last, side, last, first)
	}
	return netipx.IPRangeFrom(first, last), err
}

// addresses reads one or more prefixes and ranges, with commas between.
func (t Token) addresses(word string) (side, error) {
	var all []netipx.IPRange
	for text := range strings.SplitSeq(string(t.Text), ",") {
		if text == "" {
			return side{}, t.errorf("a comma after %s stands between two prefixes or ranges, without a space, and %s has nothing beside one", word, t.quoted())
		}
		part, err := Token{[]byte(text), t.Pos}.addressRange(word)
		if err != nil {
			return side{}, err
		}
		if len(all) > 0 && all[0].From().Is4() != part.From().Is4() {
			return side{}, t.errorf("the list after %s has both IP versions, %s and %s: write a policy for each version", word, rangeText(all[0]), rangeText(part))
		}
		all = append(all, part)
	}
	slices.SortFunc(all, func(a, b netipx.IPRange) int { return a.From().Compare(b.From()) })
	var joined netipx.IPSetBuilder
	for i, part := range all {
		if i > 0 && all[i-1].Overlaps(part) {
			return side{}, t.errOverlap(word, all[i-1], part)
		}
		joined.AddRange(part)
	}
	set, err := joined.IPSet()
	if err != nil {
		return side{}, t.errorf("the addresses after %s cannot be joined: %v", word, err)
	}
	if n := len(set.Prefixes()); n > MaxPrefixes {
		return side{}, t.errorf("the addresses after %s take %d prefixes to cover, and a policy may have %d a side: write them as several policies", word, n, MaxPrefixes)
	}
	return sideOf(set), nil
}

// errOverlap names two parts of a list that share addresses; a does not begin behind b.
func (t Token) errOverlap(word string, a, b netipx.IPRange) error {
	switch first, second := rangeText(a), rangeText(b); {
	case first == second:
		return t.errorf("%s stands twice in the list after %s: leave one out", first, word)
	case b.To().Compare(a.To()) <= 0:
		return t.errorf("%s is in %s, which the list after %s has too: leave it out", second, first, word)
	case a.From() == b.From():
		return t.errorf("%s is in %s, which the list after %s has too: leave it out", first, second, word)
	default:
		return t.errorf("%s and %s in the list after %s overlap: write %s", first, second, word, rangeText(netipx.IPRangeFrom(a.From(), b.To())))
	}
}
