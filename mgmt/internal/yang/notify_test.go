// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"context"
	"errors"
	"strings"
	"testing"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// told is a box that tells of some events, and knows the counts of one SA.
type told struct {
	Box
	events []*sallyportv1.WatchResponse
}

func (b told) Events(_ context.Context, each func(*sallyportv1.WatchResponse) error) error {
	for _, e := range b.events {
		if err := each(e); err != nil {
			return err
		}
	}
	return errors.New("the end")
}

func (b told) QueryState(_ context.Context, r *sallyportv1.QueryStateRequest) (*sallyportv1.QueryStateResponse, error) {
	if r.Spi != 4097 {
		return nil, errors.New("there is no such SA")
	}
	return &sallyportv1.QueryStateResponse{Bytes: 1 << 40, Packets: 5}, nil
}

// TestMonitor: events become notifications, by the names of their objects; others are passed over.
func TestMonitor(t *testing.T) {
	gone := &sallyportv1.WatchResponse{Event: "expire", Dst: "2001:db8::2", Proto: "esp", Spi: 0x2001, Hard: flag(true)}
	var got strings.Builder
	err := Monitor(t.Context(), told{events: []*sallyportv1.WatchResponse{
		notified["sadb-acquire"], {Event: "link", Link: "inner"}, notified["sadb-acquire, old"], {Event: "audit", Dst: "192.0.2.1", Spi: 5},
		notified["sadb-expire"], gone, notified["sadb-seq-overflow"], notified["sadb-bad-spi"],
	}}, func(line []byte) error {
		got.Write(line)
		return nil
	})
	if err == nil || err.Error() != "the end" {
		t.Error(err)
	}
	want := `{"ietf-i2nsf-ikeless:sadb-acquire":{"ipsec-policy-name":"spd/out","traffic-selector":{"local-prefix":"10.1.0.9/32","remote-prefix":"10.2.0.9/32","inner-protocol":6,"local-ports":[{"start":40000,"end":40000}],"remote-ports":[{"start":443,"end":443}]}}}
{"ietf-i2nsf-ikeless:sadb-acquire":{"ipsec-policy-name":"out src 2001:db8::/64 dst 2001:db8:1::/64","traffic-selector":{"local-prefix":"2001:db8::9/128","remote-prefix":"2001:db8:1::9/128","inner-protocol":58}}}
{"ietf-i2nsf-ikeless:sadb-expire":{"ipsec-sa-name":"out_4097","soft-lifetime-expire":true,"lifetime-current":{"bytes":"1099511627776","packets":5}}}
{"ietf-i2nsf-ikeless:sadb-expire":{"ipsec-sa-name":"esp 2001:db8::2 0x00002001","soft-lifetime-expire":false}}
{"ietf-i2nsf-ikeless:sadb-seq-overflow":{"ipsec-sa-name":"out_4097"}}
{"ietf-i2nsf-ikeless:sadb-bad-spi":{"spi":47806}}
`
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
	full := errors.New("full")
	if err := Monitor(t.Context(), told{events: []*sallyportv1.WatchResponse{notified["sadb-expire"]}}, func([]byte) error { return full }); err != full {
		t.Error(err)
	}
}
