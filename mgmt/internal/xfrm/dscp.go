// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDSCP is the highest of the six-bit field (RFC 2474, 3).
const maxDSCP = 63

// dscpNames are the names of IANA's registry: RFC 2474, 2597, 3246, 5865 and 8622.
var dscpNames = map[string]uint8{
	"cs0": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56, "af11": 10, "af12": 12, "af13": 14, "af21": 18,
	"af22": 20, "af23": 22, "af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38, "ef": 46, "voice-admit": 44, "le": 1,
}

// parseDSCP reads a name, in either case, or a number.
func parseDSCP(text string) (dscp uint8, ok bool) {
	if dscp, ok = dscpNames[strings.ToLower(text)]; ok {
		return dscp, true
	}
	n, ok := parseNumber(text, 8)
	return uint8(n), ok && n <= maxDSCP
}

func (t Token) errDSCP(text string) error {
	return t.errorf("%s is no DSCP: write a name such as ef, cs6 or af41, or a number of 0 to %d", Token{Text: []byte(text)}.quoted(), maxDSCP)
}

// DSCPMap maps the DSCP of the inner header to that of the outer one. The box copies a DSCP that it
// does not name (RFC 4301, 4.4.1.2).
type DSCPMap map[uint8]uint8

// String is the list that `dscp map` takes.
func (d DSCPMap) String() string {
	var pairs []string
	for _, from := range slices.Sorted(maps.Keys(d)) {
		pairs = append(pairs, fmt.Sprintf("%d:%d", from, d[from]))
	}
	return strings.Join(pairs, ",")
}

// dscpMap reads `FROM:TO,FROM:TO…`.
func (p *parser) dscpMap() (DSCPMap, error) {
	word, err := p.take("a list such as 46:34,af11:0")
	if err != nil {
		return nil, err
	}
	d := DSCPMap{}
	for _, pair := range strings.Split(string(word.Text), ",") {
		inner, outer, ok := strings.Cut(pair, ":")
		if !ok {
			return nil, word.errorf("dscp map needs pairs of the inner and the outer DSCP, such as 46:34,af11:0, not %s", Token{Text: []byte(pair)}.quoted())
		}
		from, ok := parseDSCP(inner)
		if !ok {
			return nil, word.errDSCP(inner)
		}
		to, ok := parseDSCP(outer)
		if !ok {
			return nil, word.errDSCP(outer)
		}
		if _, twice := d[from]; twice {
			return nil, word.errorf("dscp map has DSCP %d twice: each has one value", from)
		}
		d[from] = to
	}
	return d, nil
}

// forDSCP reads `for-dscp DSCP,DSCP…`, which iproute2 does not have: what an outbound SA carries,
// beside others of the same template (RFC 4301, 4.4.2.1).
func (p *parser) forDSCP(s *State) error {
	p.skip()
	word, err := p.take("the DSCPs")
	if err != nil {
		return err
	}
	s.ForDSCP = 0
	for _, text := range strings.Split(string(word.Text), ",") {
		dscp, ok := parseDSCP(text)
		if !ok {
			return word.errDSCP(text)
		}
		s.ForDSCP |= 1 << dscp
	}
	return nil
}

// Words are the set with commas between, as `for-dscp` takes it.
func (d DSCPs) Words() string { return strings.ReplaceAll(d.String(), " ", ",") }
