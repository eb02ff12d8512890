// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"net/netip"
)

// PortNATT is the port of IKE and of ESP in UDP (RFC 7296, 2.23), the only one at which the box
// takes such ESP.
const PortNATT = 4500

// Encap puts an SA's ESP into UDP (RFC 3948). OAddr is the peer's address before NAT, which
// transport mode alone would need. It is stored and listed, and has no effect.
type Encap struct {
	SPort uint16     `json:"sport"`
	DPort uint16     `json:"dport"`
	OAddr netip.Addr `json:"oaddr"`
}

// String prints as `ip xfrm state list`.
func (e *Encap) String() string {
	return fmt.Sprintf("encap type espinudp sport %d dport %d addr %s", e.SPort, e.DPort, e.OAddr)
}

// encap reads `encap espinudp SPORT DPORT OADDR`.
func (p *parser) encap() (*Encap, error) {
	word, err := p.take("the type of encap, espinudp,")
	if err != nil {
		return nil, err
	}
	switch string(word.Text) {
	case "espinudp":
	case "espinudp-nonike", "espintcp":
		return nil, word.errorf("encap %s is not supported: only espinudp (RFC 3948) is", word.Text)
	default:
		return nil, word.errorf("encap must be espinudp, not %s", word.quoted())
	}
	e := &Encap{}
	if e.SPort, err = p.encapPort("the source port of encap"); err != nil {
		return nil, err
	}
	if e.DPort, err = p.encapPort("the destination port of encap"); err != nil {
		return nil, err
	}
	e.OAddr, err = p.address("the original address of encap, 0.0.0.0 or :: if there is none,")
	return e, err
}

func (p *parser) encapPort(what string) (uint16, error) {
	port, err := p.number(what, 16)
	if err == nil && port == 0 {
		err = p.words[p.next-1].errorf("%s must be 1 to 65535, not 0", what)
	}
	return uint16(port), err
}

// checkEncap refuses what the box could not send, or would not know for ESP.
func (s *State) checkEncap(pos Pos) error {
	switch {
	case s.Encap == nil:
		return nil
	case s.Mode == ModeTransport:
		return Errorf(pos, "encap is not supported in transport mode, for the hardware does not mend the checksums that a NAT breaks (RFC 3948, 3.1.2): leave it out or write mode tunnel")
	case s.Encap.OAddr.Is6() != s.Dst.Is6():
		return Errorf(pos, "the original address of encap must be of one IP version with the SA's endpoints, 0.0.0.0 or :: if there is none, not %s", s.Encap.OAddr)
	case s.Dir == DirIn:
		return s.CheckInboundEncap(pos)
	}
	return nil
}

// CheckInboundEncap refuses an inbound SA whose packets the box would not know for ESP.
func (s *State) CheckInboundEncap(pos Pos) error {
	if s.Encap == nil || s.Encap.DPort == PortNATT {
		return nil
	}
	return Errorf(pos, "ESP in UDP is received at port %d alone (RFC 7296, 2.23): the encap of an inbound SA needs it as destination port, not %d", PortNATT, s.Encap.DPort)
}
