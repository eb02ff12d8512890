// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// TestReaderAsksEverything: of all methods a reader of the network is refused each that changes
// something, in every form, and no row is written to the chips. It is answered the others.
func TestReaderAsksEverything(t *testing.T) {
	n := newNetworked(t)
	n.must(n.daemon.KeepConfig(n.file("saved")))
	r, ctx := n.remote("watcher"), t.Context()
	const ok, denied = connect.Code(0), connect.CodePermissionDenied
	config := func(verb string, confirm int32) func() error {
		return func() error {
			request := &sallyportv1.ConfigRequest{Verb: verb, Confirm: confirm}
			if verb == "load" {
				request.Lines = []string{"addr add 10.9.0.1/24 dev red"}
			}
			_, err := r.Config(ctx, request)
			return err
		}
	}
	command := func(words ...string) func() error {
		return func() error {
			_, err := r.Command(ctx, &sallyportv1.CommandRequest{Words: words})
			return err
		}
	}
	pair := func(verb string) func() error {
		return func() error { _, err := r.Pair(ctx, &sallyportv1.PairRequest{Verb: verb}); return err }
	}
	selfTest := func(run bool) func() error {
		return func() error { _, err := r.SelfTest(ctx, &sallyportv1.SelfTestRequest{Run: run}); return err }
	}
	type ask struct {
		code connect.Code
		do   func() error
	}
	asks := map[string][]ask{
		"GetVersion":    {{ok, func() error { return version(t, r) }}},
		"GetSealingKey": {{ok, func() error { _, err := r.GetSealingKey(ctx, &sallyportv1.GetSealingKeyRequest{}); return err }}},
		"Batch": {
			{denied, func() error { _, err := r.SealedBatch(ctx, "f", []byte(policy)); return err }},
			{denied, func() error {
				_, err := r.Batch(ctx, &sallyportv1.BatchRequest{Lines: []string{strings.TrimSpace(policy)}})
				return err
			}},
		},
		"Command": {
			{denied, command("xfrm", "policy", "flush")}, {denied, command("xfrm", "state", "flush")}, {denied, command("addr", "add", "10.9.0.1/24", "dev", "red")},
			{denied, command("link", "set", "dev", "red", "down")}, {ok, command("xfrm", "state", "list")}, {ok, command("neigh", "show")},
		},
		"AllocSpi": {{denied, func() error {
			_, err := r.AllocSpi(ctx, &sallyportv1.AllocSpiRequest{Src: "192.0.2.2", Dst: "192.0.2.1", Min: 256, Max: 300})
			return err
		}}},
		"QueryState": {{connect.CodeInvalidArgument, func() error {
			_, err := r.QueryState(ctx, &sallyportv1.QueryStateRequest{Src: "192.0.2.9", Dst: "192.0.2.8", Proto: "esp", Spi: 1})
			return err
		}}},
		"QueryPolicy": {{connect.CodeInvalidArgument, func() error { _, err := r.QueryPolicy(ctx, &sallyportv1.QueryPolicyRequest{Dir: "x"}); return err }}},
		"Advance": {{denied, func() error {
			_, err := r.Advance(ctx, &sallyportv1.AdvanceRequest{Dst: "192.0.2.1", Proto: "esp", Spi: 0x1001, Number: 5000})
			return err
		}}},
		"List":            {{ok, func() error { _, err := r.List(ctx, &sallyportv1.ListRequest{What: "state"}); return err }}},
		"GetCounters":     {{ok, func() error { _, err := r.GetCounters(ctx, &sallyportv1.GetCountersRequest{}); return err }}},
		"GetCapabilities": {{ok, func() error { _, err := r.GetCapabilities(ctx, &sallyportv1.GetCapabilitiesRequest{}); return err }}},
		"GetCards":        {{connect.CodeInvalidArgument, func() error { _, err := r.GetCards(ctx, &sallyportv1.GetCardsRequest{}); return err }}},
		"Config":          {{ok, config("show", 0)}, {ok, config("saved", 0)}, {denied, config("save", 0)}, {denied, config("load", 0)}, {denied, config("load", 60)}, {denied, config("confirm", 0)}},
		"SelfTest":        {{ok, selfTest(false)}, {denied, selfTest(true)}},
		"Pair":            {{connect.CodeInvalidArgument, pair("status")}, {denied, pair("switch")}, {denied, pair("maintain")}, {denied, pair("resume")}},
		"Watch": {{ok, func() error {
			stream, err := r.Watch(ctx, &sallyportv1.WatchRequest{})
			if err == nil {
				err = stream.Close()
			}
			return err
		}}},
	}
	rows := func() (count int) {
		n.fake.Between(func() { count = len(n.fake.Log) })
		return count
	}
	before := rows()
	methods := sallyportv1.File_sallyport_v1_sallyport_proto.Services().ByName("BoxService").Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		if len(asks[name]) == 0 {
			t.Errorf("%s is not asked", name)
		}
		for j, ask := range asks[name] {
			err := ask.do()
			if ask.code == ok && err != nil || ask.code != ok && connect.CodeOf(err) != ask.code {
				t.Errorf("%s %d: %v, want %v", name, j, err, ask.code)
			}
		}
	}
	if after := rows(); after != before {
		t.Errorf("%d rows were written", after-before)
	}
}
