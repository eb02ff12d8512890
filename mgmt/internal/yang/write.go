// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"encoding/json"
	"math"
	"math/bits"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// The nodes of the module in JSON (RFC 7951): a uint64 is a string. Leaves that have the module's
// default are written too, where a reader would otherwise have to know it.
type (
	jsonPorts struct {
		Start uint16 `json:"start"`
		End   uint16 `json:"end"`
	}
	jsonSelector struct {
		Local    netip.Prefix `json:"local-prefix"`
		Remote   netip.Prefix `json:"remote-prefix"`
		Protocol any          `json:"inner-protocol"`
		LocalPs  []jsonPorts  `json:"local-ports,omitempty"`
		RemotePs []jsonPorts  `json:"remote-ports,omitempty"`
	}
	jsonMapping struct {
		ID    uint8  `json:"id"`
		Inner *uint8 `json:"inner-dscp,omitempty"`
		Outer uint8  `json:"outer-dscp"`
	}
	jsonTunnel struct {
		Local  netip.Addr    `json:"local"`
		Remote netip.Addr    `json:"remote"`
		DF     string        `json:"df-bit,omitempty"`
		Bypass *bool         `json:"bypass-dscp,omitempty"`
		Map    []jsonMapping `json:"dscp-mapping,omitempty"`
		Values []uint16      `json:"dscp-values,omitempty"`
	}
	jsonSACfg struct {
		Mode   string      `json:"mode"`
		Tunnel *jsonTunnel `json:"tunnel,omitempty"`
	}
	jsonInfo struct {
		Action string     `json:"action"`
		SACfg  *jsonSACfg `json:"ipsec-sa-cfg,omitempty"`
	}
	jsonPolicyConfig struct {
		Selector jsonSelector `json:"traffic-selector"`
		Info     jsonInfo     `json:"processing-info"`
	}
	jsonPolicy struct {
		Name      string           `json:"name"`
		Direction string           `json:"direction"`
		ReqID     uint64           `json:"reqid,string"`
		Config    jsonPolicyConfig `json:"ipsec-policy-config"`
	}
	jsonLifetime struct {
		Time    uint32 `json:"time,omitempty"`
		Bytes   uint64 `json:"bytes,omitempty,string"`
		Packets uint32 `json:"packets,omitempty"`
		Action  string `json:"action,omitempty"`
	}
	jsonEncryption struct {
		Algorithm uint16 `json:"encryption-algorithm"`
	}
	jsonIntegrity struct {
		Algorithm uint16 `json:"integrity-algorithm"`
	}
	jsonESP struct {
		Encryption jsonEncryption `json:"encryption"`
		Integrity  *jsonIntegrity `json:"integrity,omitempty"`
	}
	jsonEncap struct {
		Type  string       `json:"espencap"`
		SPort uint16       `json:"sport"`
		DPort uint16       `json:"dport"`
		OAddr []netip.Addr `json:"oaddr,omitempty"`
	}
	jsonSAConfig struct {
		SPI      uint32        `json:"spi"`
		ESN      bool          `json:"ext-seq-num"`
		Overflow bool          `json:"seq-overflow"`
		Window   uint32        `json:"anti-replay-window-size"`
		Selector jsonSelector  `json:"traffic-selector"`
		Protocol string        `json:"protocol-parameters"`
		Mode     string        `json:"mode"`
		ESP      jsonESP       `json:"esp-sa"`
		Hard     *jsonLifetime `json:"sa-lifetime-hard,omitempty"`
		Soft     *jsonLifetime `json:"sa-lifetime-soft,omitempty"`
		Tunnel   *jsonTunnel   `json:"tunnel,omitempty"`
		Encap    *jsonEncap    `json:"encapsulation-type,omitempty"`
	}
	jsonState struct {
		Current *jsonLifetime `json:"sa-lifetime-current"`
	}
	jsonSA struct {
		Name   string       `json:"name"`
		ReqID  uint64       `json:"reqid,string"`
		Config jsonSAConfig `json:"ipsec-sa-config"`
		State  *jsonState   `json:"ipsec-sa-state,omitempty"`
	}
	jsonSPD struct {
		Entries []jsonPolicy `json:"spd-entry,omitempty"`
	}
	jsonSAD struct {
		Entries []jsonSA `json:"sad-entry,omitempty"`
	}
	jsonIKEless struct {
		SPD jsonSPD `json:"spd"`
		SAD jsonSAD `json:"sad"`
	}
	jsonDocument struct {
		IKEless jsonIKEless `json:"ietf-i2nsf-ikeless:ipsec-ikeless"`
	}
)

