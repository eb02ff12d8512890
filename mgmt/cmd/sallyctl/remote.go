// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/wire"
)

// remote is a box that a daemon has, which is reached by its API.
type remote struct {
	dial       func() *client.Client
	lists      session.Lists
	out, notes io.Writer
}

// with makes a refusal of the daemon's error.
func (r *remote) with(use func(context.Context, *client.Client) error) error {
	c := r.dial()
	defer c.Close()
	if err := use(context.Background(), c); err != nil {
		return &control.Refused{Reason: client.Sentence(err), Input: client.Refused(err)}
	}
	return nil
}

func (r *remote) batch(name string, input []byte) error {
	text := make([]byte, 0, len(input)+1) // never grown, which would leave keys behind
	defer func() { clear(text) }()
	for _, line := range linesOf(input) {
		text = append(append(text, line...), '\n')
	}
	return r.with(func(ctx context.Context, c *client.Client) error {
		answer, err := c.SealedBatch(ctx, name, text)
		return r.print(answer.GetOutput(), answer.GetNotes(), err)
	})
}

// linesOf are the lines of a file, which stay where they are.
func linesOf(input []byte) (lines [][]byte) {
	for line := range bytes.Lines(input) {
		lines = append(lines, bytes.TrimRight(line, "\r\n"))
	}
	return lines
}

func (r *remote) command(words []string) error {
	if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "\n") }) {
		return usageError{errors.New("a word of a command cannot have a line break in it")}
	}
	text := []byte(strings.Join(append(slices.Clip(words), ""), "\n"))
	return r.with(func(ctx context.Context, c *client.Client) error {
		answer, err := c.SealedCommand(ctx, text, &sallyportv1.CommandRequest{Statistics: r.lists.Statistics, Json: r.lists.JSON})
		return r.print(answer.GetOutput(), answer.GetNotes(), err)
	})
}

// print prints what a command answers.
func (r *remote) print(output string, notes []string, err error) error {
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(r.notes, note)
	}
	fmt.Fprint(r.out, output)
	return nil
}

func (r *remote) counters() (all [3][]uint64, err error) {
	var answer control.Counters
	err = r.with(func(ctx context.Context, c *client.Client) error {
		m, err := c.GetCounters(ctx, &sallyportv1.GetCountersRequest{})
		answer = wire.ReadCounters(m)
		return err
	})
	if err != nil {
		return all, err
	}
	for _, c := range transport.Chips {
		for _, counter := range chip.CounterList[c] {
			value, known := answer.Chips[c.String()][counter.Name]
			if !known {
				return all, fmt.Errorf("sallyportd knows no counter %s of the %s chip: it and this program are of different versions", counter.Name, c)
			}
			all[c] = append(all[c], value)
		}
	}
	return all, nil
}

func (r *remote) identities() (map[string]control.Chip, error) {
	var answer control.Capabilities
	err := r.with(func(ctx context.Context, c *client.Client) error {
		m, err := c.GetCapabilities(ctx, &sallyportv1.GetCapabilitiesRequest{})
		return unless(err, func() error { return wire.Read(m, &answer) })
	})
	return answer.Chips, err
}

func (r *remote) cards() (map[string]card.State, error) {
	var answer control.Cards
	err := r.with(func(ctx context.Context, c *client.Client) error {
		m, err := c.GetCards(ctx, &sallyportv1.GetCardsRequest{})
		return unless(err, func() error { return wire.ReadCards(m, &answer) })
	})
	return answer.Cards, err
}

func (r *remote) selfTest(run bool) (chip.SelfTest, error) {
	var answer chip.SelfTest
	err := r.with(func(ctx context.Context, c *client.Client) error {
		m, err := c.SelfTest(ctx, &sallyportv1.SelfTestRequest{Run: run})
		return unless(err, func() error { return wire.Read(m, &answer) })
	})
	return answer, err
}

func (r *remote) drp(drpAccess) error {
	return usageError{errors.New("card drp is for bringing cards up: stop sallyportd first")}
}

// errTaken: events that the daemon takes cannot be taken twice.
var errTaken = usageError{errors.New("sallyportd takes the events itself: see its log, or run sallyctl monitor")}

func (r *remote) events() error { return errTaken }
func (r *remote) audit() error  { return errTaken }

func (r *remote) monitor() error {
	return r.with(func(ctx context.Context, c *client.Client) error {
		return c.Events(ctx, func(m *sallyportv1.WatchResponse) error {
			e, err := wire.ReadEvent(m)
			return unless(err, func() error { return printEvent(r.out, e, r.lists.JSON) })
		})
	})
}

func (r *remote) pair(verb control.PairVerb) (state control.Pair, err error) {
	err = r.with(func(ctx context.Context, c *client.Client) error {
		m, err := c.Pair(ctx, &sallyportv1.PairRequest{Verb: string(verb)})
		return unless(err, func() error { return wire.Read(m, &state) })
	})
	return state, err
}

func (r *remote) config(request *sallyportv1.ConfigRequest) (answer control.Config, err error) {
	err = r.with(func(ctx context.Context, c *client.Client) error {
		m, err := c.Config(ctx, request)
		return unless(err, func() error { return wire.Read(m, &answer) })
	})
	return answer, err
}

// unless goes on unless there is an error.
func unless(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}
