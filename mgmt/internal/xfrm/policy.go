// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"math"
	"net/netip"
)

func (p *parser) policy() (Command, error) {
	if !p.more() {
		return PolicySelect{At: p.at(), Verb: List}, nil
	}
	verb := p.skip()
	switch choose(string(verb.Text), "add", "update", "delete", "deleteall", "delall", "list", "show", "lst", "get", "flush", "count", "setdefault", "getdefault", "set") {
	case "add":
		return p.policyAdd(false)
	case "update":
		return p.policyAdd(true)
	case "delete":
		return p.policySelect(Delete)
	case "get":
		return p.policySelect(Get)
	case "deleteall", "delall":
		return p.policySelect(DeleteAll)
	case "list", "show", "lst":
		return p.policySelect(List)
	case "flush":
		if p.peek() == "ptype" {
			if err := p.ptype(); err != nil {
				return nil, err
			}
		}
		flush := PolicyFlush{At: p.at()}
		if p.peek() == "sas" {
			if err := p.orphans(&flush.Orphans); err != nil {
				return nil, err
			}
		}
		return flush, nil
	case "count":
		return PolicyCount{p.at()}, nil
	case "set", "getdefault":
		return nil, verb.refuse("it tunes the Linux kernel's own tables")
	case "setdefault":
		return nil, verb.refuse("what no policy matches is always discarded")
	}
	return nil, verb.errorf("unknown word %s after xfrm policy: add, update, delete, deleteall, get, list, flush or count must follow", verb.quoted())
}

// orphans reads `sas keep|delete`, which is this box's own.
func (p *parser) orphans(o *Orphans) error {
	p.skip()
	word, err := p.take("keep or delete")
	if err != nil {
		return err
	}
	switch string(word.Text) {
	case "keep", "delete":
		o.Delete = string(word.Text) == "delete"
		return nil
	}
	return word.errorf("sas must be keep or delete, what becomes of SAs that no policy names any more, not %s", word.quoted())
}

func (p *parser) ptype() error {
	p.skip()
	word, err := p.take("the policy type")
	if err == nil && string(word.Text) != "main" {
		err = word.errorf("ptype must be main, not %s", word.quoted())
	}
	return err
}

func (p *parser) action() (Action, error) {
	word, err := p.take("the action")
	if err != nil {
		return "", err
	}
	switch action := Action(word.Text); action {
	case ActionAllow, ActionBlock, ActionPunt, ActionReject:
		return action, nil
	}
	return "", word.errorf("action must be allow, block, reject or punt, not %s", word.quoted())
}

// policyFlags reads `flag` with `icmp`, and `fragment-first` and `mss`, which are this box's own.
func (p *parser) policyFlags(pol *Policy) error {
	word, err := p.take("the flag")
	if err != nil {
		return err
	}
	p.next--
	for count := 0; p.more(); count++ {
		switch p.peek() {
		case "fragment-first":
			pol.FragmentFirst = true
		case "mss":
			pol.MSS = true
		case "icmp":
			pol.ICMP = true
		case "localok":
			return p.words[p.next].refuse("localok concerns a host's own sockets")
		default:
			if count == 0 {
				return word.errorf("flag must be icmp, fragment-first or mss, not %s", word.quoted())
			}
			return nil
		}
		p.skip()
	}
	return nil
}

