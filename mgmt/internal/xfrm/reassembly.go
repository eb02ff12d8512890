// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"strconv"
	"strings"
	"time"
)

// Reassembly sets the limits of fragments that wait at both ports (`sallyctl reassembly`, not in
// iproute2: Linux has them in sysctl). A field of 0 keeps its value.
type Reassembly struct {
	At
	Timeout   time.Duration
	PerSource uint32
}

// The shortest time, which is about the unit of the registers, the longest one and the most
// datagrams that they hold.
const (
	minTimeout   = 4 * time.Millisecond
	maxTimeout   = 114 * time.Second
	maxPerSource = 1<<16 - 1
)

// reassembly reads `reassembly set [timeout TIME] [per-source N]` and `reassembly show`.
func (p *parser) reassembly() (Command, error) {
	verb, err := p.verb("reassembly", "set")
	if err != nil {
		return nil, err
	}
	if verb == "show" {
		return Show{p.at(), "reassembly"}, nil
	}
	r := Reassembly{At: p.at()}
	for p.more() {
		switch p.peek() {
		case "timeout":
			p.skip()
			r.Timeout, err = p.timeout()
		case "per-source":
			p.skip()
			r.PerSource, err = p.perSource()
		default:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	if r.Timeout == 0 && r.PerSource == 0 {
		return nil, Errorf(p.start, "write `reassembly set [timeout TIME] [per-source N]`")
	}
	return r, nil
}

// timeout reads seconds, or a number with s or ms behind it.
func (p *parser) timeout() (time.Duration, error) {
	word, err := p.take("the time after timeout")
	if err != nil {
		return 0, err
	}
	unit, text := time.Second, string(word.Text)
	if number, ms := strings.CutSuffix(text, "ms"); ms {
		unit, text = time.Millisecond, number
	} else {
		text = strings.TrimSuffix(text, "s")
	}
	n, err := strconv.ParseUint(text, 10, 32)
	d := time.Duration(n) * unit
	if err != nil || d < minTimeout || d > maxTimeout {
		return 0, word.errorf("timeout must be 1 to %d seconds, or 4ms to %dms, not %s: a datagram whose fragments are not all there is given up after it", maxTimeout/time.Second, maxTimeout/time.Millisecond, word.quoted())
	}
	return d, nil
}

func (p *parser) perSource() (uint32, error) {
	n, err := p.number32("the number after per-source")
	if err == nil && (n == 0 || n > maxPerSource) {
		err = p.words[p.next-1].errorf("per-source must be 1 to %d datagrams, not %d", maxPerSource, n)
	}
	return n, err
}
