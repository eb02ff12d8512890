// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"sallyport/mgmt/internal/events"
)

// Client speaks to a daemon, one request after the other.
type Client struct {
	conn    net.Conn
	answers *bufio.Reader
	path    string
	last    int // the id of the last request
}

// Dial connects to a daemon's control socket.
func Dial(path string) (*Client, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot reach sallyportd at %s: %w", path, err)
	}
	return &Client{conn: conn, answers: bufio.NewReader(conn), path: path}, nil
}

// Close ends the connection; installed SAs and policies stay.
func (c *Client) Close() error { return c.conn.Close() }

// Head makes the head of the next request.
func (c *Client) Head(do string) Head {
	c.last++
	return Head{ID: json.RawMessage(fmt.Sprint(c.last)), Do: do}
}

// Do sends a request and reads its answer, which may be nil if only its success matters. The error
// is a *Refused if the daemon refuses the request.
func (c *Client) Do(request, answer any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("cannot write the request: %w", err)
	}
	defer clear(line) // it may hold keys
	if len(line) > MaxLine {
		return &Refused{Reason: fmt.Sprintf("as one request the batch has %d bytes, more than the %d of the control socket: split it, or stop sallyportd and load it directly", len(line), MaxLine), Input: true}
	}
	// never joined, which would leave keys behind
	for _, part := range [][]byte{line, []byte("\n")} {
		if _, err := c.conn.Write(part); err != nil {
			return fmt.Errorf("%s: sending a request: %w", c.path, err)
		}
	}
	text, err := c.read()
	if err != nil {
		return err
	}
	var head struct {
		ID    json.RawMessage
		OK    bool
		Error string
		Input bool
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%s: the answer is no JSON: %w", c.path, err)
	}
	switch {
	case string(head.ID) != fmt.Sprint(c.last) && head.OK:
		return fmt.Errorf("%s: the answer is to request %s, not %d", c.path, head.ID, c.last)
	case !head.OK:
		return &Refused{Reason: head.Error, Input: head.Input}
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

// Monitor calls `each` with every event until it fails or the daemon ends, which is an error too.
func (c *Client) Monitor(each func(events.Event) error) error {
	if err := c.Do(Plain{c.Head(DoMonitor)}, nil); err != nil {
		return err
	}
	for {
		text, err := c.read()
		if err != nil {
			return err
		}
		var event events.Event
		if err := json.Unmarshal(text, &event); err != nil {
			return fmt.Errorf("%s: an event is no JSON: %w", c.path, err)
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

func (c *Client) read() ([]byte, error) {
	text, err := c.answers.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err = errors.New("the daemon closed the connection")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return text, nil
}
