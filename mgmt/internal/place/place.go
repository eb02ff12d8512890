// Package place says which box a program drives: how its registers are reached, where what is kept about it lies, and who has it.
package place

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sallyport/mgmt/internal/transport"
)

// runDir is for what does not outlive a boot, as the tables of cards do not.
const runDir = "/run/sallyport"

// Place is one box. Either Socket or PCI is set.
type Place struct {
	Socket string // of the simulator
	PCI    string // addresses inner,crypto,outer
}

// Parse reads `unix:PATH` or `pci:INNER,CRYPTO,OUTER`.
func Parse(text string) (Place, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "unix" && filepath.IsAbs(rest):
		return Place{Socket: rest}, nil
	case kind == "unix":
		return Place{}, fmt.Errorf("the path in %q is not absolute", text)
	case kind == "pci" && len(strings.Split(rest, ",")) == len(transport.Chips):
		return Place{PCI: rest}, nil
	case kind == "pci":
		return Place{}, fmt.Errorf("%q must name three cards, pci:INNER,CRYPTO,OUTER", text)
	}
	return Place{}, fmt.Errorf("%q must be unix:PATH (simulator) or pci:INNER,CRYPTO,OUTER (boards)", text)
}

// Open reaches the registers.
func (p Place) Open() (transport.Transport, error) {
	switch {
	case p.Socket != "" && p.PCI != "":
		return nil, errors.New("give either --socket or --pci, not both")
	case p.Socket != "":
		return transport.DialSocket(p.Socket)
	}
	return transport.OpenPCI(strings.Split(p.PCI, ","))
}

// State is where the configuration is kept: beside the simulator's socket, or in /run for cards.
func (p Place) State() string { return p.base() + ".state.json" }

func (p Place) base() string {
	if p.Socket != "" {
		return p.Socket
	}
	return filepath.Join(runDir, strings.NewReplacer(",", "-", "/", "-").Replace(p.PCI))
}
