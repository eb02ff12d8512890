// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Refusal is one sentence about a document, with the path of the node that it is about.
type Refusal struct{ Path, Reason string }

func (r *Refusal) Error() string {
	if r.Path == "" {
		return r.Reason
	}
	return r.Path + ": " + r.Reason
}

// scan keeps the first mistake of a document.
type scan struct{ err error }

func (s *scan) fail(path, format string, args ...any) {
	if s.err == nil {
		s.err = &Refusal{path, fmt.Sprintf(format, args...)}
	}
}

// object is a container or an entry of a list, whose members are taken one by one.
type object struct {
	*scan
	path  string
	name  string // of an entry of a list
	given bool
	left  map[string]*value
}

// leaf is a leaf, or an entry of a leaf-list, with no value if it is absent.
type leaf struct {
	*scan
	path string
	v    *value
}

// object takes a value for an object.
func (s *scan) object(path string, v *value) *object {
	o := &object{scan: s, path: path, given: v != nil, left: map[string]*value{}}
	switch {
	case v == nil:
	case v.kind != anObject:
		s.fail(path, "must be an object, not %s", v.kind)
	default:
		for i, name := range v.names {
			o.left[name] = v.values[i]
		}
	}
	return o
}

// take is the value of a member, nil if there is none.
func (o *object) take(name string) *value {
	v := o.left[name]
	delete(o.left, name)
	return v
}

func (o *object) child(name string) *object { return o.object(o.path+"/"+name, o.take(name)) }

func (o *object) leaf(name string) leaf { return leaf{o.scan, o.path + "/" + name, o.take(name)} }

// elements are those of a list or leaf-list.
func (o *object) elements(name string) []*value {
	v := o.take(name)
	if v != nil && v.kind != anArray {
		o.fail(o.path+"/"+name, "must be an array, not %s", v.kind)
	}
	if v == nil || v.kind != anArray {
		return nil
	}
	return v.values
}

// leafList are the entries of a leaf-list.
func (o *object) leafList(name string) (out []leaf) {
	for i, v := range o.elements(name) {
		out = append(out, leaf{o.scan, fmt.Sprintf("%s/%s[%d]", o.path, name, i+1), v})
	}
	return out
}

// list are the entries of a list by their places.
func (o *object) list(name string) (out []*object) {
	for i, v := range o.elements(name) {
		out = append(out, o.object(fmt.Sprintf("%s/%s[%d]", o.path, name, i+1), v))
	}
	return out
}

// end refuses members that nothing has taken.
func (o *object) end() {
	for _, name := range slices.Sorted(mapKeys(o.left)) {
		o.fail(o.path+"/"+name, "the module has no such node: remove it")
	}
}

// is says whether a leaf is there, as a kind of JSON value.
func (l leaf) is(want kind) bool {
	if l.v != nil && l.v.kind != want {
		l.fail(l.path, "must be %s, not %s", want, l.v.kind)
	}
	return l.v != nil && l.v.kind == want
}

// required fails where a leaf is absent.
func (l leaf) required() leaf {
	if l.v == nil {
		l.fail(l.path, "is missing, and the module demands it")
	}
	return l
}

// number reads an integer of at most 32 bits.
func (l leaf) number(most, absent uint32) uint32 {
	if !l.is(aNumber) {
		return absent
	}
	n, err := strconv.ParseUint(string(l.v.text), 10, 32)
	if err != nil || n > uint64(most) {
		l.fail(l.path, "must be a whole number of 0 to %d, not %.20s", most, l.v.text)
	}
	return uint32(n)
}

// number64 reads a uint64, which is a string in JSON (RFC 7951, 6.1).
func (l leaf) number64() uint64 {
	if !l.is(aString) {
		return 0
	}
	n, err := strconv.ParseUint(l.v.string(), 10, 64)
	if err != nil {
		l.fail(l.path, "must be a whole number of 0 to %d in quotes, not %.32q", uint64(math.MaxUint64), l.v.string())
	}
	return n
}

func (l leaf) boolean(absent bool) bool {
	if !l.is(aBoolean) {
		return absent
	}
	return string(l.v.text) == "true"
}

// enum reads one of some words, the first if the leaf is absent.
func (l leaf) enum(words ...string) string {
	if !l.is(aString) {
		return words[0]
	}
	if word := l.v.string(); slices.Contains(words, word) {
		return word
	}
	l.fail(l.path, "must be %s, not %.32q", strings.Join(words, ", "), l.v.string())
	return words[0]
}

// address reads an address without a zone.
func (l leaf) address() netip.Addr {
	if !l.is(aString) {
		return netip.Addr{}
	}
	text, zone, zoned := strings.Cut(l.v.string(), "%")
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || a.Is4In6():
		l.fail(l.path, "must be an IP address, not %.64q", text)
	case zoned:
		l.fail(l.path, "has a zone, and the box has addresses of no zone: remove %.16q", "%"+zone)
	}
	return a
}

// prefix reads a prefix, whose host bits mean nothing (RFC 6991, ip-prefix).
func (l leaf) prefix() netip.Prefix {
	if !l.is(aString) {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(l.v.string())
	if err != nil || p.Addr().Is4In6() {
		l.fail(l.path, "must be an IP prefix such as 10.1.0.0/16, not %.64q", l.v.string())
	}
	return p.Masked()
}

// hex reads a hex-string of RFC 6991, and gives its characters where they stand.
func (l leaf) hex() []byte {
	if !l.is(aString) {
		return nil
	}
	for i, c := range l.v.text {
		digit := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
		if i%3 == 2 && c != ':' || i%3 < 2 && !digit {
			l.fail(l.path, "must be pairs of hexadecimal digits with colons between them")
			return nil
		}
	}
	if len(l.v.text)%3 != 2 && len(l.v.text) > 0 {
		l.fail(l.path, "must be pairs of hexadecimal digits with colons between them")
	}
	return l.v.text
}

// only refuses every value but those that the box can do.
func only[T comparable](l leaf, got T, reason string, can ...T) {
	if !slices.Contains(can, got) {
		l.fail(l.path, "%s", reason)
	}
}
