// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/mgmt/internal/suite"
)

// forbidden are algorithms that no version will have, under their Linux and their common names.
var forbidden = []string{
	"des", "cbc(des)", "des3_ede", "cbc(des3_ede)", "3des", "md5", "hmac(md5)", "blowfish", "cbc(blowfish)", "cast5", "cbc(cast5)",
}

// aliases are the kernel's short names of algorithms.
var aliases = map[string]string{
	"aes": "cbc(aes)", "sm4": "cbc(sm4)", "cipher_null": "ecb(cipher_null)", "sha1": "hmac(sha1)", "sha256": "hmac(sha256)", "sm3": "hmac(sm3)",
}

// defaultICV is what `auth` without a length means in Linux (net/xfrm/xfrm_algo.c), in bits.
var defaultICV = map[string]int{"hmac(sha1)": 96, "hmac(sha256)": 96, "hmac(sm3)": 256}

// algorithm reads one of `aead NAME KEY ICVBITS`, `enc NAME KEY`, `auth NAME KEY` and `auth-trunc
// NAME KEY ICVBITS`. If it fails, the state holds the words read so far, so that the caller can
// wipe them.
func (p *parser) algorithm(s *State) error {
	word := p.skip()
	kind := string(word.Text)
	a := map[string]*Algorithm{"aead": &s.Aead, "enc": &s.Enc, "auth": &s.Auth, "auth-trunc": &s.Auth}[kind]
	if a == nil {
		return word.errorf("%s is not supported: use aead, or enc with auth-trunc", kind)
	}
	if a.Given() || s.Aead.Given() || kind == "aead" && (s.Enc.Given() || s.Auth.Given()) {
		return word.errorf("an SA has one aead, or one enc and one auth: this is a second")
	}
	c := candidates(kind)
	name, err := p.take("the algorithm's name")
	if err != nil {
		return err
	}
	if a.Name, err = algorithmName(kind, name, c); err != nil {
		return err
	}
	c = slices.DeleteFunc(c, func(o option) bool { return o.name != a.Name })
	if err := p.key(a, c); err != nil {
		return err
	}
	switch kind {
	case "aead", "auth-trunc":
		return p.icv(a, c)
	case "auth":
		a.ICVBits = defaultICV[a.Name]
		if !slices.Contains(c[0].icvBits, a.ICVBits) {
			return word.errorf("auth %s means an ICV of %d bits, as in Linux, which is not supported: use auth-trunc \"%s\" KEY %s", a.Name, a.ICVBits, a.Name, list(c[0].icvBits))
		}
	}
	return nil
}

// option is what a suite allows for one kind of algorithm.
type option struct {
	name      string
	keyBytes  int
	saltBytes int
	icvBits   []int
}

// candidates are the options of all suites for a kind.
func candidates(kind string) []option {
	var out []option
	for _, s := range suite.All {
		o := option{s.Crypt, s.Key + s.Salt, s.Salt, s.ICVBits}
		if strings.HasPrefix(kind, "auth") {
			o = option{s.Auth, s.AuthKey, 0, s.ICVBits}
		}
		if (kind == "aead") == (s.Auth == "") && o.name != "" {
			out = append(out, o)
		}
	}
	return out
}

func algorithmName(kind string, word Token, c []option) (string, error) {
	var names []string
	for _, o := range c {
		if !slices.Contains(names, o.name) {
			names = append(names, o.name)
		}
	}
	name := string(word.Text)
	if full, ok := aliases[name]; ok {
		name = full
	}
	switch {
	case slices.Contains(names, name):
		return name, nil
	case slices.Contains(forbidden, strings.ToLower(name)):
		return "", word.errorf("%s is refused: RFC 8221 forbids it or advises against it; use %s", name, list(names))
	}
	return "", word.errorf("%s %s is not supported: use %s", kind, word.quoted(), list(names))
}

