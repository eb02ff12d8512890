// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"math"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// sadEntry reads a sad-entry.
func (o *object) sadEntry(name string) *sa {
	s := &sa{path: o.path, name: name, reqid: o.reqid()}
	if state := o.take("ipsec-sa-state"); state != nil {
		o.fail(o.path+"/ipsec-sa-state", "is what the box reports: remove it")
	}
	c := o.child("ipsec-sa-config")
	spi := c.leaf("spi")
	if s.spi = spi.required().number(math.MaxUint32, 0); s.spi < 256 {
		o.fail(spi.path, "SPIs below 256 are reserved (RFC 4303, 2.1): write a higher one")
	}
	s.esn = c.leaf("ext-seq-num").boolean(true)
	c.overflow()
	s.window = c.window()
	s.sel = c.selector()
	c.leaf("protocol-parameters").enum("esp")
	s.mode = c.leaf("mode").enum(xfrm.ModeTransport, xfrm.ModeTunnel)
	esp := c.child("esp-sa")
	esp.algorithms(s)
	esp.end()
	s.hard, s.soft = c.lifetime("sa-lifetime-hard"), c.lifetime("sa-lifetime-soft")
	tunnel := c.child("tunnel")
	switch {
	case s.mode == xfrm.ModeTunnel:
		s.src, s.dst, s.df, s.dscp = tunnel.ends()
		s.forDSCP = tunnel.dscpValues()
		tunnel.end()
	case tunnel.given:
		o.fail(tunnel.path, "is for the mode tunnel alone: remove it")
	default:
		s.src, s.dst = c.host("local-prefix", s.sel.Src), c.host("remote-prefix", s.sel.Dst)
	}
	s.encap = c.encapsulation(s)
	c.end()
	o.end()
	return s
}

// host is the end of an SA in transport mode.
func (o *object) host(name string, p netip.Prefix) netip.Addr {
	if p.IsValid() && !p.IsSingleIP() {
		o.fail(o.path+"/traffic-selector/"+name, "an SA in transport mode is between two hosts: write one address, with /%d", p.Addr().BitLen())
	}
	return p.Addr()
}

// algorithms reads an esp-sa. Keys stay where they are in the document.
func (o *object) algorithms(s *sa) {
	encryption, integrity := o.child("encryption"), o.child("integrity")
	kind, auth := encryption.leaf("encryption-algorithm"), integrity.leaf("integrity-algorithm")
	e, i := uint16(kind.number(math.MaxUint16, encryptionCBC)), uint16(auth.number(math.MaxUint16, integritySHA256))
	s.key = encryption.leaf("key").hex()
	authKey := integrity.leaf("key")
	s.authKey = authKey.hex()
	iv := encryption.leaf("iv")
	iv.hex()
	found := algorithmOf(e, i)
	switch {
	case iv.v != nil:
		o.fail(iv.path, "the box makes the IVs itself: remove it, and append a salt to the key")
	case !has(func(a algorithm) bool { return a.encryption == e }):
		o.fail(kind.path, "the box does not have encryption algorithm %d: write 20 (AES-GCM), 12 (AES-CBC), 13 (AES-CTR), 28 (ChaCha20-Poly1305), 21 (AES-GMAC) or 11 (NULL)", e)
	case found == nil:
		o.fail(auth.path, "the box does not have integrity algorithm %d with encryption algorithm %d: write 12 (HMAC-SHA2-256-128), or 2 (HMAC-SHA1-96) with AES-CBC", i, e)
	case found.auth == "" && authKey.v != nil:
		o.fail(authKey.path, "encryption algorithm %d authenticates by itself: remove the key", e)
	default:
		s.algorithm = *found
	}
	encryption.end()
	integrity.end()
}

