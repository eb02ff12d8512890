// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"strings"
	"unicode"
)

// link reads `link set`, `link add` and `link delete`.
func (p *parser) link() (Command, error) {
	verb, err := p.verb("link", "set", "add", "delete")
	switch {
	case err != nil || verb == "show":
		return p.showOr(err, "link")
	case verb == "set":
		return p.linkSet()
	case verb == "add":
		return p.linkAdd()
	}
	return p.linkDelete()
}

// linkSet reads `link set [dev] D [up|down] [mtu N] [address MAC] [promisc on|off] [master
// BRIDGE|nomaster]`. Of other devices than a port it reads `up`, and `master VRF|nomaster`.
func (p *parser) linkSet() (Command, error) {
	l := Link{At: p.at()}
	ofAny := true // other devices than a port may be told so, too
	for p.more() {
		word := p.peek()
		option, err := p.linkOption(&l)
		switch {
		case err == nil && option:
			ofAny = ofAny && (word == "up" || word == "master" || word == "nomaster")
		case err == nil && l.Dev == "":
			err = p.linkDevice(&l)
		case err == nil:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case l.Dev == "":
		return nil, Errorf(p.start, "a link line is `link set dev red|black [up|down] [mtu N] [address MAC] [promisc on|off] [master BRIDGE|nomaster]`")
	case l.Dev != Red && l.Dev != Black && !ofAny:
		return nil, Errorf(p.start, "unknown device %q: the devices are red and black, and a bridge over them, a VLAN's device, a VRF or an XFRM interface can be set up, added and deleted alone", l.Dev)
	}
	return l, nil
}

// linkOption reads an option of `link set`, if one comes next.
func (p *parser) linkOption(l *Link) (option bool, err error) {
	word := p.peek()
	switch word {
	case "up", "down", "mtu", "address", "promisc", "master", "nomaster":
		p.skip()
	default:
		return false, nil
	}
	switch word {
	case "mtu":
		l.MTU, err = p.mtu()
	case "address":
		var mac MAC
		mac, err = p.mac("the address")
		l.Address = &mac
	case "promisc":
		l.Promisc, err = p.onOff("promisc")
	case "master":
		var master string
		master, err = p.linkName("the bridge or the VRF after master")
		l.Master = &master
	case "nomaster":
		l.Master = new(string)
	default:
		up := word == "up"
		l.Up = &up
	}
	return true, err
}

// onOff reads the value of a switch.
func (p *parser) onOff(what string) (*bool, error) {
	word, err := p.take("on or off after " + what)
	if err != nil {
		return nil, err
	}
	on := string(word.Text) == "on"
	if !on && string(word.Text) != "off" {
		return nil, word.errorf("%s is on or off, not %s", what, word.quoted())
	}
	return &on, nil
}

func (p *parser) linkDevice(l *Link) error {
	if p.peek() == "dev" {
		p.skip()
	}
	word, err := p.take("the device")
	l.Dev = string(word.Text)
	return err
}

// linkAdd reads `link add [link PARENT] [name|dev] NAME type bridge|vlan [protocol 802.1Q|802.1ad]
// [id N]`, `link add NAME type xfrm [dev black] if_id N` and `link add NAME type vrf table N`.
func (p *parser) linkAdd() (Command, error) {
	var name, kind string
	vlan := VLAN{At: p.at(), Protocol: tpid8021Q, ID: noVLAN}
	xfrm := Interface{At: p.at()}
	vrf := VRF{At: p.at()}
	for p.more() {
		var err error
		switch word := p.peek(); {
		case word == "link" && kind == "":
			p.skip()
			vlan.Parent, err = p.networkDevice()
		case word == "type" && kind == "":
			p.skip()
			kind, err = p.linkType()
		case name == "" && kind == "":
			if word == "name" || word == "dev" {
				p.skip()
			}
			name, err = p.linkName("the name of the device")
		case kind == "vlan":
			err = p.vlanOption(&vlan)
		case kind == "xfrm":
			err = p.interfaceOption(&xfrm)
		case kind == "vrf":
			err = p.vrfOption(&vrf)
		default:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	vlan.Name, xfrm.Name, vrf.Name = name, name, name
	switch {
	case name != "" && kind == "bridge" && vlan.Parent == "":
		return Bridge{p.at(), name}, nil
	case name != "" && kind == "vlan" && vlan.Parent != "" && vlan.ID != noVLAN:
		return vlan, nil
	case name != "" && kind == "xfrm" && vlan.Parent == "" && xfrm.IfID != 0:
		return xfrm, nil
	case name != "" && kind == "vrf" && vlan.Parent == "" && vrf.Table != 0:
		return vrf, nil
	case kind == "vrf":
		return nil, Errorf(p.start, "a VRF is `link add NAME type vrf table N`")
	case kind == "xfrm":
		return nil, Errorf(p.start, "an XFRM interface is `link add NAME type xfrm dev black if_id N`, with an N from 1")
	case kind == "vlan":
		return nil, Errorf(p.start, "a VLAN's device is `link add link red|black name NAME type vlan id N`")
	}
	return nil, Errorf(p.start, "a bridge over both ports is `link add NAME type bridge`, and then `link set red master NAME` and `link set black master NAME`")
}

func (p *parser) linkType() (string, error) {
	word, err := p.take("the type, bridge, vlan, vrf or xfrm,")
	if kind := string(word.Text); err == nil && kind != "bridge" && kind != "vlan" && kind != "vrf" && kind != "xfrm" {
		err = word.errorf("type %s is not supported: a bridge over red and black, VLANs of them, VRFs and XFRM interfaces are the links that can be added", word.quoted())
	}
	return string(word.Text), err
}

// interfaceOption reads what follows `type xfrm`. Tunnels leave by black, whatever device is named,
// as in Linux, where that device counts for hardware offload alone.
func (p *parser) interfaceOption(i *Interface) (err error) {
	switch word := p.words[p.next]; p.peek() {
	case "if_id":
		i.IfID, err = p.ifID()
	case "dev":
		p.skip()
		if word, err = p.take("the device after dev"); err == nil && string(word.Text) != Black {
			err = word.errorf("dev must be black, by which tunnels leave, not %s", word.quoted())
		}
	case "external":
		return word.refuse("write the if_id of the interface")
	default:
		return p.unknown()
	}
	return err
}

// linkDelete reads `link delete [dev] NAME [type bridge|vlan|vrf|xfrm]`.
func (p *parser) linkDelete() (Command, error) {
	if word := p.peek(); word == "dev" || word == "name" {
		p.skip()
	}
	name, err := p.linkName("the name of the device")
	if err == nil && p.peek() == "type" {
		p.skip()
		_, err = p.linkType()
	}
	if err == nil && p.more() {
		err = p.unknown()
	}
	return LinkDelete{p.at(), name}, err
}

// maxName is the longest name of a device, as in Linux.
const maxName = 15

func (p *parser) linkName(what string) (string, error) {
	word, err := p.take(what)
	if err != nil {
		return "", err
	}
	name := string(word.Text)
	switch {
	case name == Red || name == Black:
		return "", word.errorf("%s is a port: a bridge, a VLAN's device, a VRF and an XFRM interface need names of their own", word.Text)
	case !IsLinkName(name):
		return "", word.errorf("%s cannot be the name of a device: write 1 to %d letters, digits, dots, dashes or underscores", word.quoted(), maxName)
	}
	return name, nil
}

// IsLinkName says whether Linux takes a name for a device.
func IsLinkName(name string) bool {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name, "/: ") && name != "." && name != ".." && !strings.ContainsFunc(name, unprintable)
}

// The tags' protocol identifiers (IEEE 802.1Q 9.5), and the VIDs that a VLAN may have: 4095 is
// reserved (table 9-2).
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
