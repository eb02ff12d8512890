package xfrm

import "strings"

// link reads `link set`, `link add` and `link delete`.
func (p *parser) link() (Command, error) {
	verb, err := p.verb("link", "set", "add", "delete")
	switch {
	case err != nil || verb == "show":
		return p.showOr(err, "link")
	case verb == "set":
		return p.linkSet()
	}
	return p.bridge(verb == "delete")
}

// linkSet reads `link set [dev] D [up|down] [mtu N] [address MAC] [master BRIDGE|nomaster]`; a bridge itself can be set up alone.
func (p *parser) linkSet() (Command, error) {
	l := Link{At: p.at()}
	onlyUp := true // which a bridge may be told too
	for p.more() {
		word := p.peek()
		option, err := p.linkOption(&l)
		switch {
		case err == nil && option:
			onlyUp = onlyUp && word == "up"
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
		return nil, Errorf(p.start, "a link line is `link set dev red|black [up|down] [mtu N] [address MAC] [master BRIDGE|nomaster]`")
	case l.Dev != Red && l.Dev != Black && !onlyUp:
		return nil, Errorf(p.start, "unknown device %q: the devices are red and black, and a bridge over them can be set up, added and deleted alone", l.Dev)
	}
	return l, nil
}

// linkOption reads what is set of a link, if that is what comes next.
func (p *parser) linkOption(l *Link) (option bool, err error) {
	word := p.peek()
	switch word {
	case "up", "down", "mtu", "address", "master", "nomaster":
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
	case "master":
		var master string
		master, err = p.bridgeName("the bridge after master")
		l.Master = &master
	case "nomaster":
		l.Master = new(string)
	default:
		up := word == "up"
		l.Up = &up
	}
	return true, err
}

func (p *parser) linkDevice(l *Link) error {
	if p.peek() == "dev" {
		p.skip()
	}
	word, err := p.take("the device")
	l.Dev = string(word.Text)
	return err
}

// bridge reads `link add [name|dev] NAME type bridge` and `link delete [dev] NAME [type bridge]`.
func (p *parser) bridge(del bool) (Command, error) {
	b := Bridge{At: p.at(), Del: del}
	kind := false
	for p.more() {
		var err error
		switch word := p.peek(); {
		case word == "type" && !kind:
			p.skip()
			kind = true
			var word Token
			if word, err = p.take("the type, bridge,"); err == nil && string(word.Text) != "bridge" {
				err = word.errorf("type %s is not supported: a bridge over red and black is the one link that can be added", word.quoted())
			}
		case b.Name == "" && !kind:
			if word == "name" || word == "dev" {
				p.skip()
			}
			b.Name, err = p.bridgeName("the name of the bridge")
		default:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	if b.Name == "" || !kind && !del {
		return nil, Errorf(p.start, "a bridge over both ports is `link add NAME type bridge`, and then `link set red master NAME` and `link set black master NAME`")
	}
	return b, nil
}

// maxName is the longest name of a device, as in Linux.
const maxName = 15

func (p *parser) bridgeName(what string) (string, error) {
	word, err := p.take(what)
	if err != nil {
		return "", err
	}
	name := string(word.Text)
	switch {
	case name == Red || name == Black:
		return "", word.errorf("%s is a port: a bridge needs a name of its own", word.Text)
	case name == "" || len(name) > maxName || strings.ContainsAny(name, "/: \t") || name == "." || name == "..":
		return "", word.errorf("%s cannot be the name of a bridge: write 1 to %d letters, digits, dots, dashes or underscores", word.quoted(), maxName)
	}
	return name, nil
}
