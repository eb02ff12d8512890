// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"math"
	"net/netip"
)

func (p *parser) state() (Command, error) {
	if !p.more() {
		return StateSelect{p.at(), List, StateFilter{}}, nil
	}
	verb := p.skip()
	switch choose(string(verb.Text), "add", "update", "allocspi", "delete", "deleteall", "delall", "list", "show", "lst", "get", "flush", "count") {
	case "add":
		return p.stateAdd(false)
	case "update":
		return p.stateAdd(true)
	case "delete":
		return p.stateSelect(Delete)
	case "get":
		return p.stateSelect(Get)
	case "deleteall", "delall":
		return p.stateSelect(DeleteAll)
	case "list", "show", "lst":
		return p.stateSelect(List)
	case "flush":
		if p.peek() == "proto" {
			if _, err := p.id(); err != nil {
				return nil, err
			}
		}
		return StateFlush{p.at()}, nil
	case "count":
		return StateCount{p.at()}, nil
	case "allocspi":
		return nil, verb.refuse("name the SPI in `xfrm state add`")
	}
	return nil, verb.errorf("unknown word %s after xfrm state: add, update, delete, deleteall, get, list, flush or count must follow", verb.quoted())
}

func (p *parser) stateSelect(verb Verb) (Command, error) {
	filter := StateFilter{}
	seen := false
	for p.more() {
		var err error
		word := p.peek()
		switch {
		case word == "mark":
			err = p.mark()
		case word == "mode" && verb >= DeleteAll:
			p.skip()
			filter.Mode, err = p.mode()
		case word == "reqid" && verb >= DeleteAll:
			p.skip()
			filter.ReqID, err = p.number32("the reqid")
		case word == "nokeys" && verb == List:
			p.skip()
		case isIDWord(word) && !seen:
			seen = true
			err = p.idWords(&filter, verb >= DeleteAll)
		default:
			return nil, p.unknown()
		}
		if err != nil {
			return nil, err
		}
	}
	if verb <= Get && (!filter.Dst.IsValid() || filter.Proto == "" || filter.SPI == 0) {
		return nil, Errorf(p.start, "an SA is named by dst, proto and spi: `xfrm state delete dst ADDR proto esp spi SPI`")
	}
	return StateSelect{p.at(), verb, filter}, nil
}

func (p *parser) unknown() error {
	word := p.words[p.next]
	return word.errorf("unexpected word %s", word.quoted())
}

// stateAdd reads what iproute2's xfrm_state_modify reads, `df`, `dscp`, `for-dscp`, `dummy`,
// `node` and `name`.
func (p *parser) stateAdd(update bool) (Command, error) {
	s := State{Mode: ModeTransport}
	var idSeen bool
	for p.more() {
		var err error
		word := p.words[p.next]
		switch text := p.peek(); text {
		case "mode":
			p.skip()
			s.Mode, err = p.mode()
		case "mark":
			err = p.mark()
		case "name":
			s.Name, err = p.name()
		case "reqid":
			p.skip()
			s.ReqID, err = p.number32("the reqid")
		case "seq":
			p.skip()
			_, err = p.number32("the value of seq")
		case "replay-window":
			p.skip()
			s.ReplayWindow, err = p.number32("the replay window")
		case "replay-seq":
			err = p.half(&s.ReplaySeq, 0)
		case "replay-seq-hi":
			err = p.half(&s.ReplaySeq, 32)
		case "replay-oseq":
			err = p.half(&s.ReplayOSeq, 0)
		case "replay-oseq-hi":
			err = p.half(&s.ReplayOSeq, 32)
		case "flag":
			p.skip()
			err = p.flags(&s.Flags)
		case "extra-flag":
			p.skip()
			err = p.extraFlags(&s.Flags)
		case "sel":
			p.skip()
			var sel Selector
			if sel, err = p.selector(netip.Prefix{}, false); err == nil {
				s.Sel = &sel
			}
		case "limit":
			p.skip()
			err = p.limit(&s)
		case "df":
			err = p.df(&s)
		case "dscp":
			err = p.dscp(&s)
		case "for-dscp":
			err = p.forDSCP(&s)
		case "encap":
			p.skip()
			s.Encap, err = p.encap()
		case "coa":
			return nil, word.refuse("it belongs to Mobile IPv6")
		case "ctx":
			return nil, word.refuse("there are no security contexts here")
		case "offload":
			return nil, word.refuse("every SA is processed in hardware here; `dir in` or `dir out` says which way it points")
		case "output-mark":
			err = p.zeroOption("packets carry no marks here")
		case "if_id":
			s.IfID, err = p.ifID()
		case "tfcpad":
			err = p.tfcPad(&s)
		case "dummy":
			err = p.dummy(&s)
		case "node":
			err = p.node(&s)
		case "pcpu-num":
			return nil, word.refuse("an SA belongs to no CPU here")
		case "dir":
			p.skip()
			s.Dir, err = p.direction(DirIn, DirOut)
		case "aead", "enc", "auth", "auth-trunc", "comp":
			err = p.algorithm(&s)
		default:
			if !isIDWord(text) || idSeen {
				err = p.unknown()
				break
			}
			idSeen = true
			s.ID, err = p.id()
		}
		if err != nil {
			s.Wipe()
			return nil, err
		}
	}
	err := s.completeSel(p.start)
	if err == nil {
		err = checkState(p.start, &s)
	}
	if err != nil {
		s.Wipe()
		return nil, err
	}
	return StateAdd{p.at(), update, s}, nil
}

