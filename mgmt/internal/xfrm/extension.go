// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"slices"
	"strings"
)

// ExtensionHeaders is a set of IPv6 extension headers; its bits are those of the chips' register
// SKIP_HEADERS.
type ExtensionHeaders uint8

// AllExtensionHeaders are skipped after reset. Fragment headers are none of them: they always are.
const AllExtensionHeaders ExtensionHeaders = 1<<3 - 1

type extensionHeader struct {
	name  string
	proto uint8
}

// extensionHeaders are their names and numbers, in the order of the bits. 0, of hop-by-hop options,
// is any protocol in a selector.
var extensionHeaders = []extensionHeader{{"hop", 0}, {"route", protoRouting}, {"dst", protoDestOpts}}

// Has says whether a protocol is one of them, so that no packet is of it whose headers of the set
// are skipped.
func (e ExtensionHeaders) Has(proto uint8) bool { return proto != 0 && e.Skips(proto) }

// Skips reports whether the parser skips a header with this number in front of another, if the
// header may stand there. It always skips fragment headers.
func (e ExtensionHeaders) Skips(number uint8) bool {
	for bit, header := range extensionHeaders {
		if number == header.proto {
			return e>>bit&1 != 0
		}
	}
	return number == protoFragment
}

// String is the word that `skip-headers set` takes for the set.
func (e ExtensionHeaders) String() string {
	var names []string
	for bit, header := range extensionHeaders {
		if e>>bit&1 != 0 {
			names = append(names, header.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}

// SkipHeaders says which extension headers the chips skip to find a packet's protocol
// (`sallyctl skip-headers set`, not in iproute2).
type SkipHeaders struct {
	At
	Skipped ExtensionHeaders
}

const skipUsage = "write `skip-headers set LIST` with hop, route and dst, commas between them, or `skip-headers set none`, or `skip-headers show`"

// skipHeaders reads `skip-headers set hop,route,dst | none` and `skip-headers show`.
func (p *parser) skipHeaders() (Command, error) {
	verb, err := p.verb("skip-headers", "set")
	switch {
	case err != nil:
		return nil, err
	case verb == "show":
		return Show{p.at(), "skip-headers"}, nil
	case !p.more():
		return nil, Errorf(p.start, skipUsage)
	}
	command := SkipHeaders{At: p.at()}
	word := p.skip()
	if string(word.Text) == "none" {
		return command, nil
	}
	for _, name := range strings.Split(string(word.Text), ",") {
		bit := slices.IndexFunc(extensionHeaders, func(h extensionHeader) bool { return h.name == name })
		if bit < 0 {
			return nil, word.errorf("%s is no extension header that can be skipped or not: %s", Token{Text: []byte(name)}.quoted(), skipUsage)
		}
		command.Skipped |= 1 << bit
	}
	return command, nil
}
