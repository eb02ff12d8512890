// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"bytes"
	"math"
	"net"
	"strconv"
	"strings"
)

// parser walks the words of one command.
type parser struct {
	words []Token
	next  int
	start Pos
}

func (p *parser) more() bool { return p.next < len(p.words) }

func (p *parser) peek() string {
	if !p.more() {
		return ""
	}
	return string(p.words[p.next].Text)
}

// take returns the next word, or an error that says what should stand there.
func (p *parser) take(what string) (Token, error) {
	if !p.more() {
		return Token{}, Errorf(p.lastPos(), "the line ends where %s should follow", what)
	}
	p.next++
	return p.words[p.next-1], nil
}

// skip takes a keyword that peek has seen.
func (p *parser) skip() Token {
	p.next++
	return p.words[p.next-1]
}

func (p *parser) lastPos() Pos {
	if p.next > 0 {
		return p.words[p.next-1].Pos
	}
	return p.start
}

func (t Token) errorf(format string, args ...any) error { return Errorf(t.Pos, format, args...) }

// quoted prints a word in a message, unless it might be a key.
func (t Token) quoted() string {
	if len(t.Text) > 40 || bytes.HasPrefix(t.Text, []byte("0x")) && len(t.Text) > 18 {
		return Redacted
	}
	return strconv.Quote(string(t.Text))
}

// abbreviates is iproute2's matches(): a word stands for a command that it is a prefix of.
func abbreviates(word, command string) bool { return word != "" && strings.HasPrefix(command, word) }

// choose finds the first command that the word abbreviates.
func choose(word string, commands ...string) string {
	for _, command := range commands {
		if abbreviates(word, command) {
			return command
		}
	}
	return ""
}

// parseNumber is C's strtoull with base 0: decimal, 0x hexadecimal, 0 octal.
func parseNumber(text string, bits int) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		base, text = 16, text[2:]
	case len(text) > 1 && text[0] == '0':
		base, text = 8, text[1:]
	}
	n, err := strconv.ParseUint(text, base, bits)
	return n, err == nil
}

func (p *parser) number(what string, bits int) (uint64, error) {
	word, err := p.take(what)
	if err != nil {
		return 0, err
	}
	n, ok := parseNumber(string(word.Text), bits)
	if !ok {
		return 0, word.errorf("%s must be a number of 0 to %d, not %s", what, uint64(math.MaxUint64)>>(64-bits), word.quoted())
	}
	return n, nil
}

func (p *parser) number32(what string) (uint32, error) {
	n, err := p.number(what, 32)
	return uint32(n), err
}

// Devices are the box's two ports.
const (
	Red   = "red"
	Black = "black"
)

func (p *parser) device() (string, error) {
	word, err := p.take("a device, red or black,")
	if err != nil {
		return "", err
	}
	dev := string(word.Text)
	if dev != Red && dev != Black {
		return "", word.errorf("unknown device %s: the devices are red and black", word.quoted())
	}
	return dev, nil
}

// networkDevice reads a port, or a name that may be a VLAN's device.
func (p *parser) networkDevice() (string, error) {
	word, err := p.take("a device, red or black, a VLAN of them or an XFRM interface,")
	if err == nil && !IsLinkName(string(word.Text)) {
		err = word.errorf("%s cannot be a device: the devices are red and black, and VLANs of them", word.quoted())
	}
	return string(word.Text), err
}

// ParseMAC reads a unicast Ethernet address of six hexadecimal bytes.
func ParseMAC(text string) (MAC, error) {
	hw, err := net.ParseMAC(text)
	if err != nil || len(hw) != 6 {
		return MAC{}, &Error{Reason: "not an Ethernet address: " + strconv.Quote(text)}
	}
	return MAC(hw), nil
}

func (p *parser) mac(what string) (MAC, error) {
	word, err := p.take(what)
	if err != nil {
		return MAC{}, err
	}
	mac, err := ParseMAC(string(word.Text))
	if err != nil {
		return mac, word.errorf("%s must be an Ethernet address such as 02:00:00:00:00:01, not %s", what, word.quoted())
	}
	if mac[0]&1 != 0 || mac == (MAC{}) {
		return mac, word.errorf("%s must be the address of one station, not %s", what, word.quoted())
	}
	return mac, nil
}

// Protocols by the names of /etc/protocols that matter here; getprotobyname also knows the
// upper-case aliases.
var protocolNumbers = map[string]uint8{
	"ip": 0, "icmp": 1, "igmp": 2, "ggp": 3, "ipencap": 4, "st": 5, "tcp": 6, "egp": 8, "igp": 9, "pup": 12, "udp": 17, "hmp": 20, "xns-idp": 22,
	"rdp": 27, "iso-tp4": 29, "dccp": 33, "xtp": 36, "ddp": 37, "idpr-cmtp": 38, "ipv6": 41, "ipv6-route": 43, "ipv6-frag": 44, "idrp": 45,
	"rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "skip": 57, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "rspf": 73, "vmtp": 81,
	"eigrp": 88, "ospf": 89, "ax.25": 93, "ipip": 94, "etherip": 97, "encap": 98, "pim": 103, "ipcomp": 108, "vrrp": 112, "l2tp": 115,
	"isis": 124, "sctp": 132, "fc": 133, "mobility-header": 135, "udplite": 136, "mpls-in-ip": 137, "manet": 138, "hip": 139, "shim6": 140, "wesp": 141, "rohc": 142,
}

// protocolByName accepts the names of /etc/protocols and, as getprotobyname does, their
// upper-case aliases.
func protocolByName(name string) (uint8, bool) {
	if name == strings.ToUpper(name) {
		name = strings.ToLower(name)
	}
	number, ok := protocolNumbers[name]
	return number, ok
}

func protocolName(number uint8) string {
	for _, name := range []string{"icmp", "igmp", "tcp", "udp", "dccp", "gre", "esp", "ah", "ipv6-icmp", "ospf", "sctp"} {
		if protocolNumbers[name] == number {
			return name
		}
	}
	return strconv.Itoa(int(number))
}

// Protocol numbers of packets in which the chips read more than their IP header.
const (
	protoICMP     = 1
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoFragment = 44
	protoICMPv6   = 58
	protoDestOpts = 60
	protoSCTP     = 132
	protoMobility = 135
)

// HasPorts says whether the chips find ports in packets of a protocol.
func HasPorts(proto uint8) bool { return proto == protoTCP || proto == protoUDP || proto == protoSCTP }

// HasCode says whether the chips find an ICMP type and code in packets of a protocol under an
// IP version.
func HasCode(proto, version uint8) bool {
	return proto == protoICMP && version == 4 || proto == protoICMPv6 && version == 6
}

// HasType says whether they find a type: of ICMP, or of a mobility header, which has no code (RFC
// 6275, 6.1.1).
func HasType(proto, version uint8) bool {
	return HasCode(proto, version) || proto == protoMobility && version == 6
}
