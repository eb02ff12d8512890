// SPDX-License-Identifier: Apache-2.0

// Package client speaks to sallyportd by its API (docs/reference/api.md):
//
//	c := client.Dial(api.DefaultPath)
//	defer c.Close()
//	counters, err := c.GetCounters(ctx, &sallyportv1.GetCountersRequest{})
//
// From another machine DialTLS takes the place of Dial.
//
// A client has the methods of sallyportv1connect.BoxServiceClient. Text that may hold keys goes by
// SealedBatch and SealedCommand, which seal it.
package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/api/sallyport/v1/sallyportv1connect"
)

// Client is a way to one daemon, which several goroutines may use at once.
type Client struct {
	sallyportv1connect.BoxServiceClient
	transport *http.Transport
	mu        sync.Mutex
	key       *sallyportv1.GetSealingKeyResponse // nil: not asked yet
}

// Dial makes a client of the daemon that has this socket. It connects with the first request.
func Dial(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, fmt.Errorf("cannot reach sallyportd at %s: %w", path, err)
		}
		return conn, nil
	}
	t := &http.Transport{DialContext: dial, Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return over(t, t, "http://localhost")
}

// over makes a client of a transport, whose requests go through a way to it.
func over(t *http.Transport, way http.RoundTripper, url string) *Client {
	options := []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil), connect.WithReadMaxBytes(mostAnswer), connect.WithInterceptors(versions{}),
	}
	return &Client{BoxServiceClient: sallyportv1connect.NewBoxServiceClient(&http.Client{Transport: way}, url, options...), transport: t}
}

// mostAnswer is the longest answer in bytes: a list of all SAs of the largest box.
const mostAnswer = 256 << 20

// Close ends the connections. The box keeps all that it has installed.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// SealedBatch carries out lines, each with a line feed behind it, or none of them; file names them
// in errors. The lines are sealed on the way. The caller wipes them.
func (c *Client) SealedBatch(ctx context.Context, file string, lines []byte) (answer *sallyportv1.BatchResponse, err error) {
	err = c.sealed(ctx, "Batch", lines, func(s *sallyportv1.Sealed) error {
		answer, err = c.Batch(ctx, &sallyportv1.BatchRequest{Sealed: s, File: file})
		return err
	})
	return answer, err
}

// SealedCommand carries out one command, whose words each have a line feed behind them. What else
// is asked for stands in options. The words are sealed on the way. The caller wipes them.
func (c *Client) SealedCommand(ctx context.Context, words []byte, options *sallyportv1.CommandRequest) (answer *sallyportv1.CommandResponse, err error) {
	err = c.sealed(ctx, "Command", words, func(s *sallyportv1.Sealed) error {
		answer, err = c.Command(ctx, &sallyportv1.CommandRequest{Sealed: s, Statistics: options.GetStatistics(), Json: options.GetJson()})
		return err
	})
	return answer, err
}

// sealed seals text and sends it. A daemon that was started since has another key: then once more.
func (c *Client) sealed(ctx context.Context, method string, text []byte, send func(*sallyportv1.Sealed) error) error {
	if most := api.MaxMessage - 1<<10; len(text)+api.SealedOverhead > most {
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("as one request this has %d bytes, more than the %d of the API: split it, or stop sallyportd and load it directly", len(text), most-api.SealedOverhead))
	}
	for again := true; ; again = false {
		key, err := c.sealingKey(ctx)
		if err != nil {
			return err
		}
		closed, err := api.Seal(key.PublicKey, method, text)
		if err != nil {
			return err
		}
		err = send(&sallyportv1.Sealed{KeyId: key.KeyId, Text: closed})
		if !again || connect.CodeOf(err) != connect.CodeAborted {
			return err
		}
		c.forget(key)
	}
}

func (c *Client) sealingKey(ctx context.Context) (*sallyportv1.GetSealingKeyResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != nil {
		return c.key, nil
	}
	key, err := c.GetSealingKey(ctx, &sallyportv1.GetSealingKeyRequest{})
	if err != nil {
		return nil, err
	}
	if key.Kem != api.KEM || key.Kdf != api.KDF || key.Aead != api.AEAD {
		return nil, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("the daemon seals by the suite 0x%04x, 0x%04x, 0x%04x of RFC 9180, which this client does not have", key.Kem, key.Kdf, key.Aead))
	}
	c.key = key
	return key, nil
}

// forget drops a key, unless another was asked for meanwhile.
func (c *Client) forget(key *sallyportv1.GetSealingKeyResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key == key {
		c.key = nil
	}
}

// Events gives each event to a function until that fails, ctx ends, or the daemon does, which is an
// error too.
func (c *Client) Events(ctx context.Context, each func(*sallyportv1.WatchResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Watch(ctx, &sallyportv1.WatchRequest{})
	if err != nil {
		return err
	}
	defer stream.Close()
	if version := stream.ResponseHeader().Get(api.VersionHeader); version != "" && check(version) != nil {
		return check(version)
	}
	for stream.Receive() {
		if err := each(stream.Msg()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return connect.NewError(connect.CodeUnavailable, fmt.Errorf("the daemon closed the connection"))
}
