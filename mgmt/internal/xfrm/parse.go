// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"slices"
	"strings"
)

// ownCommands are not in iproute2.
var ownCommands = []string{"next-hop", "reassembly", "punt", "qos", "skip-headers"}

// ParseBatch reads a whole `ip -batch` file. The first mistake ends it.
func ParseBatch(file string, input []byte) ([]Command, error) {
	lines, err := Lex(file, input)
	if err != nil {
		return nil, err
	}
	var commands []Command
	for _, words := range lines {
		command, err := Parse(words)
		if err != nil {
			Wipe(commands)
			return nil, err
		}
		commands = append(commands, command)
	}
	return commands, nil
}

// Parse reads one command as `ip` would, without the `ip`.
func Parse(words []Token) (Command, error) {
	p := &parser{words: words}
	if len(words) > 0 {
		p.start = words[0].Pos
	}
	object, err := p.take("a command")
	if err != nil {
		return nil, err
	}
	name := choose(string(object.Text), append([]string{"address", "route", "neighbor", "neighbour", "link", "xfrm"}, ownCommands...)...)
	if p.start.File != "" && slices.Contains(ownCommands, name) {
		return nil, object.errorf("%s is a command of sallyctl alone: a batch file, which Linux may load too, cannot hold it", name)
	}
	var command Command
	switch name {
	case "address":
		command, err = p.addr()
	case "route":
		command, err = p.route()
	case "neighbor", "neighbour":
		command, err = p.neigh()
	case "link":
		command, err = p.link()
	case "xfrm":
		command, err = p.xfrm()
	case "next-hop":
		command, err = p.nextHop()
	case "reassembly":
		command, err = p.reassembly()
	case "punt":
		command, err = p.punt()
	case "qos":
		command, err = p.qos()
	case "skip-headers":
		command, err = p.skipHeaders()
	default:
		return nil, object.errorf("unknown command %s: a batch holds xfrm, addr, link, route and neigh lines", object.quoted())
	}
	if err != nil {
		return nil, err
	}
	if p.more() {
		return nil, p.words[p.next].errorf("unexpected word %s", p.words[p.next].quoted())
	}
	return command, nil
}

func (p *parser) at() At { return At{p.start} }

func (p *parser) xfrm() (Command, error) {
	object, err := p.take("state or policy")
	if err != nil {
		return nil, err
	}
	switch choose(string(object.Text), "state", "sa", "policy", "monitor") {
	case "state", "sa":
		return p.state()
	case "policy":
		return p.policy()
	case "monitor":
		return nil, object.errorf("xfrm monitor is not supported yet")
	}
	return nil, object.errorf("unknown word %s after xfrm: state or policy must follow", object.quoted())
}

// refuse names an option of iproute2 that this box cannot honour.
func (t Token) refuse(why string) error {
	return t.errorf("%s is not supported: %s", strings.TrimSpace(string(t.Text)), why)
}

// zeroOption takes an option's number and accepts 0 alone, which asks for nothing.
func (p *parser) zeroOption(why string) error {
	word := p.skip()
	n, err := p.number("the value of "+string(word.Text), 32)
	if err == nil && n != 0 {
		return word.refuse(why)
	}
	return err
}

// mark takes `mark M [mask N]`; an SA or policy that asks for marked packets alone cannot
// be honoured.
func (p *parser) mark() error {
	word := p.skip()
	value, err := p.number("the value of mark", 32)
	if err != nil {
		return err
	}
	mask := uint64(0xFFFFFFFF)
	if p.peek() == "mask" {
		p.skip()
		if mask, err = p.number("the value of mask", 32); err != nil {
			return err
		}
	}
	if value&mask != 0 {
		return word.refuse("packets carry no marks here")
	}
	return nil
}

// mode reads a mode.
func (p *parser) mode() (string, error) {
	word, err := p.take("the mode")
	if err != nil {
		return "", err
	}
	switch choose(string(word.Text), "transport", "tunnel", "ro", "in_trigger", "beet") {
	case "tunnel":
		return ModeTunnel, nil
	case "transport":
		return ModeTransport, nil
	case "":
		return "", word.errorf("mode must be tunnel or transport, not %s", word.quoted())
	}
	return "", word.errorf("mode %s is not supported: only tunnel and transport are", string(word.Text))
}

// The modes of an SA (RFC 4301, 4.1).
const (
	ModeTunnel    = "tunnel"
	ModeTransport = "transport" // what no mode means, as in iproute2
)