// lifetime reads limits. The box leaves it to the controller to replace an SA at a soft one.
func (o *object) lifetime(name string) (out limits) {
	l := o.child(name)
	out = limits{time: l.leaf("time").number(math.MaxUint32, 0), packets: l.leaf("packets").number(math.MaxUint32, 0), bytes: l.leaf("bytes").number64()}
	if out.bytes == math.MaxUint64 {
		out.bytes = 0 // as in Linux, which the box follows: none
	}
	idle := l.leaf("idle")
	only(idle, idle.number(math.MaxUint32, 0), "the box has no limit on idle SAs: write 0, and delete the SA by name", 0)
	if name == "sa-lifetime-soft" {
		action := l.leaf("action")
		only(action, action.enum("replace", "terminate-clear", "terminate-hold"), "an SA stays at its soft limit until the controller replaces it: write replace", "replace")
	}
	l.end()
	return out
}

// ends reads the ends of a tunnel, and its outer headers.
func (o *object) ends() (src, dst netip.Addr, df string, dscp *dscpMap) {
	src = o.leaf("local").required().address()
	remote := o.leaf("remote")
	dst = remote.required().address()
	if src.IsValid() && dst.IsValid() && src.Is4() != dst.Is4() {
		o.fail(remote.path, "is of another IP version than local: write ends of one version")
	}
	df = o.leaf("df-bit").enum(dfClear, dfSet, dfCopy)
	return src, dst, df, o.dscpMapping()
}

// dscpMapping reads how outer DSCPs are made: nil if they are copied.
func (o *object) dscpMapping() *dscpMap {
	bypassed := o.leaf("bypass-dscp").boolean(true)
	entries, ids := o.list("dscp-mapping"), map[uint32]bool{}
	m, known := &dscpMap{}, 0
	var mapped [64]bool
	for _, e := range entries {
		id, inner, outer := e.leaf("id"), e.leaf("inner-dscp"), e.leaf("outer-dscp")
		if n := id.required().number(math.MaxUint8, 0); ids[n] {
			o.fail(id.path, "is that of another entry too: write another number")
		} else {
			ids[n] = true
		}
		first, last := inner.number(63, 0), inner.number(63, 63)
		for i := first; i <= last && i < 64; i++ {
			if !mapped[i] { // the first entry counts
				m[i], mapped[i] = uint8(outer.number(63, 0)), true
				known++
			}
		}
		e.end()
	}
	switch {
	case bypassed && len(entries) > 0:
		o.fail(o.path+"/dscp-mapping", "is for bypass-dscp false alone: remove it")
	case !bypassed && known < 64:
		o.fail(o.path+"/dscp-mapping", "leaves DSCPs without a value: add a last entry without inner-dscp")
	case !bypassed:
		return m
	}
	return nil
}

// dscpValues reads the DSCPs that an SA carries.
func (o *object) dscpValues() (set xfrm.DSCPs) {
	for _, l := range o.leafList("dscp-values") {
		bit := xfrm.DSCPs(1) << l.number(63, 0)
		if set&bit != 0 {
			o.fail(l.path, "stands in the list twice: remove it")
		}
		set |= bit
	}
	return set
}

// encapsulation reads an encapsulation-type.
func (o *object) encapsulation(s *sa) *xfrm.Encap {
	e := o.child("encapsulation-type")
	kind := e.leaf("espencap")
	how := kind.enum("none", "espinudp", "espintcp")
	only(kind, how, "the box does not put ESP into TCP: write espinudp or none", "none", "espinudp")
	out := &xfrm.Encap{SPort: uint16(e.leaf("sport").number(math.MaxUint16, xfrm.PortNATT)), DPort: uint16(e.leaf("dport").number(math.MaxUint16, xfrm.PortNATT))}
	out.OAddr = netip.IPv4Unspecified()
	if s.dst.Is6() {
		out.OAddr = netip.IPv6Unspecified()
	}
	addresses := e.leafList("oaddr")
	for _, l := range addresses {
		out.OAddr = l.address()
	}
	if len(addresses) > 1 {
		o.fail(e.path+"/oaddr", "has %d addresses, and the box keeps one: remove the others", len(addresses))
	}
	e.end()
	if how == "none" {
		return nil
	}
	return out
}
