// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sallyport/mgmt/api/client"
	"sallyport/mgmt/internal/xfrm"
)

// fileName stands for the batch in errors of the box.
const fileName = "yang"

// Load merges a document into the box's SPD and SAD, all or nothing: each entry is created, or
// takes the place of the entry of its name; other entries stay. It gives the box's warnings. An
// error is a Refusal where the document is at fault, and nothing has changed then.
//
// An entry that says what the box has changes nothing. An SA's may lack its keys then, as Show
// prints it. The caller wipes the text, which Load does not change.
func Load(ctx context.Context, box Box, text []byte) (notes []string, err error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	has, err := contentsOf(ctx, box, false)
	if err != nil {
		return nil, err
	}
	b := newBatch()
	defer b.wipe()
	if err := b.merge(d, has); err != nil {
		return nil, err
	}
	return b.send(ctx, box)
}

// Delete removes entries by their names, all or none: those of the SPD, if list is "spd", or those
// of the SAD, if it is "sad".
func Delete(ctx context.Context, box Box, list string, names []string) (notes []string, err error) {
	has, err := contentsOf(ctx, box, false)
	if err != nil {
		return nil, err
	}
	b := newBatch()
	for _, name := range names {
		path := fmt.Sprintf("%s/%s/%s", root, list, predicate(list+"-entry", name))
		p, s := has.policyOf[name], has.saOf[name]
		switch {
		case list == "spd" && p != nil:
			err = b.deletePolicy(path, p)
		case list == "sad" && s != nil:
			err = b.deleteSA(path, s)
		default:
			err = &Refusal{path, "the box has no such entry: sallyctl yang show prints all"}
		}
		if err != nil {
			return nil, err
		}
	}
	return b.send(ctx, box)
}

// send has the box carry the lines out.
func (b *batch) send(ctx context.Context, box Box) ([]string, error) {
	if len(b.paths) == 0 {
		return nil, nil
	}
	answer, err := box.SealedBatch(ctx, fileName, b.text)
	if err != nil {
		if client.Refused(err) {
			err = b.refusal(client.Sentence(err))
		}
		return nil, err
	}
	notes := answer.GetNotes()
	for i, note := range notes {
		if rest, found := strings.CutPrefix(note, "warning: "); found {
			notes[i] = "warning: " + b.refusal(rest).Error()
		}
	}
	return notes, nil
}

// refusal names the entry of a line that a sentence of the box names.
func (b *batch) refusal(sentence string) *Refusal {
	rest, found := strings.CutPrefix(sentence, fileName+":")
	number, reason, colon := strings.Cut(rest, ": ")
	if line, err := strconv.Atoi(number); found && colon && err == nil && line >= 1 && line <= len(b.paths) {
		return &Refusal{b.paths[line-1], reason}
	}
	return &Refusal{Reason: sentence}
}

// merge writes the lines that make a document part of what the box has.
func (b *batch) merge(d *document, has *contents) error {
	protecting, given := directionsOf(d.spd), map[string]bool{}
	for _, p := range d.spd {
		given[p.name] = true
		if err := b.mergePolicy(p, has); err != nil {
			return err
		}
	}
	for _, p := range has.spd {
		if !given[p.name] {
			protecting.add(p)
		}
	}
	for _, s := range d.sad {
		if err := s.direct(protecting); err != nil {
			return err
		}
		if err := b.mergeSA(s, has); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) mergePolicy(p *policy, has *contents) error {
	if p.mode == xfrm.ModeTunnel {
		if inward := p.dir == xfrm.DirIn; inward && has.own[p.src] && !has.own[p.dst] || !inward && has.own[p.dst] && !has.own[p.src] {
			return &Refusal{p.path + "/ipsec-policy-config/processing-info/ipsec-sa-cfg/tunnel", "local is the source and remote the destination, inbound too: swap them, and those of traffic-selector"}
		}
	}
	old := has.policyOf[p.name]
	if old != nil && old.inbound() && p.inbound() {
		p.dir = old.dir
	}
	verb := "add"
	if other := has.policies[p.key()]; other != nil {
		if other.name != p.name {
			return &Refusal{p.path, fmt.Sprintf("the box has this direction and traffic-selector as the entry %q: use that name, or delete that entry first", other.name)}
		}
		verb = "update"
	}
	if old != nil {
		p.priority = old.priority
		switch {
		case old.same(p):
			return nil
		case verb == "add":
			if err := b.deletePolicy(p.path, old); err != nil {
				return err
			}
		}
		return b.policy(verb, p)
	}
	if has.last == math.MaxUint32 {
		return &Refusal{p.path, "a policy of the box has the last priority, so none can come behind it: give that policy another one"}
	}
	has.last++
	p.priority = has.last
	return b.policy(verb, p)
}

// direct gives an SA the direction of the policies that name it.
func (s *sa) direct(protecting directions) error {
	in, out := protecting.of(s)
	switch {
	case in && out:
		return &Refusal{s.path, "inbound and outbound policies have its reqid and ends, so its direction is not known: give each direction a reqid, or local and remote their places"}
	case !in && !out:
		return &Refusal{s.path, "no policy has its reqid, mode and ends, so its direction is not known: load its spd-entry with it or before it"}
	case in:
		s.dir = xfrm.DirIn
	default:
		s.dir = xfrm.DirOut
	}
	if s.dir == xfrm.DirIn && s.forDSCP != 0 {
		return &Refusal{s.path + "/ipsec-sa-config/tunnel/dscp-values", "the box chooses outbound SAs alone by DSCP: remove it"}
	}
	s.settle()
	return nil
}

func (b *batch) mergeSA(s *sa, has *contents) error {
	verb, old := "add", has.saOf[s.name]
	if other := has.sas[s.derived()]; other != nil {
		if other.name != s.name {
			return &Refusal{s.path, fmt.Sprintf("the box has this SPI and destination as the entry %q: use that name, or delete that entry first", other.name)}
		}
		verb = "update"
	}
	esp := s.path + "/ipsec-sa-config/esp-sa"
	keyed, authKeyed := s.algorithm.encryption == encryptionNull || len(s.key) > 0, s.algorithm.auth == "" || len(s.authKey) > 0
	switch none := len(s.key) == 0 && len(s.authKey) == 0; {
	case none && old != nil && old.same(s):
		return nil
	case !keyed:
		return &Refusal{esp + "/encryption/key", "is missing, and the box has no such SA with the same settings: write the key"}
	case !authKeyed:
		return &Refusal{esp + "/integrity/key", "is missing, and the box has no such SA with the same settings: write the key"}
	case s.algorithm.encryption == encryptionNull && len(s.key) > 0:
		return &Refusal{esp + "/encryption/key", "NULL encryption has no key: remove it"}
	}
	if old != nil && verb == "add" {
		if err := b.deleteSA(s.path, old); err != nil {
			return err
		}
	}
	return b.sa(verb, s)
}
