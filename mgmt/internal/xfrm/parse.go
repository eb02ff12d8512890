// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"slices"
	"strings"
)

// ownCommands are not in iproute2.
var ownCommands = []string{"next-hop", "reassembly", "punt", "qos", "skip-headers", "vrf"}

// ParseBatch reads a whole `ip -batch` file. The first mistake ends it.
func ParseBatch(file string, input []byte) ([]Command, error) {
	return parseFile(file, input, func(words []Token) (Command, error) {
		if name := objectOf(words[0]); slices.Contains(ownCommands, name) {
			return nil, words[0].errorf("%s is a command of sallyctl alone: a batch file, which Linux may load too, cannot hold it", name)
		}
		return Parse(words)
	})
}

// parseFile reads the lines of a file.
func parseFile(file string, input []byte, parse func([]Token) (Command, error)) ([]Command, error) {
	lines, err := Lex(file, input)
	if err != nil {
		return nil, err
	}
	var commands []Command
	for _, words := range lines {
		command, err := parse(words)
		if err != nil {
			Wipe(commands)
			return nil, err
		}
		commands = append(commands, command)
	}
	return commands, nil
}

// objectOf is what a line is about; empty if it is nothing that the box knows.
func objectOf(word Token) string {
	return choose(string(word.Text), append([]string{"address", "route", "neighbor", "neighbour", "link", "xfrm"}, ownCommands...)...)
}

// ParseConfig reads a configuration without SAs: lines of sallyctl that add or set. The first
// mistake ends it.
func ParseConfig(file string, input []byte) ([]Command, error) {
	return parseFile(file, input, func(words []Token) (Command, error) {
		command, err := Parse(words)
		if err != nil {
			return nil, err
		}
		if !configures(command) {
			Wipe([]Command{command})
			return nil, Errorf(command.Where(), "a configuration holds lines that add or set anything but SAs: load SAs with -batch, or leave them to IKE")
		}
		return command, nil
	})
}

// configures says whether a command is one of a configuration.
func configures(command Command) bool {
	switch c := command.(type) {
	case Addr:
		return !c.Del
	case Route:
		return !c.Del
	case Neigh:
		return !c.Del
	case Link, Bridge, VLAN, VRF, Interface, NextHop, Reassembly, PuntSet, QoS, SkipHeaders, PolicyAdd:
		return true
	}
	return false
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
	var command Command
	switch objectOf(object) {
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
	case "vrf":
		if _, err = p.verb("vrf", "list"); err == nil {
			command = Show{p.at(), "vrf"}
		}
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

// ifID reads `if_id N`, the number of an XFRM interface.
func (p *parser) ifID() (uint32, error) {
	p.skip()
	return p.number32("the value of if_id")
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
