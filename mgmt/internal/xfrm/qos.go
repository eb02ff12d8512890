// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// DSCPs is a set of DSCPs: bit n is DSCP n.
type DSCPs uint64

// ResetDSCPs are marked after reset: CS6 and CS7, network control (RFC 2474, 4.2.2.2).
const ResetDSCPs DSCPs = 1<<48 | 1<<56

// String is the words that `qos set dscp` takes for the set.
func (d DSCPs) String() string {
	if d == 0 {
		return "none"
	}
	names := map[uint8]string{}
	for name, dscp := range dscpNames {
		names[dscp] = name
	}
	var words []string
	for rest := uint64(d); rest != 0; rest &= rest - 1 {
		dscp := uint8(bits.TrailingZeros64(rest))
		if names[dscp] == "" {
			names[dscp] = fmt.Sprint(dscp)
		}
		words = append(words, names[dscp])
	}
	return strings.Join(words, " ")
}

// QoS marks the DSCPs whose packets pass the others at both ports (`sallyctl qos set dscp`, not
// in iproute2).
type QoS struct {
	At
	Marked DSCPs
}

const qosUsage = "write `qos set dscp DSCP …`, with names such as ef, cs6 and af41 or numbers of 0 to 63, or `qos set dscp none`, or `qos show`"

// qos reads `qos set dscp DSCP … | none` and `qos show`. DSCPs stand apart or with commas
// between them.
func (p *parser) qos() (Command, error) {
	verb, err := p.verb("qos", "set")
	switch {
	case err != nil:
		return nil, err
	case verb == "show":
		return Show{p.at(), "qos"}, nil
	case p.peek() != "dscp":
		return nil, Errorf(p.start, qosUsage)
	}
	p.skip()
	q := QoS{At: p.at()}
	var given []string
	for p.more() {
		word := p.skip()
		for _, text := range strings.Split(string(word.Text), ",") {
			if text != "none" {
				dscp, ok := parseDSCP(text)
				if !ok {
					return nil, word.errDSCP(text)
				}
				q.Marked |= 1 << dscp
			}
			given = append(given, text)
		}
	}
	switch {
	case len(given) == 0:
		return nil, Errorf(p.start, qosUsage)
	case len(given) > 1 && slices.Contains(given, "none"):
		return nil, Errorf(p.start, "none stands alone after qos set dscp: it means that no DSCP is marked")
	}
	return q, nil
}
