// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

// remote is a box that a daemon has.
type remote struct {
	path       string
	lists      session.Lists
	out, notes io.Writer
}

func (r *remote) with(use func(*control.Client) error) error {
	client, err := control.Dial(r.path)
	if err != nil {
		return err
	}
	return errors.Join(use(client), client.Close())
}

func (r *remote) batch(name string, input []byte) error {
	return r.with(func(c *control.Client) error {
		return r.done(c, control.Batch{Head: c.Head(control.DoBatch), Lines: linesOf(input), File: name})
	})
}

// linesOf are the lines of a file, which stay where they are.
func linesOf(input []byte) (lines []control.Line) {
	for line := range bytes.Lines(input) {
		lines = append(lines, bytes.TrimRight(line, "\r\n"))
	}
	return lines
}

func (r *remote) command(words []string) error {
	request := control.Command{Statistics: r.lists.Statistics, JSON: r.lists.JSON}
	for _, word := range words {
		request.Words = append(request.Words, control.Line(word))
	}
	return r.with(func(c *control.Client) error {
		request.Head = c.Head(control.DoCommand)
		return r.done(c, request)
	})
}

// done sends a request and prints what it answers.
func (r *remote) done(c *control.Client, request any) error {
	var answer control.Done
	if err := c.Do(request, &answer); err != nil {
		return err
	}
	for _, note := range answer.Notes {
		fmt.Fprintln(r.notes, note)
	}
	fmt.Fprint(r.out, answer.Output)
	return nil
}

func (r *remote) counters() (all [3][]uint64, err error) {
	var answer control.Counters
	err = r.with(func(c *control.Client) error { return c.Do(control.Plain{Head: c.Head(control.DoCounters)}, &answer) })
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
	err := r.with(func(c *control.Client) error {
		return c.Do(control.Plain{Head: c.Head(control.DoCapabilities)}, &answer)
	})
	return answer.Chips, err
}

func (r *remote) cards() (map[string]card.State, error) {
	var answer control.Cards
	err := r.with(func(c *control.Client) error {
		return c.Do(control.Plain{Head: c.Head(control.DoCards)}, &answer)
	})
	return answer.Cards, err
}

func (r *remote) drp(drpAccess) error {
	return usageError{errors.New("card drp is for bringing cards up: stop sallyportd first")}
}

// errTaken: events that the daemon takes cannot be taken twice.
var errTaken = usageError{errors.New("sallyportd takes the events itself: see its log, or run sallyctl monitor")}

func (r *remote) events() error { return errTaken }
func (r *remote) audit() error  { return errTaken }

func (r *remote) monitor() error {
	return r.with(func(c *control.Client) error {
		return c.Monitor(func(e events.Event) error { return printEvent(r.out, e, r.lists.JSON) })
	})
}

func (r *remote) pair(verb control.PairVerb) (state control.Pair, err error) {
	err = r.with(func(c *control.Client) error {
		return c.Do(control.PairRequest{Head: c.Head(control.DoPair), Verb: verb}, &state)
	})
	return state, err
}

func (r *remote) config(request control.ConfigRequest) (answer control.Config, err error) {
	err = r.with(func(c *control.Client) error {
		request.Head = c.Head(control.DoConfig)
		return c.Do(request, &answer)
	})
	return answer, err
}