// completeSel makes a sel that names no address one of the SA's own IP version, as Linux does.
func (s *State) completeSel(pos Pos) error {
	if s.Sel == nil {
		return nil
	}
	sel, err := s.Sel.complete(everything(s.Dst), pos)
	s.Sel = &sel
	return err
}

// Limits of an anti-replay window, in packets.
const (
	MinWindow = 64
	MaxWindow = 4096
)

// MaxNumber is the highest sequence number that an SA may be told to go on from: of two boxes that
// share its key, each has half of the IVs.
const MaxNumber = 1<<63 - 1

// half reads one half of a sequence number.
func (p *parser) half(number *uint64, shift int) error {
	word := p.skip()
	value, err := p.number32("the value of " + string(word.Text))
	*number = *number&^(math.MaxUint32<<shift) | uint64(value)<<shift
	return err
}

// MostNumber is the highest number that an SA can be told to go on from.
func (s *State) MostNumber() uint64 {
	if s.Flags.ESN {
		return MaxNumber
	}
	return math.MaxUint32
}

// CheckNumber refuses a sequence number that an SA cannot have been at.
func (s *State) CheckNumber(number uint64, pos Pos) error {
	switch most := s.MostNumber(); {
	case number > MaxNumber:
		return Errorf(pos, "the sequence number %d is too large: at most 2^63 - 1", number)
	case number > most:
		return Errorf(pos, "a sequence number above 2^32 - 1 needs flag esn")
	}
	return nil
}

func checkState(pos Pos, s *State) error {
	switch {
	case !s.Src.IsValid() || !s.Dst.IsValid() || s.Src.IsUnspecified() || s.Dst.IsUnspecified():
		return Errorf(pos, "an SA needs both its ends: src ADDR dst ADDR")
	case s.Src == s.Dst:
		return Errorf(pos, "an SA's src and dst are the same address, %s", s.Src)
	case s.Dst.IsMulticast() || s.Src.IsMulticast():
		return Errorf(pos, "an SA's endpoint cannot be a multicast address")
	case s.Mode == ModeTunnel && s.Dst.Is6() && (s.Dst.IsLinkLocalUnicast() || s.Src.IsLinkLocalUnicast()):
		return Errorf(pos, "a tunnel's endpoint cannot be a link-local address: the box punts what is of one link alone, so write global ones")
	case s.Proto == "":
		return Errorf(pos, "an SA needs its protocol: proto esp")
	case s.IfID != 0 && s.Mode == ModeTransport:
		return Errorf(pos, "an SA with if_id needs mode tunnel: the packets of an XFRM interface are routed")
	case s.SPI == 0:
		return Errorf(pos, "an SA needs an SPI other than 0: spi 0x…")
	case s.Mode == ModeTransport && s.Sel != nil && !(s.Sel.Src.Contains(s.Src) && s.Sel.Dst.Contains(s.Dst)):
		return Errorf(pos, "the sel of an SA in transport mode must hold its own src %s and dst %s: packets of no other hosts are carried", s.Src, s.Dst)
	case s.ReplayWindow != 0 && (s.ReplayWindow < MinWindow || s.ReplayWindow > MaxWindow):
		return Errorf(pos, "replay-window %d is out of range: write %d to %d packets, or 0 for no anti-replay", s.ReplayWindow, MinWindow, MaxWindow)
	case s.ReplaySeq != 0 && s.ReplayWindow == 0:
		return Errorf(pos, "replay-seq needs a replay-window")
	case s.Flags.ESN && s.ReplayWindow == 0 && s.Dir != DirOut:
		return Errorf(pos, "flag esn needs a replay-window: the high half of the sequence number is inferred from it")
	}
	for _, number := range []uint64{s.ReplaySeq, s.ReplayOSeq} {
		if err := s.CheckNumber(number, pos); err != nil {
			return err
		}
	}
	if err := s.checkEncap(pos); err != nil {
		return err
	}
	if err := s.checkOuter(pos); err != nil {
		return err
	}
	if err := s.checkTFC(pos); err != nil {
		return err
	}
	if s.Dir == DirIn {
		if err := s.CheckInboundNode(pos); err != nil {
			return err
		}
	}
	return checkAlgorithms(pos, s)
}

func (p *parser) direction(allowed ...Dir) (Dir, error) {
	word, err := p.take("the direction")
	if err != nil {
		return "", err
	}
	list := ""
	for i, dir := range allowed {
		if string(word.Text) == string(dir) {
			return dir, nil
		}
		if i > 0 {
			list += ", "
		}
		list += string(dir)
	}
	return "", word.errorf("dir must be one of %s, not %s", list, word.quoted())
}