// text is a document as JSON.
func (d *document) text() ([]byte, error) {
	out := jsonDocument{}
	for _, p := range d.spd {
		out.IKEless.SPD.Entries = append(out.IKEless.SPD.Entries, p.json())
	}
	for _, s := range d.sad {
		out.IKEless.SAD.Entries = append(out.IKEless.SAD.Entries, s.json())
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

func (p *policy) json() jsonPolicy {
	out := jsonPolicy{Name: p.name, Direction: "outbound", ReqID: uint64(p.reqid)}
	if p.inbound() {
		out.Direction = "inbound"
	}
	out.Config = jsonPolicyConfig{selectorJSON(p.sel), jsonInfo{Action: p.action}}
	if p.action == protect {
		out.Config.Info.SACfg = &jsonSACfg{Mode: p.mode}
		if p.mode == xfrm.ModeTunnel {
			out.Config.Info.SACfg.Tunnel = &jsonTunnel{Local: p.src, Remote: p.dst}
		}
	}
	return out
}

func selectorJSON(s xfrm.Selector) jsonSelector {
	out := jsonSelector{Local: s.Src, Remote: s.Dst, Protocol: "any", LocalPs: portsJSON(s.SPort), RemotePs: portsJSON(s.DPort)}
	if s.Proto != 0 {
		out.Protocol = s.Proto
	}
	return out
}

func portsJSON(r xfrm.Range) []jsonPorts {
	if !r.Given {
		return nil
	}
	return []jsonPorts{{r.First, r.Last}}
}

func (s *sa) json() jsonSA {
	c := jsonSAConfig{
		SPI: s.spi, ESN: s.esn, Window: s.window, Selector: selectorJSON(s.sel), Protocol: "esp", Mode: s.mode,
		ESP:  jsonESP{Encryption: jsonEncryption{s.algorithm.encryption}},
		Hard: s.hard.json(""), Soft: s.soft.json("replace"),
	}
	if s.algorithm.auth != "" {
		c.ESP.Integrity = &jsonIntegrity{s.algorithm.integrity}
	}
	if s.mode == xfrm.ModeTunnel {
		c.Tunnel = s.tunnelJSON()
	}
	if e := s.encap; e != nil {
		c.Encap = &jsonEncap{Type: "espinudp", SPort: e.SPort, DPort: e.DPort}
		if !e.OAddr.IsUnspecified() {
			c.Encap.OAddr = []netip.Addr{e.OAddr}
		}
	}
	out := jsonSA{Name: s.name, ReqID: uint64(s.reqid), Config: c}
	if s.current != nil {
		out.State = &jsonState{s.current.json()}
	}
	return out
}

func (l limits) json(action string) *jsonLifetime {
	if l == (limits{}) {
		return nil
	}
	return &jsonLifetime{l.time, l.bytes, l.packets, action}
}

// json gives the counts. A count of packets that the module has no room for is left out.
func (c *current) json() *jsonLifetime {
	out := &jsonLifetime{Bytes: c.Bytes}
	if c.Packets <= math.MaxUint32 {
		out.Packets = uint32(c.Packets)
	}
	return out
}

func (s *sa) tunnelJSON() *jsonTunnel {
	out := &jsonTunnel{Local: s.src, Remote: s.dst, DF: s.df}
	for set := uint64(s.forDSCP); set != 0; set &= set - 1 {
		out.Values = append(out.Values, uint16(bits.TrailingZeros64(set)))
	}
	if s.dscp == nil {
		return out
	}
	out.Bypass = new(bool)
	// the last entry is for what no other one names: as most of the map has it
	count, common := [64]int{}, uint8(0)
	for _, outer := range s.dscp {
		if count[outer]++; count[outer] > count[common] {
			common = outer
		}
	}
	for inner, outer := range s.dscp {
		if of := uint8(inner); outer != common {
			out.Map = append(out.Map, jsonMapping{uint8(len(out.Map)), &of, outer})
		}
	}
	out.Map = append(out.Map, jsonMapping{ID: uint8(len(out.Map)), Outer: common})
	return out
}
