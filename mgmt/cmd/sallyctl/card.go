// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

func newCard(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "card", Short: "Print the state of the cards: links, MACs, cages, temperatures and voltages", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var states map[string]card.State
			err := o.with(cmd, func(t target) (err error) {
				states, err = t.cards()
				return err
			})
			if err != nil {
				return err
			}
			if o.lists.JSON {
				err = printJSON(cmd, states)
			}
			for _, c := range transport.Chips {
				state := states[c.String()]
				if state.Failure != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), state.Failure)
					err = errUnread
				} else if !o.lists.JSON {
					printCard(cmd.OutOrStdout(), c, state.Reading)
				}
			}
			return err
		},
	}
	cmd.AddCommand(newDRP(o))
	return cmd
}

func newDRP(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "drp inner|crypto|outer monitor|mac ADDRESS [VALUE]", Short: "Read a word of a dynamic reconfiguration port of a card, or write it",
		RunE: func(cmd *cobra.Command, words []string) error {
			access, err := parseDRP(words)
			if err != nil {
				return err
			}
			return o.with(cmd, func(t target) error { return t.drp(access) })
		},
	}
}

// drpAccess reads a word, or writes one.
type drpAccess struct {
	chip            transport.Chip
	target, address uint32
	write           bool
	value           uint16
}

// parseDRP reads CARD TARGET ADDRESS [VALUE]. Numbers are as in C.
func parseDRP(words []string) (drpAccess, error) {
	var a drpAccess
	if len(words) != 3 && len(words) != 4 {
		return a, usageError{errors.New("card drp needs a card, monitor or mac, an address, and to write it a value")}
	}
	chip := slices.IndexFunc(transport.Chips, func(c transport.Chip) bool { return c.String() == words[0] })
	if chip < 0 {
		return a, usageError{fmt.Errorf("%q is no card: write inner, crypto or outer", words[0])}
	}
	a.chip = transport.Chips[chip]
	switch words[1] {
	case regs.DrpTargetNames[regs.DrpTargetMonitor]:
		a.target = regs.DrpTargetMonitor
	case regs.DrpTargetNames[regs.DrpTargetMac]:
		a.target = regs.DrpTargetMac
	default:
		return a, usageError{fmt.Errorf("%q is no port of a card: write monitor or mac", words[1])}
	}
	address, err := strconv.ParseUint(words[2], 0, regs.ShellDrpSelectAddress.Width)
	if err != nil {
		return a, usageError{fmt.Errorf("%q is no address of %d bits", words[2], regs.ShellDrpSelectAddress.Width)}
	}
	a.address, a.write = uint32(address), len(words) == 4
	if a.write {
		value, err := strconv.ParseUint(words[3], 0, 16)
		if err != nil {
			return a, usageError{fmt.Errorf("%q is no word of 16 bits", words[3])}
		}
		a.value = uint16(value)
	}
	return a, nil
}

// printCard prints a line for each part of a card.
func printCard(out io.Writer, c transport.Chip, s *card.Reading) {
	fmt.Fprintf(out, "%-7s board %s version %s ready %t\n", c, s.Board, s.Version, s.Ready)
	part := func(format string, values ...any) { fmt.Fprintf(out, "        "+format+"\n", values...) }
	for _, l := range s.Links {
		part("link to %s up %t", l.To, l.Up)
		for n, ch := range l.Channels {
			part("  channel %d up %t trained %t soft-errors %d hard-errors %d overflow %d restarts %d", n, ch.Up, ch.Trained, ch.SoftErrors, ch.HardErrors, ch.Overflow, ch.Restarts)
		}
		if l.Tunnel != nil {
			part("  tunnel open %t retries %d timeouts %d", l.Tunnel.Open, l.Tunnel.Retries, l.Tunnel.Timeouts)
		}
	}
	if s.MAC != nil {
		part("mac rx-status %t tx-reset %t rx-reset %t overflow %d", s.MAC.RxStatus, s.MAC.TxReset, s.MAC.RxReset, s.MAC.Overflow)
	}
	for n, cage := range s.Cages {
		part("qsfp%d module %t interrupt %t", n, cage.Module, cage.Interrupt)
	}
	if s.Monitor != nil {
		part("temperature %.1f C vccint %.3f V vccaux %.3f V", s.Monitor.Temperature, s.Monitor.VCCINT, s.Monitor.VCCAUX)
	} else {
		part("the system monitor does not answer")
	}
	part("pcie-refused %d access-errors %d", s.PCIeRefused, s.AccessErrors)
}
