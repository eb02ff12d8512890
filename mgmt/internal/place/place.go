// SPDX-License-Identifier: Apache-2.0

// Package place names the box that a program drives: the way to its registers, the paths of its
// files, and the owner of its lock.
package place

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/transport"
)

// runDir is for what does not outlive a boot, as the tables of cards do not.
const runDir = "/run/sallyport"

// lasting is for what does.
const lasting = "/var/lib/sallyport"

// Place is one box. Either Socket or PCI is set.
type Place struct {
	Socket string // of the simulator
	PCI    string // the crypto card's address, or addresses inner,crypto,outer
}

// Ways is the syntax of Parse, for people.
const Ways = "unix:PATH (simulator), pci:CRYPTO or pci:INNER,CRYPTO,OUTER (cards)"

// Parse reads `unix:PATH`, `pci:CRYPTO` or `pci:INNER,CRYPTO,OUTER`.
func Parse(text string) (Place, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "unix" && filepath.IsAbs(rest):
		return Place{Socket: rest}, nil
	case kind == "unix":
		return Place{}, fmt.Errorf("the path in %q is not absolute", text)
	case kind == "pci":
		_, err := devices(rest)
		return Place{PCI: rest}, err
	}
	return Place{}, fmt.Errorf("%q must be %s", text, Ways)
}

// devices are the addresses of the cards.
func devices(text string) ([]string, error) {
	list := strings.Split(text, ",")
	if n := len(list); n != 1 && n != len(transport.Chips) || slices.Contains(list, "") {
		return nil, fmt.Errorf("%q must name the crypto card, or all three: INNER,CRYPTO,OUTER", text)
	}
	return list, nil
}

// Open reaches the registers. Of cards it checks that each is there and the right one. Once ctx
// ends, no access waits long for an answer.
func (p Place) Open(ctx context.Context) (transport.Transport, error) {
	t, err := p.OpenUnchecked(ctx)
	if err != nil || p.PCI == "" {
		return t, err
	}
	for _, c := range transport.Chips {
		if err := card.Check(t, c); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// OpenUnchecked reaches the registers without a check of the cards, for programs that look for
// their faults.
func (p Place) OpenUnchecked(ctx context.Context) (transport.Transport, error) {
	switch {
	case p.Socket != "" && p.PCI != "":
		return nil, errors.New("give either --socket or --pci, not both")
	case p.Socket != "":
		return transport.DialSocket(ctx, p.Socket)
	}
	list, err := devices(p.PCI)
	if err != nil {
		return nil, err
	}
	return transport.OpenPCI(list)
}

// State is where the configuration is kept: beside the simulator's socket, or in /run for cards.
func (p Place) State() string { return p.base() + ".state" }

// Keys is the path of the marks of used outbound keys: for cards in /var/lib, where it outlives a
// reboot of the machine. It is empty for a simulated box, whose file is beside its state.
func (p Place) Keys() string {
	if p.Socket != "" {
		return ""
	}
	return filepath.Join(lasting, filepath.Base(p.base())+".keys")
}

// Saved is the path of the saved configuration: for cards in /var/lib, likewise.
func (p Place) Saved() string {
	if p.Socket != "" {
		return p.base() + ".saved"
	}
	return filepath.Join(lasting, filepath.Base(p.base())+".saved")
}

// base is the same for a box however its cards are named: it goes by the crypto card's address.
func (p Place) base() string {
	if p.Socket != "" {
		return p.Socket
	}
	list := strings.Split(p.PCI, ",")
	return filepath.Join(runDir, strings.ReplaceAll(list[len(list)/2], "/", "-"))
}
