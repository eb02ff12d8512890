// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"slices"
	"strings"

	"sallyport/mgmt/internal/regs"
)

// What a limit can be of besides a trap group of regs/common.rdl.
const (
	InjectGroup  = "inject"
	InjectPolicy = "inject_encrypt" // by the policies, and not out of a port
	AllGroups    = "all"
)

// Rates that a token bucket can have, in packets/s, and the most tokens that it holds.
const (
	MinPuntRate  = 5
	MaxPuntRate  = 292965
	MaxPuntBurst = 65535
)

// PuntGroups are the trap groups by name.
func PuntGroups() []string {
	var names []string
	for number := range uint32(len(regs.PuntGroupNames)) {
		names = append(names, regs.PuntGroupNames[number])
	}
	return names
}

// punt reads `punt set GROUP [rate N|unlimited] [burst N] [dev D]` and `punt show`.
func (p *parser) punt() (Command, error) {
	verb, err := p.verb("punt", "set")
	if err != nil || verb == "show" {
		return p.showOr(err, "punt")
	}
	set := PuntSet{At: p.at()}
	if set.Group, err = p.puntGroup(); err != nil {
		return nil, err
	}
	for p.more() {
		switch p.peek() {
		case "rate":
			p.skip()
			set.Rate, err = p.puntRate()
		case "burst":
			p.skip()
			set.Burst, err = p.puntBurst()
		case "dev":
			p.skip()
			set.Dev, err = p.device()
		default:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	if set.Rate == nil && set.Burst == nil {
		return nil, Errorf(p.start, "write what is to change: `punt set GROUP rate N|unlimited burst N [dev red|black]`")
	}
	return set, nil
}

func (p *parser) puntGroup() (string, error) {
	names := append(PuntGroups(), InjectGroup, InjectPolicy, AllGroups)
	word, err := p.take("a trap group, " + strings.Join(names, ", ") + ",")
	if err == nil && !slices.Contains(names, string(word.Text)) {
		err = word.errorf("unknown trap group %s: there are %s", word.quoted(), strings.Join(names, ", "))
	}
	return string(word.Text), err
}

func (p *parser) puntRate() (*uint32, error) {
	word, err := p.take("the rate")
	if err != nil {
		return nil, err
	}
	if string(word.Text) == "unlimited" {
		return new(uint32), nil
	}
	n, ok := parseNumber(string(word.Text), 32)
	if !ok || n < MinPuntRate || n > MaxPuntRate {
		return nil, word.errorf("the rate must be %d to %d packets/s, or unlimited, not %s", MinPuntRate, MaxPuntRate, word.quoted())
	}
	rate := uint32(n)
	return &rate, nil
}

func (p *parser) puntBurst() (*uint32, error) {
	word, err := p.take("the burst")
	if err != nil {
		return nil, err
	}
	n, ok := parseNumber(string(word.Text), 32)
	if !ok || n > MaxPuntBurst {
		return nil, word.errorf("the burst must be 0 to %d packets, not %s", MaxPuntBurst, word.quoted())
	}
	burst := uint32(n)
	return &burst, nil
}
