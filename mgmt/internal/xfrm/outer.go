// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"strconv"
	"strings"
)

// DF says what the outer IPv4 header's DF bit is (RFC 4301, 8.1), in the words that `ip link` has
// for tunnels.
type DF string

const (
	DFInherit DF = "inherit" // copied, which no word means too
	DFSet     DF = "set"
	DFUnset   DF = "unset"
)

// DSCP sets the outer header's DSCP (RFC 4301, 5.1.2): a value, a map of the inner header's, or
// with Inherit the inner header's, which is the default.
type DSCP struct {
	Given   bool    `json:"given"`
	Inherit bool    `json:"inherit,omitempty"`
	Value   uint8   `json:"value"`
	Map     DSCPMap `json:"map,omitempty"`
}

// String prints it as it is read.
func (d DSCP) String() string {
	switch {
	case d.Inherit:
		return "inherit"
	case d.Map != nil:
		return "map " + d.Map.String()
	}
	return strconv.Itoa(int(d.Value))
}

// df reads `df set|unset|inherit`, which iproute2 has for tunnel devices and not for states.
func (p *parser) df(s *State) error {
	p.skip()
	word, err := p.take("set, unset or inherit")
	if err != nil {
		return err
	}
	switch df := DF(word.Text); df {
	case DFSet, DFUnset, DFInherit:
		s.DF = df
		return nil
	}
	return word.errorf("df must be set, unset or inherit, not %s", word.quoted())
}

// dscp reads `dscp N|NAME|inherit|map LIST`, which iproute2 does not have.
func (p *parser) dscp(s *State) error {
	p.skip()
	word, err := p.take("a DSCP")
	if err != nil {
		return err
	}
	s.DSCP = DSCP{Given: true}
	text := strings.ToLower(string(word.Text))
	if text == "inherit" {
		s.DSCP.Inherit = true
		return nil
	}
	if text == "map" {
		s.DSCP.Map, err = p.dscpMap()
		return err
	}
	value, ok := parseDSCP(text)
	if !ok {
		return word.errorf("dscp must be a number of 0 to %d, a name such as EF, AF41 or CS6, inherit, or map and a list, not %s", maxDSCP, word.quoted())
	}
	s.DSCP.Value = value
	return nil
}

// ClearsDF says whether outer headers have DF clear whatever the inner ones have.
func (s *State) ClearsDF() bool { return s.Flags.NoPMTUDisc || s.DF == DFUnset }

// SetsDF says whether outer headers have DF set whatever the inner ones have.
func (s *State) SetsDF() bool { return s.DF == DFSet }

// OuterDSCP is the DSCP of outer headers; copied, that of the inner header. Under a map it
// is neither.
func (s *State) OuterDSCP() (value uint8, copied bool) {
	return s.DSCP.Value, !s.Flags.DontEncapDSCP && (!s.DSCP.Given || s.DSCP.Inherit)
}

// checkOuter refuses words on an outer header that the SA does not make, and two that speak of
// one field.
func (s *State) checkOuter(pos Pos) error {
	if s.Dir == DirIn {
		if err := s.CheckInboundOuter(pos); err != nil {
			return err
		}
	}
	word := s.outerWord()
	switch {
	case word != "" && s.Mode == ModeTransport:
		return Errorf(pos, "%s is of the outer header, and an SA in transport mode makes none: leave it out", word)
	case s.DF != "" && s.Dst.Is6():
		return Errorf(pos, "df is of an outer IPv4 header, and this SA has IPv6 endpoints: leave it out, for IPv6 is never cut on its way")
	case s.DF != "" && s.Flags.NoPMTUDisc:
		return Errorf(pos, "df %s and flag nopmtudisc, which is df unset, are of one bit: write one of them", s.DF)
	case s.DSCP.Given && s.Flags.DontEncapDSCP:
		return Errorf(pos, "dscp %s and extra-flag dont-encap-dscp, which is dscp 0, are of one field: write one of them", s.DSCP)
	}
	return nil
}

// CheckInboundOuter refuses those words, and the choice by DSCP, in an SA that is known to
// be inbound.
func (s *State) CheckInboundOuter(pos Pos) error {
	if s.ForDSCP != 0 {
		return Errorf(pos, "for-dscp is of outbound SAs alone, and the SA spi 0x%x is inbound: leave it out, for DSCPs are not checked there", s.SPI)
	}
	if word := s.outerWord(); word != "" {
		return Errorf(pos, "%s is of the outer header that an outbound SA makes, and the SA spi 0x%x is inbound: leave it out", word, s.SPI)
	}
	return nil
}

// outerWord is a word that the state has on the outer header, if any.
func (s *State) outerWord() string {
	switch {
	case s.DF != "":
		return "df"
	case s.DSCP.Given:
		return "dscp"
	}
	return ""
}
