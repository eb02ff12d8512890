// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/api/sallyport/v1/sallyportv1connect"
	"sallyport/mgmt/internal/fakebox"
)

// version asks for no more than the version.
func version(t *testing.T, c *client.Client) error {
	_, err := c.GetVersion(t.Context(), &sallyportv1.GetVersionRequest{})
	return err
}

// TestManyClients: beside the clients that are served, some have a place to be told that they are
// too many, and others are cut off. Those that are served go on.
func TestManyClients(t *testing.T) {
	r := newRig(t)
	for range mostClients + mostRefused {
		conn, err := net.Dial("unix", r.path)
		r.must(err)
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST /"); err != nil { // more never comes
			t.Fatal(err)
		}
	}
	r.until("a client too many is cut off", func() bool {
		conn, err := net.Dial("unix", r.path)
		r.must(err)
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, err = conn.Read(make([]byte, 1))
		return err == io.EOF
	})
}

// TestOneClientTooMany: the 65th is refused in one sentence, and served once another has left.
func TestOneClientTooMany(t *testing.T) {
	r := newRig(t)
	var served []*client.Client
	for range mostClients {
		c := r.client(r.path)
		r.must(version(t, c))
		served = append(served, c)
	}
	late := r.client(r.path)
	err := version(t, late)
	if connect.CodeOf(err) != connect.CodeResourceExhausted || client.Sentence(err) != "the daemon has as many clients as it serves" {
		t.Error(err)
	}
	served[0].Close()
	r.until("the place that is left is taken", func() bool { return version(t, late) == nil })
}

// TestLongMessages: a message of the limit is read, and a longer one is refused before it is.
func TestLongMessages(t *testing.T) {
	r := newRig(t)
	c := r.client(r.path)
	_, err := c.List(t.Context(), &sallyportv1.ListRequest{What: ""})
	r.must(notNil(err))
	for size, code := range map[int]connect.Code{
		api.MaxMessage - 1: connect.CodeInvalidArgument, api.MaxMessage: connect.CodeInvalidArgument, api.MaxMessage + 1: connect.CodeResourceExhausted,
	} {
		// a field with its tag and a length of three bytes
		_, err := c.List(t.Context(), &sallyportv1.ListRequest{What: strings.Repeat("x", size-4)})
		if connect.CodeOf(err) != code {
			t.Errorf("%d bytes: %.200v, want %v", size, err, code)
		}
	}
	if _, err := c.SealedBatch(t.Context(), "f", make([]byte, api.MaxMessage)); !client.Refused(err) || !strings.Contains(err.Error(), "split it") {
		t.Errorf("a batch that is too long: %v", err)
	}
}

func notNil(err error) error {
	if err == nil {
		return fmt.Errorf("no error")
	}
	return nil
}

