// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// boxPolicy is a policy as `sallyctl -j xfrm policy list` has it.
type boxPolicy struct {
	Name     string            `json:"name"`
	Sel      map[string]string `json:"sel"`
	Dir      xfrm.Dir          `json:"dir"`
	Action   xfrm.Action       `json:"action"`
	Index    uint32            `json:"index"`
	Priority uint32            `json:"priority"`
	Flags    []string          `json:"flags"`
	IfID     string            `json:"if_id"`
	Tmpl     *struct {
		Src   netip.Addr `json:"src"`
		Dst   netip.Addr `json:"dst"`
		Proto string     `json:"proto"`
		SPI   uint32     `json:"spi"`
		ReqID uint32     `json:"reqid"`
		Mode  string     `json:"mode"`
	} `json:"tmpl"`
	Current *current `json:"current"`
}

// key is what the box tells policies apart by.
func (p *policy) key() string {
	sel := p.sel
	sel.Dev = ""
	return string(p.dir) + " " + sel.String()
}

// policyOf reads a policy of the box, and gives what the module cannot say of it.
func policyOf(text json.RawMessage) (p *policy, reason string, err error) {
	var b boxPolicy
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, "", err
	}
	p = &policy{name: b.Name, dir: b.Dir, priority: b.Priority, action: discard}
	if p.sel, err = selectorOf(b.Sel); err != nil {
		return nil, "", err
	}
	if err := strict(text, &boxPolicy{}); err != nil {
		return p, fmt.Sprintf("what a later version has: %v", err), nil
	}
	switch t := b.Tmpl; {
	case b.Action == xfrm.ActionPunt, b.Action == xfrm.ActionReject:
		return p, "action " + string(b.Action), nil
	case b.Action == xfrm.ActionAllow && t == nil:
		p.action = bypass
	case b.Action == xfrm.ActionAllow:
		p.action, p.mode, p.reqid = protect, t.Mode, t.ReqID
		if t.SPI != 0 {
			return p, "a tmpl with an spi", nil
		}
		if t.Mode == xfrm.ModeTunnel {
			p.src, p.dst = t.Src, t.Dst
		} else if !isHost(p.sel.Src, t.Src) || !isHost(p.sel.Dst, t.Dst) {
			return p, "a tmpl with ends in transport mode", nil
		}
	}
	if len(b.Flags) > 0 {
		return p, "flag " + b.Flags[0], nil
	}
	if b.IfID != "" {
		return p, "if_id " + b.IfID, nil
	}
	return p, unsaid(p.sel), nil
}

// isHost says whether an end that a template names is all of a selector's side, or none is named.
func isHost(side netip.Prefix, end netip.Addr) bool {
	return end.IsUnspecified() || side.IsSingleIP() && side.Addr() == end
}

// selectorOf reads the words of a selector.
func selectorOf(words map[string]string) (xfrm.Selector, error) {
	line := []string{"xfrm", "policy", "add"}
	for _, name := range []string{"src", "dst", "proto", "sport", "dport", "type", "code", "dev"} {
		if value, given := words[name]; given {
			line = append(line, name, value)
		}
	}
	command, err := xfrm.Parse(xfrm.Words(append(line, "dir", "in")))
	if err != nil {
		return xfrm.Selector{}, err
	}
	return command.(xfrm.PolicyAdd).Policy.Selector, nil
}

// unsaid is what the module cannot say of a selector.
func unsaid(sel xfrm.Selector) string {
	zero := xfrm.Range{Given: true}
	switch {
	case sel.Listed():
		return "a list of addresses"
	case sel.VRF != "":
		return "dev " + sel.VRF
	case sel.Dev != "":
		return "dev " + sel.Dev
	case sel.Opaque:
		return "opaque ports or types"
	case sel.Type.Given || sel.Code.Given:
		return "where types and codes stand"
	case sel.SPort == zero || sel.DPort == zero:
		return "the port 0 alone"
	}
	return ""
}
