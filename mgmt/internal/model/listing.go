// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// Listing is how lists are printed: as iproute2 does, or as one line of JSON, as `ip -j` does.
type Listing struct {
	Meter Meter // of what SAs and policies have carried; nil: lists do not tell
	JSON  bool
	// ByPrefix says that the inner chip has a table of policies by prefix. Lists tell where each
	// out policy stands then: JSON always, and text beside what it has carried.
	ByPrefix bool
	// Sequence gives the sequence number that an SA has reached, if that is known; JSON has it of
	// an SA that is asked for by name.
	Sequence func(*SA) (number uint64, known bool, err error)
	// Ignored is what Linux has of VRFs that does not fit the box's, each a sentence.
	Ignored []string
}

// printAll prints each of some things as text or as an element of a JSON array.
func printAll[V any](l Listing, all iter.Seq[V], text func(V, Meter) (string, error), object func(V, Listing) (any, error)) (string, error) {
	if !l.JSON {
		texts, err := described(all, l.Meter, text)
		return strings.Join(texts, ""), err
	}
	objects := []any{}
	for v := range all {
		o, err := object(v, l)
		if err != nil {
			return "", err
		}
		objects = append(objects, o)
	}
	return jsonLine(objects)
}

func jsonLine(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("cannot print as JSON: %w", err)
	}
	return string(text) + "\n", nil
}

// foundBy is the table in which the inner chip finds an out policy.
func (m *Model) foundBy(p *Policy) string {
	switch {
	case p.IfID != 0:
		return "route"
	case Exact(p.Selector):
		return "flow"
	case m.Policies.ByPrefix(p) && len(m.Interfaces) == 0:
		return "prefix"
	}
	return "rule"
}

// policyText prints a policy, and where the inner chip finds it.
func (l Listing) policyText(m *Model) func(*Policy, Meter) (string, error) {
	return func(p *Policy, meter Meter) (string, error) {
		text, err := m.DescribePolicy(p, meter)
		if err == nil && l.ByPrefix && meter != nil && p.Dir == xfrm.DirOut {
			text += fmt.Sprintf("\tfound by %s\n", m.foundBy(p))
		}
		return text, err
	}
}

// count prints a count, as text or as JSON.
func (l Listing) count(text string, value any) (string, error) {
	if l.JSON {
		return jsonLine(value)
	}
	return text, nil
}

// ifIDText is an if_id as `ip` prints it, empty if there is none.
func ifIDText(ifID uint32) string {
	if ifID == 0 {
		return ""
	}
	return fmt.Sprintf("0x%x", ifID)
}

// names are those of flags that are set, in their order.
func names(flags ...flag) []string {
	out := []string{}
	for _, f := range flags {
		if f.on {
			out = append(out, f.name)
		}
	}
	return out
}

type flag struct {
	on   bool
	name string
}

// flagsOf are an SA's flags by iproute2's names.
func flagsOf(sa *SA) []string {
	f := sa.Flags
	return names(flag{f.NoECN, "noecn"}, flag{f.NoPMTUDisc, "nopmtudisc"}, flag{f.ICMP, "icmp"}, flag{f.AFUnspec, "af-unspec"}, flag{f.Align4, "align4"}, flag{f.ESN, "esn"})
}

// flagsOfPolicy are a policy's flags.
func flagsOfPolicy(p *Policy) []string {
	return names(flag{p.ICMP, "icmp"}, flag{p.FragmentFirst, "fragment-first"}, flag{p.MSS, "mss"})
}

// extraFlagsOf are those that iproute2 calls extra.
func extraFlagsOf(sa *SA) []string {
	return names(flag{sa.Flags.DontEncapDSCP, "dont-encap-dscp"})
}

// words splits the words of a set; "none" is no word.
func words(text, separator string) []string {
	return slices.DeleteFunc(strings.Split(text, separator), func(w string) bool { return w == "none" })
}