// key reads the key of an algorithm that has one of these options.
func (p *parser) key(a *Algorithm, c []option) error {
	word, err := p.take("the key")
	if err != nil {
		return err
	}
	key, ok := keyBytes(word.Text)
	a.Key, a.KeyBits = key, 8*len(key)
	if !ok {
		return word.errorf("the key is not hexadecimal after its 0x")
	}
	var lengths []int
	for _, o := range c {
		if !slices.Contains(lengths, o.keyBytes) {
			lengths = append(lengths, o.keyBytes)
		}
	}
	slices.Sort(lengths)
	if !slices.Contains(lengths, len(key)) {
		salt := ""
		if c[0].saltBytes > 0 {
			salt = fmt.Sprintf(", the last %d being the salt", c[0].saltBytes)
		}
		return word.errorf("the key of %s has %d bytes: it must have %s%s", a.Name, len(key), list(lengths), salt)
	}
	if secret := key[:len(key)-c[0].saltBytes]; len(secret) > 0 && !slices.ContainsFunc(secret, func(b byte) bool { return b != 0 }) {
		return word.errorf("the key of %s is all zeros, which everyone can guess: use a random one", a.Name)
	}
	return nil
}

func (p *parser) icv(a *Algorithm, c []option) error {
	bits, err := p.number32("the ICV length in bits")
	if err != nil {
		return err
	}
	a.ICVBits = int(bits)
	if !slices.Contains(c[0].icvBits, a.ICVBits) {
		return p.words[p.next-1].errorf("an ICV of %d bits is not supported with %s: use %s", bits, a.Name, list(c[0].icvBits))
	}
	return nil
}

// checkAlgorithms finds the suite, or says which algorithms go together.
func checkAlgorithms(pos Pos, s *State) error {
	switch {
	case !s.Aead.Given() && !s.Enc.Given() && !s.Auth.Given():
		return Errorf(pos, "an SA needs its algorithm: aead \"rfc4106(gcm(aes))\" 0xKEY 128 for example")
	case !s.Enc.Given() && s.Auth.Given():
		return Errorf(pos, "auth without enc is not supported: write enc \"ecb(cipher_null)\" \"\" beside it to encrypt nothing")
	case s.Enc.Given() && !s.Auth.Given():
		return Errorf(pos, "enc without auth is refused, for what is not authenticated can be altered: %s", partners(s.Enc.Name))
	case s.Suite() == nil:
		return Errorf(pos, "%s with a key of %d bytes and %s with an ICV of %d bits are no suite of this box: %s",
			s.Enc.Name, s.Enc.KeyBits/8, s.Auth.Name, s.Auth.ICVBits, partners(s.Enc.Name))
	}
	return nil
}

// partners names the keys and auth algorithms that go with an enc.
func partners(crypt string) string {
	var out []string
	for _, s := range suite.All {
		if s.Crypt == crypt {
			out = append(out, fmt.Sprintf("a key of %d bytes and auth-trunc \"%s\" KEY %s", s.Key+s.Salt, s.Auth, list(s.ICVBits)))
		}
	}
	return crypt + " goes with " + strings.Join(out, ", or with ")
}

// list writes "a, b or c".
func list[T any](items []T) string {
	text := ""
	for i, item := range items {
		switch {
		case i > 0 && i == len(items)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprint(item)
	}
	return text
}

// keyBytes decodes 0x… as iproute2 does (an odd number of digits gets a 0 in front); anything else
// is the key itself.
func keyBytes(text []byte) (Secret, bool) {
	if len(text) <= 2 || string(text[:2]) != "0x" {
		return append(Secret(nil), text...), true
	}
	digits := text[2:]
	out := make(Secret, (len(digits)+1)/2)
	odd := len(digits) % 2
	for i, c := range digits {
		var nibble byte
		switch {
		case c >= '0' && c <= '9':
			nibble = c - '0'
		case c >= 'a' && c <= 'f':
			nibble = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			nibble = c - 'A' + 10
		default:
			return out, false
		}
		out[(i+odd)/2] = out[(i+odd)/2]<<4 | nibble
	}
	return out, true
}
