// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/api/sallyport/v1/sallyportv1connect"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// transport speaks HTTP/2 to the daemon.
func (r *rig) transport() *http.Transport {
	t := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", r.path) }}
	t.Protocols.SetUnencryptedHTTP2(true)
	r.Cleanup(t.CloseIdleConnections)
	return t
}

// speaking is a client of one of the protocols.
func (r *rig) speaking(options ...connect.ClientOption) sallyportv1connect.BoxServiceClient {
	return sallyportv1connect.NewBoxServiceClient(&http.Client{Transport: r.transport()}, "http://localhost", options...)
}

// TestMethods: each method answers as its request of the control socket does, by each protocol.
func TestMethods(t *testing.T) {
	r, _ := configured(t)
	for name, c := range map[string]sallyportv1connect.BoxServiceClient{
		"Connect": r.speaking(), "gRPC": r.speaking(connect.WithGRPC()), "gRPC-Web": r.speaking(connect.WithGRPCWeb()), "JSON": r.speaking(connect.WithProtoJSON()),
	} {
		t.Run(name, func(t *testing.T) { r.methods(t, t.Context(), c) })
	}
}

func (r *rig) methods(t *testing.T, ctx context.Context, c sallyportv1connect.BoxServiceClient) {
	version, err := c.GetVersion(ctx, &sallyportv1.GetVersionRequest{})
	if err != nil || version.Api != api.Version || version.Daemon != "1.2.3" {
		t.Errorf("%v, %v", version, err)
	}
	counters, err := c.GetCounters(ctx, &sallyportv1.GetCountersRequest{})
	if _, has := counters.GetChips()["inner"].GetValues()["rx_frames"]; err != nil || !has {
		t.Errorf("%v, %v", counters, err)
	}
	capabilities, err := c.GetCapabilities(ctx, &sallyportv1.GetCapabilitiesRequest{})
	if err != nil || capabilities.Chips["crypto"].Version != "0.1.0" || capabilities.Chips["inner"].Capabilities.ReplayWindow != 4096 || len(capabilities.Suites) == 0 {
		t.Errorf("%v, %v", capabilities, err)
	}
	list, err := c.List(ctx, &sallyportv1.ListRequest{What: "state"})
	if err != nil || len(list.Items) != 2 || !strings.Contains(list.Items[0], "src 192.0.2.1 dst 192.0.2.2") {
		t.Errorf("%v, %v", list, err)
	}
	_, err = c.Advance(ctx, &sallyportv1.AdvanceRequest{Dst: "192.0.2.2", Proto: "esp", Spi: 0x1001, Number: 1 << 40})
	if err != nil {
		t.Error(err)
	}
	state, err := c.QueryState(ctx, &sallyportv1.QueryStateRequest{Dst: "192.0.2.2", Proto: "esp", Spi: 0x1001})
	if err != nil || state.Seq == nil || *state.Seq != 1<<40 || state.AddTime == 0 {
		t.Errorf("%v, %v", state, err)
	}
	policy, err := c.QueryPolicy(ctx, &sallyportv1.QueryPolicyRequest{Src: "10.1.0.0/16", Dst: "10.2.0.0/16", Dir: "out"})
	if err != nil || policy.UseTime != 0 {
		t.Errorf("%v, %v", policy, err)
	}
	_, err = c.QueryPolicy(ctx, &sallyportv1.QueryPolicyRequest{Src: "10.1.0.0/16", Dst: "10.2.0.0/16", Dir: "out", IfId: "7"})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("the policy of an interface: %v", err)
	}
	spi, err := c.AllocSpi(ctx, &sallyportv1.AllocSpiRequest{Src: "192.0.2.2", Dst: "192.0.2.1", Min: 0xC0000000, Max: 0xCFFFFFFF})
	if err != nil || spi.Spi < 0xC0000000 || spi.Spi > 0xCFFFFFFF {
		t.Errorf("%v, %v", spi, err)
	}
	done, err := c.Command(ctx, &sallyportv1.CommandRequest{Words: []string{"xfrm", "state", "count"}})
	if err != nil || done.Output != "\t SAD count 2\n" {
		t.Errorf("%v, %v", done, err)
	}
	batch, err := c.Batch(ctx, &sallyportv1.BatchRequest{Lines: []string{"xfrm policy update dst 10.9.0.0/16 dir out action block"}})
	if err != nil || len(batch.Notes) != 0 {
		t.Errorf("%v, %v", batch, err)
	}
	for name, fails := range map[string]func() error{
		`what must be "state" or "policy"`: func() error { _, err := c.List(ctx, &sallyportv1.ListRequest{What: "nothing"}); return err },
		"no card":                          func() error { _, err := c.GetCards(ctx, &sallyportv1.GetCardsRequest{}); return err },
		"this box is alone":                func() error { _, err := c.Pair(ctx, &sallyportv1.PairRequest{Verb: "status"}); return err },
		"has no place for a saved configuration": func() error {
			_, err := c.Config(ctx, &sallyportv1.ConfigRequest{Verb: "show"})
			return err
		},
	} {
		if err := fails(); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWatch: events come to a client that watches, from its first moment on.
func TestWatch(t *testing.T) {
	r, c := configured(t)
	for _, speaks := range []sallyportv1connect.BoxServiceClient{c, r.speaking(connect.WithGRPC()), r.speaking(connect.WithGRPCWeb())} {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := speaks.Watch(ctx, &sallyportv1.WatchRequest{})
		r.must(err)
		if version := stream.ResponseHeader().Get(api.VersionHeader); version != api.Version {
			t.Errorf("the version is %q", version)
		}
		r.toggle()
		if !stream.Receive() {
			t.Fatal(stream.Err())
		}
		if e := stream.Msg(); e.Event != "link" || e.Link != "inner" || e.Up == nil {
			t.Errorf("%v", e)
		}
		cancel()
		stream.Close()
	}
}

// toggle has a link come up or go down, and the daemon look at it.
func (r *rig) toggle() {
	r.Helper()
	status := r.fake.Get(transport.Crypto, regs.CommonStatus)
	r.fake.Set(transport.Crypto, regs.CommonStatus, status^1<<regs.CommonStatusLinkUp.LSB)
	ctx, cancel := context.WithCancel(r.Context())
	r.must(r.daemon.Poll(ctx, 1<<40, cancel))
}

// TestReaders: who may read alone gets answers, and no change.
func TestReaders(t *testing.T) {
	r, _ := configured(t)
	c := r.client(r.readPath)
	if _, err := c.List(t.Context(), &sallyportv1.ListRequest{What: "policy"}); err != nil {
		t.Error(err)
	}
	before := len(r.fake.Log)
	for name, change := range map[string]func() error{
		"batch": func() error { _, err := c.SealedBatch(t.Context(), "f", []byte("xfrm state flush\n")); return err },
		"command": func() error {
			_, err := c.SealedCommand(t.Context(), []byte("xfrm\nstate\nflush\n"), nil)
			return err
		},
		"alloc": func() error {
			_, err := c.AllocSpi(t.Context(), &sallyportv1.AllocSpiRequest{Src: "192.0.2.2", Dst: "192.0.2.1", Min: 256, Max: 300})
			return err
		},
		"advance": func() error {
			_, err := c.Advance(t.Context(), &sallyportv1.AdvanceRequest{Dst: "192.0.2.2", Proto: "esp", Spi: 0x1001, Number: 7})
			return err
		},
		"pair":   func() error { _, err := c.Pair(t.Context(), &sallyportv1.PairRequest{Verb: "switch"}); return err },
		"config": func() error { _, err := c.Config(t.Context(), &sallyportv1.ConfigRequest{Verb: "save"}); return err },
	} {
		if err := change(); connect.CodeOf(err) != connect.CodePermissionDenied || !client.Refused(err) || !strings.Contains(client.Sentence(err), "for queries alone") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.fake.Log) != before {
		t.Error("a reader has changed the box")
	}
}

// TestTrail: the log says who asked by the API, as it does of the control socket.
func TestTrail(t *testing.T) {
	r, _ := configured(t)
	if log := r.log.String(); !strings.Contains(log, "event=request do=batch done=true uid=") || !strings.Contains(log, "event=change object=") {
		t.Error(log)
	}
	if strings.Contains(r.log.String(), testbox.Key128[2:]) {
		t.Error("a key is in the log")
	}
}
