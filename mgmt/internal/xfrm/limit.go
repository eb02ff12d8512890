// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"math"
	"strings"
)

// MaxPackets is the greatest packet limit that the crypto chip holds.
const MaxPackets = 1<<56 - 1

// TimeLimits are lifetimes in seconds, 0 for none: since the SA was added, and since it first
// carried a packet.
type TimeLimits struct {
	Soft    uint64 `json:"soft,omitempty"`
	Hard    uint64 `json:"hard,omitempty"`
	UseSoft uint64 `json:"use_soft,omitempty"`
	UseHard uint64 `json:"use_hard,omitempty"`
}

// Given says whether there is any.
func (t TimeLimits) Given() bool { return t != TimeLimits{} }

// Limited says whether the SA has a lifetime of any kind.
func (s *State) Limited() bool {
	return s.ByteSoft != 0 || s.ByteHard != 0 || s.PacketSoft != 0 || s.PacketHard != 0 || s.Time.Given()
}

// limit reads one lifetime. Infinite ones, of a time 0, ask for nothing.
func (p *parser) limit(s *State) error {
	word, err := p.take("a limit")
	if err != nil {
		return err
	}
	name := string(word.Text)
	kept := map[string]*uint64{
		"byte-soft": &s.ByteSoft, "byte-hard": &s.ByteHard, "packet-soft": &s.PacketSoft, "packet-hard": &s.PacketHard,
		"time-soft": &s.Time.Soft, "time-hard": &s.Time.Hard, "time-use-soft": &s.Time.UseSoft, "time-use-hard": &s.Time.UseHard,
	}[name]
	if kept == nil {
		return word.errorf("unknown limit %s", word.quoted())
	}
	n, err := p.number("the value of "+name, 64)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(name, "time-"):
	case n == math.MaxUint64:
		n = 0
	case strings.HasPrefix(name, "packet-") && n > MaxPackets:
		return word.errorf("limit %s %d is too large: at most %d packets, or no limit at all", name, n, uint64(MaxPackets))
	case n == 0:
		return word.errorf("limit %s 0 would let no packet pass", name)
	}
	*kept = n
	return nil
}
