// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// numbersTimeout is how long the numbers of all SAs may take: some 10 MB of 64 Ki each way.
const numbersTimeout = 5 * time.Second

// Client asks the other box. Its connections last, one for each question that waits.
type Client struct {
	other string
	http  http.Client
}

// NewClient makes a client that asks the box at an address, from the address `from` where that is a
// specific one: the other takes only that.
func NewClient(other netip.AddrPort, from netip.Addr, identity func() *Identity) *Client {
	dialer := &net.Dialer{}
	if from.IsValid() && !from.IsUnspecified() {
		dialer.LocalAddr = &net.TCPAddr{IP: from.AsSlice(), Zone: from.Zone()}
	}
	transport := &http.Transport{
		DisableCompression: true, MaxIdleConns: 2, MaxIdleConnsPerHost: 2, IdleConnTimeout: idle, MaxResponseHeaderBytes: mostHead,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&tls.Dialer{NetDialer: dialer, Config: identity().config()}).DialContext(ctx, network, address)
		},
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{other.String(), http.Client{Transport: transport, CheckRedirect: refuse}}
}

// Close ends connections that wait for the next question; those that come after a change of
// certificates are new.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks how the other box is, until ctx ends. With an error it is empty: a part of an answer
// that is refused is not used either.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	if err := c.ask(ctx, http.MethodGet, pathStatus, &s); err != nil {
		return Status{}, err
	}
	if s.Side != SideA && s.Side != SideB {
		return Status{}, fmt.Errorf("%s says that its side is %q", c.other, s.Side)
	}
	for i, problem := range s.Problems {
		s.Problems[i] = line(problem)
	}
	return s, nil
}

// Numbers asks how far the other box's SAs have come, and gives a time by this machine's clock
// before which they were not read.
func (c *Client) Numbers(ctx context.Context) (numbers []Number, since time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, numbersTimeout)
	defer cancel()
	asked := time.Now()
	var n Numbers
	if err := c.ask(ctx, http.MethodGet, pathNumbers, &n); err != nil {
		return nil, asked, err
	}
	if n.Age < 0 {
		return nil, asked, fmt.Errorf("%s says that its numbers are %v old", c.other, n.Age)
	}
	return n.Numbers, asked.Add(-n.Age), nil
}

// Yield asks the other box to give its place away.
func (c *Client) Yield(ctx context.Context) error { return c.ask(ctx, http.MethodPost, pathYield, nil) }

// Claim asks the other box, which is passive, to leave the place to this one.
func (c *Client) Claim(ctx context.Context) error { return c.ask(ctx, http.MethodPost, pathClaim, nil) }

func (c *Client) ask(ctx context.Context, method, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+c.other+path, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.sentence(err)
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, mostAnswer)
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 256))
		if response.StatusCode == http.StatusConflict {
			return errors.New(line(string(text)))
		}
		return fmt.Errorf("%s answers %s: it and this program are of different versions", c.other, line(response.Status))
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return fmt.Errorf("the answer of %s cannot be read: %w", c.other, err)
	}
	_, _ = io.Copy(io.Discard, body) // so that the connection can be used again
	return nil
}

// line makes one line of a text of the other box: without line ends, and without characters that a
// terminal obeys.
func line(text string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, " "))
	return strings.Join(strings.Fields(printable), " ")
}

// sentence says why a connection failed, in the words of a pair.
func (c *Client) sentence(err error) error {
	var operation *net.OpError
	var request *url.Error
	switch {
	// so crypto/tls says that the far end has sent an alert
	case errors.As(err, &operation) && operation.Op == "remote error":
		return fmt.Errorf("%s refuses this box's certificate, and its log says why: %w", c.other, operation.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not answer in time", c.other)
	case errors.As(err, &request):
		err = request.Err
	}
	return fmt.Errorf("%s: %w", c.other, err)
}