// TestUnknown: what the API does not have is named in one sentence, to clients of each protocol.
func TestUnknown(t *testing.T) {
	r := newRig(t)
	transport := r.transport()
	for path, want := range map[string]string{
		"/sallyport.v2.BoxService/GetVersion": `this sallyportd speaks version 1.1 of its API, and the client another, "2": use programs of one release`,
		"/sallyport.v1.BoxService/Explode":    `version 1.1 of the API, which this sallyportd speaks, has no method "Explode"`,
		"/grpc.health.v1.Health/Check":        "this is the API of sallyportd, which has the service sallyport.v1.BoxService alone",
		"/":                                   "this is the API of sallyportd, which has the service sallyport.v1.BoxService alone",
	} {
		for name, option := range map[string]connect.ClientOption{"Connect": connect.WithProtoJSON(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb()} {
			c := connect.NewClient[sallyportv1.GetVersionRequest, sallyportv1.GetVersionResponse](&http.Client{Transport: transport}, "http://localhost"+path, option)
			_, err := c.CallUnary(t.Context(), connect.NewRequest(&sallyportv1.GetVersionRequest{}))
			if connect.CodeOf(err) != connect.CodeUnimplemented || client.Sentence(err) != want || !client.Refused(err) {
				t.Errorf("%s by %s: %v", path, name, err)
			}
		}
		answer, err := (&http.Client{Transport: transport}).Get("http://localhost" + path)
		r.must(err)
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotImplemented || !strings.Contains(strings.ReplaceAll(string(text), `\"`, `"`), want) {
			t.Errorf("GET %s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestSlowClients: a request that does not come to its end, and an answer that is not read, cost
// their client its connection; others are served meanwhile.
func TestSlowClients(t *testing.T) {
	r, c := configured(t, impatient)
	for name, begin := range map[string]string{
		"half of a head": "POST /sallyport.v1.BoxService/GetVersion HTTP/1.1\r\nHost: localh",
		"no body":        "POST /sallyport.v1.BoxService/Batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"nothing":        "",
	} {
		conn, err := net.Dial("unix", r.path)
		r.must(err)
		defer conn.Close()
		_, err = io.WriteString(conn, begin)
		r.must(err)
		if name == "no body" {
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if text, err := io.ReadAll(conn); err != nil {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		r.must(version(t, c))
	}
}

// TestWatcherThatDoesNotRead: it is cut off, and holds no other up.
func TestWatcherThatDoesNotRead(t *testing.T) {
	r, c := configured(t, impatient)
	transport := r.transport()
	transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 14}
	stream, err := sallyportv1connect.NewBoxServiceClient(&http.Client{Transport: transport}, "http://localhost", connect.WithGRPC()).Watch(t.Context(), &sallyportv1.WatchRequest{})
	r.must(err)
	defer stream.Close()
	const told = 5000
	for range told {
		r.toggle()
	}
	r.must(version(t, c))
	n := 0
	for stream.Receive() {
		n++
	}
	if stream.Err() == nil || n == 0 || n == told {
		t.Errorf("of %d events %d were read, then: %v", told, n, stream.Err())
	}
}

// TestIdleWatcher: one to whom nothing is told for longer than it may take to read goes on.
func TestIdleWatcher(t *testing.T) {
	t.Parallel()
	r, _ := configured(t, impatient)
	for name, option := range map[string]connect.ClientOption{"gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(), "Connect": connect.WithProtoJSON()} {
		stream, err := r.speaking(option).Watch(t.Context(), &sallyportv1.WatchRequest{})
		r.must(err)
		for range 2 {
			time.Sleep(time.Second)
			r.toggle()
			if !stream.Receive() {
				t.Errorf("%s: %v", name, stream.Err())
			}
		}
		stream.Close()
	}
}

// TestClientGone: a change that has begun is finished, though its client has gone.
func TestClientGone(t *testing.T) {
	r, c := configured(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun, goOn := make(chan struct{}), make(chan struct{})
	r.fake.Between(func() {
		r.fake.OnRow = func(fakebox.Row) {
			r.fake.OnRow = nil
			close(begun)
			<-goOn
		}
	})
	failed := make(chan error)
	go func() {
		_, err := c.SealedBatch(ctx, "f", []byte("xfrm policy add dst 10.7.0.0/16 dir out action block\n"))
		failed <- err
	}()
	<-begun
	cancel()
	if err := <-failed; connect.CodeOf(err) != connect.CodeCanceled {
		t.Error(err)
	}
	close(goOn)
	r.until("the policy is there", func() bool {
		list, err := c.List(t.Context(), &sallyportv1.ListRequest{What: "policy"})
		return err == nil && strings.Contains(strings.Join(list.Items, ""), "10.7.0.0/16")
	})
}

// TestEndOfDaemon: it does not wait until clients that watch, say nothing or stop in mid-request go
// on, and tells the first.
func TestEndOfDaemon(t *testing.T) {
	t.Parallel()
	r, c := configured(t)
	stream, err := c.Watch(t.Context(), &sallyportv1.WatchRequest{})
	r.must(err)
	defer stream.Close()
	for _, said := range []string{"", "POST /sallyport.v1.BoxService/List HTTP/1.1\r\nHost: x\r\n"} {
		conn, err := net.Dial("unix", r.path)
		r.must(err)
		defer conn.Close()
		_, err = io.WriteString(conn, said)
		r.must(err)
	}
	r.must(version(t, r.client(r.path))) // a connection behind those: the server has taken them
	stops(t, r.stop)
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
		t.Errorf("who watches is told %v", stream.Err())
	}
	if err := version(t, c); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "cannot reach sallyportd at "+r.path) {
		t.Errorf("then: %v", err)
	}
}
