// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/transport"
)

// conservation is the account of the box: every packet received or injected was sent, punted,
// dropped by name or merged into another one, or waits.
type conservation struct {
	Balanced bool           `json:"balanced"`
	Paths    []chip.Balance `json:"paths"`
}

func newCounters(o *options) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "counters", Short: "Print every counter of every chip by name", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all [3][]uint64
			err := o.with(cmd, func(t target) (err error) {
				all, err = t.counters()
				return err
			})
			if err != nil {
				return err
			}
			account := conservation{Balanced: true}
			document := map[string]any{}
			for _, c := range transport.Chips {
				values := all[c]
				byName := map[string]uint64{}
				for i, counter := range chip.CounterList[c] {
					byName[counter.Name] = values[i]
					if !o.lists.JSON && values[i] != 0 {
						fmt.Fprintf(cmd.OutOrStdout(), "%-7s %-8s %-32s %d\n", c, counter.Path, counter.Name, values[i])
					}
				}
				document[c.String()] = byName
				for _, balance := range chip.Balances(c, values) {
					account.Paths = append(account.Paths, balance)
					account.Balanced = account.Balanced && balance.Balanced
				}
			}
			document["conservation"] = account
			if o.lists.JSON {
				if err := printJSON(cmd, document); err != nil {
					return err
				}
			}
			return account.verdict(cmd, check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "exit with status 1 if received + injected + split = sent + punted + dropped + merged + held fails on a path of a chip (packets in flight count as missing)")
	return cmd
}

// verdict says on standard error which paths do not balance.
func (a conservation) verdict(cmd *cobra.Command, check bool) error {
	if a.Balanced || !check {
		return nil
	}
	for _, p := range a.Paths {
		if !p.Balanced {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s, %s path: received %d + injected %d + split %d = %d, but sent %d + punted %d + dropped %d + merged %d + held %d = %d\n",
				p.Chip, p.Path, p.Received, p.Injected, p.Split, p.Arisen(), p.Sent, p.Punted, p.Dropped, p.Merged, p.Held, p.Accounted())
		}
	}
	return errUnbalanced
}

func newEvents(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "events", Short: "Take and print events: the SAs that have reached a soft or hard limit, and the peers that a NAT has moved", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, target.events)
		},
	}
}

func newAudit(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "audit", Short: "Take and print the audit log: packets of inbound SAs that were dropped for their ICV, their sequence number or their SA's selectors", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, target.audit)
		},
	}
}

func newMonitor(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "monitor", Short: "Print events as sallyportd takes them, until it ends", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.with(cmd, target.monitor) },
	}
}

// printEvent prints an event as a line of text, or of JSON as sallyportd's monitor has it.
func printEvent(out io.Writer, e events.Event, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(e)
	}
	_, err := fmt.Fprintln(out, e)
	return err
}

func printJSON(cmd *cobra.Command, value any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func newID(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "id", Short: "Print what each chip is and the sizes it was built with", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var identities map[string]control.Chip
			err := o.with(cmd, func(t target) (err error) {
				identities, err = t.identities()
				return err
			})
			if err != nil {
				return err
			}
			for _, c := range transport.Chips {
				id, cap := identities[c.String()], identities[c.String()].Capabilities
				if !o.lists.JSON {
					fmt.Fprintf(cmd.OutOrStdout(), "%-7s version %s build 0x%08x simulation %t ready %t link %t tamper %t core %g MHz\n%s",
						c, id.Version, id.Build, id.Simulation, id.Ready, id.LinkUp, id.Tamper, float64(cap.CoreKHz)/1000, sizes(c, cap))
				}
			}
			if o.lists.JSON {
				return printJSON(cmd, identities)
			}
			return nil
		},
	}
}

func sizes(c transport.Chip, cap chip.Capabilities) string {
	switch c {
	case transport.Inner:
		named := ""
		if cap.PolicyRows > 0 {
			named = fmt.Sprintf("policies by prefix %d, ", cap.PolicyRows-1)
		}
		return fmt.Sprintf("        SAs %d, flows %d, %srules %d, next hops %d, hosts %d, replay window %d\n", cap.SAs, cap.FlowRows, named, cap.Rules, cap.NextHops, cap.HostRows, cap.ReplayWindow)
	case transport.Crypto:
		return fmt.Sprintf("        SAs %d, lanes %d, suites %s\n", cap.SAs, cap.Lanes, strings.Join(cap.SuiteNames, " "))
	}
	return fmt.Sprintf("        SAs %d, SAD rows %d, rules %d, next hops %d, peers %d\n", cap.SAs, cap.SADRows, cap.Rules, cap.NextHops, cap.PeerRows)
}
