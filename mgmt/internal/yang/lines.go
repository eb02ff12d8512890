// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"fmt"
	"math/bits"

	"sallyport/mgmt/api"
	"sallyport/mgmt/internal/xfrm"
)

// batch are lines of sallyctl, each with the path of its entry. Some lines hold keys, so the memory
// is all there from the start: growing would leave keys behind.
type batch struct {
	text  []byte
	paths []string
}

// longestLine bounds a line apart from its keys.
const longestLine = 4 << 10

func newBatch() *batch { return &batch{text: make([]byte, 0, api.MaxMessage)} }

func (b *batch) wipe() { clear(b.text) }

// begin makes room for a line.
func (b *batch) begin(path string, keys int) error {
	if len(b.text)+keys+longestLine > cap(b.text) {
		return &Refusal{path, "with this entry the document is more than one request of 1 MiB: split it"}
	}
	b.paths = append(b.paths, path)
	return nil
}

func (b *batch) printf(format string, args ...any) { b.text = fmt.Appendf(b.text, format, args...) }

// key writes a hex-string without its colons.
func (b *batch) key(hex []byte) {
	b.text = append(b.text, "0x"...)
	for _, c := range hex {
		if c != ':' {
			b.text = append(b.text, c)
		}
	}
}

// deletePolicy removes a policy.
func (b *batch) deletePolicy(path string, p *policy) error {
	if err := b.begin(path, 0); err != nil {
		return err
	}
	b.printf("xfrm policy delete %s dir %s\n", p.sel, p.dir)
	return nil
}

// deleteSA removes an SA.
func (b *batch) deleteSA(path string, s *sa) error {
	if err := b.begin(path, 0); err != nil {
		return err
	}
	b.printf("xfrm state delete dst %s proto esp spi 0x%x\n", s.dst, s.spi)
	return nil
}

// named writes the name of an entry, unless it is derived.
func (b *batch) named(name, derived string) {
	if name != derived {
		b.printf(" name %s", name)
	}
}

// policy adds or updates a policy.
func (b *batch) policy(verb string, p *policy) error {
	if err := b.begin(p.path, 0); err != nil {
		return err
	}
	b.printf("xfrm policy %s %s dir %s priority %d", verb, p.sel, p.dir, p.priority)
	b.named(p.name, p.derived())
	switch p.action {
	case discard:
		b.printf(" action block")
	case protect:
		b.printf(" tmpl ")
		if p.mode == xfrm.ModeTunnel {
			b.printf("src %s dst %s ", p.src, p.dst)
		}
		b.printf("proto esp reqid %d mode %s", p.reqid, p.mode)
	}
	b.printf("\n")
	return nil
}

// sa adds or updates an SA.
func (b *batch) sa(verb string, s *sa) error {
	if err := b.begin(s.path, len(s.key)+len(s.authKey)); err != nil {
		return err
	}
	b.printf("xfrm state %s src %s dst %s proto esp spi 0x%x reqid %d mode %s dir %s replay-window %d", verb, s.src, s.dst, s.spi, s.reqid, s.mode, s.dir, s.window)
	b.named(s.name, s.derived())
	if s.esn {
		b.printf(" flag esn")
	}
	b.outer(s)
	b.limits("hard", s.hard)
	b.limits("soft", s.soft)
	if e := s.encap; e != nil {
		b.printf(" encap espinudp %d %d %s", e.SPort, e.DPort, e.OAddr)
	}
	b.printf(" sel %s", s.sel)
	a := s.algorithm
	if a.auth == "" {
		b.printf(" aead \"%s\" ", a.crypt)
		b.key(s.key)
		b.printf(" %d\n", a.icvBits())
		return nil
	}
	b.printf(" auth-trunc \"%s\" ", a.auth)
	b.key(s.authKey)
	b.printf(" %d enc \"%s\" ", a.icvBits(), a.crypt)
	if a.encryption == encryptionNull {
		b.printf("\"\"\n")
		return nil
	}
	b.key(s.key)
	b.printf("\n")
	return nil
}

// outer writes how an outbound SA makes outer headers. What it carries by DSCP stands beside.
func (b *batch) outer(s *sa) {
	if words := map[string]string{dfClear: "unset", dfSet: "set", dfCopy: "inherit"}; s.df != "" {
		b.printf(" df %s", words[s.df])
	}
	if s.dscp != nil {
		b.printf(" dscp %s", s.dscp)
	}
	for set, separator := uint64(s.forDSCP), " for-dscp "; set != 0; set &= set - 1 {
		b.printf("%s%d", separator, bits.TrailingZeros64(set))
		separator = ","
	}
}

// String is what `dscp` of sallyctl takes.
func (m *dscpMap) String() string {
	one := true
	text, separator := "map ", ""
	for inner, outer := range m {
		one = one && outer == m[0]
		if int(outer) != inner {
			text += fmt.Sprintf("%s%d:%d", separator, inner, outer)
			separator = ","
		}
	}
	if one {
		return fmt.Sprint(m[0])
	}
	return text
}

func (b *batch) limits(kind string, l limits) {
	for _, limit := range []struct {
		name  string
		value uint64
	}{{"time", uint64(l.time)}, {"byte", l.bytes}, {"packet", uint64(l.packets)}} {
		if limit.value != 0 {
			b.printf(" limit %s-%s %d", limit.name, kind, limit.value)
		}
	}
}
