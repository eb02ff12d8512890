// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/control"
)

func newPair(o *options) *cobra.Command {
	pair := &cobra.Command{Use: "pair", Short: "The pair of boxes that stand in for each other, through sallyportd", Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	status := &cobra.Command{
		Use: "status", Short: "Print which box is active, and what is wrong with either", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := o.pair(cmd, control.PairStatus)
			if err != nil {
				return err
			}
			if o.lists.JSON {
				return printJSON(cmd, state)
			}
			fmt.Fprint(cmd.OutOrStdout(), describePair(state))
			return nil
		},
	}
	pair.AddCommand(status)
	for _, verb := range []struct {
		name  control.PairVerb
		short string
	}{
		{control.PairSwitch, "Move the place from the active box to the other"},
		{control.PairMaintain, "Take this box out of service until resume or the daemon's end: it gives its place away, and takes none"},
		{control.PairResume, "Put this box back into service"},
	} {
		pair.AddCommand(&cobra.Command{
			Use: string(verb.name), Short: verb.short, Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := o.pair(cmd, verb.name)
				return err
			},
		})
	}
	return pair
}

func (o *options) pair(cmd *cobra.Command, verb control.PairVerb) (state control.Pair, err error) {
	err = o.with(cmd, func(t target) (err error) {
		state, err = t.pair(verb)
		return err
	})
	return state, err
}

func describePair(s control.Pair) string {
	var b strings.Builder
	word := map[bool]string{true: "active", false: "standing by"}
	fmt.Fprintf(&b, "this box:  side %s, %s", s.Side, word[s.Active])
	if s.Maintained {
		b.WriteString(", out of service")
	}
	list := func(problems []string) {
		b.WriteByte('\n')
		for _, problem := range problems {
			fmt.Fprintf(&b, "           %s\n", problem)
		}
	}
	list(s.Problems)
	b.WriteString("other box: ")
	if s.Other == nil {
		fmt.Fprintf(&b, "does not answer: %s\n", s.Failure)
	} else {
		fmt.Fprintf(&b, "%s, heard %.1f s ago", word[s.Other.Active], s.Other.Silent)
		if s.Other.Yields {
			b.WriteString(", takes no place")
		}
		list(s.Other.Problems)
	}
	if !s.Fenced {
		b.WriteString("there is no fence: a cut cable between the daemons makes both boxes active\n")
	}
	fmt.Fprintf(&b, "this box's certificate ends %s\n", time.Unix(s.Expires, 0).UTC().Format(time.DateTime))
	return b.String()
}