// policyAdd reads what iproute2's xfrm_policy_modify reads, `action punt` and `reject`, `flag
// fragment-first` and `flag mss`, `name` and, in an update, `sas`.
func (p *parser) policyAdd(update bool) (Command, error) {
	pol := Policy{Selector: Selector{Src: Everything, Dst: Everything}, Action: ActionAllow}
	var selector, dir bool
	var orphans Orphans
	for p.more() {
		var err error
		word := p.words[p.next]
		switch text := p.peek(); {
		case text == "dir":
			if dir {
				return nil, word.errorf("dir is given twice")
			}
			dir = true
			p.skip()
			pol.Dir, err = p.direction(DirIn, DirOut, DirFwd)
		case text == "ctx":
			return nil, word.refuse("there are no security contexts here")
		case text == "mark":
			err = p.mark()
		case text == "name":
			pol.Name, err = p.name()
		case text == "index":
			p.skip()
			pol.Index, err = p.number32("the index")
		case text == "ptype":
			err = p.ptype()
		case text == "action":
			p.skip()
			pol.Action, err = p.action()
		case text == "priority":
			p.skip()
			pol.Priority, err = p.number32("the priority")
		case text == "flag":
			p.skip()
			err = p.policyFlags(&pol)
		case text == "limit":
			p.skip()
			err = p.policyLimit()
		case text == "tmpl":
			if pol.Template != nil {
				return nil, word.errorf("a second tmpl: one SA after another is not supported")
			}
			p.skip()
			pol.Template, err = p.template()
		case text == "if_id":
			pol.IfID, err = p.ifID()
		case text == "sas" && update:
			err = p.orphans(&orphans)
		case text == "offload":
			return nil, word.refuse("every policy is applied in hardware here")
		case isSelectorWord(text):
			if selector {
				return nil, word.errorf("%s comes too late: the words of a selector stand together", word.quoted())
			}
			selector = true
			pol.Selector, err = p.selector(Everything, true)
		default:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkPolicy(p.start, &pol); err != nil {
		return nil, err
	}
	return PolicyAdd{p.at(), update, pol, orphans}, nil
}

func checkPolicy(pos Pos, pol *Policy) error {
	switch {
	case pol.Dir == "":
		return Errorf(pos, "a policy needs its direction: dir in, dir out or dir fwd")
	case pol.Action != ActionAllow && pol.Template != nil:
		return Errorf(pos, "a policy with action %s takes no tmpl", pol.Action)
	case pol.Action == ActionReject && pol.Dir != DirOut:
		return Errorf(pos, "action reject is for dir out: the senders of packets from black are not told, write action block")
	case pol.FragmentFirst && (pol.Dir != DirOut || pol.Template == nil):
		return Errorf(pos, "flag fragment-first is for an out policy with a tmpl: no other packets are encrypted")
	case pol.FragmentFirst && pol.Template.Mode == ModeTransport:
		return Errorf(pos, "flag fragment-first is not supported in transport mode, which carries no fragments (RFC 4303, 3.3.4): leave it out, and what may be cut is cut behind ESP")
	case pol.MSS && (pol.Template == nil || pol.Template.Mode == ModeTransport):
		return Errorf(pos, "flag mss is for a policy with a tmpl of mode tunnel: of other packets the box changes no TCP header")
	case pol.Dir == DirOut && pol.Dev == Red:
		return Errorf(pos, "dev red in an out policy matches nothing: packets leave by black")
	case pol.IfID != 0:
		return checkInterfacePolicy(pos, pol)
	case pol.VRF != "":
		return checkVRFPolicy(pos, pol)
	case pol.Template != nil && pol.Template.Mode == ModeTransport:
		return checkHosts(pos, pol)
	}
	return nil
}

// checkInterfacePolicy refuses what a policy of an XFRM interface cannot be. Packets out of tunnels
// are let in by their policy's tmpl alone, and clear packets by policies without if_id.
func checkInterfacePolicy(pos Pos, pol *Policy) error {
	switch {
	case pol.Template != nil && pol.Template.Mode == ModeTransport:
		return Errorf(pos, "a policy with if_id needs a tmpl of mode tunnel: the packets of an XFRM interface are routed")
	case pol.Template != nil:
		return nil
	case pol.Dir != DirOut:
		return Errorf(pos, "an in or fwd policy with if_id needs a tmpl: what no policy of its interface lets in is dropped, so leave it out")
	case pol.Action == ActionAllow:
		return Errorf(pos, "an out policy with if_id and without a tmpl lets nothing out, for an XFRM interface sends no clear packets: write its tmpl, or action block")
	}
	return nil
}

// checkHosts refuses a template in transport mode whose ends are not among the hosts that its
// policy is for: no SA could fit it.
func checkHosts(pos Pos, pol *Policy) error {
	for _, side := range []struct {
		word  string
		end   netip.Addr
		hosts side
	}{{"src", pol.Template.Src, pol.src()}, {"dst", pol.Template.Dst, pol.dst()}} {
		if side.end.IsValid() && !side.hosts.contains(side.end) {
			return Errorf(pos, "the tmpl's %s %s is not in the policy's %s %s: in transport mode the ends of an SA are the hosts whose packets it carries", side.word, side.end, side.word, side.hosts)
		}
	}
	return nil
}

func (p *parser) policyLimit() error {
	word := p.words[max(p.next-1, 0)]
	s := State{}
	if err := p.limit(&s); err != nil {
		return err
	}
	if s.Limited() {
		return word.refuse("policies do not expire here")
	}
	return nil
}

func (p *parser) policySelect(verb Verb) (Command, error) {
	filter, orphans := PolicyFilter{}, Orphans{}
	missing := Everything
	if verb >= DeleteAll {
		missing = netip.Prefix{} // `list proto tcp` is of both IP versions
	}
	for p.more() {
		var err error
		word := p.words[p.next]
		switch text := p.peek(); {
		case text == "dir":
			p.skip()
			filter.Dir, err = p.direction(DirIn, DirOut, DirFwd)
		case text == "mark":
			err = p.mark()
		case text == "ctx":
			return nil, word.refuse("there are no security contexts here")
		case text == "index":
			p.skip()
			filter.Index, err = p.number32("the index")
		case text == "ptype":
			err = p.ptype()
		case text == "if_id":
			filter.HasIfID = true
			filter.IfID, err = p.ifID()
		case text == "sas" && (verb == Delete || verb == DeleteAll):
			err = p.orphans(&orphans)
		case text == "nosock" && verb >= DeleteAll:
			p.skip()
		case text == "action" && verb >= DeleteAll:
			p.skip()
			filter.Action, err = p.action()
		case text == "priority" && verb >= DeleteAll:
			p.skip()
			var n uint64
			n, err = p.number("the priority", 32)
			priority := uint32(n & math.MaxUint32)
			filter.Priority = &priority
		case isSelectorWord(text) && !filter.HasSel:
			filter.HasSel = true
			filter.Selector, err = p.selector(missing, true)
		default:
			err = p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	if verb <= Get {
		if filter.Dir == "" {
			return nil, Errorf(p.start, "a policy is named by its direction and its selector or index: dir is missing")
		}
		if filter.HasSel == (filter.Index != 0) {
			return nil, Errorf(p.start, "a policy is named by either its selector or its index")
		}
	}
	return PolicySelect{p.at(), verb, filter, orphans}, nil
}
