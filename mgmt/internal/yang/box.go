// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// Box is what the mapping asks of a box: a client.Client.
type Box interface {
	Command(context.Context, *sallyportv1.CommandRequest) (*sallyportv1.CommandResponse, error)
	QueryState(context.Context, *sallyportv1.QueryStateRequest) (*sallyportv1.QueryStateResponse, error)
	SealedBatch(ctx context.Context, file string, lines []byte) (*sallyportv1.BatchResponse, error)
	Events(context.Context, func(*sallyportv1.WatchResponse) error) error
}

// contents are what a box has: what the module can say of it, and sentences on the rest.
type contents struct {
	document
	leftOut  []string
	policies map[string]*policy  // all, by what the box tells them apart by
	sas      map[string]*sa      // likewise
	policyOf map[string]*policy  // of spd, by their names
	saOf     map[string]*sa      // of sad
	last     uint32              // the highest priority of a policy
	own      map[netip.Addr]bool // addresses of black
}

// list gives the elements of a list of sallyctl.
func list(ctx context.Context, box Box, statistics bool, words ...string) (items []json.RawMessage, err error) {
	answer, err := box.Command(ctx, &sallyportv1.CommandRequest{Words: words, Json: true, Statistics: statistics})
	if err == nil {
		err = json.Unmarshal([]byte(answer.GetOutput()), &items)
	}
	return items, err
}

// strict reads JSON, and refuses what this program does not know.
func strict(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(value)
}

// contentsOf reads a box. SAs and policies come by two requests, so between them a change may be
// made; what changes a box later refuses what does not fit any more.
func contentsOf(ctx context.Context, box Box, statistics bool) (*contents, error) {
	c := &contents{
		own: map[netip.Addr]bool{}, policies: map[string]*policy{}, sas: map[string]*sa{},
		policyOf: map[string]*policy{}, saOf: map[string]*sa{},
	}
	policies, err := list(ctx, box, false, "xfrm", "policy", "list")
	if err != nil {
		return nil, err
	}
	states, err := list(ctx, box, statistics, "xfrm", "state", "list")
	if err != nil {
		return nil, err
	}
	devices, err := list(ctx, box, false, "addr", "show")
	if err != nil {
		return nil, err
	}
	return c, c.read(policies, states, devices)
}

func (c *contents) read(policies, states, devices []json.RawMessage) error {
	names := map[string]bool{}
	for _, text := range policies {
		p, reason, err := policyOf(text)
		if err != nil {
			return err
		}
		c.last = max(c.last, p.priority)
		c.leaveOut("policy "+p.derived(), reason)
		if p.name = unique(names, p.name, p.derived()); reason == "" {
			c.spd = append(c.spd, p)
			c.policyOf[p.name] = p
		}
		c.policies[p.key()] = p
	}
	slices.SortStableFunc(c.spd, func(p, q *policy) int { return int(int64(p.priority) - int64(q.priority)) })
	names = map[string]bool{}
	for _, text := range states {
		s, reason, err := saOf(text)
		if err != nil {
			return err
		}
		c.leaveOut("SA "+s.derived(), reason)
		if s.name = unique(names, s.name, s.derived()); reason == "" {
			c.sad = append(c.sad, s)
			c.saOf[s.name] = s
		}
		c.sas[s.derived()] = s
	}
	return c.readAddresses(devices)
}

// leaveOut notes what the module cannot say, in one sentence.
func (c *contents) leaveOut(object, reason string) {
	if reason != "" {
		c.leftOut = append(c.leftOut, fmt.Sprintf("note: the %s is left out: the module cannot say %s", object, reason))
	}
}

// unique is a name, or the derived one where there is none or an earlier object has it.
func unique(names map[string]bool, name, derived string) string {
	if name == "" || names[name] {
		name = derived
	}
	names[name] = true
	return name
}

// readAddresses notes the addresses of black, and of VLANs on it.
func (c *contents) readAddresses(devices []json.RawMessage) error {
	for _, text := range devices {
		var d struct {
			Name      string `json:"ifname"`
			Link      string `json:"link"`
			Addresses []struct {
				Local netip.Addr `json:"local"`
			} `json:"addr_info"`
		}
		if err := json.Unmarshal(text, &d); err != nil {
			return err
		}
		for _, a := range d.Addresses {
			if d.Name == "black" || d.Link == "black" {
				c.own[a.Local] = true
			}
		}
	}
	return nil
}
