// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"iter"
	"maps"

	"sallyport/mgmt/internal/xfrm"
)

// document is the part of the SPD and the SAD that a text has, in its order.
type document struct {
	spd []*policy
	sad []*sa
}

func mapKeys(m map[string]*value) iter.Seq[string] { return maps.Keys(m) }

// read reads a document. What the module does not allow, and what the box cannot do, is a Refusal.
func read(text []byte) (*document, error) {
	v, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	s := &scan{}
	top := s.object("", v)
	ikeless := top.child(Module + ":ipsec-ikeless")
	if s.err == nil && !ikeless.given {
		s.fail(root, "is missing: a document is an object with this one member")
	}
	d := &document{}
	spd, sad := ikeless.child("spd"), ikeless.child("sad")
	for e, name := range spd.named("spd-entry") {
		p := e.spdEntry(name)
		e.checkName(p.derived())
		d.spd = append(d.spd, p)
	}
	for e, name := range sad.named("sad-entry") {
		a := e.sadEntry(name)
		e.checkName(a.derived())
		d.sad = append(d.sad, a)
	}
	for _, o := range []*object{spd, sad, ikeless, top} {
		o.end()
	}
	if s.err != nil {
		return nil, s.err
	}
	return d, nil
}

// named are the entries of a list by their names, which are in their paths.
func (o *object) named(list string) iter.Seq2[*object, string] {
	return func(yield func(*object, string) bool) {
		seen := map[string]bool{}
		for _, e := range o.list(list) {
			l := e.leaf("name").required()
			if !l.is(aString) {
				continue
			}
			name := l.v.string()
			if seen[name] {
				o.fail(l.path, "is that of another entry too: write another name")
			}
			seen[name] = true
			if len(name) <= xfrm.MaxName*2 {
				e.path = o.path + "/" + predicate(list, name)
			}
			e.name = name
			if !yield(e, name) {
				return
			}
		}
	}
}

// checkName refuses a name that the box cannot keep. A derived one it need not keep.
func (o *object) checkName(derived string) {
	if !xfrm.ValidName(o.name) && o.name != derived {
		o.fail(o.path+"/name", "the box keeps names of 1 to %d visible ASCII characters without quotes, # and backslashes: write such a name", xfrm.MaxName)
	}
}
