// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bounds of a document. They bound the memory that it takes to read one.
const (
	MaxDocument = 4 << 20 // bytes
	MaxDepth    = 16      // objects and arrays inside each other
	MaxValues   = 1 << 18 // members, elements and what they hold
)

// kind is that of a JSON value.
type kind string

const (
	aString  kind = "a string"
	aNumber  kind = "a number"
	aBoolean kind = "true or false"
	aNull    kind = "null"
	anArray  kind = "an array"
	anObject kind = "an object"
)

// value is a JSON value. Its text lies in the document, so the document's owner can wipe keys.
type value struct {
	kind    kind
	text    []byte // of a string without its quotes
	escaped bool   // a string with backslashes
	names   []string
	values  []*value // members by their names, or elements
}

// parser reads JSON (RFC 8259) and refuses a name that an object has twice (RFC 7493, 2.3).
type parser struct {
	text   []byte
	at     int
	values int
}

func (p *parser) errorf(format string, args ...any) error {
	line := 1 + bytes.Count(p.text[:min(p.at, len(p.text))], []byte("\n"))
	return &Refusal{Reason: fmt.Sprintf("line %d: %s", line, fmt.Sprintf(format, args...))}
}

func parseJSON(text []byte) (*value, error) {
	p := &parser{text: text}
	switch {
	case len(text) > MaxDocument:
		return nil, &Refusal{Reason: fmt.Sprintf("the document has %d bytes, more than %d: split it", len(text), MaxDocument)}
	case !utf8.Valid(text):
		return nil, &Refusal{Reason: "the document is not UTF-8"}
	}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.errorf("something follows the document: remove it")
	}
	return v, nil
}

func (p *parser) space() {
	for p.at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n"), p.text[p.at]) >= 0 {
		p.at++
	}
}

// next is the next character that is no space, or 0.
func (p *parser) next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// skip passes a character if it is the next one.
func (p *parser) skip(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) value(depth int) (*value, error) {
	if p.values++; p.values > MaxValues {
		return nil, p.errorf("the document has more than %d values: split it", MaxValues)
	}
	if depth > MaxDepth {
		return nil, p.errorf("the document is more than %d levels deep", MaxDepth)
	}
	switch p.next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.string()
	}
	return p.literal()
}

func (p *parser) object(depth int) (*value, error) {
	v, seen := &value{kind: anObject}, map[string]bool{}
	p.at++
	for end := p.skip('}'); !end; {
		if p.next() != '"' {
			return nil, p.errorf("the name of a member must stand here, in quotes")
		}
		member, err := p.string()
		if err != nil {
			return nil, err
		}
		name := member.string()
		switch {
		case seen[name]:
			return nil, p.errorf("an object has the member %.64q twice", name)
		case !p.skip(':'):
			return nil, p.errorf("a colon must follow the name %.64q", name)
		}
		seen[name] = true
		of, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.names, v.values = append(v.names, name), append(v.values, of)
		if end = p.skip('}'); !end && !p.skip(',') {
			return nil, p.errorf("a comma or a closing brace must stand here")
		}
	}
	return v, nil
}

func (p *parser) array(depth int) (*value, error) {
	v := &value{kind: anArray}
	p.at++
	for end := p.skip(']'); !end; {
		element, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.values = append(v.values, element)
		if end = p.skip(']'); !end && !p.skip(',') {
			return nil, p.errorf("a comma or a closing bracket must stand here")
		}
	}
	return v, nil
}

func (p *parser) string() (*value, error) {
	p.at++
	v, start := &value{kind: aString}, p.at
	for ; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		switch c := p.text[p.at]; {
		case c < ' ':
			return nil, p.errorf("a string has a control character, which must be escaped")
		case c == '\\':
			v.escaped = true
			p.at++
		}
	}
	if p.at >= len(p.text) {
		return nil, p.errorf("a string has no closing quote")
	}
	v.text = p.text[start:p.at]
	if p.at++; v.escaped && !json.Valid(p.text[start-1:p.at]) {
		return nil, p.errorf("a string has an escape that JSON does not have")
	}
	return v, nil
}

// literal reads a number, true, false or null.
func (p *parser) literal() (*value, error) {
	start := p.at
	for p.at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,:]}[{\""), p.text[p.at]) < 0 {
		p.at++
	}
	v := &value{text: p.text[start:p.at], kind: aNumber}
	switch string(v.text) {
	case "true", "false":
		v.kind = aBoolean
	case "null":
		v.kind = aNull
	default:
		if !json.Valid(v.text) {
			return nil, p.errorf("a value must stand here")
		}
	}
	return v, nil
}

// string is what a string says.
func (v *value) string() (out string) {
	if !v.escaped {
		return string(v.text)
	}
	// valid, as the parser has seen
	_ = json.Unmarshal(append(append([]byte{'"'}, v.text...), '"'), &out)
	return out
}
