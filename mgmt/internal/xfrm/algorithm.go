package xfrm

import "strings"

const (
	// GCMName is the one algorithm of this version, under Linux's name.
	GCMName   = "rfc4106(gcm(aes))"
	aeadForm  = "aead \"" + GCMName + "\" 0xKEY 128"
	saltBytes = 4
	icvBits   = 128
)

// forbidden are algorithms that no version will have.
var forbidden = []string{"des", "des3_ede", "md5", "hmac(md5)", "cbc(des)", "cbc(des3_ede)", "3des", "blowfish", "cbc(blowfish)", "cast5", "cbc(cast5)"}

// algorithm reads `aead NAME KEY ICVBITS` and refuses every other kind by name.
func (p *parser) algorithm(a *Aead) error {
	kind := p.skip()
	name, err := p.take("the algorithm's name")
	if err != nil {
		return err
	}
	lower := strings.ToLower(string(name.Text))
	for _, bad := range forbidden {
		if lower == bad {
			return name.errorf("%s is refused: RFC 8221 forbids it or advises against it; use %s", name.Text, aeadForm)
		}
	}
	if string(kind.Text) != "aead" || string(name.Text) != GCMName {
		return name.errorf("%s %s is not supported: use %s", kind.Text, name.quoted(), aeadForm)
	}
	if a.Name != "" {
		return kind.errorf("an SA has one algorithm, this is a second")
	}
	key, err := p.take("the key")
	if err != nil {
		return err
	}
	material, ok := keyBytes(key.Text)
	if !ok {
		material.Zero()
		return key.errorf("the key is not hexadecimal after its 0x")
	}
	cipher := len(material) - saltBytes
	if cipher != 16 && cipher != 32 {
		got := len(material)
		material.Zero()
		if cipher == 24 {
			return key.errorf("the key of %s has 28 bytes, which is AES-192: use 20 bytes (AES-128) or 36 bytes (AES-256), salt included", name.Text)
		}
		return key.errorf("the key of %s has %d bytes: it must have 20 (AES-128) or 36 (AES-256), the last 4 being the salt", name.Text, got)
	}
	bits, err := p.number32("the ICV length in bits")
	if err == nil && bits != icvBits {
		err = p.words[p.next-1].errorf("an ICV of %d bits is not supported: use %d", bits, icvBits)
	}
	if err != nil {
		material.Zero()
		return err
	}
	*a = Aead{Name: GCMName, KeyBits: cipher * 8, ICVBits: int(bits), Key: material[:cipher:cipher], Salt: material[cipher:]}
	return nil
}

// keyBytes decodes 0x… as iproute2 does (an odd number of digits gets a 0 in front); anything else is the key itself.
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
