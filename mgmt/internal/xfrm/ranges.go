// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"strconv"
	"strings"
)

// Range is the port numbers, or the types or codes of messages, that a selector takes: First to
// Last. Its zero value is any, and includes packets without readable numbers; 0 to 0 is not.
type Range struct {
	Given bool   `json:"given"`
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// One is the range of one number.
func One(n uint16) Range { return Range{true, n, n} }

// Single says whether it is one number.
func (r Range) Single() bool { return r.Given && r.First == r.Last }

// Covers says whether every number of inner is one of r.
func (r Range) Covers(inner Range) bool {
	return !r.Given || inner.Given && r.First <= inner.First && inner.Last <= r.Last
}

// meets says whether some number is in both.
func (r Range) meets(o Range) bool {
	return !r.Given || !o.Given || r.First <= o.Last && o.First <= r.Last
}

// text prints as it is read. A port that is written 0 is any, so the one port 0 is a range.
func (r Range) text(port bool) string {
	if r.Single() && (r.First != 0 || !port) {
		return strconv.Itoa(int(r.First))
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Blocks divides a range into the fewest ranges that each share their leading bits and take every
// value of the others. It takes the largest that starts where the last one ended and stays in the
// range, again and again. A range of 16 bits has at most 30.
func (r Range) Blocks() []Range {
	if !r.Given {
		return []Range{r}
	}
	var blocks []Range
	for first, last := int(r.First), int(r.Last); first <= last; {
		size := 1
		for first&size == 0 && first+2*size-1 <= last {
			size *= 2
		}
		blocks = append(blocks, Range{true, uint16(first), uint16(first + size - 1)})
		first += size
	}
	return blocks
}

// numbers reads N or N-M, of so many bits; N-M is an extension of iproute2's words. The range of
// every number is any, as in IKE (RFC 7296, 3.13.1).
func (p *parser) numbers(what, word string, bits int) (Range, error) {
	token, err := p.take(fmt.Sprintf("the %s after %s", what, word))
	if err != nil {
		return Range{}, err
	}
	most := uint64(1)<<bits - 1
	low, high, two := strings.Cut(string(token.Text), "-")
	if !two {
		high = low
	}
	first, ok := parseNumber(low, bits)
	last, also := parseNumber(high, bits)
	switch {
	case !ok || !also:
		return Range{}, token.errorf("the %s after %s must be a number of 0 to %d, a range N-M of such numbers, or opaque, not %s", what, word, most, token.quoted())
	case first > last:
		return Range{}, token.errorf("the range %d-%d after %s is the wrong way round: write %d-%d", first, last, word, last, first)
	case first == 0 && last == most:
		return Range{}, nil
	}
	return Range{true, uint16(first), uint16(last)}, nil
}
