// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// State is what the shell of a card says. Counts are since the shell's reset and wrap, at 2^16
// where nothing else is said.
type State struct {
	// Failure is why the card could not be read; nothing else is known then.
	Failure string `json:"failure,omitempty"`
	*Reading
}

// Reading is the state of a card that answers.
type Reading struct {
	Board   string `json:"board"` // as boards/data has it
	Version string `json:"version"`
	// Ready says that the core's tables are cleared.
	Ready bool   `json:"ready"`
	Links []Link `json:"links"`
	MAC   *MAC   `json:"mac,omitempty"` // none of the crypto card
	Cages []Cage `json:"cages"`
	// Monitor is none if the system monitor does not answer.
	Monitor *Monitor `json:"monitor,omitempty"`
	// PCIeRefused are requests of the host that were no access of a register, AccessErrors accesses
	// that failed; both modulo 2^32.
	PCIeRefused  uint32 `json:"pcie_refused"`
	AccessErrors uint32 `json:"access_errors"`
}

// Link is one to another card.
type Link struct {
	To       string    `json:"to"`
	Up       bool      `json:"up"` // all channels carry words
	Channels []Channel `json:"channels"`
	Tunnel   *Tunnel   `json:"tunnel,omitempty"` // of the crypto card
}

// Channel is an Aurora channel of four lanes.
type Channel struct {
	Up      bool `json:"up"`
	Trained bool `json:"trained"` // its words come in step with those of the link's other channel
	// SoftErrors are cycles with a bad word, HardErrors resets of the core for its errors.
	SoftErrors uint64 `json:"soft_errors"`
	HardErrors uint64 `json:"hard_errors"`
	Overflow   uint64 `json:"overflow"` // words lost behind the channel
	// by software, or since it did not come up or brought nothing right
	Restarts uint64 `json:"restarts"`
}

// Tunnel is that of register accesses to the card at a link's far end. Timeouts wrap at 2^15.
type Tunnel struct {
	Open     bool   `json:"open"` // the far card has answered since the last timeout
	Retries  uint64 `json:"retries"`
	Timeouts uint64 `json:"timeouts"`
}

// MAC is the 100GbE MAC. Overflow are frames lost behind it, modulo 2^32.
type MAC struct {
	RxStatus bool   `json:"rx_status"` // it has the far end's signal
	TxReset  bool   `json:"tx_reset"`
	RxReset  bool   `json:"rx_reset"`
	Overflow uint32 `json:"overflow"`
}

// Cage is a QSFP cage.
type Cage struct {
	Module    bool `json:"module"`    // there is one
	Interrupt bool `json:"interrupt"` // it has something to tell
}

// boards are the names of the board files by their ids.
var boards = map[uint32]string{1: "vcu1525", 2: "xupp3r"}

// ReadAll reads every card, as far as it answers, by the names of their chips.
func ReadAll(t transport.Transport) (map[string]State, error) {
	states := map[string]State{}
	for _, c := range transport.Chips {
		reading, err := Read(t, c)
		switch {
		case errors.Is(err, ErrNoShell):
			return nil, err
		case err != nil:
			states[c.String()] = State{Failure: err.Error()}
		default:
			states[c.String()] = State{Reading: reading}
		}
	}
	return states, nil
}

