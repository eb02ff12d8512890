package xfrm

import "strings"

// The tags' protocol identifiers (IEEE 802.1Q 9.5), and the VIDs that a VLAN may have: 4095 is reserved (table 9-2).
const (
	tpid8021Q  = 0x8100
	tpid8021AD = 0x88a8
	maxVLAN    = 4094
	noVLAN     = 0xffff
)

// vlanOption reads what follows `type vlan`.
func (p *parser) vlanOption(v *VLAN) error {
	switch p.peek() {
	case "id":
		p.skip()
		id, err := p.number("the id of the VLAN", 16)
		if err == nil && id > maxVLAN {
			err = p.words[p.next-1].errorf("the id of a VLAN must be 0 to %d, not %d", maxVLAN, id)
		}
		v.ID = uint16(id)
		return err
	case "protocol", "proto":
		p.skip()
		word, err := p.take("the protocol, 802.1Q or 802.1ad,")
		switch {
		case err != nil:
			return err
		case strings.EqualFold(string(word.Text), "802.1Q"):
			v.Protocol = tpid8021Q
		case strings.EqualFold(string(word.Text), "802.1ad"):
			v.Protocol = tpid8021AD
		default:
			return word.errorf("the protocol of a VLAN is 802.1Q or 802.1ad, not %s", word.quoted())
		}
		return nil
	}
	return p.unknown()
}

// ProtocolName is how `protocol` names it.
func (v VLAN) ProtocolName() string {
	if v.Protocol == tpid8021AD {
		return "802.1ad"
	}
	return "802.1Q"
}
