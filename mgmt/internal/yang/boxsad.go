// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// boxAlgorithm is an algorithm of an SA, without its key.
type boxAlgorithm struct {
	Name    string `json:"name"`
	KeyBits int    `json:"key_bits"`
	ICVBits int    `json:"icv_bits"`
}

// boxSA is an SA as `sallyctl -j xfrm state list` has it.
type boxSA struct {
	Name       string          `json:"name"`
	Src        netip.Addr      `json:"src"`
	Dst        netip.Addr      `json:"dst"`
	Proto      string          `json:"proto"`
	SPI        uint32          `json:"spi"`
	ReqID      uint32          `json:"reqid"`
	Mode       string          `json:"mode"`
	Window     uint32          `json:"replay_window"`
	Flags      []string        `json:"flags"`
	ExtraFlags []string        `json:"extra_flags"`
	DF         string          `json:"df"`
	DSCP       string          `json:"dscp"`
	TFCPad     uint32          `json:"tfcpad"`
	IfID       string          `json:"if_id"`
	Dummy      json.RawMessage `json:"dummy"`
	Node       json.RawMessage `json:"node"`
	ForDSCP    []string        `json:"for_dscp"`
	Aead       *boxAlgorithm   `json:"aead"`
	Auth       *boxAlgorithm   `json:"auth-trunc"`
	Enc        *boxAlgorithm   `json:"enc"`
	Encap      *struct {
		Type  string     `json:"type"`
		SPort uint16     `json:"sport"`
		DPort uint16     `json:"dport"`
		Addr  netip.Addr `json:"addr"`
	} `json:"encap"`
	Sel      map[string]string `json:"sel"`
	Lifetime struct {
		ByteSoft   uint64 `json:"byte_soft"`
		ByteHard   uint64 `json:"byte_hard"`
		PacketSoft uint64 `json:"packet_soft"`
		PacketHard uint64 `json:"packet_hard"`
		AddSoft    uint64 `json:"add_soft_seconds"`
		AddHard    uint64 `json:"add_hard_seconds"`
		UseSoft    uint64 `json:"use_soft_seconds"`
		UseHard    uint64 `json:"use_hard_seconds"`
	} `json:"lifetime"`
	Current *current `json:"current"`
	Seq     *uint64  `json:"seq"`
	Dir     xfrm.Dir `json:"dir"`
}

// saOf reads an SA of the box, and gives what the module cannot say of it.
func saOf(text json.RawMessage) (s *sa, reason string, err error) {
	var b boxSA
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, "", err
	}
	s = &sa{
		name: b.Name, dir: b.Dir, reqid: b.ReqID, spi: b.SPI, src: b.Src, dst: b.Dst, mode: b.Mode, window: b.Window, current: b.Current,
		esn: slices.Contains(b.Flags, "esn"), df: dfCopy,
	}
	if err := strict(text, &boxSA{}); err != nil {
		return s, fmt.Sprintf("what a later version has: %v", err), nil
	}
	if s.sel, err = b.selector(); err != nil {
		return nil, "", err
	}
	if s.forDSCP, err = dscpsOf(b.ForDSCP); err != nil {
		return nil, "", err
	}
	b.outer(s)
	if e := b.Encap; e != nil {
		s.encap = &xfrm.Encap{SPort: e.SPort, DPort: e.DPort, OAddr: e.Addr}
	}
	l := b.Lifetime
	s.hard, s.soft = limits{uint32(l.AddHard), uint32(l.PacketHard), l.ByteHard}, limits{uint32(l.AddSoft), uint32(l.PacketSoft), l.ByteSoft}
	return s, b.unsaid(s), nil
}

// unsaid is what the module cannot say of an SA.
func (b *boxSA) unsaid(s *sa) string {
	crypt, auth := b.Aead, &boxAlgorithm{}
	if crypt == nil {
		crypt, auth = b.Enc, b.Auth
	}
	found := find(func(a algorithm) bool { return a.crypt == crypt.Name && a.auth == auth.Name })
	l := b.Lifetime
	switch {
	case found == nil:
		return "the algorithm " + strings.TrimSpace(crypt.Name+" "+auth.Name)
	case slices.Contains(b.Flags, "noecn"):
		return "flag noecn"
	case b.IfID != "":
		return "if_id " + b.IfID
	case b.TFCPad != 0:
		return "tfcpad"
	case b.Dummy != nil:
		return "dummy packets"
	case b.Node != nil:
		return "node"
	case s.forDSCP != 0 && s.mode != xfrm.ModeTunnel:
		return "for-dscp in transport mode"
	case l.UseSoft != 0 || l.UseHard != 0:
		return "limits in time since the first use"
	case max(l.AddSoft, l.AddHard) > math.MaxUint32:
		return "limits of more than 2^32 - 1 seconds"
	case max(l.PacketSoft, l.PacketHard) > math.MaxUint32:
		return "limits of more than 2^32 - 1 packets"
	}
	s.algorithm = *found
	return unsaid(s.sel)
}

// selector is that of an SA. The module demands one: without it, that of the SA's hosts in
// transport mode, or of all addresses of the version of its ends.
func (b *boxSA) selector() (xfrm.Selector, error) {
	if b.Sel != nil {
		return selectorOf(b.Sel)
	}
	bits := 0
	if b.Mode == xfrm.ModeTransport {
		bits = b.Src.BitLen()
	}
	return xfrm.Selector{Src: netip.PrefixFrom(b.Src, bits).Masked(), Dst: netip.PrefixFrom(b.Dst, bits).Masked()}, nil
}

// outer reads how outer headers are made.
func (b *boxSA) outer(s *sa) {
	switch {
	case b.DF == string(xfrm.DFSet):
		s.df = dfSet
	case b.DF == string(xfrm.DFUnset) || slices.Contains(b.Flags, "nopmtudisc"):
		s.df = dfClear
	}
	table, mapped := strings.CutPrefix(b.DSCP, "map ")
	value, err := strconv.ParseUint(b.DSCP, 10, 6)
	if slices.Contains(b.ExtraFlags, "dont-encap-dscp") {
		value, err = 0, nil
	}
	switch {
	case mapped:
		m := copied // the box copies what the map does not name
		s.dscp = &m
		for _, pair := range strings.Split(table, ",") {
			var inner, outer uint8
			if _, err := fmt.Sscanf(pair, "%d:%d", &inner, &outer); err == nil && inner < 64 {
				s.dscp[inner] = outer
			}
		}
	case err == nil:
		s.dscp = &dscpMap{}
		for i := range s.dscp {
			s.dscp[i] = uint8(value)
		}
	}
	s.settle()
}

// dscpsOf reads names of DSCPs.
func dscpsOf(names []string) (xfrm.DSCPs, error) {
	if len(names) == 0 {
		return 0, nil
	}
	command, err := xfrm.Parse(xfrm.Words(append([]string{"qos", "set", "dscp"}, names...)))
	if err != nil {
		return 0, err
	}
	return command.(xfrm.QoS).Marked, nil
}
