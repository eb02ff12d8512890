// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"math"

	"sallyport/mgmt/internal/xfrm"
)

// spdEntry reads an spd-entry.
func (o *object) spdEntry(name string) *policy {
	p := &policy{path: o.path, name: name}
	switch o.leaf("direction").required().enum("inbound", "outbound") {
	case "inbound":
		p.dir = xfrm.DirIn
	default:
		p.dir = xfrm.DirOut
	}
	p.reqid = o.reqid()
	config := o.child("ipsec-policy-config")
	config.window() // the SAs have their own
	p.sel = config.selector()
	info := config.child("processing-info")
	p.action = info.leaf("action").enum(discard, bypass, protect)
	cfg := info.child("ipsec-sa-cfg")
	if p.action == protect {
		cfg.protection(p)
	} else if cfg.given {
		o.fail(cfg.path, "is for the action protect alone: remove it")
	}
	if cfg.given {
		cfg.end()
	}
	info.end()
	config.end()
	o.end()
	return p
}

// reqid reads a reqid. The box has 32 bits of it.
func (o *object) reqid() uint32 {
	l := o.leaf("reqid")
	n := l.number64()
	if n > math.MaxUint32 {
		o.fail(l.path, "the box links by 32 bits: write at most %d", uint32(math.MaxUint32))
	}
	return uint32(n)
}

// window reads the size of an anti-replay window.
func (o *object) window() uint32 {
	l := o.leaf("anti-replay-window-size")
	n := l.number(math.MaxUint32, xfrm.MinWindow)
	if n != 0 && (n < xfrm.MinWindow || n > xfrm.MaxWindow) {
		o.fail(l.path, "the box has windows of %d to %d packets: write one of these, or 0 for no anti-replay", xfrm.MinWindow, xfrm.MaxWindow)
	}
	return n
}

// overflow refuses sequence numbers that begin anew.
func (o *object) overflow() {
	l := o.leaf("seq-overflow")
	only(l, l.boolean(false), "a number that comes again would repeat a nonce: write false", false)
}

// protection reads an ipsec-sa-cfg. The mode and the ends of the tunnel say which SAs protect; the
// rest is for those who make the SAs, and the box does not keep it.
func (o *object) protection(p *policy) {
	flag := o.leaf("pfp-flag")
	only(flag, flag.boolean(false), "the box makes no SAs from packets: write false, and an entry for each SA", false)
	o.leaf("ext-seq-num").boolean(false)
	o.overflow()
	frag := o.leaf("stateful-frag-check")
	only(frag, frag.boolean(false), "the box reassembles fragments in front of the policies: write false", false)
	p.mode = o.leaf("mode").enum(xfrm.ModeTransport, xfrm.ModeTunnel)
	o.leaf("protocol-parameters").enum("esp")
	esp := o.child("esp-algorithms")
	esp.proposals()
	esp.end()
	tunnel := o.child("tunnel")
	switch {
	case p.mode == xfrm.ModeTunnel:
		p.src, p.dst, _, _ = tunnel.ends()
		tunnel.end()
	case tunnel.given:
		o.fail(tunnel.path, "is for the mode tunnel alone: remove it")
	}
}

// proposals reads the algorithms that SAs of a policy may have.
func (o *object) proposals() {
	seen := map[uint32]bool{}
	for _, l := range o.leafList("integrity") {
		n := l.is(aNumber)
		number := l.number(math.MaxUint16, 0)
		switch {
		case n && seen[number]:
			o.fail(l.path, "stands in the list twice: remove it")
		case number != integrityNone && !has(func(a algorithm) bool { return uint32(a.integrity) == number }):
			o.fail(l.path, "the box does not have integrity algorithm %d: write 12 (HMAC-SHA2-256-128) or 2 (HMAC-SHA1-96)", number)
		}
		seen[number] = true
	}
	ids := map[uint32]bool{}
	for _, e := range o.list("encryption") {
		id := e.leaf("id")
		n := id.required().number(math.MaxUint16, 0)
		if ids[n] {
			o.fail(id.path, "is that of another entry too: write another number")
		}
		ids[n] = true
		kind, length := e.leaf("algorithm-type"), e.leaf("key-length")
		number, bits := uint16(kind.number(math.MaxUint16, encryptionGCM16)), int(length.number(math.MaxUint16, 128))
		switch {
		case !has(func(a algorithm) bool { return a.encryption == number }):
			o.fail(kind.path, "the box does not have encryption algorithm %d: write 20 (AES-GCM), 12 (AES-CBC), 13 (AES-CTR), 28 (ChaCha20-Poly1305), 21 (AES-GMAC) or 11 (NULL)", number)
		case number != encryptionNull && !keyBits(number, bits):
			o.fail(length.path, "the box does not have encryption algorithm %d with keys of %d bits: write a length of docs/reference/suites.md", number, bits)
		}
		e.end()
	}
	pad := o.leaf("tfc-pad")
	only(pad, pad.boolean(false), "the module does not say to what length: write false, and use tfcpad of sallyctl", false)
}
