// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/place"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// target is a box, as commands see it.
type target interface {
	// batch carries out all lines of a file or none.
	batch(name string, input []byte) error
	// command carries out one command.
	command(words []string) error
	counters() ([3][]uint64, error)
	identities() (map[string]control.Chip, error)
	// cards reads the shells of the cards, as far as they answer.
	cards() (map[string]card.State, error)
	// selfTest tells how the last run ended, or starts one.
	selfTest(run bool) (chip.SelfTest, error)
	// drp reads and prints a word of a card, or writes it.
	drp(drpAccess) error
	// pair tells of the pair, or changes it.
	pair(control.PairVerb) (control.Pair, error)
	// config tells of the configuration that lasts, or changes it.
	config(*sallyportv1.ConfigRequest) (control.Config, error)
	// events and audit print the events that have waited; monitor prints new ones, until it fails.
	events() error
	audit() error
	monitor() error
}

// direct is a box whose registers this program reaches itself, which no daemon has.
type direct struct {
	place      place.Place
	state      string
	lists      session.Lists
	out, notes io.Writer
}

// open connects to the box and checks who answers.
func (d *direct) open() (*chip.Box, io.Closer, error) {
	share, err := d.place.Share()
	if err != nil {
		return nil, nil, err
	}
	t, err := d.place.Open(context.Background())
	if err != nil {
		return nil, nil, errors.Join(err, share.Close())
	}
	b, err := chip.Open(context.Background(), t)
	if err != nil {
		return nil, nil, errors.Join(err, t.Close(), share.Close())
	}
	return b, share, nil
}

func (d *direct) with(use func(*session.Session) error) error {
	b, share, err := d.open()
	if err != nil {
		return err
	}
	err = use(&session.Session{Box: b, StatePath: d.state, KeysPath: d.place.Keys(), Lists: d.lists, Out: d.out, Notes: d.notes})
	return errors.Join(err, b.Close(), share.Close())
}

func (d *direct) batch(name string, input []byte) error {
	commands, err := xfrm.ParseBatch(name, input)
	if err != nil {
		return err
	}
	defer xfrm.Wipe(commands)
	return d.with(func(s *session.Session) error { return s.Run(commands) })
}

func (d *direct) command(words []string) error {
	command, err := xfrm.Parse(xfrm.Words(words))
	if err != nil {
		return err
	}
	return d.with(func(s *session.Session) error { return s.Run([]xfrm.Command{command}) })
}

func (d *direct) counters() (all [3][]uint64, err error) {
	err = d.with(func(s *session.Session) error {
		for _, c := range transport.Chips {
			if all[c], err = s.Box.Counters(c); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func (d *direct) identities() (map[string]control.Chip, error) {
	chips := map[string]control.Chip{}
	err := d.with(func(s *session.Session) error {
		for _, c := range transport.Chips {
			chips[c.String()] = control.Chip{Identity: s.Box.Identity[c], Capabilities: s.Box.Capabilities[c]}
		}
		return nil
	})
	return chips, err
}

func (d *direct) selfTest(run bool) (result chip.SelfTest, err error) {
	err = d.with(func(s *session.Session) error {
		if run {
			if err := s.Box.RunSelfTest(); err != nil {
				return err
			}
		}
		result, err = s.Box.SelfTest()
		return err
	})
	return result, err
}

// cards does not look first whether the box is as it should be: it is asked when it is not.
func (d *direct) cards() (states map[string]card.State, err error) {
	err = d.withCards(func(t transport.Transport) error {
		states, err = card.ReadAll(t)
		return err
	})
	return states, err
}

func (d *direct) drp(a drpAccess) error {
	return d.withCards(func(t transport.Transport) error {
		if err := card.Check(t, a.chip); err != nil {
			return err
		}
		if a.write {
			return card.WriteDRP(t, a.chip, a.target, a.address, a.value)
		}
		word, err := card.ReadDRP(t, a.chip, a.target, a.address)
		if err == nil {
			fmt.Fprintf(d.out, "0x%04x\n", word)
		}
		return err
	})
}

func (d *direct) withCards(use func(transport.Transport) error) error {
	share, err := d.place.Share()
	if err != nil {
		return err
	}
	t, err := d.place.OpenUnchecked(context.Background())
	if err != nil {
		return errors.Join(err, share.Close())
	}
	err = use(t)
	if errors.Is(err, card.ErrNoShell) {
		err = usageError{err}
	}
	return errors.Join(err, t.Close(), share.Close())
}

func (d *direct) events() error {
	return d.with(func(s *session.Session) error { return d.print(s.Events()) })
}
func (d *direct) audit() error {
	return d.with(func(s *session.Session) error { return d.print(s.Audit()) })
}

func (d *direct) print(events []events.Event, err error) error {
	for _, e := range events {
		if printErr := printEvent(d.out, e, d.lists.JSON); printErr != nil {
			return errors.Join(err, printErr)
		}
	}
	return err
}

func (d *direct) monitor() error {
	return usageError{errors.New("monitor is of sallyportd: give --daemon PATH or --server HOST:PORT, or take what has waited with events and audit")}
}

func (d *direct) pair(control.PairVerb) (control.Pair, error) {
	return control.Pair{}, usageError{errors.New("pair is of sallyportd: give --daemon PATH or --server HOST:PORT")}
}

func (d *direct) config(*sallyportv1.ConfigRequest) (control.Config, error) {
	return control.Config{}, usageError{errors.New("config is of sallyportd: give --daemon PATH or --server HOST:PORT")}
}
