// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of traffic flow confidentiality (RFC 4303, 2.6, 2.7): bytes of an IP packet, from the
// shortest that there is to the longest that a frame of 9600 bytes holds, and the time from one
// dummy packet to the next.
const (
	MinTFC   = 20
	MaxTFC   = MaxMTU
	minEvery = time.Microsecond
	maxEvery = 100 * time.Second
)

// Dummy is the dummy traffic of an outbound SA: packets of this length inside ESP, at an interval.
type Dummy struct {
	Length uint32        `json:"length"`
	Every  time.Duration `json:"every"`
}

// String prints it as it is read.
func (d *Dummy) String() string {
	// microseconds always are
	i := slices.IndexFunc(everyUnits, func(u everyUnit) bool { return d.Every%u.unit == 0 })
	return fmt.Sprintf("dummy %d every %d%s", d.Length, d.Every/everyUnits[i].unit, everyUnits[i].name)
}

type everyUnit struct {
	name string
	unit time.Duration
}

var everyUnits = []everyUnit{{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}}

// tfcPad reads `tfcpad LENGTH` of iproute2; 0 is none.
func (p *parser) tfcPad(s *State) (err error) {
	p.skip()
	if s.TFCPad, err = p.number32("the length after tfcpad"); err == nil && s.TFCPad != 0 && (s.TFCPad < MinTFC || s.TFCPad > MaxTFC) {
		err = p.words[p.next-1].errorf("tfcpad must be %d to %d bytes, or 0 for none, not %d: shorter than any IP packet it hides nothing, and no frame holds a longer one", MinTFC, MaxTFC, s.TFCPad)
	}
	return err
}

// dummy reads `dummy LENGTH every TIME`, which iproute2 does not have.
func (p *parser) dummy(s *State) error {
	p.skip()
	length, err := p.number32("the length after dummy")
	if err != nil {
		return err
	}
	if length < MinTFC || length > MaxTFC {
		return p.words[p.next-1].errorf("dummy packets must have %d to %d bytes, as IP packets have, not %d", MinTFC, MaxTFC, length)
	}
	word, err := p.take("every TIME")
	if err != nil {
		return err
	}
	if string(word.Text) != "every" {
		return word.errorf("dummy %d must be followed by every TIME, not %s", length, word.quoted())
	}
	if word, err = p.take("the time after every"); err != nil {
		return err
	}
	every, ok := parseEvery(string(word.Text))
	if !ok {
		return word.errorf("every must be a number with us, ms or s behind it, 1us to %ds, not %s: it is the time from one dummy packet to the next", maxEvery/time.Second, word.quoted())
	}
	s.Dummy = &Dummy{length, every}
	return nil
}

func parseEvery(text string) (time.Duration, bool) {
	digits := strings.TrimRight(text, "mus")
	n, err := strconv.ParseUint(digits, 10, 32)
	for _, unit := range everyUnits {
		every := time.Duration(n) * unit.unit
		if err == nil && text[len(digits):] == unit.name && n <= uint64(maxEvery/unit.unit) && every >= minEvery {
			return every, true
		}
	}
	return 0, false
}

// checkTFC refuses these words where the box cannot do what they say.
func (s *State) checkTFC(pos Pos) error {
	if s.Dir == DirIn {
		if err := s.CheckInboundTFC(pos); err != nil {
			return err
		}
	}
	switch {
	case s.Mode != ModeTransport:
	case s.TFCPad != 0:
		return Errorf(pos, "tfcpad is not supported in transport mode, where not every protocol says where its data end (RFC 4303, 2.7): leave it out")
	case s.Dummy != nil:
		return Errorf(pos, "dummy is not supported in transport mode, where ESP stands behind a host's own IP header and a dummy packet has none: leave it out")
	}
	return nil
}

// CheckInboundTFC refuses those words in an SA that is known to be inbound.
func (s *State) CheckInboundTFC(pos Pos) error {
	if word := s.tfcWord(); word != "" {
		return Errorf(pos, "%s is of what an outbound SA sends, and the SA spi 0x%x is inbound: leave it out, for padding and dummy packets that come are taken away in any case", word, s.SPI)
	}
	return nil
}

// tfcWord is a word that the state has on traffic flow confidentiality, if any.
func (s *State) tfcWord() string {
	switch {
	case s.TFCPad != 0:
		return "tfcpad"
	case s.Dummy != nil:
		return "dummy"
	}
	return ""
}