// Read reads a card.
func Read(t transport.Transport, c transport.Chip) (*Reading, error) {
	if err := Check(t, c); err != nil {
		return nil, err
	}
	words, err := registers(t, c)
	if err != nil {
		return nil, err
	}
	of := func(r regs.Register, f regs.Field) uint64 { return f.Get(words[r.Offset/4:]) }
	s := &Reading{
		Board: fmt.Sprintf("number %d", words[regs.ShellBoard.Offset/4]),
		Version: fmt.Sprintf("%d.%d.%d", of(regs.ShellVersion, regs.ShellVersionMajor), of(regs.ShellVersion, regs.ShellVersionMinor),
			of(regs.ShellVersion, regs.ShellVersionPatch)),
		Ready:        of(regs.ShellCoreState, regs.ShellCoreStateReady) != 0,
		PCIeRefused:  words[regs.ShellPcieRefused.Offset/4],
		AccessErrors: words[regs.ShellAccessErrors.Offset/4],
	}
	if name := boards[words[regs.ShellBoard.Offset/4]]; name != "" {
		s.Board = name
	}
	links, channels := int(of(regs.ShellParts, regs.ShellPartsLinks)), int(of(regs.ShellParts, regs.ShellPartsChannels))
	if links*channels > regs.ShellChannelState.Count || links > len(farEnds(c)) {
		return nil, fmt.Errorf("the %s card has %d links of %d channels, and this program knows none such: it and the card are of different versions", c, links, channels)
	}
	for n := range links {
		s.Links = append(s.Links, link(words, c, n, channels))
	}
	if of(regs.ShellParts, regs.ShellPartsMac) != 0 {
		s.MAC = &MAC{
			RxStatus: of(regs.ShellMacState, regs.ShellMacStateRxStatus) != 0, TxReset: of(regs.ShellMacState, regs.ShellMacStateTxReset) != 0,
			RxReset: of(regs.ShellMacState, regs.ShellMacStateRxReset) != 0, Overflow: words[regs.ShellMacOverflow.Offset/4],
		}
	}
	modprsl, intl := of(regs.ShellQsfpState, regs.ShellQsfpStateModprsl), of(regs.ShellQsfpState, regs.ShellQsfpStateIntl)
	for n := range of(regs.ShellParts, regs.ShellPartsCages) {
		s.Cages = append(s.Cages, Cage{Module: modprsl>>n&1 == 0, Interrupt: intl>>n&1 == 0})
	}
	s.Monitor, err = ReadMonitor(t, c)
	return s, err
}

// registers are those that tell of the shell's state, by their offsets over 4. PUNT_DATA is not
// among them: to read it is to take it.
func registers(t transport.Transport, c transport.Chip) ([]uint32, error) {
	words := make([]uint32, regs.ShellAccessErrors.Offset/4+1)
	var ops []transport.Op
	for _, r := range []regs.Register{
		regs.ShellVersion, regs.ShellBoard, regs.ShellParts, regs.ShellCoreState, regs.ShellLinkState, regs.ShellChannelState, regs.ShellChannelErrors,
		regs.ShellChannelEvents, regs.ShellTunnelState, regs.ShellMacState, regs.ShellMacOverflow, regs.ShellQsfpState, regs.ShellPcieRefused,
		regs.ShellAccessErrors,
	} {
		for n := range r.Count {
			ops = append(ops, transport.Read(c, at(r)+4*uint32(n)))
		}
	}
	err := t.Do(ops)
	for _, op := range ops {
		words[(op.Addr-transport.Shell)/4] = op.Data
	}
	return words, err
}

// farEnds are the cards that a card's links lead to, in the links' order.
func farEnds(c transport.Chip) []transport.Chip {
	if c == transport.Crypto {
		return []transport.Chip{transport.Inner, transport.Outer}
	}
	return []transport.Chip{transport.Crypto}
}

// link reads link n of a card with so many channels a link.
func link(words []uint32, c transport.Chip, n, channels int) Link {
	of := func(r regs.Register, index int, f regs.Field) uint64 { return f.Get(words[int(r.Offset)/4+index:]) }
	l := Link{To: farEnds(c)[n].String(), Up: of(regs.ShellLinkState, 0, regs.ShellLinkStateUp)>>n&1 != 0}
	for i := n * channels; i < (n+1)*channels; i++ {
		l.Channels = append(l.Channels, Channel{
			Up:         of(regs.ShellChannelState, i, regs.ShellChannelStateUp) != 0,
			Trained:    of(regs.ShellChannelState, i, regs.ShellChannelStateTrained) != 0,
			SoftErrors: of(regs.ShellChannelErrors, i, regs.ShellChannelErrorsSoft),
			HardErrors: of(regs.ShellChannelErrors, i, regs.ShellChannelErrorsHard),
			Overflow:   of(regs.ShellChannelEvents, i, regs.ShellChannelEventsOverflow),
			Restarts:   of(regs.ShellChannelEvents, i, regs.ShellChannelEventsRestarts),
		})
	}
	if c == transport.Crypto {
		l.Tunnel = &Tunnel{
			Open:    of(regs.ShellTunnelState, n, regs.ShellTunnelStateOpen) != 0,
			Retries: of(regs.ShellTunnelState, n, regs.ShellTunnelStateRetries), Timeouts: of(regs.ShellTunnelState, n, regs.ShellTunnelStateTimeouts),
		}
	}
	return l
}
