// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// idleFor is how long a connection of calls may wait for the next question, and mostIdle how many
// wait, to one address and in all.
const (
	idleFor     = time.Minute
	mostIdle    = 4
	mostIdleAll = 512
)

// Answer answers a question of a node. An error is told the node in its words.
type Answer func(ctx context.Context, from Hello, method string, body json.RawMessage) (any, error)

// question is one that a node asks.
type question struct {
	Method string          `json:"method"`
	Body   json.RawMessage `json:"body"`
}

// reply is the answer, or why there is none.
type reply struct {
	Error string          `json:"error,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// answer answers the questions of a connection, one behind the other.
func (m *Mesh) answer(c *Conn) {
	defer c.Close()
	for {
		_ = c.SetReadDeadline(time.Now().Add(idleFor))
		var q question
		if err := readJSON(c, mostCall, &q); err != nil {
			return
		}
		var r reply
		body, err := m.rules.Answer(m.ctx, c.Other, q.Method, q.Body)
		if err == nil {
			r.Body, err = json.Marshal(body)
		}
		if err != nil {
			r = reply{Error: err.Error()}
		}
		_ = c.SetWriteDeadline(time.Now().Add(m.rules.Timeout))
		if err := writeJSON(c, mostCall, r); err != nil {
			return
		}
	}
}

// Call asks a node a question, until ctx ends. The answer goes into `answer`.
func (m *Mesh) Call(ctx context.Context, address, method string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	for {
		c, again := m.take(address), true
		if c == nil {
			again = false
			if c, err = m.Dial(ctx, address, Calls); err != nil {
				return err
			}
		}
		err := m.exchange(ctx, c, question{method, body}, answer)
		var refusal *Refusal
		switch {
		case err == nil || errors.As(err, &refusal):
			m.keep(address, c)
			return err
		case again && ctx.Err() == nil: // it was closed while it waited
			c.Close()
			continue
		}
		c.Close()
		return sentence(address, err, m.rules.Identity())
	}
}

func (m *Mesh) exchange(ctx context.Context, c *Conn, q question, answer any) error {
	// The end of ctx ends the exchange; one behind it would end the next.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if end, limited := ctx.Deadline(); limited {
		_ = c.SetDeadline(end)
	}
	if err := writeJSON(c, mostCall, q); err != nil {
		return err
	}
	var r reply
	if err := readJSON(c, mostCall, &r); err != nil {
		return err
	}
	if !stop() {
		return ctx.Err()
	}
	_ = c.SetDeadline(time.Time{})
	if r.Error != "" {
		return &Refusal{c.Other.Name, Line(r.Error)}
	}
	return json.Unmarshal(r.Body, answer)
}

// take gives an idle connection, or none.
func (m *Mesh) take(address string) *Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.idle[address]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	if list = list[:len(list)-1]; len(list) == 0 {
		delete(m.idle, address)
	} else {
		m.idle[address] = list
	}
	return c
}

// keep has a connection wait for the next question.
func (m *Mesh) keep(address string, c *Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil || len(m.idle[address]) >= mostIdle || len(m.idle) >= mostIdleAll {
		c.Close()
		return
	}
	m.idle[address] = append(m.idle[address], c)
}
