// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"context"
	"encoding/json"
	"net/netip"
	"strconv"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/xfrm"
)

// The notifications of the module in JSON.
type (
	jsonAcquire struct {
		Policy   string       `json:"ipsec-policy-name"`
		Selector jsonSelector `json:"traffic-selector"`
	}
	jsonExpire struct {
		SA      string        `json:"ipsec-sa-name"`
		Soft    bool          `json:"soft-lifetime-expire"`
		Current *jsonLifetime `json:"lifetime-current,omitempty"`
	}
	jsonOverflow struct {
		SA string `json:"ipsec-sa-name"`
	}
	jsonBadSPI struct {
		SPI uint32 `json:"spi"`
	}
)

// Monitor gives each notification to a function, as a line of JSON, until that fails, ctx ends, or
// the daemon does. Events that the module has no notification for are passed over.
func Monitor(ctx context.Context, box Box, each func(line []byte) error) error {
	return box.Events(ctx, func(e *sallyportv1.WatchResponse) error {
		var carried *current
		if e.Event == "expire" {
			// an SA that is gone by now has no counts any more
			if q, err := box.QueryState(ctx, &sallyportv1.QueryStateRequest{Dst: e.Dst, Proto: e.Proto, Spi: e.Spi}); err == nil {
				carried = &current{q.Bytes, q.Packets}
			}
		}
		line, err := notification(e, carried)
		if line == nil || err != nil {
			return err
		}
		return each(line)
	})
}

// notification is an event as one line of JSON with a line feed, nil if the module has none for it.
func notification(e *sallyportv1.WatchResponse, carried *current) ([]byte, error) {
	var name string
	var body any
	switch e.Event {
	case "acquire":
		policy := e.Name
		if policy == "" {
			policy = "out " + e.Policy
		}
		sel, err := packetOf(e)
		if err != nil {
			return nil, err
		}
		name, body = "sadb-acquire", jsonAcquire{policy, selectorJSON(sel)}
	case "expire":
		expire := jsonExpire{SA: nameOfSA(e), Soft: !e.GetHard()}
		if carried != nil {
			expire.Current = carried.json()
		}
		name, body = "sadb-expire", expire
	case "sequence":
		name, body = "sadb-seq-overflow", jsonOverflow{nameOfSA(e)}
	case "unknown_spi":
		name, body = "sadb-bad-spi", jsonBadSPI{e.Spi}
	default:
		return nil, nil
	}
	line, err := json.Marshal(map[string]any{Module + ":" + name: body})
	return append(line, '\n'), err
}

func nameOfSA(e *sallyportv1.WatchResponse) string {
	dst, err := netip.ParseAddr(e.Dst)
	if e.Name != "" || err != nil {
		return e.Name
	}
	return derivedSA(dst, e.Spi)
}

// packetOf is the packet of an acquire: one of outbound traffic. Its type and code are left out,
// because the module does not say where they stand.
func packetOf(e *sallyportv1.WatchResponse) (sel xfrm.Selector, err error) {
	src, err := netip.ParseAddr(e.Src)
	if err != nil {
		return sel, err
	}
	dst, err := netip.ParseAddr(e.Dst)
	if err != nil {
		return sel, err
	}
	protocol, err := strconv.ParseUint(e.Proto, 10, 8)
	sel = xfrm.Selector{Src: netip.PrefixFrom(src, src.BitLen()), Dst: netip.PrefixFrom(dst, dst.BitLen()), Proto: uint8(protocol)}
	for port, of := range map[*uint32]*xfrm.Range{e.Sport: &sel.SPort, e.Dport: &sel.DPort} {
		if port != nil {
			*of = xfrm.One(uint16(*port))
		}
	}
	return sel, err
}
